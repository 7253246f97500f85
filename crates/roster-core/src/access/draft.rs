//! A new key as a caller describes it, parsed from a JSON tree. All violations are reported
//! together, each with a pointer.

use super::{
    api_key::{ApiKey, Reach},
    scope::{Scope, Scopes},
    token::Presented,
};
use crate::{
    json::Json,
    limits::{KEY_LIFETIME_DEFAULT_MS, KEY_NAME_LENGTH_MAX, KEY_SCOPES_MAX},
    tenant::TenantId,
    text::is_control_or_format,
    timestamp::Timestamp,
    write::{
        command::Actor,
        violation::{Violation, ViolationCode, Violations},
    },
};

/// A valid description of a new key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDraft {
    /// What it is for: 1 to 64 characters, without control and format characters.
    pub name: String,
    /// Its scopes; at least one.
    pub scopes: Scopes,
    /// When it expires.
    pub expiry: Expiry,
    /// Whether it has its scopes in all tenants.
    pub has_all_tenants: bool,
}

/// When a new key expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expiry {
    /// After a year.
    #[default]
    Default,
    /// At this time.
    At(Timestamp),
    /// Never.
    Never,
}

impl KeyDraft {
    /// Parses a draft from a tree. All violations are reported together.
    pub fn parse(tree: &Json, now: Timestamp) -> Result<Self, Violations> {
        let mut parser = KeyParser::default();
        let Json::Object(members) = tree else {
            let detail = format!("send one key as a JSON object, not {}", tree.kind());
            return Err(Violation::new("", ViolationCode::WrongType, detail).into());
        };
        for (name, value) in members {
            parser.parse_member(name, value, now);
        }
        parser.finish()
    }

    /// A draft from values that are not JSON, under the same rules.
    pub fn of(
        name: &str,
        scopes: Scopes,
        expiry: Expiry,
        now: Timestamp,
    ) -> Result<Self, Violations> {
        let mut parser = KeyParser::default();
        parser.set_name(name);
        parser.set_scopes(scopes);
        parser.set_expiry(expiry, now);
        parser.finish()
    }

    /// The key with this token. `tenant` is its tenant, unless it has all.
    pub fn into_key(
        self,
        tenant: TenantId,
        token: Presented,
        actor: &Actor,
        now: Timestamp,
    ) -> ApiKey {
        let reach = if self.has_all_tenants { Reach::All } else { Reach::Tenant(tenant) };
        let expires_at = match self.expiry {
            Expiry::Never => None,
            Expiry::At(time) => Some(time),
            Expiry::Default => {
                let end = now.as_millis().saturating_add(KEY_LIFETIME_DEFAULT_MS);
                Some(Timestamp::from_millis(end))
            }
        };
        ApiKey {
            id: token.id,
            name: self.name,
            scopes: self.scopes,
            reach,
            created_at: now,
            created_by: actor.to_string(),
            expires_at,
            revoked_at: None,
            rotated_at: None,
            last_used_at: None,
            secret: token.digest,
            former: None,
        }
    }
}

#[derive(Default)]
struct KeyParser {
    name: Option<String>,
    scopes: Option<Scopes>,
    expiry: Expiry,
    has_all_tenants: bool,
    violations: Violations,
}

impl KeyParser {
    fn parse_member(&mut self, member: &str, value: &Json, now: Timestamp) {
        match (member, value) {
            ("name", Json::Text(name)) => self.set_name(name),
            ("scopes", Json::Array(scopes)) => self.parse_scopes(scopes),
            ("tenants", Json::Text(text)) if text == "all" => self.has_all_tenants = true,
            ("tenants", Json::Null) => {}
            ("tenants", _) => {
                let detail = "all, or leave it out for the tenant of this base URL";
                self.add_violation("/tenants", ViolationCode::InvalidValue, detail);
            }
            ("expires_at", Json::Null) => self.expiry = Expiry::Never,
            ("expires_at", Json::Text(text)) => match Timestamp::parse(text) {
                Some(time) => self.set_expiry(Expiry::At(time), now),
                None => self.add_violation(
                    "/expires_at",
                    ViolationCode::InvalidValue,
                    "write a time such as 2027-01-31T12:00:00Z (RFC 3339)",
                ),
            },
            ("name" | "expires_at", other) => {
                let detail = format!("send a string, not {}", other.kind());
                self.add_violation(&format!("/{member}"), ViolationCode::WrongType, detail);
            }
            ("scopes", other) => {
                let detail = format!("send an array of scopes, not {}", other.kind());
                self.add_violation("/scopes", ViolationCode::WrongType, detail);
            }
            (unknown, _) => {
                self.violations.push(|| {
                    let detail = "a new key has name, scopes, expires_at and tenants";
                    let pointer = crate::text::Pointer::root().member(unknown);
                    Violation::new(pointer, ViolationCode::UnknownMember, detail)
                });
            }
        }
    }

    fn set_name(&mut self, name: &str) {
        let name = name.trim();
        if name.is_empty() {
            self.add_violation("/name", ViolationCode::Required, "say what the key is for");
        } else if name.chars().count() > KEY_NAME_LENGTH_MAX {
            let detail = format!("at most {KEY_NAME_LENGTH_MAX} characters");
            self.add_violation("/name", ViolationCode::TooLong, detail);
        } else if name.chars().any(is_control_or_format) {
            let detail = "write it without control and format characters";
            self.add_violation("/name", ViolationCode::ControlCharacter, detail);
        }
        self.name = Some(name.to_owned());
    }

    fn parse_scopes(&mut self, list: &[Json]) {
        let mut scopes = Vec::new();
        if list.len() > KEY_SCOPES_MAX {
            // One violation for the whole list, not one for each entry.
            let detail = format!("name each scope once: at most {KEY_SCOPES_MAX}");
            self.add_violation("/scopes", ViolationCode::TooMany, detail);
            self.scopes = Some(Scopes::NONE);
            return;
        }
        for (index, entry) in list.iter().enumerate() {
            let Json::Text(text) = entry else {
                self.add_invalid_scope(index);
                continue;
            };
            let Some(scope) = Scope::parse(text) else {
                self.add_invalid_scope(index);
                continue;
            };
            scopes.push(scope);
        }
        self.scopes = Some(scopes.into_iter().collect());
        if list.is_empty() {
            self.set_scopes(Scopes::NONE);
        }
    }

    fn add_invalid_scope(&mut self, index: usize) {
        let pointer = format!("/scopes/{index}");
        self.add_violation(&pointer, ViolationCode::InvalidValue, known_scopes());
    }

    fn set_scopes(&mut self, scopes: Scopes) {
        if scopes.is_empty() {
            self.add_violation("/scopes", ViolationCode::Required, known_scopes());
        }
        self.scopes = Some(scopes);
    }

    fn set_expiry(&mut self, expiry: Expiry, now: Timestamp) {
        if matches!(expiry, Expiry::At(time) if time <= now) {
            let detail = "give a time in the future";
            self.add_violation("/expires_at", ViolationCode::InvalidValue, detail);
        }
        self.expiry = expiry;
    }

    fn add_violation(
        &mut self,
        pointer: &str,
        code: ViolationCode,
        detail: impl Into<std::borrow::Cow<'static, str>>,
    ) {
        self.violations.push(|| Violation::new(pointer, code, detail));
    }

    fn finish(mut self) -> Result<KeyDraft, Violations> {
        let is_wrong = |violations: &Violations, pointer: &str| {
            violations.items().iter().any(|violation| violation.pointer == pointer)
        };
        if self.name.is_none() && !is_wrong(&self.violations, "/name") {
            self.add_violation("/name", ViolationCode::Required, "say what the key is for");
        }
        if self.scopes.is_none() && !is_wrong(&self.violations, "/scopes") {
            self.add_violation("/scopes", ViolationCode::Required, known_scopes());
        }
        match (self.name, self.scopes) {
            (Some(name), Some(scopes)) if self.violations.is_empty() => {
                let Self { expiry, has_all_tenants, .. } = self;
                Ok(KeyDraft { name, scopes, expiry, has_all_tenants })
            }
            _ => Err(self.violations),
        }
    }
}

fn known_scopes() -> String {
    let names: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    format!("name at least one of {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);

    fn parse(text: &str) -> Result<KeyDraft, Vec<(String, ViolationCode)>> {
        KeyDraft::parse(&json::read(text.as_bytes()).unwrap(), NOW).map_err(|violations| {
            violations.into_iter().map(|violation| (violation.pointer, violation.code)).collect()
        })
    }

    #[test]
    fn a_key_needs_a_name_and_scopes_and_expires_after_a_year() {
        let draft = parse(r#"{"name":" Billing ","scopes":["users:read","events:read"]}"#).unwrap();
        assert_eq!((draft.name.as_str(), draft.expiry), ("Billing", Expiry::Default));
        assert_eq!(draft.scopes.to_string(), "users:read events:read");
        let never = parse(r#"{"name":"a","scopes":["scim"],"expires_at":null}"#).unwrap();
        assert_eq!(never.expiry, Expiry::Never);
        let then = parse(r#"{"name":"a","scopes":["scim"],"expires_at":"2027-01-31T12:00:00Z"}"#);
        assert_eq!(then.unwrap().expiry, Expiry::At(Timestamp::from_millis(1_801_396_800_000)));
    }

    #[test]
    fn all_violations_are_reported_together() {
        use ViolationCode::{
            ControlCharacter, InvalidValue, Required, TooLong, TooMany, UnknownMember, WrongType,
        };
        let at = |pointer: &str, code| (pointer.to_owned(), code);
        assert_eq!(parse("[]"), Err(vec![at("", WrongType)]));
        assert_eq!(parse("{}"), Err(vec![at("/name", Required), at("/scopes", Required)]));
        assert_eq!(
            parse(
                r#"{"name":"a\u0007","scopes":["users:read","root",7],"expires_at":"soon","a/b":1}"#
            ),
            Err(vec![
                at("/name", ControlCharacter),
                at("/scopes/1", InvalidValue),
                at("/scopes/2", InvalidValue),
                at("/expires_at", InvalidValue),
                at("/a~1b", UnknownMember),
            ])
        );
        assert_eq!(
            parse(r#"{"name":7,"scopes":[],"expires_at":"2025-12-31T23:59:59Z"}"#),
            Err(vec![
                at("/name", WrongType),
                at("/scopes", Required),
                at("/expires_at", InvalidValue),
            ])
        );
        for hidden in ["\\u202e", "\\u200b", "\\u2066", "\\ufeff"] {
            let text = format!(r#"{{"name":"a{hidden}b","scopes":["scim"]}}"#);
            assert_eq!(parse(&text), Err(vec![at("/name", ControlCharacter)]), "{hidden}");
        }
        let long = format!(r#"{{"name":"{}","scopes":["scim"]}}"#, "é".repeat(65));
        assert_eq!(parse(&long), Err(vec![at("/name", TooLong)]));
        assert!(parse(&long.replacen('é', "", 1)).is_ok());
        let many = |count: usize| {
            let scopes = vec![r#""scim""#; count].join(",");
            parse(&format!(r#"{{"name":"a","scopes":[{scopes}]}}"#))
        };
        assert!(many(KEY_SCOPES_MAX).is_ok());
        assert_eq!(many(KEY_SCOPES_MAX + 1), Err(vec![at("/scopes", TooMany)]));
    }
}
