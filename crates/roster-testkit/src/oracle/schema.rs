//! The schema of users: one value, which a command replaces as a whole.

use roster_core::{
    Command, Effect, Event, Failure, Outcome, SchemaDraft, Stored,
    schema::{SCHEMA_ID, decide_schema},
};

use super::state::State;

impl State {
    /// Executes a command that replaces the schema.
    pub(super) fn replace_schema(
        &mut self,
        draft: &SchemaDraft,
        command: &Command,
    ) -> Result<Outcome, Failure> {
        let Some(change) = decide_schema(&self.schema, draft, command)? else {
            return Ok(self.outcome(Effect::Unchanged, self.schema.stored()));
        };
        let (version, record) = (change.schema.version, change.record);
        self.schema = (*change.schema).clone();
        let stored = Stored { id: SCHEMA_ID, version, record };
        Ok(self.append(Event::clone(&change.event), stored))
    }
}
