//! Resolves a draft to a profile, given the stored user.
//!
//! These rules need both: which stored members are kept, short forms, flags of verified addresses,
//! the default username, and which violations a stored value excuses.

use std::collections::{HashMap, HashSet};

use crate::{
    id::UserId,
    json::Json,
    schema::UserSchema,
    text::{email_key, phone_key},
    user::{
        Status, User,
        attribute::{Attribute, Kind},
        draft::Draft,
        keys::username_lookup,
        part::Part,
        profile::{Entry, Profile, Value},
        short_form,
    },
    write::violation::{Excuse, Violation, ViolationCode, Violations},
};

pub(super) struct Resolved {
    pub(super) status: Status,
    pub(super) profile: Profile,
}

/// The profile that results from a draft, or the violations that no stored value excuses. `current`
/// is the user that the draft changes; `None` if it creates one.
pub(super) fn resolve(
    schema: &UserSchema,
    draft: &Draft,
    current: Option<&User>,
) -> Result<Resolved, Violations> {
    let (mut violations, mut omitted) = counting(draft, current);
    if draft.is_oversized {
        return Err(listed(violations, omitted));
    }
    let mut profile = Profile::default();
    for (attribute, value) in &draft.values {
        if !matches!(attribute.kind(), Kind::ShortForm { .. }) {
            profile.set(*attribute, Some(value.clone()));
        }
    }
    for attribute in Attribute::ALL {
        if let Kind::ShortForm { list, .. } = attribute.kind() {
            resolve_short_form(*attribute, list, draft, current, &mut profile, &mut violations);
        }
    }
    resolve_flags(&mut profile, draft, current);
    let stored = current.map(|current| free_members(&current.profile));
    schema.drop_empty_texts(&mut profile, stored);
    resolve_username(&mut profile, draft, current, &mut violations);
    let undeclared = schema.violations(free_members(&profile), stored);
    omitted += undeclared.omitted();
    violations.extend(undeclared);
    if !violations.is_empty() {
        return Err(listed(violations, omitted));
    }
    let kept = current.map_or(Status::Active, |current| current.status);
    Ok(Resolved { status: draft.status.unwrap_or(kept), profile })
}

fn listed(violations: Vec<Violation>, omitted: usize) -> Violations {
    let mut violations = Violations::from_iter(violations);
    violations.omit(omitted);
    violations
}

/// The members of `attributes`.
fn free_members(profile: &Profile) -> &[(String, Json)] {
    match profile.get(Attribute::Attributes) {
        Some(Value::Object(members)) => members,
        _ => &[],
    }
}

/// The violations that no stored value excuses, in the order in which they were found, and the
/// number of further ones.
fn counting(draft: &Draft, current: Option<&User>) -> (Vec<Violation>, usize) {
    let mut stored = current.map(|current| Excuses::new(draft, current));
    let (mut violations, omitted) = draft
        .violations
        .counting(|excuse| stored.as_mut().is_some_and(|stored| stored.excuse(excuse)));
    if let Some(current) = current {
        violations.extend(draft.server_made_faults.iter().cloned());
        let has_type_fault = draft.server_made_faults.iter().any(|fault| fault.pointer == "/id");
        let is_other = |id: &String| UserId::parse(id) != Some(current.id);
        if !has_type_fault && draft.body_id.as_ref().is_some_and(is_other) {
            let detail = "send the id of the path, or leave it out";
            violations.push(Violation::new("/id", ViolationCode::IdMismatch, detail));
        }
    }
    (violations, omitted)
}

/// Decides whether a stored value excuses a violation: a value that equals the stored one is not
/// checked again.
///
/// A draft may have as many violations as a list has parts, so each is looked up and not compared
/// with all stored entries.
struct Excuses<'d> {
    draft: &'d Draft,
    current: &'d User,
    members: HashMap<Attribute, bool>,
    entries: HashMap<Attribute, HashSet<&'d Entry>>,
    parts: HashMap<(Attribute, Part), HashSet<&'d str>>,
}

impl<'d> Excuses<'d> {
    fn new(draft: &'d Draft, current: &'d User) -> Self {
        let (members, entries, parts) = Default::default();
        Self { draft, current, members, entries, parts }
    }

    fn excuse(&mut self, excuse: Excuse) -> bool {
        let Self { draft, current, .. } = *self;
        let sent = |attribute, index| entries(draft.values.get(&attribute)).get(index);
        let stored = |attribute| entries(current.profile.get(attribute)).iter();
        match excuse {
            Excuse::Never => false,
            Excuse::Member(attribute) => {
                let is_stored = || is_member_stored(attribute, draft, current);
                *self.members.entry(attribute).or_insert_with(is_stored)
            }
            Excuse::Entry(attribute, index) => {
                let known =
                    self.entries.entry(attribute).or_insert_with(|| stored(attribute).collect());
                sent(attribute, index).is_some_and(|sent| known.contains(sent))
            }
            Excuse::Part(attribute, index, part) => {
                let texts = || stored(attribute).filter_map(|entry| entry.text(part)).collect();
                let known = self.parts.entry((attribute, part)).or_insert_with(texts);
                let sent = sent(attribute, index).and_then(|entry| entry.text(part));
                sent.is_some_and(|sent| known.contains(sent))
            }
        }
    }
}

fn is_member_stored(attribute: Attribute, draft: &Draft, current: &User) -> bool {
    match (attribute.kind(), draft.values.get(&attribute)) {
        (Kind::ShortForm { list, .. }, Some(Value::Text(text))) => {
            let mut stored = current.profile.entries(list).iter();
            stored.any(|entry| entry.text(Part::Value) == Some(text))
        }
        (_, sent) => sent == current.profile.get(attribute),
    }
}

/// The entries of a list, or the one entry of a single object.
fn entries(value: Option<&Value>) -> &[Entry] {
    match value {
        Some(Value::Many(entries)) => entries,
        Some(Value::One(entry)) => std::slice::from_ref(entry),
        Some(Value::Text(_) | Value::Flag(_) | Value::Object(_)) | None => &[],
    }
}

fn resolve_short_form(
    short_form: Attribute,
    list: Attribute,
    draft: &Draft,
    current: Option<&User>,
    profile: &mut Profile,
    violations: &mut Vec<Violation>,
) {
    let short = match draft.values.get(&short_form) {
        Some(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let sent = profile.get(list).is_some().then(|| profile.entries(list));
    let stored = current.map_or(&[][..], |current| current.profile.entries(list));
    let key = |value: &str| {
        if list == Attribute::Emails {
            email_key(value)
        } else if list == Attribute::PhoneNumbers {
            phone_key(value)
        } else {
            value.to_owned()
        }
    };
    if let Ok(entries) = short_form::resolve(short, sent, stored, key) {
        profile.set(list, (!entries.is_empty()).then_some(Value::Many(entries)));
    } else {
        let (short, list) = (short_form.name(), list.name());
        let detail = format!("{short} and the primary entry of {list} differ; send one");
        let code = ViolationCode::ConflictingShortForm;
        violations.push(Violation::new(format!("/{short}"), code, detail));
    }
}

/// A flag belongs to one address. A write that changes the address resets the flag to false,
/// regardless of its value in the draft. A create, or a patch that names the flag, sets it.
fn resolve_flags(profile: &mut Profile, draft: &Draft, current: Option<&User>) {
    for attribute in Attribute::ALL {
        let Kind::Flag { vouches_for } = attribute.kind() else { continue };
        let is_email = *attribute == Attribute::EmailVerified;
        let named = current.is_none() || draft.named.contains(attribute);
        let key = if is_email { email_key } else { phone_key };
        let after = profile.primary_value(vouches_for).map(key);
        let before = current.and_then(|c| c.profile.primary_value(vouches_for)).map(key);
        if after.is_none() {
            profile.set(*attribute, None);
        } else if !named && after != before {
            profile.set(*attribute, Some(Value::Flag(false)));
        }
    }
}

/// Every user has a username: its own, otherwise the e-mail address, which the record marks. Its
/// own is the one in the draft, otherwise the stored one, unless a patch removes it. A username
/// that only repeats the marked one of the record is not its own, unless the draft keeps it.
fn resolve_username(
    profile: &mut Profile,
    draft: &Draft,
    current: Option<&User>,
    violations: &mut Vec<Violation>,
) {
    // Only an export tells a create about it.
    let is_marked = current.is_none() && profile.is_username_from_email();
    profile.set(Attribute::UsernameFromEmail, None);
    let email = profile.primary_value(Attribute::Emails).map(str::to_owned);
    let stored = current.map(|current| &current.profile);
    let marked = stored.filter(|stored| stored.is_username_from_email());
    if let Some(username) = profile.text(Attribute::Username) {
        let shown = marked.and_then(|marked| marked.text(Attribute::Username));
        let key = username_lookup(username);
        let follows = !draft.keeps_username
            || email.as_deref().is_some_and(|email| username_lookup(email) == key);
        let is_shown = follows && shown.is_some_and(|shown| username_lookup(shown) == key);
        if !(is_shown || is_marked && email.as_deref() == Some(username)) {
            return;
        }
    } else if let Some(stored) = stored.filter(|_| marked.is_none())
        && !draft.named.contains(&Attribute::Username)
    {
        return profile.set(Attribute::Username, stored.get(Attribute::Username).cloned());
    }
    let Some(email) = email else {
        let has_cause = |v: &Violation| {
            v.pointer.is_empty()
                || ["/email", "/username"].iter().any(|place| v.pointer.starts_with(place))
        };
        // An invalid address or username has its own violation.
        if !violations.iter().any(has_cause) {
            let detail = if profile.text(Attribute::Username).is_some() {
                "this is the address that the write removes: keep it, or give another username"
            } else {
                "give a username or an email"
            };
            violations.push(Violation::new("/username", ViolationCode::Required, detail));
        }
        return;
    };
    // An address may be no valid username.
    violations.retain(|v| v.code != ViolationCode::InvalidUsername);
    profile.set(Attribute::Username, Some(Value::Text(email)));
    profile.set(Attribute::UsernameFromEmail, Some(Value::Flag(true)));
}
