//! What becomes of a command whose claims others hold.
//!
//! Who holds them, the engine finds out, in the transaction of the write.

use super::Claims;
use crate::{
    command::{Act, Command, OnConflict},
    failure::Refusal,
    id::UserId,
};

/// Who else among the live users holds what is claimed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    /// The user name.
    pub username: Option<UserId>,
    /// The primary e-mail address.
    pub email: Option<UserId>,
    /// The external id.
    pub external_id: Option<UserId>,
}

/// What becomes of it.
#[derive(Clone, Debug)]
pub enum Settlement {
    /// Nobody holds anything: it goes on.
    Free,
    /// It is refused.
    Refused(Refusal),
    /// It is passed over, in favour of that holder.
    PassedOver(UserId),
    /// This one is carried out in its place.
    Instead(Box<Command>),
}

impl Claims {
    /// What becomes of the command that claims this.
    pub fn settle(&self, command: &Command, holders: Holders) -> Settlement {
        let Holders { username, email, external_id } = holders;
        let refusal = self.refuse(username.is_some(), email.is_some(), external_id.is_some());
        let Some(refusal) = refusal else { return Settlement::Free };
        let Act::Create { on_conflict, .. } = &command.act else {
            return Settlement::Refused(refusal);
        };
        let mut holders = [username, email, external_id].into_iter().flatten();
        // The one of the user name first.
        let Some(first) = holders.next() else { return Settlement::Refused(refusal) };
        match on_conflict {
            OnConflict::Skip => Settlement::PassedOver(first),
            OnConflict::Replace if holders.all(|holder| holder == first) => {
                match command.replacing(first) {
                    // A replacement is no create: it meets a conflict as any other does.
                    Some(replacement) => Settlement::Instead(Box::new(replacement)),
                    None => Settlement::Refused(refusal),
                }
            }
            OnConflict::Fail | OnConflict::Replace => Settlement::Refused(refusal),
        }
    }
}
