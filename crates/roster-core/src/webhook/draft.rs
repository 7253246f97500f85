//! A webhook as a caller describes it, parsed from a JSON tree. All violations are reported
//! together, each with a pointer.

use super::{EventTypes, Payload, Webhook, WebhookStatus, WebhookUrl};
use crate::{
    json::Json,
    limits::{KEY_NAME_LENGTH_MAX, WEBHOOK_BATCH_MAX, WEBHOOK_TYPES_MAX},
    text::is_control_or_format,
    write::{
        position::Position,
        violation::{Violation, ViolationCode, Violations, not_whole, read_members},
    },
};

/// Other members that the service sets. A body may contain them, as a webhook that was read does.
const READ_ONLY: [&str; 8] = [
    "lag",
    "failing_since",
    "attempts",
    "next_attempt_at",
    "former_secret_until",
    "created_by",
    "created_at",
    "updated_at",
];

/// A description of a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookDraft {
    /// What it is for.
    pub name: Option<String>,
    /// Where requests go.
    pub url: Option<WebhookUrl>,
    /// The types of its events.
    pub types: EventTypes,
    /// Whether it has the events of all tenants.
    pub all_tenants: bool,
    /// What a request contains of each event.
    pub payload: Payload,
    /// The maximum number of events of a request.
    pub batch_max: usize,
    /// Whether it is served; `None` keeps the status of a webhook that exists.
    pub status: Option<WebhookStatus>,
    /// The position after which a new one begins; `None` for the end of the log.
    pub after: Option<Position>,
    /// The version that the change is for.
    pub version: Option<i64>,
    /// The id of the webhook that the change is for.
    pub id: Option<String>,
    /// Whether it names a secret. The service makes those.
    pub has_secret: bool,
    /// Whether it has the position of a webhook that was read.
    pub has_position: bool,
}

impl Default for WebhookDraft {
    fn default() -> Self {
        Self {
            name: None,
            url: None,
            types: EventTypes::default_types(),
            all_tenants: false,
            payload: Payload::default(),
            batch_max: 1,
            status: None,
            after: None,
            version: None,
            id: None,
            has_secret: false,
            has_position: false,
        }
    }
}

impl WebhookDraft {
    /// Parses a draft from a tree.
    pub fn parse(tree: &Json) -> Result<Self, Violations> {
        let mut draft = Self::default();
        read_members(tree, "webhook", |name, value| draft.set(name, value))?;
        Ok(draft)
    }

    /// What a replacement of this webhook would send to change nothing, as JSON.
    pub fn tree_of(webhook: &Webhook) -> Json {
        Json::Object(webhook.settable())
    }

    fn set(&mut self, member: &str, value: &Json) -> Result<(), Violation> {
        match (member, value) {
            (
                "types" | "tenants" | "payload" | "batch_max" | "status" | "after" | "version",
                Json::Null,
            ) => {}
            ("name", Json::Text(text)) => self.name = Some(name_of(text)?),
            ("url", Json::Text(text)) => {
                let invalid =
                    |detail| Violation::of_member(member, ViolationCode::InvalidValue, detail);
                self.url = Some(WebhookUrl::parse(text).map_err(invalid)?);
            }
            ("types", Json::Array(items)) => self.types = types_of(items)?,
            ("tenants", Json::Text(text)) if text == "all" => self.all_tenants = true,
            ("payload", Json::Text(text)) => {
                let invalid =
                    || Violation::of_member(member, ViolationCode::InvalidValue, "full or thin");
                self.payload = Payload::parse(text).ok_or_else(invalid)?;
            }
            ("batch_max", Json::Int(number)) => {
                let number = usize::try_from(*number).ok();
                let number = number.filter(|number| (1..=WEBHOOK_BATCH_MAX).contains(number));
                let detail = format!("a whole number from 1 to {WEBHOOK_BATCH_MAX}");
                let invalid = || Violation::of_member(member, ViolationCode::InvalidValue, detail);
                self.batch_max = number.ok_or_else(invalid)?;
            }
            ("status", Json::Text(text)) => {
                let invalid = || {
                    Violation::of_member(member, ViolationCode::InvalidValue, "active or paused")
                };
                self.status = Some(WebhookStatus::parse(text).ok_or_else(invalid)?);
            }
            ("after", Json::Text(text)) if text == "latest" => {}
            ("after", Json::Text(text)) => {
                let detail = "a Roster-Position, the id of an event, or latest";
                let invalid = || Violation::of_member(member, ViolationCode::InvalidValue, detail);
                self.after = Some(Position::parse(text).ok_or_else(invalid)?);
            }
            ("id", Json::Text(text)) => self.id = Some(text.clone()),
            ("secret", _) => self.has_secret = true,
            ("position", value) => self.has_position = *value != Json::Null,
            ("version", Json::Int(number)) => self.version = Some(*number),
            ("tenants", Json::Text(_)) => {
                return Err(Violation::of_member(
                    member,
                    ViolationCode::InvalidValue,
                    "all, or omit it",
                ));
            }
            ("types", other) => {
                let detail = format!("send an array, not {}", other.kind());
                return Err(Violation::of_member(member, ViolationCode::WrongType, detail));
            }
            ("batch_max" | "version", other) => {
                let detail = not_whole(other);
                return Err(Violation::of_member(member, ViolationCode::WrongType, detail));
            }
            ("id" | "name" | "url" | "tenants" | "payload" | "status" | "after", other) => {
                let detail = format!("send a string, not {}", other.kind());
                return Err(Violation::of_member(member, ViolationCode::WrongType, detail));
            }
            (read_only, _) if READ_ONLY.contains(&read_only) => {}
            (unknown, _) => {
                let detail =
                    "a webhook has name, url, types, tenants, payload, batch_max, status and after";
                return Err(Violation::of_member(unknown, ViolationCode::UnknownMember, detail));
            }
        }
        Ok(())
    }
}

/// A name for people.
fn name_of(text: &str) -> Result<String, Violation> {
    let text = text.trim();
    if !(1..=KEY_NAME_LENGTH_MAX).contains(&text.chars().count()) {
        let detail = format!("1 to {KEY_NAME_LENGTH_MAX} characters that say what it is for");
        return Err(Violation::of_member("name", ViolationCode::InvalidValue, detail));
    }
    if text.chars().any(is_control_or_format) {
        let detail = "write it without control and format characters";
        return Err(Violation::of_member("name", ViolationCode::ControlCharacter, detail));
    }
    Ok(text.to_owned())
}

fn types_of(items: &[Json]) -> Result<EventTypes, Violation> {
    let text = |item: &Json| match item {
        Json::Text(text) => Some(text.as_str().to_owned()),
        Json::Null
        | Json::Bool(_)
        | Json::Int(_)
        | Json::Float(_)
        | Json::Array(_)
        | Json::Object(_) => None,
    };
    if !(1..=WEBHOOK_TYPES_MAX).contains(&items.len()) {
        let detail = format!("1 to {WEBHOOK_TYPES_MAX} types of events");
        return Err(Violation::of_member("types", ViolationCode::InvalidValue, detail));
    }
    let texts: Option<Vec<String>> = items.iter().map(text).collect();
    let not_text =
        || Violation::of_member("types", ViolationCode::WrongType, "an array of strings");
    let texts = texts.ok_or_else(not_text)?;
    EventTypes::parse(&texts).map_err(|unknown| {
        let shown: String = unknown.chars().take(64).collect();
        let detail = format!("{shown:?} is no type of events, as user.created or user.* are");
        Violation::of_member("types", ViolationCode::InvalidValue, detail)
    })
}
