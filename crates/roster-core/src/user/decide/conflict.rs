//! The result of a command if other users have the keys that it claims.
//!
//! The engine finds these users in the transaction of the write.

use super::Claims;
use crate::{
    failure::{Refusal, UsernameOrigin},
    id::UserId,
    text::email_key,
    user::{
        attribute::Attribute,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    /// The user with the username.
    pub username: Option<UserId>,
    /// The user with the primary e-mail address.
    pub email: Option<UserId>,
    /// The user with the external id.
    pub external_id: Option<UserId>,
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
        let Holders { username, email, external_id } = holders;
        let refusal = self.refuse(username.is_some(), email.is_some(), external_id.is_some());
        let Some(refusal) = refusal else { return Settlement::Free };
        let UserAct::Create { upsert: Upsert { on_conflict, match_by: MatchBy::Unique }, .. } = act
        else {
            return Settlement::Refused(refusal);
        };
        // A username that the client did not send selects no user: anyone may have taken the
        // address of another person as a username.
        let username = username.filter(|_| self.username_origin == UsernameOrigin::Given);
        let mut holders = [username, email, external_id].into_iter().flatten();
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
    pub fn selecting(&self, rules: Rules) -> Option<Claims> {
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
        })
    }

    /// The external id that a create matches by, if it matches by it.
    pub fn match_key(&self, rules: Rules) -> Result<Option<&str>, Refusal> {
        let Self::Create { draft, upsert, .. } = self else { return Ok(None) };
        if upsert.match_by != MatchBy::ExternalId || upsert.on_conflict == OnConflict::Fail {
            return Ok(None);
        }
        let violation = |code, detail| {
            let pointer = format!("/{}", Attribute::ExternalId.name());
            Err(Refusal::Invalid(Violation::new(pointer, code, detail).into()))
        };
        if rules.external_id == Sharing::Shared {
            let detail = "external ids are not unique in this store, so match=external_id cannot \
                          be used; `roster policy set unique-external-id true` changes that";
            return violation(ViolationCode::InvalidValue, detail);
        }
        let is_invalid = !draft.violations.counting(|_| false).0.is_empty();
        match draft.values.get(&Attribute::ExternalId) {
            // An invalid draft is rejected as a create is, and not skipped.
            _ if is_invalid && upsert.on_conflict == OnConflict::Skip => Ok(None),
            Some(Value::Text(external_id)) => Ok(Some(external_id)),
            None if is_invalid => Ok(None),
            _ => violation(ViolationCode::Required, "send it: match=external_id needs it"),
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
