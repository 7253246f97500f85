//! In a dry run: which names and addresses earlier lines of the same stream would hold.
//!
//! Nothing is stored, so the store cannot know. Kept are digests, up to a bound; lines beyond it
//! are held against the collection alone. A digest is seeded anew for each run and 64 bits long:
//! among a million lines two of them meet by chance once in ten million runs. What a replacement
//! would set free counts as still held: to know better takes the whole collection once more.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, Hash, RandomState},
};

use roster_core::{
    Attribute, Effect, EventKind, Failure, Keys, OnConflict, Outcome, Refusal, Rules, Sharing,
    Taken, User, UsernameOrigin,
};

/// Most names and addresses that a dry run remembers: what a hash map of 2^21 places holds.
const REMEMBERED_MAX: usize = (1 << 21) / 8 * 7;

/// Of a claim, in two halves: with its holder it takes 12 bytes then, and 16 else.
type Digest = [u32; 2];
/// Of a user's id. Where two of them meet by chance, a dry run replaces where it should refuse.
type Holder = u32;

/// What earlier lines would hold.
#[derive(Debug)]
pub(super) struct Clashes {
    held: HashMap<Digest, Holder>,
    digests: RandomState,
    rules: Rules,
    on_conflict: OnConflict,
}

impl Clashes {
    pub(super) fn new(rules: Rules, on_conflict: OnConflict) -> Self {
        Self { held: HashMap::new(), digests: RandomState::new(), rules, on_conflict }
    }

    /// Holds what a line would come to against the lines before it.
    pub(super) fn judge(&mut self, outcome: Outcome) -> Result<Outcome, Failure> {
        let Ok(user) = User::from_record(&outcome.stored.record) else { return Ok(outcome) };
        let creates = match outcome.effect {
            Effect::Skipped => return Ok(outcome),
            Effect::Changed(kind) => kind == EventKind::Created,
            Effect::Unchanged => false,
        };
        let [holder, _] = self.digest(user.id);
        let claims = self.claims(&user);
        let held = claims.iter().filter_map(|(claim, digest)| {
            let other = self.held.get(digest).filter(|other| **other != holder)?;
            Some((*claim, *other))
        });
        let held: Vec<(Claim, Holder)> = held.collect();
        let Some((_, first)) = held.first().copied() else {
            self.remember(&claims, holder);
            return Ok(outcome);
        };
        // Whom the store would have replaced is a holder too.
        let alone = creates && held.iter().all(|(_, other)| *other == first);
        match self.on_conflict {
            OnConflict::Skip => Ok(Outcome { effect: Effect::Skipped, ..outcome }),
            OnConflict::Replace if alone => {
                self.remember(&claims, first);
                Ok(Outcome { effect: Effect::Changed(EventKind::Updated), ..outcome })
            }
            OnConflict::Fail | OnConflict::Replace => {
                Err(Failure::Refused(Refusal::Taken(told(&held, &user))))
            }
        }
    }

    /// What the user holds alone.
    fn claims(&self, user: &User) -> Vec<(Claim, Digest)> {
        let keys = Keys::of(user);
        let email = keys.email.filter(|_| self.rules.email == Sharing::Unique);
        let external_id = keys.external_id.filter(|_| self.rules.external_id == Sharing::Unique);
        let all = [
            (Claim::Username, Some(keys.username)),
            (Claim::Email, email),
            (Claim::ExternalId, external_id),
        ];
        let held = all.into_iter().filter_map(|(claim, key)| Some((claim, key?)));
        held.map(|(claim, key)| (claim, self.digest((claim, key)))).collect()
    }

    fn digest(&self, of: impl Hash) -> Digest {
        let whole = self.digests.hash_one(of);
        let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or_default();
        [half(whole >> 32), half(whole)]
    }

    fn remember(&mut self, claims: &[(Claim, Digest)], holder: Holder) {
        if self.held.len() + claims.len() <= REMEMBERED_MAX {
            self.held.extend(claims.iter().map(|(_, digest)| (*digest, holder)));
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

fn told(held: &[(Claim, Holder)], user: &User) -> Taken {
    let given = user.profile.text(Attribute::Username);
    let by_default = given == user.profile.primary_value(Attribute::Emails);
    let origin = if by_default { UsernameOrigin::Email } else { UsernameOrigin::Given };
    let is_taken = |claim| held.iter().any(|(taken, _)| *taken == claim);
    Taken {
        username: is_taken(Claim::Username).then_some(origin),
        email: is_taken(Claim::Email),
        external_id: is_taken(Claim::ExternalId),
    }
}
