//! The users that hold the unique keys which a command claims, after the commands before it.

use roster_core::{Change, Claims, Keys, Sharing, UserId, decide::Holders};

use crate::write::{
    batch::Batch,
    facts::{ClaimKind, CommandError, Facts},
    writes::{is_live_after, live_keys_before},
};

impl<F: Facts> Batch<'_, F> {
    /// The users that hold the claimed keys, except the one that claims them.
    pub(super) fn holders_of(
        &mut self,
        claims: &Claims,
        own: Option<UserId>,
        follows: bool,
    ) -> Result<Holders, CommandError> {
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
                    indexed.push((self.member_of(*kind), holder));
                }
                (Err(error), _) => indexed = Err(error),
                (Ok(_), _) => {}
            }
        }
        let (username, email, external_id) = (username?, email?, external_id?);
        Ok(Holders { username, email, external_id, indexed: indexed? })
    }

    /// The name of the member of an index.
    fn member_of(&self, kind: i16) -> String {
        self.schema.index(kind).map_or_else(String::new, |index| index.member.name().into_owned())
    }

    /// The live user that holds a unique key after the commands so far.
    pub(super) fn holder(
        &mut self,
        kind: ClaimKind,
        key: &str,
        follows: bool,
    ) -> Result<Option<UserId>, CommandError> {
        match self.holders.get(&kind).and_then(|holders| holders.get(key)) {
            Some(holder) => Ok(*holder),
            None if follows => self.facts.holder_to_follow(kind, key),
            None => self.facts.holder(kind, key),
        }
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
