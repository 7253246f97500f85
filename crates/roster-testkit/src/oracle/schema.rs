//! The schema of users: one value, which a command replaces as a whole.

use std::collections::BTreeSet;

use roster_core::{
    Command, Effect, Event, Failure, IndexStep, Outcome, SchemaDraft, Stored, UserId,
    schema::{IndexStatus, SCHEMA_ID, VALUE, decide_schema},
    store::INDEX_KEYS_MAX,
};

use super::state::{Entry, State};

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

    /// Builds and deletes all indexes at once.
    pub(super) fn index_step(&mut self) -> IndexStep {
        self.schema.indexes.retain(|index| index.status != IndexStatus::Dropped);
        for index in &mut self.schema.indexes {
            if matches!(index.status, IndexStatus::Building { .. }) {
                index.status =
                    if index.unique { IndexStatus::Checking } else { IndexStatus::Ready };
            }
        }
        let mut indexes = self.schema.indexes.iter();
        if let Some(index) = indexes.find(|index| index.status == IndexStatus::Checking) {
            return IndexStep::Check(index.kind);
        }
        if self.schema.has_index_work() { IndexStep::Failed } else { IndexStep::Done }
    }

    /// The keys of values in an index after this one.
    pub(super) fn index_keys(
        &self,
        kind: i16,
        after: Option<&(String, UserId)>,
    ) -> Vec<(String, UserId)> {
        let Some(index) = self.schema.index(kind) else { return Vec::new() };
        let keys = |entry: &Entry| {
            let id = entry.user.id;
            index.keys(&entry.user).into_iter().map(move |key| (key, id)).collect::<Vec<_>>()
        };
        let all: BTreeSet<(String, UserId)> = self.live.values().flat_map(keys).collect();
        let values = all.into_iter().filter(|(key, _)| key.starts_with(VALUE));
        values.filter(|key| after.is_none_or(|after| key > after)).take(INDEX_KEYS_MAX).collect()
    }

    /// Notes which users share values of an index.
    pub(super) fn end_index_check(&mut self, kind: i16, shared: Vec<Vec<UserId>>) {
        if let Some(index) = self.schema.indexes.iter_mut().find(|index| index.kind == kind) {
            index.status =
                if shared.is_empty() { IndexStatus::Ready } else { IndexStatus::Failed { shared } };
        }
    }
}
