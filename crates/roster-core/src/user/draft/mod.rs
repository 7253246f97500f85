//! A draft: a user as a client describes it, parsed from a JSON tree.
//!
//! Parsing does not stop at the first error. It reads all members of the tree by the attribute
//! table, keeps every usable value, normalized to NFC, and lists the violations with their
//! pointers, up to a limit after which they are only counted. Whether a violation counts is decided
//! later, against the stored record: a value that equals the stored one is not checked again, so
//! GET, edit, PUT always works.

mod entry;
mod free;
mod member;
mod rule;

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use crate::{
    id::UserId,
    json::{self, Json},
    limits::USER_BYTES_MAX,
    timestamp::Timestamp,
    user::{attribute::Attribute, profile::Value},
    write::violation::{Excuse, Findings, Violation, ViolationCode, Violations},
};

/// A parsed and normalized request body, before it is compared with the stored user.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The members that have a value. Short forms are separate texts here.
    pub(crate) values: BTreeMap<Attribute, Value>,
    /// The status, if the body has one.
    pub(crate) status: Option<crate::user::Status>,
    /// The `id` in the body, which a later write compares with the path.
    pub(crate) body_id: Option<String>,
    /// The `version` in the body, a precondition like `If-Match` on a later write.
    pub(crate) body_version: Option<i64>,
    /// Violations of a `version` or `id` with a wrong type. They count on a later write and are
    /// ignored on a create.
    pub(crate) server_made_faults: Vec<Violation>,
    /// All violations, each with the stored value that would excuse it.
    pub(crate) violations: Findings,
    /// The members that a patch names. Such a flag is set even if the address or number changes.
    pub(crate) named: Vec<Attribute>,
    /// The body as a JSON Merge Patch, for [`OnConflict::Merge`](crate::OnConflict::Merge).
    pub(crate) patch: Option<Arc<Json>>,
    /// Whether a create gives the user the id of the body.
    pub(crate) keeps_id: bool,
    /// Whether a username that only repeats the address becomes the user's own when the write
    /// changes the address.
    pub(crate) keeps_username: bool,
    /// Whether the body is larger than any record, so that its values are not kept.
    pub(crate) is_oversized: bool,
}

/// Values of more bytes describe no user whose record is small enough: a record has almost all of
/// them.
const BYTES_MAX: usize = 2 * USER_BYTES_MAX;
/// A longer text does not select a user to update.
const SELECTING_TEXT_BYTES_MAX: usize = 1024;

impl Draft {
    /// Parses a draft from a tree. It never fails: the draft contains the violations.
    pub fn parse(tree: Json) -> Self {
        let mut draft = Self::default();
        let detail = if let Json::Array(_) = tree {
            "send one object; POST /bulk/users takes an object a line".to_owned()
        } else {
            format!("send one user as a JSON object, not {}", tree.kind())
        };
        let Json::Object(members) = tree else {
            draft.add_violation(Excuse::Never, ViolationCode::WrongType, || ("", detail));
            return draft;
        };
        for (name, value) in members {
            draft.parse_member(&name, value);
        }
        draft.drop_oversized();
        draft
    }

    /// Drops values that together are larger than any record: each later step would take time and
    /// memory for them, and the user is rejected in any case.
    fn drop_oversized(&mut self) {
        if self.values.values().map(Value::size).sum::<usize>() <= BYTES_MAX {
            return;
        }
        self.add_oversized();
        let selects =
            |value: &Value| matches!(value, Value::Text(t) if t.len() <= SELECTING_TEXT_BYTES_MAX);
        self.values.retain(|_, value| selects(value));
    }

    fn add_oversized(&mut self) {
        self.is_oversized = true;
        self.add_violation(Excuse::Never, ViolationCode::UserTooLarge, || {
            ("", format!("keep the whole record within {USER_BYTES_MAX} bytes of JSON"))
        });
    }

    /// The draft of a patch that is larger than any record; `None` if it is not.
    pub(crate) fn of_oversized_patch(patch: &Json) -> Option<Self> {
        (patch.size() > BYTES_MAX).then(|| {
            let mut draft = Self::default();
            draft.add_oversized();
            draft
        })
    }

    /// Parses a draft that can also be merged into a user that exists.
    pub fn parse_mergeable(tree: Json) -> Self {
        let mut patch = tree.clone();
        if let Json::Object(members) = &mut patch {
            // Members that a create ignores are ignored here too.
            let ignored = [Attribute::Id.name(), Attribute::Version.name()];
            members.retain(|(name, _)| !ignored.contains(&name.as_str()));
        }
        Self { patch: Some(Arc::new(patch)), ..Self::parse(tree) }
    }

    /// Checks a patch for many users, of this size in bytes. Its members must be valid for any
    /// user, and it must not name one user or version.
    pub fn check_patch_of_many(patch: &Json, bytes: usize) -> Result<(), Violations> {
        if bytes > USER_BYTES_MAX {
            let detail = format!("send at most {USER_BYTES_MAX} bytes");
            return Err(Violation::new("", ViolationCode::UserTooLarge, detail).into());
        }
        let mut draft = Self::parse(json::merge(Json::Object(Vec::new()), patch.clone()));
        draft.check_removals(patch);
        let (mut violations, omitted) = draft.violations.counting(|_| false);
        // An object is merged with that of each user, so it may lack parts.
        let is_object = |name: &str| matches!(patch.member(name), Some(Json::Object(_)));
        violations.retain(|fault| {
            let name = fault.pointer.split('/').nth(1).unwrap_or_default();
            fault.code != ViolationCode::Required || !is_object(name)
        });
        for name in [Attribute::Id.name(), Attribute::Version.name()] {
            if patch.member(name).is_some() {
                let detail = "leave it out: the query selects the users";
                let code = ViolationCode::UnknownMember;
                violations.push(Violation::new(format!("/{name}"), code, detail));
            }
        }
        if violations.is_empty() {
            return Ok(());
        }
        let mut violations = Violations::from_iter(violations);
        violations.omit(omitted);
        Err(violations)
    }

    /// Makes a create give the user the id of the body: a UUIDv7 of a time before this one.
    pub(crate) fn keep_id(&mut self, now: Timestamp) {
        self.keeps_id = true;
        let id = self.sent_id().map(UserId::parse);
        let (code, detail) = match id.map(|id| id.filter(|id| id.is_version_7())) {
            Some(Some(id)) if id.created_at() <= now => return,
            Some(Some(_)) => (ViolationCode::InvalidValue, "its time has not come yet"),
            Some(None) => (ViolationCode::InvalidValue, "send a UUIDv7, as an export has it"),
            None => (ViolationCode::Required, "keep_ids needs the id of each user"),
        };
        self.add_violation(Excuse::Never, code, || ("/id", detail));
    }

    /// The id that a create gives the user instead of a new one.
    pub fn kept_id(&self) -> Option<UserId> {
        self.sent_id().filter(|_| self.keeps_id).and_then(UserId::parse)
    }

    /// The id in the body.
    pub fn sent_id(&self) -> Option<&str> {
        self.body_id.as_deref()
    }

    /// Removes `id` and `version`, which are ignored when a user is created.
    pub fn forget_server_made(&mut self) {
        self.body_id = None;
        self.body_version = None;
        self.server_made_faults.clear();
    }

    /// Accepts values that violate only rules with these codes.
    pub fn excuse(&mut self, codes: &[ViolationCode]) {
        self.violations.drop_codes(codes);
    }

    /// Notes that the patch whose result the draft is names a member. A flag of a verified address
    /// is set then, even if the patch changes the address too.
    pub fn name(&mut self, member: Attribute) {
        self.named.push(member);
    }

    /// Notes that the username in the body is what the user shall have, also where it is the
    /// address that the write changes.
    pub const fn keep_username(&mut self) {
        self.keeps_username = true;
    }

    /// Adds a violation. `words` is called only if it is listed.
    fn add_violation<P: Into<String>, D: Into<Cow<'static, str>>>(
        &mut self,
        excuse: Excuse,
        code: ViolationCode,
        words: impl FnOnce() -> (P, D),
    ) {
        self.violations.add(excuse, code, words);
    }

    fn add_wrong_type<P: Into<String>>(
        &mut self,
        pointer: impl FnOnce() -> P,
        wanted: &str,
        sent: &Json,
    ) {
        self.add_violation(Excuse::Never, ViolationCode::WrongType, || {
            (pointer(), format!("send {wanted}, not {}", sent.kind()))
        });
    }
}
