//! The judgement of commands, one after the other, upon what is known.
//!
//! Nothing is asked of the database here and nothing is written: a command that needs a fact which
//! is not known yet halts. What a command comes to is true for those behind it.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use roster_core::{
    Act, Among, Change, Claims, Command, Decision, Effect, Event, Failure, Group, GroupId, Refusal,
    Rules, StoreError, Stored, UserId,
    decide::{Holders, Settlement},
    found_by::{Decided, FoundByChange},
};

use super::{
    facts::{Claim, Current, Facts, Mark, Missing, Row},
    prepared::Prepared,
};

/// Why a command has no outcome.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The command's own failure.
    Failure(Failure),
    /// Something has to be fetched first.
    Missing,
}

impl From<Refusal> for Halt {
    fn from(refusal: Refusal) -> Self {
        Self::Failure(refusal.into())
    }
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Failure(error.into())
    }
}

/// What a command comes to.
#[derive(Debug)]
pub(crate) enum Judgement {
    /// Nothing is written.
    Stands(Effect, Stored),
    Create(Box<Change>, FoundByChange),
    Replace(Box<Change>, FoundByChange, Arc<Current>),
    Remove(Box<Change>, FoundByChange, Arc<Current>),
    Restore(Box<Change>, FoundByChange),
    Purge(Box<Event>, Arc<Current>),
}

impl Judgement {
    /// The effect, and the user after it.
    pub(crate) fn foretold(self) -> (Effect, Stored) {
        match self {
            Self::Stands(effect, stored) => (effect, stored),
            Self::Create(change, _)
            | Self::Replace(change, ..)
            | Self::Remove(change, ..)
            | Self::Restore(change, _) => {
                let Change { user, record, event, .. } = *change;
                let stored = Stored { id: user.id, version: user.version, record };
                (Effect::Changed(event.kind), stored)
            }
            Self::Purge(event, _) => {
                let Event { kind, user_id, version, record, .. } = *event;
                (Effect::Changed(kind), Stored { id: user_id, version, record })
            }
        }
    }
}

/// Whether names that nobody is known to hold are taken to be free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// They are: the database's unique indexes refuse what is not so.
    TakenToBeFree,
    /// They are looked up first.
    LookedUp,
}

/// The state that commands are judged upon: what was fetched, and what those before came to.
pub(crate) struct Scene<'f> {
    rules: Rules,
    names: Names,
    facts: &'f Facts,
    /// The names that were taken to be free.
    supposed: HashSet<Claim>,
    /// What differs from the facts by now.
    pub(super) own: Facts,
    /// The groups that differ by now.
    pub(super) groups: HashMap<GroupId, Group>,
    pub(crate) missing: Missing,
}

impl<'f> Scene<'f> {
    pub(crate) fn new(rules: Rules, names: Names, facts: &'f Facts) -> Self {
        let (own, missing) = (Facts::default(), Missing::default());
        let (supposed, groups) = (HashSet::new(), HashMap::new());
        Self { rules, names, facts, supposed, own, groups, missing }
    }

    /// What the command comes to.
    pub(crate) fn judge(&mut self, prepared: &Prepared) -> Result<Judgement, Halt> {
        let Some(command) = prepared.command() else {
            return Err(internal("a group command came among those of users").into());
        };
        let id = command.user_id();
        if matches!(command.act, Act::Delete { .. }) {
            // Asked for beside the user: both are fetched at once.
            let _misses_too = self.groups_of(id);
        }
        let current = match command.among() {
            Among::Nobody => None,
            Among::Live => self.live(id)?,
            Among::Deleted => self.deleted(id)?,
        };
        let Decided { decision, found_by } =
            prepared.decided(self.rules, command, current.as_deref())?;
        let current = |what| current.ok_or_else(|| Halt::from(internal(what)));
        match decision {
            Decision::Unchanged => {
                let stored = current("nothing stayed unchanged")?.stored();
                Ok(Judgement::Stands(Effect::Unchanged, stored))
            }
            Decision::Write(change) => {
                if let Some(judgement) = self.settle(command, &change.claims, id)? {
                    return Ok(judgement);
                }
                match command.among() {
                    Among::Nobody => Ok(Judgement::Create(change, found_by)),
                    Among::Live | Among::Deleted => {
                        Ok(Judgement::Replace(change, found_by, current("nobody was replaced")?))
                    }
                }
            }
            Decision::Remove(change) => {
                Ok(Judgement::Remove(change, found_by, current("nobody was deleted")?))
            }
            Decision::Restore(change) => match self.settle(command, &change.claims, id)? {
                Some(judgement) => Ok(judgement),
                None => Ok(Judgement::Restore(change, found_by)),
            },
            Decision::Purge(event) => Ok(Judgement::Purge(event, current("nobody was purged")?)),
        }
    }

    /// What becomes of the claims of a command; none where it goes on.
    fn settle(
        &mut self,
        command: &Command,
        claims: &Claims,
        id: UserId,
    ) -> Result<Option<Judgement>, Halt> {
        match claims.settle(command, self.holders(claims, id)?) {
            Settlement::Free => Ok(None),
            Settlement::Refused(refusal) => Err(refusal.into()),
            Settlement::PassedOver(holder) => {
                let holder = self.live(holder)?.ok_or_else(|| internal("held by nobody"))?;
                Ok(Some(Judgement::Stands(Effect::Skipped, holder.stored())))
            }
            Settlement::Instead(replacement) => {
                self.judge(&Prepared::plain(*replacement)).map(Some)
            }
        }
    }

    /// Who else among the live users holds what is claimed.
    fn holders(&mut self, claims: &Claims, id: UserId) -> Result<Holders, Halt> {
        let claimed = [
            claims.username.clone().map(Claim::Username),
            claims.email.clone().map(Claim::Email),
            claims.external_id.clone().map(Claim::ExternalId),
        ];
        // All are asked for before any is missed: so they are fetched at once.
        let [username, email, external_id] = claimed.clone().map(|claim| self.holder(claim, id));
        let (username, email, external_id) = (username?, email?, external_id?);
        let is_held = username.is_some() || email.is_some() || external_id.is_some();
        // What is not written no index refuses: whoever is refused for one is told of all.
        if is_held && self.looks_up(claimed.into_iter().flatten()) {
            return Err(Halt::Missing);
        }
        Ok(Holders { username, email, external_id })
    }

    /// Has those looked up that were only supposed to be free; false where there are none.
    fn looks_up(&mut self, claims: impl Iterator<Item = Claim>) -> bool {
        let (own, facts) = (&self.own.holders, &self.facts.holders);
        let supposed: Vec<Claim> =
            claims.filter(|claim| !own.contains_key(claim) && !facts.contains_key(claim)).collect();
        let any = !supposed.is_empty();
        self.missing.holders.extend(supposed);
        any
    }

    fn holder(&mut self, claim: Option<Claim>, id: UserId) -> Result<Option<UserId>, Halt> {
        let Some(claim) = claim else { return Ok(None) };
        let known = self.own.holders.get(&claim).or_else(|| self.facts.holders.get(&claim));
        if let Some(holder) = known {
            return Ok(holder.filter(|holder| *holder != id));
        }
        if self.names == Names::TakenToBeFree {
            self.supposed.insert(claim);
            return Ok(None);
        }
        self.missing.holders.insert(claim);
        Err(Halt::Missing)
    }

    /// The direct groups of a user, as they are by now.
    pub(super) fn groups_of(&mut self, id: UserId) -> Result<Vec<Group>, Halt> {
        let known = self.own.groups_of.get(&id).or_else(|| self.facts.groups_of.get(&id));
        let Some(groups) = known else {
            self.missing.groups_of.insert(id);
            return Err(Halt::Missing);
        };
        let by_now = |group: &Group| self.groups.get(&group.id).unwrap_or(group).clone();
        Ok(groups.iter().map(by_now).collect())
    }

    fn live(&mut self, id: UserId) -> Result<Option<Arc<Current>>, Halt> {
        let known = row(&self.own.live, &self.facts.live, id);
        known.unwrap_or_else(|| {
            self.missing.live.insert(id);
            Err(Halt::Missing)
        })
    }

    fn deleted(&mut self, id: UserId) -> Result<Option<Arc<Current>>, Halt> {
        let known = row(&self.own.deleted, &self.facts.deleted, id);
        known.unwrap_or_else(|| {
            self.missing.deleted.insert(id);
            Err(Halt::Missing)
        })
    }

    /// Who holds a key from now on. A name that was taken to be free and is given away only now
    /// was not: who holds it before this has to be looked up.
    pub(super) fn claim(&mut self, claim: Claim, holder: Option<UserId>) {
        if holder.is_none() && self.supposed.contains(&claim) {
            self.missing.holders.insert(claim.clone());
        }
        self.own.holders.insert(claim, holder);
    }

    /// Whether the user was live before the transaction.
    pub(super) fn was_live(&self, id: UserId) -> bool {
        matches!(self.facts.live.get(&id), Some(Row::There(_)))
    }

    /// Whether the user was kept as a deleted one before the transaction.
    pub(super) fn was_deleted(&self, id: UserId) -> bool {
        matches!(self.facts.deleted.get(&id), Some(Row::There(_)))
    }

    /// Forgets the marks that are not to be kept.
    pub(super) fn forget_marks(&mut self, is_kept: impl Fn(&Option<Mark>) -> bool) {
        let known = self.facts.marks.iter().chain(&self.own.marks);
        let gone: Vec<[u8; 32]> =
            known.filter(|(_, mark)| !is_kept(mark)).map(|(key, _)| *key).collect();
        for key in gone {
            self.own.marks.insert(key, None);
        }
    }

    /// What the same request came to before.
    pub(crate) fn mark(&mut self, key: &[u8; 32]) -> Result<Option<Mark>, Halt> {
        if let Some(mark) = self.own.marks.get(key).or_else(|| self.facts.marks.get(key)) {
            return Ok(mark.clone());
        }
        self.missing.marks.insert(*key);
        Err(Halt::Missing)
    }
}

/// The row of a user, if it is known.
fn row(
    own: &HashMap<UserId, Row>,
    facts: &HashMap<UserId, Row>,
    id: UserId,
) -> Option<Result<Option<Arc<Current>>, Halt>> {
    Some(match own.get(&id).or_else(|| facts.get(&id))? {
        Row::There(current) => Ok(Some(Arc::clone(current))),
        Row::Nobody => Ok(None),
        Row::Damaged(member) => {
            let place = format!("the record of {id}, {member}");
            Err(StoreError::Corrupt { place }.into())
        }
    })
}

/// A decision that does not fit its command: a fault of ours.
fn internal(what: &str) -> StoreError {
    StoreError::Internal(what.into())
}
