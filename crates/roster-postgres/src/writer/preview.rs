//! A dry run: the judgement of a command in one snapshot that only reads.
//!
//! It is judged by the code that judges what is written. Whether the same request came before is
//! not asked.

use roster_core::{Command, Failure, Outcome, Rules};

use super::{
    facts::Facts,
    fetch::{Lock, fetch},
    judge::{Halt, Judgement, Names, Scene},
    prepared::Prepared,
};
use crate::{
    connect::Connection,
    pool::{Miss, Question},
    reads,
};

/// Begins a snapshot.
pub(crate) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Asks what a command would come to, had it never come before; the position is that of the
/// snapshot.
pub(crate) struct Preview {
    pub(crate) rules: Rules,
    pub(crate) command: Command,
}

impl Question for Preview {
    type Answer = Result<Outcome, Failure>;

    async fn ask(&self, connection: &Connection) -> Result<Self::Answer, Miss> {
        preview(connection, self.rules, &self.command).await
    }
}

async fn preview(
    connection: &Connection,
    rules: Rules,
    command: &Command,
) -> Result<Result<Outcome, Failure>, Miss> {
    let prepared = Prepared::new(rules, command.clone());
    connection.client().batch_execute(SNAPSHOT).await?;
    let head = reads::head(connection).await?;
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
    connection.client().batch_execute("COMMIT").await?;
    Ok(judged.map(|judgement| {
        let (effect, stored) = judgement.foretold();
        Outcome { effect, stored, position: head.position, replayed: false }
    }))
}
