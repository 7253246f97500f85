//! The schema of users: one value, which a command replaces as a whole.

use roster_core::{
    Effect, Event, Failure, Outcome, SchemaCommand, Stored,
    user_schema::{SCHEMA_ID, decide_schema},
};

use super::state::{State, StoredResult};

impl State {
    /// Replaces the schema, or returns the stored result of the same request.
    pub(super) fn replace_schema(&mut self, command: &SchemaCommand) -> Result<Outcome, Failure> {
        let Some(mark) = command.idempotency else { return self.write_schema(command) };
        if let Some(outcome) = self.recall(mark)? {
            return Ok(outcome);
        }
        let outcome = self.write_schema(command)?;
        let result = StoredResult {
            fingerprint: mark.fingerprint,
            at: command.at,
            outcome: outcome.clone(),
        };
        self.results.insert(mark.key, result);
        Ok(outcome)
    }

    /// The outcome that a command would have. Ignores its idempotency key.
    pub(super) fn preview_schema(&self, command: &SchemaCommand) -> Result<Outcome, Failure> {
        let outcome = self.clone().write_schema(command)?;
        Ok(Outcome { position: self.position, ..outcome })
    }

    fn write_schema(&mut self, command: &SchemaCommand) -> Result<Outcome, Failure> {
        let Some(change) = decide_schema(&self.schema, command)? else {
            return Ok(self.outcome(Effect::Unchanged, self.schema.stored()));
        };
        let (version, record) = (change.schema.version, change.record);
        self.schema = (*change.schema).clone();
        let stored = Stored { id: SCHEMA_ID, version, record };
        Ok(self.append(Event::clone(&change.event), stored))
    }
}
