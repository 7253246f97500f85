//! What a client says a user should be, read off a JSON tree.
//!
//! Parsing never stops at the first fault: it walks the attribute table over the tree, keeps every
//! value that can be kept, normalised to NFC, and lists violations with their place, up to a limit
//! beyond which they are only counted. Whether a
//! violation counts is decided later, against the stored record: a value equal to the stored one
//! is never judged again, so that GET, edit, PUT always works.

mod entry;
mod free;
mod member;
mod rule;

use std::{borrow::Cow, collections::BTreeMap};

use crate::{
    attribute::Attribute,
    json::Json,
    profile::Value,
    violation::{Excuse, Findings, Violation, ViolationCode},
};

/// A user as a client sent it: read and normalised, not yet decided upon.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The members that were sent with a value. Short forms stand here as texts of their own.
    pub(crate) values: BTreeMap<Attribute, Value>,
    /// The status, if one was sent.
    pub(crate) status: Option<crate::user::Status>,
    /// The `id` in the body, held against the path on a later write.
    pub(crate) held_id: Option<String>,
    /// The `version` in the body, held like `If-Match` on a later write.
    pub(crate) held_version: Option<i64>,
    /// A `version` or `id` that is not of its type: a fault on a later write, ignored on create.
    pub(crate) held_faults: Vec<Violation>,
    /// All that is wrong, each with what would excuse it.
    pub(crate) violations: Findings,
    /// The members that a replacement keeps where it does not name them.
    pub(crate) kept: Vec<Attribute>,
    /// The flags that a replacement sets, whatever becomes of what they vouch for.
    pub(crate) vouched: Vec<Attribute>,
}

impl Draft {
    /// Reads a draft off a tree; never fails, what is wrong stands in the draft.
    pub fn parse(tree: Json) -> Self {
        let mut draft = Self::default();
        let kind = tree.kind();
        let Json::Object(members) = tree else {
            draft.refuse(Excuse::Never, ViolationCode::WrongType, || {
                ("", format!("send one user as a JSON object, not {kind}"))
            });
            return draft;
        };
        for (name, value) in members {
            draft.take_member(&name, value);
        }
        draft
    }

    /// Forgets what was said of server-made members: they are ignored where a user is created.
    pub fn forget_server_made(&mut self) {
        self.held_id = None;
        self.held_version = None;
        self.held_faults.clear();
    }

    /// Takes what was sent as it is where a rule of these codes alone objects.
    pub fn excuse(&mut self, codes: &[ViolationCode]) {
        self.violations.drop_codes(codes);
    }

    /// Has a replacement keep the stored value of a member that it does not name: for a caller
    /// who cannot know of it.
    pub fn retain(&mut self, member: Attribute) {
        self.kept.push(member);
    }

    /// Has a replacement set a flag that it names, as a patch would.
    pub fn vouch(&mut self, flag: Attribute) {
        self.vouched.push(flag);
    }

    /// Holds a replacement to a version, as `version` in a body does.
    pub const fn hold_version(&mut self, version: i64) {
        self.held_version = Some(version);
    }

    /// Notes a violation; its place and its sentence are made only if it is listed.
    fn refuse<P: Into<String>, D: Into<Cow<'static, str>>>(
        &mut self,
        excuse: Excuse,
        code: ViolationCode,
        words: impl FnOnce() -> (P, D),
    ) {
        self.violations.add(excuse, code, words);
    }

    fn refuse_type<P: Into<String>>(
        &mut self,
        pointer: impl FnOnce() -> P,
        wanted: &str,
        sent: &Json,
    ) {
        self.refuse(Excuse::Never, ViolationCode::WrongType, || {
            (pointer(), format!("send {wanted}, not {}", sent.kind()))
        });
    }
}
