//! A schema as a client describes it, parsed from a JSON tree. All violations are reported at once.

use std::borrow::Cow;

use super::{DeclaredMember, ValueType, can_be_indexed, index_of_flags};
use crate::{
    json::Json,
    limits::{DECLARED_MEMBERS_MAX, INDEXED_MEMBERS_MAX, TEXT_LENGTH_MAX, URL_LENGTH_MAX},
    read::filter::free_path,
    text::{Controls, Pointer, check_controls, nearest},
    user::attribute::Attribute,
    write::violation::{Violation, ViolationCode, Violations},
};

/// The members of the document. All but `attributes` and `indexed_members` are set by the server
/// and ignored in a body.
const MEMBERS: [&str; 6] =
    ["version", "attributes", "indexed_members", "members", "indexes", "updated_at"];

/// The members of a declaration.
const PARTS: [&str; 9] = [
    "name",
    "type",
    "multi_valued",
    "required",
    "indexed",
    "unique",
    "case_exact",
    "description",
    "scim_schema",
];

/// The URNs of RFC 7643 and RFC 7644, and of Roster's own extension, begin with one of these.
const RESERVED_URNS: [&str; 4] = [
    "urn:ietf:params:scim:api:",
    "urn:ietf:params:scim:schemas:core:",
    "urn:ietf:params:scim:schemas:extension:enterprise:",
    "urn:ietf:params:scim:schemas:extension:roster:",
];

/// A parsed request body.
#[derive(Clone, Debug, Default)]
pub struct SchemaDraft {
    members: Vec<DeclaredMember>,
    indexed_members: Vec<Attribute>,
    pub(super) body_version: Option<i64>,
    violations: Violations,
}

impl SchemaDraft {
    /// Parses a draft from a tree. It never fails: the draft contains the violations.
    pub fn parse(tree: Json) -> Self {
        let mut draft = Self::default();
        let kind = tree.kind();
        let Json::Object(members) = tree else {
            draft.add("", ViolationCode::WrongType, format!("send a JSON object, not {kind}"));
            return draft;
        };
        if !members.iter().any(|(name, _)| name == "attributes") {
            draft.add("/attributes", ViolationCode::Required, "list the declared members");
        }
        for (name, value) in members {
            match (name.as_str(), value) {
                ("attributes", Json::Array(items)) => draft.parse_members(items),
                ("attributes", other) => draft.add_wrong_type("/attributes", "an array", &other),
                ("version", Json::Int(version)) => draft.body_version = Some(version),
                ("indexed_members", Json::Array(items)) => draft.parse_indexed(items),
                ("version" | "indexed_members", Json::Null)
                | ("members" | "indexes" | "updated_at", _) => {}
                ("indexed_members", other) => {
                    draft.add_wrong_type("/indexed_members", "an array", &other);
                }
                ("version", other) => draft.add_wrong_type("/version", "a whole number", &other),
                (unknown, _) => draft.add_unknown(&Pointer::root(), unknown, &MEMBERS),
            }
        }
        let declared = draft.members.iter().filter(|member| member.index.is_some()).count();
        if declared + draft.indexed_members.len() > INDEXED_MEMBERS_MAX {
            let detail = format!("at most {INDEXED_MEMBERS_MAX} members have an index");
            draft.add("/attributes", ViolationCode::TooMany, detail);
        }
        draft
    }

    /// The declared members and the built-in members with an index, or all violations.
    pub(super) fn members(&self) -> Result<(Vec<DeclaredMember>, Vec<Attribute>), Violations> {
        if self.violations.is_empty() {
            Ok((self.members.clone(), self.indexed_members.clone()))
        } else {
            Err(self.violations.clone())
        }
    }

    fn parse_indexed(&mut self, items: Vec<Json>) {
        // More names than members repeat one, and each is reported.
        if items.len() > Attribute::ALL.len() {
            let detail = format!("at most {INDEXED_MEMBERS_MAX} members have an index");
            return self.add("/indexed_members", ViolationCode::TooMany, detail);
        }
        for (index, item) in items.into_iter().enumerate() {
            let pointer = Pointer::root().member("indexed_members").index(index);
            let Json::Text(name) = &item else {
                self.add_wrong_type(pointer, "the name of a member", &item);
                continue;
            };
            match Attribute::from_name(name) {
                Some(found) if self.indexed_members.contains(&found) => {
                    self.add(pointer, ViolationCode::InvalidValue, "this member is named before");
                }
                Some(found) if can_be_indexed(found) => self.indexed_members.push(found),
                Some(_) => {
                    let detail = "this member has an index already, or cannot have one";
                    self.add(pointer, ViolationCode::InvalidValue, detail);
                }
                None => {
                    let all = Attribute::ALL.iter().copied().filter(|one| can_be_indexed(*one));
                    let names: Vec<&str> = all.map(Attribute::name).collect();
                    let detail = format!(
                        "the members are {}; a member of attributes gets \"indexed\": true in its \
                         declaration",
                        names.join(", ")
                    );
                    self.add(pointer, ViolationCode::UnknownMember, detail);
                }
            }
        }
    }

    fn parse_members(&mut self, items: Vec<Json>) {
        if items.len() > DECLARED_MEMBERS_MAX {
            let detail = format!("declare at most {DECLARED_MEMBERS_MAX} members");
            return self.add("/attributes", ViolationCode::TooMany, detail);
        }
        for (index, item) in items.into_iter().enumerate() {
            let pointer = Pointer::root().member("attributes").index(index);
            let Some(member) = self.parse_member(item, &pointer) else { continue };
            // SCIM compares names regardless of case (RFC 7643 section 2.1).
            let has_name = |other: &DeclaredMember| other.name.eq_ignore_ascii_case(&member.name);
            if self.members.iter().any(has_name) {
                let detail = "another declaration has this name, regardless of case";
                self.add(pointer.member("name"), ViolationCode::InvalidValue, detail);
            } else if let Some(urn) = self.respelled_urn(&member) {
                let detail = format!("write this URN as another declaration does: {urn}");
                self.add(pointer.member("scim_schema"), ViolationCode::InvalidValue, detail);
            } else if self.members.iter().any(|one| is_path(one, &member) || is_path(&member, one))
            {
                let detail = "this URN is the whole name of another member in SCIM, or the reverse";
                self.add(pointer.member("scim_schema"), ViolationCode::InvalidValue, detail);
            } else {
                self.members.push(member);
            }
        }
    }

    /// The URN of an earlier declaration that differs from this one's only in case: SCIM takes both
    /// for one schema (RFC 7643 section 2.1).
    fn respelled_urn(&self, member: &DeclaredMember) -> Option<String> {
        let urn = member.scim_schema.as_ref()?;
        let mut known = self.members.iter().filter_map(|other| other.scim_schema.as_ref());
        known.find(|other| *other != urn && other.eq_ignore_ascii_case(urn)).cloned()
    }

    fn parse_member(&mut self, item: Json, pointer: &Pointer) -> Option<DeclaredMember> {
        let Json::Object(parts) = item else {
            self.add_wrong_type(pointer.clone(), "an object", &item);
            return None;
        };
        let (mut name, mut value_type) = (None, None);
        let (mut multi_valued, mut required) = (false, false);
        let (mut indexed, mut unique, mut case_exact) = (false, false, false);
        let (mut description, mut scim_schema) = (None, None);
        let mut has = [false; 2];
        for (part, value) in parts {
            let at = || pointer.clone().member(&part);
            match (part.as_str(), value) {
                (known, Json::Null) if PARTS.contains(&known) => {}
                ("name", Json::Text(text)) => {
                    has[0] = true;
                    name = self.checked(at(), text, check_name);
                }
                ("type", Json::Text(text)) => {
                    has[1] = true;
                    let known = self.checked(at(), text, check_type);
                    value_type = known.and_then(|known| ValueType::parse(&known));
                }
                ("multi_valued", Json::Bool(flag)) => multi_valued = flag,
                ("required", Json::Bool(flag)) => required = flag,
                ("indexed", Json::Bool(flag)) => indexed = flag,
                ("unique", Json::Bool(flag)) => unique = flag,
                ("case_exact", Json::Bool(flag)) => case_exact = flag,
                ("description", Json::Text(text)) => {
                    description = self.checked(at(), text, check_description);
                }
                ("scim_schema", Json::Text(text)) => {
                    scim_schema = self.checked(at(), text, check_urn);
                }
                ("multi_valued" | "required" | "indexed" | "unique" | "case_exact", other) => {
                    self.add_wrong_type(at(), "true or false", &other);
                }
                (known, other) if PARTS.contains(&known) => {
                    has[0] |= known == "name";
                    has[1] |= known == "type";
                    self.add_wrong_type(at(), "a string", &other);
                }
                (unknown, _) => self.add_unknown(pointer, unknown, &PARTS),
            }
        }
        for (part, has) in [("name", has[0]), ("type", has[1])] {
            if !has {
                let detail = format!("give the member a {part}");
                self.add(pointer.clone().member(part), ViolationCode::Required, detail);
            }
        }
        let (name, value_type) = (name?, value_type?);
        if case_exact && value_type != ValueType::String {
            let detail = "only strings can be compared regardless of case or exactly";
            let pointer = pointer.clone().member("case_exact");
            self.add(pointer, ViolationCode::InvalidValue, detail);
        }
        Some(DeclaredMember {
            name,
            value_type,
            multi_valued,
            required,
            index: index_of_flags(indexed, unique),
            case_exact,
            description,
            scim_schema,
        })
    }

    /// The text, unless the check finds a violation.
    fn checked(
        &mut self,
        pointer: Pointer,
        text: String,
        check: fn(&str) -> Result<(), (ViolationCode, String)>,
    ) -> Option<String> {
        match check(&text) {
            Ok(()) => Some(text),
            Err((code, detail)) => {
                self.add(pointer, code, detail);
                None
            }
        }
    }

    fn add(
        &mut self,
        pointer: impl Into<String>,
        code: ViolationCode,
        detail: impl Into<Cow<'static, str>>,
    ) {
        self.violations.push(|| Violation::new(pointer, code, detail));
    }

    fn add_wrong_type(&mut self, pointer: impl Into<String>, wanted: &str, sent: &Json) {
        let detail = format!("send {wanted}, not {}", sent.kind());
        self.add(pointer, ViolationCode::WrongType, detail);
    }

    fn add_unknown(&mut self, pointer: &Pointer, name: &str, known: &[&'static str]) {
        self.violations.push(|| {
            let detail = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("the members are {}", known.join(", ")),
            };
            Violation::new(pointer.clone().member(name), ViolationCode::UnknownMember, detail)
        });
    }
}

fn check_name(name: &str) -> Result<(), (ViolationCode, String)> {
    if name.eq_ignore_ascii_case("password") {
        let detail = "Roster keeps no passwords, and SCIM discards this attribute";
        return Err((ViolationCode::PasswordNotKept, detail.to_owned()));
    }
    // Filters and SCIM (RFC 7643 section 2.1) can name such a member.
    if !name.contains('.') && free_path(name).is_some() {
        return Ok(());
    }
    let detail = "a name has 1 to 64 letters, digits, - and _, and begins with a letter";
    Err((ViolationCode::InvalidValue, detail.to_owned()))
}

fn check_type(name: &str) -> Result<(), (ViolationCode, String)> {
    if ValueType::parse(name).is_some() {
        return Ok(());
    }
    let all: Vec<&str> = ValueType::ALL.iter().map(|known| known.as_str()).collect();
    Err((ViolationCode::InvalidValue, format!("send one of {}", all.join(", "))))
}

fn check_description(text: &str) -> Result<(), (ViolationCode, String)> {
    if text.chars().nth(URL_LENGTH_MAX).is_some() {
        let detail = format!("shorten it to at most {URL_LENGTH_MAX} characters");
        return Err((ViolationCode::TooLong, detail));
    }
    check_controls(text, Controls::LineBreaks)
        .map_err(|detail| (ViolationCode::ControlCharacter, detail.to_string()))
}

/// A URN (RFC 8141) of characters that a filter and a path of SCIM can contain.
fn check_urn(urn: &str) -> Result<(), (ViolationCode, String)> {
    let refuse = |detail: &str| Err((ViolationCode::InvalidValue, detail.to_owned()));
    if urn.len() > TEXT_LENGTH_MAX {
        let detail = format!("shorten it to at most {TEXT_LENGTH_MAX} characters");
        return Err((ViolationCode::TooLong, detail));
    }
    let lower = urn.to_ascii_lowercase();
    // Nor one of which they begin: attributes are named by their URN and a colon.
    let is_reserved =
        |reserved: &str| lower.starts_with(reserved) || reserved.starts_with(&format!("{lower}:"));
    if RESERVED_URNS.into_iter().any(is_reserved) {
        return refuse("this URN is reserved; use one of your own, like urn:example:User");
    }
    let mut segments = lower.split(':');
    let is_segment = |segment: &str| {
        let is_allowed =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        !segment.is_empty() && segment.bytes().all(is_allowed)
    };
    let begins = segments.next() == Some("urn");
    if begins && lower.matches(':').count() >= 2 && segments.all(is_segment) {
        return Ok(());
    }
    refuse("send a URN, like urn:example:User: segments of letters, digits, -, _ and .")
}

/// Whether the URN of a schema is that of an attribute, its schema and its name.
fn is_path(schema: &DeclaredMember, attribute: &DeclaredMember) -> bool {
    let names = schema.scim_schema.as_ref().zip(attribute.scim_schema.as_ref());
    names.is_some_and(|(urn, of)| format!("{of}:{}", attribute.name).eq_ignore_ascii_case(urn))
}
