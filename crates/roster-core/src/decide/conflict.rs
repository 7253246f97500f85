//! The result of a command if other users have the keys that it claims.
//!
//! The engine finds these users in the transaction of the write.

use super::Claims;
use crate::{
    command::{Act, Command, OnConflict},
    failure::Refusal,
    id::UserId,
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
    /// This command is executed instead.
    Instead(Box<Command>),
}

impl Claims {
    /// Settles the command that made these claims.
    pub fn settle(&self, command: &Command, holders: Holders) -> Settlement {
        let Holders { username, email, external_id } = holders;
        let refusal = self.refuse(username.is_some(), email.is_some(), external_id.is_some());
        let Some(refusal) = refusal else { return Settlement::Free };
        let Act::Create { on_conflict, .. } = &command.act else {
            return Settlement::Refused(refusal);
        };
        let mut holders = [username, email, external_id].into_iter().flatten();
        // The user with the username comes first.
        let Some(first) = holders.next() else { return Settlement::Refused(refusal) };
        match on_conflict {
            OnConflict::Skip => Settlement::PassedOver(first),
            OnConflict::Replace if holders.all(|holder| holder == first) => {
                match command.replacing(first) {
                    // A replacement is not a create, so a conflict rejects it like any other write.
                    Some(replacement) => Settlement::Instead(Box::new(replacement)),
                    None => Settlement::Refused(refusal),
                }
            }
            OnConflict::Fail | OnConflict::Replace => Settlement::Refused(refusal),
        }
    }
}
