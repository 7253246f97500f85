//! A dry run: a request executed on one snapshot, without its writes.

use roster_core::{Failure, Outcome};
use roster_engine::{Request, preview};

use super::{
    facts::Fetched,
    fetch::{Lock, fetch},
    transaction::position_in_era,
};
use crate::{
    connect::Connection,
    in_force::InForce,
    pool::{Miss, Question},
};

/// Begins a snapshot.
pub(crate) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Asks what a request would come to if it never came before.
pub(crate) struct Preview<'r> {
    pub(crate) in_force: InForce,
    pub(crate) request: &'r Request,
}

/// `None` if the policy has changed.
impl Question for Preview<'_> {
    type Answer = Option<Result<Outcome, Failure>>;

    async fn ask(&self, connection: &Connection) -> Result<Self::Answer, Miss> {
        connection.client().batch_execute(SNAPSHOT).await?;
        let result = match self.run(connection).await {
            Ok(result) => Some(result),
            Err(Miss::EraEnded) => None,
            Err(miss) => return Err(miss),
        };
        connection.client().batch_execute("COMMIT").await?;
        Ok(result)
    }
}

impl Preview<'_> {
    async fn run(&self, connection: &Connection) -> Result<Result<Outcome, Failure>, Miss> {
        let InForce { rules, era } = self.in_force;
        let position = position_in_era(connection, era).await?;
        let mut facts = Fetched::default();
        loop {
            if let Some(result) = preview(rules, self.request, &mut facts, position) {
                return Ok(result);
            }
            fetch(connection, Lock::Nothing, &mut facts).await?;
        }
    }
}
