//! The names and addresses that earlier lines of a dry run would claim.
//!
//! A dry run stores nothing, so the store does not know them. They are kept as digests, up to a
//! maximum; later lines are then compared only with the stored users. The digests are 64 bits long
//! and have a new seed for each run: in a run of a million lines, the probability of a collision is
//! one in ten million. A name that a replacement would release still counts as taken, because an
//! exact check would need a second pass over all users.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, Hash, RandomState},
    sync::Arc,
};

use roster_core::{
    Effect, EventKind, Failure, Keys, MatchBy, OnConflict, Outcome, Refusal, Rules, Sharing, Taken,
    Upsert, User, UserSchema, UsernameOrigin,
    schema::{MemberIndex, VALUE},
};

/// The maximum number of stored names and addresses: the capacity of a hash map of 2^21 buckets.
const REMEMBERED_MAX: usize = (1 << 21) / 8 * 7;

/// The digest of a claim, as two halves: an entry then takes 12 bytes instead of 16.
type Digest = [u32; 2];
/// The digest of a user's id. On a collision, a dry run reports a replacement instead of an error.
type Holder = u32;

/// The claims of earlier lines.
#[derive(Debug)]
pub(super) struct Clashes {
    held: HashMap<Digest, Holder>,
    digests: RandomState,
    rules: Rules,
    schema: Arc<UserSchema>,
    upsert: Upsert,
    /// Whether new users have the ids of their lines.
    keeps_ids: bool,
}

impl Clashes {
    pub(super) fn new(
        rules: Rules,
        schema: Arc<UserSchema>,
        upsert: Upsert,
        keeps_ids: bool,
    ) -> Self {
        let (held, digests) = (HashMap::new(), RandomState::new());
        Self { held, digests, rules, schema, upsert, keeps_ids }
    }

    /// Compares the outcome of a line with the claims of the lines before it.
    pub(super) fn check(&mut self, outcome: Outcome) -> Result<Outcome, Failure> {
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
        if held.is_empty() {
            let id = self.digest((Claim::Id, user.id));
            if creates && self.held.contains_key(&id) {
                return Err(Failure::Refused(Refusal::IdTaken));
            }
            self.remember(&claims, holder);
            if self.keeps_ids {
                self.remember(&[(Claim::Id, id)], holder);
            }
            return Ok(outcome);
        }
        let is_from_email = user.profile.is_username_from_email();
        let origin = if is_from_email { UsernameOrigin::Email } else { UsernameOrigin::Given };
        // A username that was not sent selects no user.
        let is_sent = |claim| claim != Claim::Username || origin == UsernameOrigin::Given;
        let mut selected =
            held.iter().filter(|(claim, _)| is_sent(*claim)).map(|(_, other)| *other);
        let first = selected.next();
        // If the store would replace a stored user, that user is a second holder.
        let is_only = creates && selected.all(|other| Some(other) == first);
        let is_held = |claim| held.iter().any(|(held, _)| *held == claim);
        let matches = match self.upsert.match_by {
            MatchBy::Unique => true,
            MatchBy::ExternalId => is_held(Claim::ExternalId),
            MatchBy::Indexed(kind) => is_held(Claim::Indexed(kind)),
        };
        match (self.upsert.on_conflict, first.filter(|_| matches)) {
            (OnConflict::Skip, Some(_)) => Ok(Outcome { effect: Effect::Skipped, ..outcome }),
            (OnConflict::Replace | OnConflict::Merge, Some(first)) if is_only => {
                self.remember(&claims, first);
                Ok(Outcome { effect: Effect::Changed(EventKind::Updated), ..outcome })
            }
            _ => Err(Failure::Refused(Refusal::Taken(self.taken(&held, origin)))),
        }
    }

    /// The values of the user that must be unique.
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
        let unique = self.schema.indexes.iter().filter(|index| index.unique && index.is_live());
        let indexed = unique.flat_map(|index| {
            let keys = index.keys(user).into_iter().filter(|key| key.starts_with(VALUE));
            keys.map(|key| (Claim::Indexed(index.kind), key))
        });
        let held = held.chain(indexed);
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

/// A value that may have to be unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Claim {
    Id,
    Username,
    Email,
    ExternalId,
    /// A value in the unique index with this number.
    Indexed(i16),
}

impl Clashes {
    fn taken(&self, held: &[(Claim, Holder)], origin: UsernameOrigin) -> Taken {
        let is_taken = |claim| held.iter().any(|(taken, _)| *taken == claim);
        let taken_in = |index: &&MemberIndex| is_taken(Claim::Indexed(index.kind));
        let indexed = self.schema.indexes.iter().filter(taken_in);
        Taken {
            username: is_taken(Claim::Username).then_some(origin),
            email: is_taken(Claim::Email),
            external_id: is_taken(Claim::ExternalId),
            indexed: indexed.map(|index| index.member.name().into_owned()).collect(),
        }
    }
}
