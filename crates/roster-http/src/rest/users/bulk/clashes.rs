//! In a dry run: which names and addresses earlier lines of the same stream would hold.
//!
//! Nothing is stored, so the store cannot know. Kept are digests, up to a bound; lines beyond it
//! are held against the collection alone. A digest is seeded anew for each run and 64 bits long:
//! among a million lines two of them meet by chance once in ten million runs.

use std::{
    collections::HashSet,
    hash::{BuildHasher as _, RandomState},
};

use roster_core::{
    Attribute, Effect, EventKind, Failure, Keys, OnConflict, Outcome, Refusal, Rules, Sharing,
    Taken, User, UsernameOrigin,
};

/// Most names and addresses that a dry run remembers: what a hash set of 2^21 places holds.
const REMEMBERED_MAX: usize = (1 << 21) / 8 * 7;

/// What earlier lines would hold.
#[derive(Debug)]
pub(super) struct Clashes {
    held: HashSet<u64>,
    digests: RandomState,
    rules: Rules,
    on_conflict: OnConflict,
}

impl Clashes {
    pub(super) fn new(rules: Rules, on_conflict: OnConflict) -> Self {
        Self { held: HashSet::new(), digests: RandomState::new(), rules, on_conflict }
    }

    /// Holds what a line would come to against the lines before it.
    pub(super) fn judge(&mut self, outcome: Outcome) -> Result<Outcome, Failure> {
        let Ok(user) = User::from_record(&outcome.stored.record) else { return Ok(outcome) };
        let claims = self.claims(&user);
        let taken = claims.iter().filter(|(_, digest)| self.held.contains(digest));
        let taken: Vec<Claim> = taken.map(|(claim, _)| *claim).collect();
        let creates = outcome.effect == Effect::Changed(EventKind::Created);
        if !creates || taken.is_empty() {
            if outcome.effect != Effect::Skipped {
                self.remember(&claims);
            }
            return Ok(outcome);
        }
        // A holder is found by name or address alone.
        let found = taken.iter().any(|claim| *claim != Claim::ExternalId);
        match self.on_conflict {
            OnConflict::Skip if found => Ok(Outcome { effect: Effect::Skipped, ..outcome }),
            OnConflict::Replace if found => {
                self.remember(&claims);
                Ok(Outcome { effect: Effect::Changed(EventKind::Updated), ..outcome })
            }
            OnConflict::Fail | OnConflict::Skip | OnConflict::Replace => {
                Err(Failure::Refused(Refusal::Taken(told(&taken, &user))))
            }
        }
    }

    /// What the user holds alone.
    fn claims(&self, user: &User) -> Vec<(Claim, u64)> {
        let keys = Keys::of(user);
        let email = keys.email.filter(|_| self.rules.email == Sharing::Unique);
        let external_id = keys.external_id.filter(|_| self.rules.external_id == Sharing::Unique);
        let all = [
            (Claim::Username, Some(keys.username)),
            (Claim::Email, email),
            (Claim::ExternalId, external_id),
        ];
        let held = all.into_iter().filter_map(|(claim, key)| Some((claim, key?)));
        held.map(|(claim, key)| (claim, self.digests.hash_one((claim, key)))).collect()
    }

    fn remember(&mut self, claims: &[(Claim, u64)]) {
        if self.held.len() + claims.len() <= REMEMBERED_MAX {
            self.held.extend(claims.iter().map(|(_, digest)| *digest));
        }
    }
}

/// What a user may hold alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Claim {
    Username,
    Email,
    ExternalId,
}

fn told(taken: &[Claim], user: &User) -> Taken {
    let given = user.profile.text(Attribute::Username);
    let by_default = given == user.profile.primary_value(Attribute::Emails);
    let origin = if by_default { UsernameOrigin::Email } else { UsernameOrigin::Given };
    Taken {
        username: taken.contains(&Claim::Username).then_some(origin),
        email: taken.contains(&Claim::Email),
        external_id: taken.contains(&Claim::ExternalId),
    }
}
