//! The users that hold the unique keys which a command claims, after the commands before it.

use roster_core::{
    Change, Claims, Keys, Sharing, UserId,
    decide::Holders,
    schema::{IndexStatus, MemberIndex},
};

use crate::{
    read::page_sql::FURTHER,
    write::{
        batch::Batch,
        facts::{ClaimKind, CommandError, Facts},
        writes::{UserWrite, is_live_after, live_keys_before},
    },
};

/// Whether each value in a unique index belongs to one user.
fn is_ready(index: &MemberIndex) -> bool {
    index.status == IndexStatus::Ready
}

impl<F: Facts> Batch<'_, F> {
    /// The users that hold the claimed keys, except the one that claims them.
    pub(super) fn holders_of(
        &mut self,
        claims: &Claims,
        own: Option<UserId>,
        follows: bool,
    ) -> Result<Holders, CommandError> {
        let Claims { username, email, external_id, .. } = claims;
        self.cost.claims += [username, email, external_id].into_iter().flatten().count();
        self.cost.claims += claims.indexed.len();
        let mut holder = |kind, key: &Option<String>| -> Result<Option<UserId>, CommandError> {
            let Some(key) = key else { return Ok(None) };
            Ok(self.holder(kind, key, follows)?.filter(|holder| Some(*holder) != own))
        };
        // Read all holders before returning, so that one run finds all missing facts.
        let username = holder(ClaimKind::Username, &claims.username);
        let email = holder(ClaimKind::Email, &claims.email);
        let external_id = holder(ClaimKind::ExternalId, &claims.external_id);
        let mut indexed = Ok(Vec::new());
        for (kind, key) in &claims.indexed {
            match (self.holder(ClaimKind::Indexed(*kind), key, follows), &mut indexed) {
                (Ok(Some(holder)), Ok(indexed)) if Some(holder) != own => {
                    let index = self.schema.index(*kind);
                    let member = index.map(|index| index.member.name().into_owned());
                    let selected = Some(holder).filter(|_| index.is_some_and(is_ready));
                    indexed.push((member.unwrap_or_default(), selected));
                }
                (Err(error), _) => indexed = Err(error),
                (Ok(_), _) => {}
            }
        }
        let (username, email, external_id) = (username?, email?, external_id?);
        Ok(Holders { username, email, external_id, indexed: indexed? })
    }

    /// The live user that holds a unique key after the commands so far.
    pub(super) fn holder(
        &mut self,
        kind: ClaimKind,
        key: &str,
        follows: bool,
    ) -> Result<Option<UserId>, CommandError> {
        match self.holders.get(&kind).and_then(|holders| holders.get(key)) {
            Some(Some(holder)) => Ok(Some(*holder)),
            Some(None) => self.sharer(kind, key),
            None if follows => self.facts.holder_to_follow(kind, key),
            None => self.facts.holder(kind, key),
        }
    }

    /// Another live user with a key that users of this batch gave up. There is one only in an index
    /// in which users share values.
    fn sharer(&mut self, kind: ClaimKind, key: &str) -> Result<Option<UserId>, CommandError> {
        let ClaimKind::Indexed(number) = kind else { return Ok(None) };
        if self.schema.index(number).is_none_or(is_ready) {
            return Ok(None);
        }
        let changed = i64::try_from(self.writes.users.len()).unwrap_or(i64::MAX).saturating_add(1);
        let parameters =
            vec![self.facts.tenant().into(), i64::from(number).into(), key.into(), changed.into()];
        for row in self.facts.rows(FURTHER.to_owned(), parameters)?.iter() {
            let id = row.id(0, "further_keys.id")?;
            let has_it = |write: &UserWrite| {
                let gave_up = &write.index().removed.indexed;
                !gave_up.iter().any(|(of, given)| *of == number && given == key)
            };
            if self.writes.users.get(&id).is_none_or(has_it) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Records who holds the unique keys that a change takes or releases.
    pub(super) fn track_keys(&mut self, change: &Change) {
        if !self.has_several {
            return;
        }
        let before = live_keys_before(change);
        let after = is_live_after(change).then_some(&change.keys);
        let key_of = |keys: Option<&Keys>, kind| {
            let keys = keys?;
            match kind {
                ClaimKind::Username => Some(keys.username.clone()),
                ClaimKind::Email => keys.email.clone(),
                ClaimKind::ExternalId => keys.external_id.clone(),
                // They are not among these keys.
                ClaimKind::Indexed(_) => None,
            }
        };
        for kind in [ClaimKind::Username, ClaimKind::Email, ClaimKind::ExternalId] {
            let is_unique = match kind {
                ClaimKind::Username => true,
                ClaimKind::Email => self.rules.email == Sharing::Unique,
                ClaimKind::ExternalId => self.rules.external_id == Sharing::Unique,
                ClaimKind::Indexed(_) => false,
            };
            let (before, after) = (key_of(before, kind), key_of(after, kind));
            if is_unique && before != after {
                let holders = self.holders.entry(kind).or_default();
                holders.extend(before.map(|key| (key, None)));
                holders.extend(after.map(|key| (key, Some(change.user.id))));
            }
        }
        let rows = [(&change.index.removed, None), (&change.index.added, Some(change.user.id))];
        for (keys, holder) in rows {
            for (kind, key) in &keys.indexed {
                if self.schema.index(*kind).is_some_and(|index| index.unique) {
                    let holders = self.holders.entry(ClaimKind::Indexed(*kind)).or_default();
                    holders.insert(key.clone(), holder);
                }
            }
        }
    }
}
