//! The rule book: what becomes of a user when somebody asks for a change.
//!
//! Pure: the same state and command always give the same decision, so it rules every engine and
//! the oracle alike. What needs another record (is this name taken?) is told in the decision as
//! claims, for the engine to look up in the same transaction.

mod changed;
mod conflict;
mod resolve;

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    attribute::Attribute,
    command::{Act, Command, Guard, Preconditions, Rules, Sharing},
    draft::Draft,
    event::{Event, EventKind, MembersChanged},
    failure::{Refusal, Taken, UsernameOrigin},
    id::UserId,
    json::{self, Json},
    keys::Keys,
    limits::USER_BYTES_MAX,
    search_keys::{IndexDelta, SearchKeys},
    user::User,
    violation::{Violation, ViolationCode},
};
use changed::{changed_members, cleared_members};
use resolve::{Intent, resolve};

pub use conflict::{Holders, Settlement};

/// What becomes of a command that the rules allow.
#[derive(Clone, Debug)]
pub enum Decision {
    /// Everything is as it was asked to be: nothing is written.
    Unchanged,
    /// The user is created or updated.
    Write(Arc<Change>),
    /// The user leaves the collection; its last record is kept among the deleted users.
    Remove(Arc<Change>),
    /// The deleted user comes back into the collection.
    Restore(Arc<Change>),
    /// The deleted user is erased, with the records of all its events; this event is left.
    Purge(Arc<Event>),
}

/// A change of a user, to be written in one transaction.
#[derive(Clone, Debug)]
pub struct Change {
    /// The user after the change.
    pub user: User,
    /// Its canonical JSON.
    pub record: Bytes,
    /// Its keys.
    pub keys: Keys,
    /// Its keys before the change; `None` for a user that is created.
    pub keys_before: Option<Keys>,
    /// How its search keys change.
    pub index: IndexDelta,
    /// What no other live user may hold.
    pub claims: Claims,
    /// The entry of the change log.
    pub event: Arc<Event>,
}

/// The keys that are new to this user and must be nobody else's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The key of the user name.
    pub username: Option<String>,
    /// Where the user name came from.
    pub username_origin: UsernameOrigin,
    /// The key of the primary e-mail address.
    pub email: Option<String>,
    /// The external id.
    pub external_id: Option<String>,
}

impl Claims {
    /// The refusal for claims of which some are held by another user; `None` when none is.
    pub fn refuse(&self, username: bool, email: bool, external_id: bool) -> Option<Refusal> {
        let username = username.then_some(self.username_origin);
        let taken = Taken { username, email, external_id };
        taken.any().then_some(Refusal::Taken(taken))
    }
}

/// Decides upon a command, given the user it is about, if there is one where it is looked for.
pub fn decide(
    rules: Rules,
    current: Option<&User>,
    command: &Command,
) -> Result<Decision, Refusal> {
    match &command.act {
        Act::Create { id, draft, .. } => create(rules, *id, draft, command),
        Act::Replace { draft, preconditions, .. } => {
            let current = current.ok_or(Refusal::NotFound)?;
            let held_at = precondition(preconditions, draft, current)?;
            let user = revise(current, draft, &Intent::Replace, command)?;
            if rules.put == Guard::On && !held_at {
                let cleared = cleared_members(current, &user);
                if !cleared.is_empty() {
                    return Err(Refusal::PreconditionRequired { cleared });
                }
            }
            write(rules, current, user, command)
        }
        Act::Patch { patch, preconditions, .. } => {
            let current = current.ok_or(Refusal::NotFound)?;
            let (draft, intent) = patched(current, patch);
            precondition(preconditions, &draft, current)?;
            let user = revise(current, &draft, &intent, command)?;
            write(rules, current, user, command)
        }
        Act::Edit { edit, preconditions, .. } => {
            let current = current.ok_or(Refusal::NotFound)?;
            allowed(preconditions, current)?;
            let user = revise(current, &edit.apply(current)?, &Intent::Replace, command)?;
            write(rules, current, user, command)
        }
        Act::Delete { preconditions, .. } => {
            let current = leaving(rules, current, preconditions)?;
            let user = next_version(current, command);
            let change = change(rules, Some(current), user, EventKind::Deleted, command);
            Ok(Decision::Remove(Arc::new(change)))
        }
        Act::Restore { preconditions, .. } => {
            let current = current.ok_or(Refusal::NotFound)?;
            allowed(preconditions, current)?;
            let user = next_version(current, command);
            let mut change = change(rules, Some(current), user, EventKind::Restored, command);
            // While it was away, others may have taken what was its own.
            change.claims = claims(rules, None, &change.keys);
            Ok(Decision::Restore(Arc::new(change)))
        }
        Act::Purge { preconditions, .. } => {
            let current = leaving(rules, current, preconditions)?;
            let user = next_version(current, command);
            Ok(Decision::Purge(Arc::new(event(&user, EventKind::Purged, command))))
        }
    }
}

/// The user of a command after which there is less of it than before.
fn leaving<'u>(
    rules: Rules,
    current: Option<&'u User>,
    preconditions: &Preconditions,
) -> Result<&'u User, Refusal> {
    let current = current.ok_or(Refusal::NotFound)?;
    allowed(preconditions, current)?;
    if rules.delete == Guard::On && preconditions.is_empty() {
        return Err(Refusal::PreconditionRequired { cleared: Vec::new() });
    }
    Ok(current)
}

fn allowed(preconditions: &Preconditions, current: &User) -> Result<(), Refusal> {
    if preconditions.allow_write(current.version) {
        Ok(())
    } else {
        Err(Refusal::VersionMismatch { current: current.version })
    }
}

fn create(rules: Rules, id: UserId, draft: &Draft, command: &Command) -> Result<Decision, Refusal> {
    let resolved = resolve(draft, None, &Intent::Create).map_err(Refusal::Invalid)?;
    let user = User {
        id,
        version: 1,
        status: resolved.status,
        profile: resolved.profile,
        updated_at: id.created_at(),
    };
    let mut change = change(rules, None, user, EventKind::Created, command);
    change.claims.username_origin = resolved.username_origin;
    fits(&change)?;
    Ok(Decision::Write(Arc::new(change)))
}

/// Holds the headers and the body's `version` against the user; tells whether any was given.
fn precondition(
    preconditions: &Preconditions,
    draft: &Draft,
    current: &User,
) -> Result<bool, Refusal> {
    let by_body = draft.held_version.is_none_or(|version| version == current.version);
    if preconditions.allow_write(current.version) && by_body {
        Ok(!preconditions.is_empty() || draft.held_version.is_some())
    } else {
        Err(Refusal::VersionMismatch { current: current.version })
    }
}

/// The draft that a patch comes to: the patch on the GET form, then read like any body.
fn patched(current: &User, patch: &Json) -> (Draft, Intent) {
    let names = |attribute: Attribute| patch.member(attribute.name()).is_some();
    let intent = Intent::Patch {
        email_verified: names(Attribute::EmailVerified),
        phone_number_verified: names(Attribute::PhoneNumberVerified),
    };
    // A record that was just made or read back is always JSON.
    let stored = json::read(&current.to_record()).unwrap_or(Json::Object(Vec::new()));
    let Json::Object(mut members) = stored else { return (Draft::default(), intent) };
    // The stored version would hold itself: only one that the patch names is a precondition.
    members.retain(|(name, _)| name != Attribute::Version.name());
    let mut draft = Draft::parse(json::merge(Json::Object(members), patch.clone()));
    draft.refuse_unknown_removals(patch);
    (draft, intent)
}

/// The current user with the draft's values, one version on.
fn revise(
    current: &User,
    draft: &Draft,
    intent: &Intent,
    command: &Command,
) -> Result<User, Refusal> {
    let resolved = resolve(draft, Some(current), intent).map_err(Refusal::Invalid)?;
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

/// Writes the user, unless nothing differs.
fn write(rules: Rules, current: &User, user: User, command: &Command) -> Result<Decision, Refusal> {
    if user.status == current.status && user.profile == current.profile {
        return Ok(Decision::Unchanged);
    }
    let change = change(rules, Some(current), user, EventKind::Updated, command);
    fits(&change)?;
    Ok(Decision::Write(Arc::new(change)))
}

fn change(
    rules: Rules,
    current: Option<&User>,
    user: User,
    kind: EventKind,
    command: &Command,
) -> Change {
    let record = user.to_record();
    let keys = Keys::of(&user);
    let keys_before = current.map(Keys::of);
    let claims = claims(rules, keys_before.as_ref(), &keys);
    let event = Event {
        changed: changed_members(current, &user),
        record: record.clone(),
        ..event(&user, kind, command)
    };
    let index = match (kind, current) {
        (EventKind::Deleted, _) => {
            IndexDelta { removed: SearchKeys::of(&user), added: SearchKeys::default() }
        }
        (EventKind::Updated, Some(current)) => {
            IndexDelta::of_update(current, &user, &event.changed)
        }
        _ => IndexDelta { removed: SearchKeys::default(), added: SearchKeys::of(&user) },
    };
    Change { user, record, keys, keys_before, index, claims, event: Arc::new(event) }
}

/// The event of a change, without what changed.
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

/// A key is claimed when it is new to this user; one that is kept is already the user's own.
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
    }
}

fn fits(change: &Change) -> Result<(), Refusal> {
    if change.record.len() <= USER_BYTES_MAX {
        return Ok(());
    }
    let detail = format!("keep the whole record within {USER_BYTES_MAX} bytes of JSON");
    let violation = Violation::new("", ViolationCode::UserTooLarge, detail);
    Err(Refusal::Invalid(violation.into()))
}
