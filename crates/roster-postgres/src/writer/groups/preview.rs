//! A dry run of a group command: its judgement in one snapshot that only reads.

use roster_core::{Failure, GroupCommand, Outcome, Rules};

use super::judge::judge;
use crate::{
    connect::Connection,
    pool::{Miss, Question},
    reads,
    writer::SNAPSHOT,
};

/// Asks what a group command would come to, had it never come before.
pub(crate) struct PreviewGroup {
    pub(crate) rules: Rules,
    pub(crate) command: GroupCommand,
}

impl Question for PreviewGroup {
    type Answer = Result<Outcome, Failure>;

    async fn ask(&self, connection: &Connection) -> Result<Self::Answer, Miss> {
        connection.client().batch_execute(SNAPSHOT).await?;
        let head = reads::head(connection).await?;
        let judged = judge(connection, self.rules, &self.command).await?;
        connection.client().batch_execute("COMMIT").await?;
        Ok(judged.map(|judgement| {
            let (effect, stored) = judgement.foretold();
            Outcome { effect, stored, position: head.position, replayed: false }
        }))
    }
}
