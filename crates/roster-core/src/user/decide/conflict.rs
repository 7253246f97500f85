//! The result of a command if other users have the keys that it claims.
//!
//! The engine finds these users in the transaction of the write.

use super::Claims;
use crate::{
    failure::{Refusal, UsernameOrigin},
    id::UserId,
    json::Json,
    schema::{IndexStatus, UserSchema},
    text::email_key,
    user::{
        attribute::Attribute,
        draft::Draft,
        keys::username_lookup,
        part::Part,
        profile::{Value, primary},
    },
    write::{
        command::{MatchBy, OnConflict, Rules, Sharing, Upsert, UserAct},
        violation::{Violation, ViolationCode},
    },
};

/// The other live users that have the claimed keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    /// The user with the username.
    pub username: Option<UserId>,
    /// The user with the primary e-mail address.
    pub email: Option<UserId>,
    /// The user with the external id.
    pub external_id: Option<UserId>,
    /// The users with values that the schema makes unique, each with the name of the member. While
    /// its index is not ready, others may have the value too, so it selects no user.
    pub indexed: Vec<(String, Option<UserId>)>,
}

/// How the command continues.
#[derive(Clone, Debug)]
pub enum Settlement {
    /// No other user has a claimed key: the command continues.
    Free,
    /// The command is rejected.
    Refused(Refusal),
    /// The command is skipped because of this user.
    PassedOver(UserId),
    /// This is executed instead. It has no preconditions.
    Instead(Box<UserAct>),
}

impl Claims {
    /// Settles the operation that made these claims.
    pub fn settle(&self, act: &UserAct, holders: Holders) -> Settlement {
        let Some(refusal) = self.refuse(&holders) else { return Settlement::Free };
        let Holders { username, email, external_id, indexed } = holders;
        let UserAct::Create { upsert: Upsert { on_conflict, match_by: MatchBy::Unique }, .. } = act
        else {
            return Settlement::Refused(refusal);
        };
        // A username that the client did not send selects no user: anyone may have taken the
        // address of another person as a username.
        let username = username.filter(|_| self.username_origin == UsernameOrigin::Given);
        let of_indexes = indexed.into_iter().filter_map(|(_, holder)| holder);
        let mut holders = [username, email, external_id].into_iter().flatten().chain(of_indexes);
        // The user with the username comes first.
        let Some(first) = holders.next() else { return Settlement::Refused(refusal) };
        if *on_conflict == OnConflict::Skip || holders.all(|holder| holder == first) {
            act.settle_with(first).unwrap_or(Settlement::Refused(refusal))
        } else {
            Settlement::Refused(refusal)
        }
    }
}

impl UserAct {
    /// The keys by which a create with [`OnConflict::Replace`] or [`OnConflict::Merge`] selects a
    /// user although it is no valid new user: a merge may omit what a create needs, and values that
    /// equal the stored ones are not validated. `None` for anything else.
    pub fn selecting(&self, rules: Rules, schema: &UserSchema) -> Option<Claims> {
        let Self::Create { draft, upsert, .. } = self else { return None };
        let updates = matches!(upsert.on_conflict, OnConflict::Replace | OnConflict::Merge);
        if upsert.match_by != MatchBy::Unique || !updates {
            return None;
        }
        let text = |attribute| match draft.values.get(&attribute) {
            Some(Value::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        let listed = || match draft.values.get(&Attribute::Emails) {
            Some(Value::Many(entries)) => primary(entries)?.text(Part::Value),
            _ => None,
        };
        let email = text(Attribute::Email).or_else(listed);
        // A username that an export marks as the address was not sent.
        let is_marked = draft.values.contains_key(&Attribute::UsernameFromEmail);
        let username =
            text(Attribute::Username).filter(|username| !is_marked || Some(*username) != email);
        let external_id = text(Attribute::ExternalId).map(str::to_owned);
        Some(Claims {
            username: username.map(username_lookup),
            username_origin: UsernameOrigin::Given,
            email: email.map(email_key).filter(|_| rules.email == Sharing::Unique),
            external_id: external_id.filter(|_| rules.external_id == Sharing::Unique),
            indexed: schema.unique_keys(free_members(draft)),
        })
    }

    /// The value that a create matches by, if it matches by one alone.
    pub fn match_key(
        &self,
        rules: Rules,
        schema: &UserSchema,
    ) -> Result<Option<MatchKey>, Refusal> {
        let Self::Create { draft, upsert, .. } = self else { return Ok(None) };
        match upsert.match_by {
            _ if upsert.on_conflict == OnConflict::Fail => Ok(None),
            MatchBy::Unique => Ok(None),
            MatchBy::ExternalId => {
                let id = external_id(draft, upsert.on_conflict, rules)?;
                Ok(id.map(|id| MatchKey::ExternalId(id.to_owned())))
            }
            MatchBy::Indexed(kind) => indexed(draft, upsert.on_conflict, schema, kind),
        }
    }

    /// How a create continues if this user exists; `None` if it fails.
    pub fn settle_with(&self, id: UserId) -> Option<Settlement> {
        if matches!(self, Self::Create { upsert, .. } if upsert.on_conflict == OnConflict::Skip) {
            return Some(Settlement::PassedOver(id));
        }
        // An update is not a create, so a conflict rejects it like any other write.
        self.updating(id).map(|update| Settlement::Instead(Box::new(update)))
    }
}

/// A value that a create matches by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchKey {
    /// The external id.
    ExternalId(String),
    /// A key in the unique index with this number.
    Indexed(i16, String),
}

fn is_invalid(draft: &Draft) -> bool {
    !draft.violations.counting(|_| false).0.is_empty()
}

/// The members of `attributes` of a draft.
fn free_members(draft: &Draft) -> &[(String, Json)] {
    match draft.values.get(&Attribute::Attributes) {
        Some(Value::Object(members)) => members,
        _ => &[],
    }
}

/// The external id of a create that matches by it.
fn external_id(
    draft: &Draft,
    on_conflict: OnConflict,
    rules: Rules,
) -> Result<Option<&str>, Refusal> {
    let violation = |code, detail| {
        let pointer = format!("/{}", Attribute::ExternalId.name());
        Err(Refusal::Invalid(Violation::new(pointer, code, detail).into()))
    };
    if rules.external_id == Sharing::Shared {
        let detail = "external ids are not unique in this store, so match=external_id cannot \
                      be used; `roster policy set unique-external-id true` changes that";
        return violation(ViolationCode::InvalidValue, detail);
    }
    match draft.values.get(&Attribute::ExternalId) {
        // An invalid draft is rejected as a create is, and not skipped.
        _ if is_invalid(draft) && on_conflict == OnConflict::Skip => Ok(None),
        Some(Value::Text(external_id)) => Ok(Some(external_id)),
        None if is_invalid(draft) => Ok(None),
        _ => violation(ViolationCode::Required, "send it: match=external_id needs it"),
    }
}

/// The key of a create in the unique index that it matches by.
fn indexed(
    draft: &Draft,
    on_conflict: OnConflict,
    schema: &UserSchema,
    kind: i16,
) -> Result<Option<MatchKey>, Refusal> {
    let index = schema.index(kind).filter(|index| index.unique && index.is_live());
    let violation = |pointer: String, code, detail| {
        Err(Refusal::Invalid(Violation::new(pointer, code, detail).into()))
    };
    let Some(index) = index else {
        let detail = "the schema no longer makes the member of match unique";
        return violation(String::new(), ViolationCode::InvalidValue, detail);
    };
    let pointer = || format!("/{}", index.member.name().replace('.', "/"));
    if index.status != IndexStatus::Ready {
        let detail = "match needs the index of this member, which is not ready: see GET /schema";
        return violation(pointer(), ViolationCode::InvalidValue, detail);
    }
    let keys = schema.unique_keys(free_members(draft));
    let mut own = keys.into_iter().filter(|(of, _)| *of == kind);
    match (own.next(), own.next()) {
        _ if is_invalid(draft) && on_conflict == OnConflict::Skip => Ok(None),
        (Some((kind, key)), None) => Ok(Some(MatchKey::Indexed(kind, key))),
        (None, _) if is_invalid(draft) => Ok(None),
        (None | Some(_), _) => {
            let detail = "send one value of the declared type: match needs it";
            violation(pointer(), ViolationCode::Required, detail)
        }
    }
}
