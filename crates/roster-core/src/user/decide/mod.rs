//! The rules for users: the pure function [`decide`].
//!
//! The same state and command always give the same decision, on every engine and on the oracle. A
//! decision lists what depends on other records (such as a username that must be unused) as
//! [`Claims`], which the engine checks in the same transaction.

mod changed;
mod conflict;
mod resolve;

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    failure::{Refusal, Taken, UsernameOrigin},
    id::UserId,
    json::{self, Json},
    limits::USER_BYTES_MAX,
    schema::{UserSchema, VALUE},
    user::{
        User,
        attribute::Attribute,
        draft::Draft,
        keys::Keys,
        search_keys::{IndexDelta, SearchKeys},
        short_form,
    },
    write::{
        command::{Command, Guard, Preconditions, Rules, Sharing, UserAct},
        event::{Event, EventKind, MembersChanged},
        violation::{Violation, ViolationCode},
    },
};
use changed::{changed_members, cleared_members};
use resolve::resolve;

pub use conflict::{Holders, MatchKey, Settlement};

/// The result of a command that the rules allow.
#[derive(Clone, Debug)]
pub enum Decision {
    /// The user already has the requested state: nothing is written.
    Unchanged,
    /// The user is created or updated.
    Write(Arc<Change>),
    /// The user is deleted; its last record is kept among the deleted users.
    Remove(Arc<Change>),
    /// The deleted user is restored.
    Restore(Arc<Change>),
    /// The deleted user is erased with the records of all its events. Only this event remains.
    Purge(Arc<Event>),
}

/// A change of a user, which one transaction writes.
#[derive(Clone, Debug)]
pub struct Change {
    /// The user after the change.
    pub user: Arc<User>,
    /// The canonical JSON of the user.
    pub record: Bytes,
    /// The user's keys.
    pub keys: Keys,
    /// The keys before the change; `None` for a new user.
    pub keys_before: Option<Keys>,
    /// The change of its search keys.
    pub index: IndexDelta,
    /// The keys that no other live user may have.
    pub claims: Claims,
    /// The entry of the change log.
    pub event: Arc<Event>,
}

/// The new keys of a user that no other live user may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The key of the username.
    pub username: Option<String>,
    /// The origin of the username.
    pub username_origin: UsernameOrigin,
    /// The key of the primary e-mail address.
    pub email: Option<String>,
    /// The external id.
    pub external_id: Option<String>,
    /// The keys in unique indexes, each with the number of its index.
    pub indexed: Vec<(i16, String)>,
}

impl Claims {
    /// The rejection if other users have some of the claimed keys; `None` if none is taken.
    pub fn refuse(&self, holders: &Holders) -> Option<Refusal> {
        let username = holders.username.is_some().then_some(self.username_origin);
        let (email, external_id) = (holders.email.is_some(), holders.external_id.is_some());
        let mut indexed: Vec<_> =
            holders.indexed.iter().map(|(member, _)| member.clone()).collect();
        // A user may have several values of a member.
        indexed.dedup();
        let taken = Taken { username, email, external_id, indexed };
        Some(taken).filter(Taken::any).map(Refusal::Taken)
    }
}

/// Decides a command with this operation. `current` is the user that it applies to (live or
/// deleted, see [`UserAct::target`]), if there is one.
pub fn decide(
    rules: Rules,
    schema: &UserSchema,
    current: Option<&User>,
    act: &UserAct,
    command: &Command,
) -> Result<Decision, Refusal> {
    let preconditions = &command.preconditions;
    match act {
        UserAct::Create { id, draft, .. } => create(rules, schema, *id, draft, command),
        UserAct::Replace { draft, .. } => {
            let current = current.ok_or(Refusal::NotFound)?;
            let has_precondition = precondition(preconditions, draft, current)?;
            let user = revise(schema, current, draft, command)?;
            if rules.put == Guard::On && !has_precondition {
                keep_members(current, &user)?;
            }
            write(rules, schema, current, user, command)
        }
        UserAct::Patch { patch, .. } => {
            let current = current.ok_or(Refusal::NotFound)?;
            let draft = patched(current, patch);
            precondition(preconditions, &draft, current)?;
            let user = revise(schema, current, &draft, command)?;
            write(rules, schema, current, user, command)
        }
        UserAct::Edit { edit, replaces, .. } => {
            let current = current.ok_or(Refusal::NotFound)?;
            check_preconditions(preconditions, current)?;
            let draft = edit.apply(current)?;
            let user = revise(schema, current, &draft, command)?;
            if *replaces && rules.put == Guard::On && !preconditions.name_a_version() {
                keep_members(current, &user)?;
            }
            write(rules, schema, current, user, command)
        }
        UserAct::Delete { .. } => {
            let current = to_remove(rules, current, preconditions)?;
            let user = next_version(current, command);
            let change = change(rules, schema, Some(current), user, EventKind::Deleted, command);
            Ok(Decision::Remove(Arc::new(change)))
        }
        UserAct::Restore { .. } => {
            let current = current.ok_or(Refusal::NotFound)?;
            check_preconditions(preconditions, current)?;
            let user = next_version(current, command);
            let kind = EventKind::Restored;
            let mut change = change(rules, schema, Some(current), user, kind, command);
            // Other users may have taken its keys since it was deleted.
            change.claims = claims(rules, None, &change.keys);
            change.claims.indexed = unique_keys(schema, &change.index);
            Ok(Decision::Restore(Arc::new(change)))
        }
        UserAct::Purge { .. } => {
            let current = to_remove(rules, current, preconditions)?;
            let user = next_version(current, command);
            Ok(Decision::Purge(Arc::new(event(&user, EventKind::Purged, command))))
        }
    }
}

/// Refuses a replacement that clears members.
fn keep_members(current: &User, user: &User) -> Result<(), Refusal> {
    let cleared = cleared_members(current, user);
    if cleared.is_empty() { Ok(()) } else { Err(Refusal::PreconditionRequired { cleared }) }
}

/// The user of a delete or a purge, if the preconditions and the guard allow it.
fn to_remove<'u>(
    rules: Rules,
    current: Option<&'u User>,
    preconditions: &Preconditions,
) -> Result<&'u User, Refusal> {
    let current = current.ok_or(Refusal::NotFound)?;
    check_preconditions(preconditions, current)?;
    if rules.delete == Guard::On && !preconditions.name_a_version() {
        return Err(Refusal::PreconditionRequired { cleared: Vec::new() });
    }
    Ok(current)
}

fn check_preconditions(preconditions: &Preconditions, current: &User) -> Result<(), Refusal> {
    if preconditions.allow_write(current.version) {
        Ok(())
    } else {
        Err(Refusal::VersionMismatch { current: current.version })
    }
}

fn create(
    rules: Rules,
    schema: &UserSchema,
    id: UserId,
    draft: &Draft,
    command: &Command,
) -> Result<Decision, Refusal> {
    let resolved = resolve(schema, draft, None).map_err(Refusal::Invalid)?;
    // The time of an id that is kept is that of the first creation.
    let at = if draft.kept_id().is_some() { command.at } else { id.created_at() };
    let user =
        User { id, version: 1, status: resolved.status, profile: resolved.profile, updated_at: at };
    let change = change(rules, schema, None, user, EventKind::Created, command);
    check_size(&change)?;
    Ok(Decision::Write(Arc::new(change)))
}

/// Checks the preconditions of the headers and the `version` of the body. Returns whether there was
/// any.
fn precondition(
    preconditions: &Preconditions,
    draft: &Draft,
    current: &User,
) -> Result<bool, Refusal> {
    let is_version_current = draft.body_version.is_none_or(|version| version == current.version);
    if preconditions.allow_write(current.version) && is_version_current {
        Ok(preconditions.name_a_version() || draft.body_version.is_some())
    } else {
        Err(Refusal::VersionMismatch { current: current.version })
    }
}

/// The draft that results from a patch: the patch is merged into the record and the result is
/// parsed like any body.
fn patched(current: &User, patch: &Json) -> Draft {
    if let Some(oversized) = Draft::of_oversized_patch(patch) {
        return oversized;
    }
    // A record that was just written or parsed is always JSON.
    let stored = json::read(&current.to_record()).unwrap_or(Json::Object(Vec::new()));
    let Json::Object(mut members) = stored else { return Draft::default() };
    // Only a version that the patch names is a precondition, so the stored one is removed.
    members.retain(|(name, _)| name != Attribute::Version.name());
    let kept = short_form::remove_cleared(&mut members, patch);
    let mut draft = Draft::parse(json::merge(Json::Object(members), patch.clone()));
    draft.check_removals(patch);
    for short_form in kept {
        draft.add_kept_entries(short_form);
    }
    let flags = [Attribute::EmailVerified, Attribute::PhoneNumberVerified];
    for member in flags.into_iter().chain([Attribute::Username]) {
        if patch.member(member.name()).is_some() {
            draft.name(member);
        }
    }
    draft
}

/// The current user with the draft's values, at the next version.
fn revise(
    schema: &UserSchema,
    current: &User,
    draft: &Draft,
    command: &Command,
) -> Result<User, Refusal> {
    let resolved = resolve(schema, draft, Some(current)).map_err(Refusal::Invalid)?;
    let mut user = next_version(current, command);
    user.status = resolved.status;
    user.profile = resolved.profile;
    Ok(user)
}

fn next_version(current: &User, command: &Command) -> User {
    User {
        version: current.version + 1,
        updated_at: current.updated_at.max(command.at),
        ..current.clone()
    }
}

/// The decision to write the user, or no change if it is equal.
fn write(
    rules: Rules,
    schema: &UserSchema,
    current: &User,
    user: User,
    command: &Command,
) -> Result<Decision, Refusal> {
    if user.status == current.status && user.profile == current.profile {
        return Ok(Decision::Unchanged);
    }
    let has_new_profile = user.profile != current.profile;
    let change = change(rules, schema, Some(current), user, EventKind::Updated, command);
    // Every user can be suspended, which makes a record a few bytes longer.
    if has_new_profile {
        check_size(&change)?;
    }
    Ok(Decision::Write(Arc::new(change)))
}

fn change(
    rules: Rules,
    schema: &UserSchema,
    current: Option<&User>,
    user: User,
    kind: EventKind,
    command: &Command,
) -> Change {
    let record = user.to_record();
    let keys = Keys::of(&user);
    let keys_before = current.map(Keys::of);
    let mut claims = claims(rules, keys_before.as_ref(), &keys);
    if user.profile.is_username_from_email() {
        claims.username_origin = UsernameOrigin::Email;
    }
    let event = Event {
        changed: changed_members(current, &user),
        record: record.clone(),
        ..event(&user, kind, command)
    };
    let indexes = &schema.indexes;
    let index = match (kind, current) {
        (EventKind::Deleted, _) => {
            IndexDelta { removed: SearchKeys::of(&user, indexes), added: SearchKeys::default() }
        }
        (EventKind::Updated, Some(current)) => {
            IndexDelta::of_update(current, &user, &event.changed, indexes)
        }
        _ => IndexDelta { removed: SearchKeys::default(), added: SearchKeys::of(&user, indexes) },
    };
    claims.indexed = unique_keys(schema, &index);
    let (user, event) = (Arc::new(user), Arc::new(event));
    Change { user, record, keys, keys_before, index, claims, event }
}

/// The event of a change, without the changed members and the record.
fn event(user: &User, kind: EventKind, command: &Command) -> Event {
    Event {
        kind,
        at: user.updated_at,
        actor: command.caller.actor.to_string(),
        request_id: command.caller.request_id.clone(),
        user_id: user.id,
        version: user.version,
        changed: Vec::new(),
        members: MembersChanged::default(),
        record: Bytes::new(),
    }
}

/// Claims the keys that are new to this user. A kept key already belongs to it.
fn claims(rules: Rules, before: Option<&Keys>, after: &Keys) -> Claims {
    let username = before.is_none_or(|before| before.username != after.username);
    let email =
        rules.email == Sharing::Unique && before.is_none_or(|before| before.email != after.email);
    let external_id = rules.external_id == Sharing::Unique
        && before.is_none_or(|b| b.external_id != after.external_id);
    Claims {
        username: username.then(|| after.username.clone()),
        username_origin: UsernameOrigin::Given,
        email: after.email.clone().filter(|_| email),
        external_id: after.external_id.clone().filter(|_| external_id),
        indexed: Vec::new(),
    }
}

/// The new keys in unique indexes. Those of absent values, and of values of another type than the
/// declared one, are not unique.
fn unique_keys(schema: &UserSchema, index: &IndexDelta) -> Vec<(i16, String)> {
    let is_unique = |kind| schema.index(kind).is_some_and(|index| index.unique);
    let added = index.added.indexed.iter();
    added.filter(|(kind, key)| key.starts_with(VALUE) && is_unique(*kind)).cloned().collect()
}

fn check_size(change: &Change) -> Result<(), Refusal> {
    if change.record.len() <= USER_BYTES_MAX {
        return Ok(());
    }
    let detail = format!("keep the whole record within {USER_BYTES_MAX} bytes of JSON");
    let violation = Violation::new("", ViolationCode::UserTooLarge, detail);
    Err(Refusal::Invalid(violation.into()))
}
