//! The parameters of a statement, numbered in the order in which its text names them.

use roster_core::{
    UserId,
    list::{Equals, PageKey, SortKey},
    plan::{Condition, RangeKey},
};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::columns::{sort_text, status_number, uuid};

/// A value that is bound.
#[derive(Debug)]
enum Value {
    Bytes(Vec<u8>),
    Number(i64),
    Small(i16),
    Id(Uuid),
    Ids(Vec<Uuid>),
}

impl Value {
    fn parameter(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Number(number) => number,
            Self::Small(number) => number,
            Self::Id(id) => id,
            Self::Ids(ids) => ids,
        }
    }
}

/// The parameters of a statement.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    after: Option<PageKey>,
    limit: i64,
    ids: Vec<Uuid>,
    values: Vec<Value>,
}

impl Parameters {
    /// Parameters of a statement of so many rows at most, which may begin after a place.
    pub(crate) fn new(limit: usize, after: Option<&PageKey>) -> Self {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        Self { after: after.cloned(), limit, ids: Vec::new(), values: Vec::new() }
    }

    /// Parameters of a statement about these ids.
    pub(crate) fn of_ids(ids: &[UserId]) -> Self {
        let limit = i64::try_from(ids.len()).unwrap_or(i64::MAX);
        Self { limit, ids: ids.iter().copied().map(uuid).collect(), ..Self::default() }
    }

    /// The values, as the driver takes them.
    pub(crate) fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.iter().map(Value::parameter).collect()
    }

    pub(super) fn after_key(&mut self) -> String {
        let value = match self.after.as_ref().map(|after| &after.key) {
            Some(SortKey::Time(moment)) => Value::Number(moment.as_millis()),
            Some(SortKey::Text(text)) => Value::Bytes(sort_text(text.as_deref()).to_vec()),
            Some(SortKey::Id) | None => Value::Bytes(Vec::new()),
        };
        self.push(value)
    }

    pub(super) fn after_id(&mut self) -> String {
        let id = self.after.as_ref().map_or(Uuid::nil(), |after| uuid(after.id));
        self.push(Value::Id(id))
    }

    pub(super) fn limit(&mut self) -> String {
        self.push(Value::Number(self.limit))
    }

    pub(super) fn ids(&mut self) -> String {
        let ids = self.ids.clone();
        self.push(Value::Ids(ids))
    }

    /// The value of a condition.
    pub(super) fn equal(&mut self, condition: Condition, equals: &Equals) -> String {
        let Equals { username, email, external_id, phone_number, status, ids: _ } = equals;
        let text = match condition {
            Condition::Username => username,
            Condition::Email => email,
            Condition::ExternalId => external_id,
            Condition::PhoneNumber => phone_number,
            Condition::Status => {
                return self.push(Value::Small(status.map_or(-1, status_number)));
            }
        };
        self.push(Value::Bytes(text.clone().unwrap_or_default().into_bytes()))
    }

    /// The bound of a range.
    pub(super) fn bound(&mut self, key: &RangeKey) -> String {
        let value = match key {
            RangeKey::Id(id) => Value::Id(uuid(*id)),
            RangeKey::Time(moment) => Value::Number(moment.as_millis()),
            RangeKey::Text(text) => Value::Bytes(text.clone().into_bytes()),
        };
        self.push(value)
    }

    fn push(&mut self, value: Value) -> String {
        self.values.push(value);
        format!("${}", self.values.len())
    }
}
