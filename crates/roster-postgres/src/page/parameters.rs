//! The parameters of a statement, numbered in the order in which its text names them.

use roster_core::{UserId, list::SortKey, plan::RangeKey};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::columns::{sort_text, status_number, uuid};

/// The parameters of a statement.
#[derive(Default)]
pub(crate) struct Parameters(Vec<Box<dyn ToSql + Sync + Send>>);

impl Parameters {
    /// The values, as the driver takes them.
    pub(crate) fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
        let mut values: Vec<&(dyn ToSql + Sync)> = Vec::with_capacity(self.0.len());
        for value in &self.0 {
            values.push(&**value);
        }
        values
    }

    /// The sort key of the row that a page begins after.
    pub(super) fn sort_key(&mut self, key: &SortKey) -> String {
        match key {
            SortKey::Id => self.push(Vec::<u8>::new()),
            SortKey::Time(moment) => self.push(moment.as_millis()),
            SortKey::Text(text) => self.push(sort_text(text.as_deref()).to_vec()),
        }
    }

    /// A bound of a range.
    pub(super) fn bound(&mut self, key: &RangeKey) -> String {
        match key {
            RangeKey::Id(id) => self.id(*id),
            RangeKey::Time(moment) => self.push(moment.as_millis()),
            RangeKey::Text(text) => self.push(text.clone().into_bytes()),
            RangeKey::Status(status) => self.push(status_number(*status)),
        }
    }

    pub(super) fn id(&mut self, id: UserId) -> String {
        self.push(uuid(id))
    }

    pub(super) fn ids(&mut self, ids: &[UserId]) -> String {
        self.push(ids.iter().copied().map(uuid).collect::<Vec<Uuid>>())
    }

    /// A number of rows.
    pub(super) fn limit(&mut self, rows: usize) -> String {
        self.push(i64::try_from(rows).unwrap_or(i64::MAX))
    }

    pub(super) fn push(&mut self, value: impl ToSql + Sync + Send + 'static) -> String {
        self.0.push(Box::new(value));
        format!("${}", self.0.len())
    }
}
