//! A tenant as a caller describes it, parsed from a JSON tree. All violations are reported
//! together, each with a pointer.

use super::{Tenant, TenantName};
use crate::{
    json::Json,
    limits::{TENANT_NAME_LENGTH_MAX, TEXT_LENGTH_MAX},
    text::is_control_or_format,
    user::Status,
    write::violation::{Violation, ViolationCode, Violations, not_whole, read_members},
};

/// The members that the service sets. A body may contain them, as a tenant that was read does.
const READ_ONLY: [&str; 8] = [
    "users",
    "deleted_users",
    "groups",
    "created_at",
    "updated_at",
    "deleted_at",
    "purge_at",
    "base_url",
];

/// A description of a tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantDraft {
    /// Its name, if the body has one.
    pub name: Option<TenantName>,
    /// Its name for people.
    pub display_name: Option<String>,
    /// Its id in another system.
    pub external_id: Option<String>,
    /// Its status; `None` keeps that of a tenant that exists.
    pub status: Option<Status>,
    /// The maximum number of live users.
    pub users_max: Option<i64>,
    /// The version that the change is for.
    pub version: Option<i64>,
}

impl TenantDraft {
    /// Parses a draft from a tree.
    pub fn parse(tree: &Json) -> Result<Self, Violations> {
        let mut draft = Self::default();
        read_members(tree, "tenant", |name, value| draft.set(name, value))?;
        Ok(draft)
    }

    /// What a replacement of this tenant would send to change nothing, as JSON.
    pub fn tree_of(tenant: &Tenant) -> Json {
        let text = |text: &String| Json::Text(text.clone());
        let members = [
            ("name", Some(Json::Text(tenant.name.to_string()))),
            ("display_name", tenant.display_name.as_ref().map(text)),
            ("external_id", tenant.external_id.as_ref().map(text)),
            ("status", Some(Json::Text(tenant.status.as_str().to_owned()))),
            ("users_max", tenant.users_max.map(Json::Int)),
        ];
        let present = |(name, value): (&str, Option<Json>)| Some((name.to_owned(), value?));
        Json::Object(members.into_iter().filter_map(present).collect())
    }

    fn set(&mut self, member: &str, value: &Json) -> Result<(), Violation> {
        match (member, value) {
            ("display_name" | "external_id" | "users_max" | "version" | "status", Json::Null) => {}
            ("name", Json::Text(text)) => {
                self.name = Some(TenantName::parse(text).ok_or_else(invalid_name)?);
            }
            ("display_name", Json::Text(text)) => {
                let trimmed = text.trim();
                if trimmed.is_empty() && !text.is_empty() {
                    let detail = "write something besides spaces; null for no name";
                    return Err(Violation::of_member(member, ViolationCode::TooShort, detail));
                }
                self.display_name = text_of(member, trimmed)?;
            }
            ("external_id", Json::Text(text)) => self.external_id = text_of(member, text)?,
            ("status", Json::Text(text)) => {
                let detail = "active or suspended";
                let invalid = || Violation::of_member(member, ViolationCode::InvalidValue, detail);
                self.status = Some(Status::parse(text).ok_or_else(invalid)?);
            }
            ("users_max", Json::Int(number)) if *number >= 0 => self.users_max = Some(*number),
            ("version", Json::Int(number)) => self.version = Some(*number),
            ("users_max", Json::Int(_) | Json::Float(_)) => {
                let detail = "a whole number, 0 or more; null for no limit";
                return Err(Violation::of_member(member, ViolationCode::InvalidValue, detail));
            }
            ("name" | "display_name" | "external_id" | "status", other) => {
                let detail = format!("send a string, not {}", other.kind());
                return Err(Violation::of_member(member, ViolationCode::WrongType, detail));
            }
            ("users_max" | "version", other) => {
                let detail = not_whole(other);
                return Err(Violation::of_member(member, ViolationCode::WrongType, detail));
            }
            (read_only, _) if READ_ONLY.contains(&read_only) => {}
            (unknown, _) => {
                let detail = "a tenant has name, display_name, external_id, status and users_max";
                return Err(Violation::of_member(unknown, ViolationCode::UnknownMember, detail));
            }
        }
        Ok(())
    }
}

/// A text for people, or an id; an empty one is no value.
fn text_of(member: &str, text: &str) -> Result<Option<String>, Violation> {
    if text.chars().count() > TEXT_LENGTH_MAX {
        let detail = format!("at most {TEXT_LENGTH_MAX} characters");
        return Err(Violation::of_member(member, ViolationCode::TooLong, detail));
    }
    if text.chars().any(is_control_or_format) {
        let detail = "write it without control and format characters";
        return Err(Violation::of_member(member, ViolationCode::ControlCharacter, detail));
    }
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

/// The violation of a name that is no name.
pub(super) fn invalid_name() -> Violation {
    let detail = format!(
        "1 to {TENANT_NAME_LENGTH_MAX} lower-case letters, digits and hyphens, because it is a \
         part of URLs; not all, which stands for all tenants"
    );
    Violation::of_member("name", ViolationCode::InvalidValue, detail)
}
