//! A parsed SCIM user, and the record that it makes.

use std::{collections::HashMap, mem};

use roster_core::{
    Attribute, Draft, Entry, Json, Part, User, Value, Work, json::size_of_members,
    violation::TOLERATED,
};

use super::value::without_repeats;
use crate::{app_role, error::ScimError, strictness::Strictness, work_email};

/// How many bytes of a body are read in the time of one comparison.
const READ_BYTES_PER_COMPARISON: usize = 8;

/// A parsed body.
#[derive(Clone, Debug)]
pub struct UserBody {
    /// The members of the record.
    pub(super) members: Vec<(String, Json)>,
    /// Changes of members of `attributes` that an extension has; null removes.
    pub(super) changes: Vec<(String, Json)>,
    /// What was sent for those of them that were converted.
    pub(super) as_sent: Vec<(String, Json)>,
    /// The members that a replacement keeps.
    pub(super) kept: Vec<Attribute>,
    /// The declared attributes that a replacement keeps.
    pub(super) kept_declared: Vec<String>,
    /// Whether the client sent the username, which is read from the record otherwise.
    pub(super) sends_username: bool,
    /// Whether roles may be app roles. The result of a PATCH has none.
    pub(super) reads_app_roles: bool,
    pub(super) strictness: Strictness,
    /// The names of the attributes that no schema has. Tolerant parsing drops them.
    pub dropped: Vec<String>,
}

impl UserBody {
    /// The user that a create makes of it.
    pub fn created(self) -> Draft {
        let Self { mut members, changes, strictness, reads_app_roles, .. } = self;
        if reads_app_roles {
            read_app_roles(&mut members, &[]);
        }
        draft(members, &changes, strictness)
    }

    /// The user that replaces this one. Fails if the body takes more comparisons than `work`
    /// allows.
    pub fn replacing(&self, user: &User, work: &Work) -> Result<Draft, ScimError> {
        let size = size_of_members(&self.members) + size_of_members(&self.changes);
        work.spend(size / READ_BYTES_PER_COMPARISON)?;
        let mut members = self.members.clone();
        if self.reads_app_roles {
            read_app_roles(&mut members, user.profile.entries(Attribute::Roles));
        }
        for member in &self.kept {
            let stored = match user.profile.get(*member) {
                Some(Value::Text(text)) => Json::Text(text.clone()),
                Some(Value::Flag(flag)) => Json::Bool(*flag),
                Some(Value::Object(attributes)) => Json::Object(attributes.clone()),
                _ => continue,
            };
            members.push((member.name().to_owned(), stored));
        }
        let emails = members.iter_mut().find(|(name, _)| name == Attribute::Emails.name());
        if let Some((_, emails)) = emails {
            work_email::without_types(emails, user);
        }
        self.keep_declared(&mut members, user);
        let mut draft = draft(members, &self.changes_of(user), self.strictness);
        if self.sends_username {
            draft.keep_username();
        }
        Ok(draft)
    }

    /// The changes of declared attributes. What a response returned stays as it is stored.
    fn changes_of(&self, user: &User) -> Vec<(String, Json)> {
        let mut changes = self.changes.clone();
        let Some(Value::Object(stored)) = user.profile.get(Attribute::Attributes) else {
            return changes;
        };
        for returned in self.as_sent.iter().filter(|sent| stored.contains(sent)) {
            if let Some(change) = changes.iter_mut().find(|(name, _)| *name == returned.0) {
                change.1.clone_from(&returned.1);
            }
        }
        changes
    }

    /// Keeps the attributes of the declared extensions that the body does not have.
    fn keep_declared(&self, members: &mut Vec<(String, Json)>, user: &User) {
        let Some(Value::Object(stored)) = user.profile.get(Attribute::Attributes) else { return };
        let name = Attribute::Attributes.name();
        let kept: Vec<&(String, Json)> = {
            let sent = members.iter().find(|(found, _)| found == name).map(|(_, sent)| sent);
            let is_sent = |name: &str| sent.is_some_and(|sent| sent.member(name).is_some());
            let is_kept = |name: &String| self.kept_declared.contains(name) && !is_sent(name);
            stored.iter().filter(|(name, _)| is_kept(name)).collect()
        };
        if kept.is_empty() {
            return;
        }
        if members.iter().all(|(found, _)| found != name) {
            members.push((name.to_owned(), Json::Object(Vec::new())));
        }
        if let Some((_, Json::Object(own))) = members.iter_mut().find(|(found, _)| found == name) {
            own.extend(kept.into_iter().cloned());
        }
    }
}

/// Reads the app roles of a body, except those whose text is among these roles of the user.
fn read_app_roles(members: &mut [(String, Json)], stored: &[Entry]) {
    let roles = members.iter_mut().find(|(name, _)| name == Attribute::Roles.name());
    let Some((_, roles)) = roles else { return };
    let Json::Array(entries) = roles else { return };
    let objects = entries.iter_mut().filter_map(|entry| {
        let Json::Object(role) = entry else { return None };
        Some(role)
    });
    if app_role::read(objects, stored.iter().filter_map(|role| role.text(Part::Value))) {
        // Two roles may now have the same value.
        *roles = without_repeats(mem::replace(roles, Json::Null));
    }
}

fn draft(
    mut members: Vec<(String, Json)>,
    changes: &[(String, Json)],
    strictness: Strictness,
) -> Draft {
    if !changes.is_empty() {
        let name = Attribute::Attributes.name();
        let at = members.iter().position(|(found, _)| found == name).unwrap_or(members.len());
        if at == members.len() {
            members.push((name.to_owned(), Json::Object(Vec::new())));
        }
        // Anything else is rejected.
        if let Some((_, Json::Object(attributes))) = members.get_mut(at) {
            change(attributes, changes);
        }
    }
    let mut draft = Draft::parse(Json::Object(members));
    if strictness == Strictness::Tolerant {
        draft.excuse(TOLERATED);
    }
    draft
}

/// Sets members of an object.
fn change(members: &mut Vec<(String, Json)>, changes: &[(String, Json)]) {
    let names = members.iter().enumerate().map(|(at, (name, _))| (name.clone(), at));
    let mut places: HashMap<String, usize> = names.collect();
    for (name, value) in changes {
        if let Some((_, found)) = places.get(name).and_then(|at| members.get_mut(*at)) {
            found.clone_from(value);
        } else {
            places.insert(name.clone(), members.len());
            members.push((name.clone(), value.clone()));
        }
    }
}
