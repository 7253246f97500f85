//! A dry run: the judgement of a command in one snapshot that only reads.
//!
//! It is judged by the code that judges what is written. Whether the same request came before is
//! not asked.

use roster_core::{Command, Failure, Outcome};

use super::{
    attempt::position_in_era,
    facts::Facts,
    fetch::{Lock, fetch},
    judge::{Halt, Judgement, Names, Scene},
    prepared::Prepared,
};
use crate::{
    connect::Connection,
    in_force::InForce,
    pool::{Miss, Question},
};

/// Begins a snapshot.
pub(crate) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Asks what a command would come to, had it never come before; the position is that of the
/// snapshot.
pub(crate) struct Preview {
    pub(crate) in_force: InForce,
    pub(crate) command: Command,
}

/// `None` where the rules are in force no more.
impl Question for Preview {
    type Answer = Option<Result<Outcome, Failure>>;

    async fn ask(&self, connection: &Connection) -> Result<Self::Answer, Miss> {
        connection.client().batch_execute(SNAPSHOT).await?;
        let judged = match preview(connection, self.in_force, &self.command).await {
            Ok(judged) => Some(judged),
            Err(Miss::EraEnded) => None,
            Err(miss) => return Err(miss),
        };
        connection.client().batch_execute("COMMIT").await?;
        Ok(judged)
    }
}

async fn preview(
    connection: &Connection,
    in_force: InForce,
    command: &Command,
) -> Result<Result<Outcome, Failure>, Miss> {
    let InForce { rules, era } = in_force;
    let prepared = Prepared::new(rules, command.clone());
    let position = position_in_era(connection, era).await?;
    let mut facts = Facts::default();
    let judged: Result<Judgement, Failure> = loop {
        let mut scene = Scene::new(rules, Names::LookedUp, &facts);
        match scene.judge(&prepared) {
            Ok(judgement) => break Ok(judgement),
            Err(Halt::Failure(failure)) => break Err(failure),
            Err(Halt::Missing) => {
                let missing = scene.missing;
                fetch(connection, &missing, Lock::Nothing, &mut facts).await?;
            }
        }
    };
    Ok(judged.map(|judgement| {
        let (effect, stored) = judgement.foretold();
        Outcome { effect, stored, position, replayed: false }
    }))
}
