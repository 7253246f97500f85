//! Checks words, further keys and the indexes that the schema names: the tables must contain
//! exactly the rows that follow from the records. Indexes that are being built or dropped have
//! fewer or more rows, which are not checked.
//!
//! Each expected row is looked up, then all rows are counted. Only if there are more rows than
//! expected, every row is compared with its user, to find the surplus ones. Those of a tenant that
//! is being erased are left out: its users are erased first.

use std::{collections::HashMap, sync::Arc};

use roster_core::{SearchKeys, TenantId, User, UserId, UserSchema, schema::IndexStatus};

use super::{CheckReader, Line, each, findings::place, number};
use crate::database::{Values, first};

/// The maximum number of rows that are looked up at once.
const BATCH: usize = 2000;

const ROWS_OF_KIND: &str = "SELECT count(*) FROM further_keys WHERE tenant = $1 AND kind = $2";

/// The number of values in an index that several users have.
const SHARED_KEYS: &str = "SELECT count(*) FROM (SELECT 1 FROM further_keys \
     WHERE tenant = $1 AND kind = $2 AND key >= '1' AND key < '2' \
     GROUP BY key HAVING count(*) > 1) AS shared";

/// A row of `words` or `further_keys`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchRow {
    /// The user.
    pub id: UserId,
    /// 0 for an e-mail address, 1 for a telephone number, from 2 on the number of an index, `None`
    /// for a word.
    pub kind: Option<i64>,
    /// The word or the key.
    pub key: String,
}

/// The findings for both tables.
pub(super) struct Search {
    words: Table,
    further_keys: Table,
    tenant: TenantId,
    /// The schemas that name indexes.
    schemas: HashMap<TenantId, Arc<UserSchema>>,
}

struct Table {
    name: &'static str,
    /// The statement for all rows: id, key, kind, record of the user, tenant.
    rows: &'static str,
    line: Line,
    /// Expected rows that were not looked up yet.
    expected: Vec<SearchRow>,
    /// How many rows there are of indexes that are not checked.
    unchecked: u64,
}

impl Search {
    pub(super) fn new() -> Self {
        let words = Table {
            name: "words",
            rows: "SELECT w.id, w.word, NULL, u.record, w.tenant FROM words AS w \
                 LEFT JOIN users AS u ON u.tenant = w.tenant AND u.id = w.id \
                 WHERE NOT EXISTS (SELECT 1 FROM tenants AS t \
                 WHERE t.id = w.tenant AND t.status >= 2)",
            line: Line::new("words"),
            expected: Vec::new(),
            unchecked: 0,
        };
        let further_keys = Table {
            name: "further_keys",
            rows: "SELECT k.id, k.key, k.kind, u.record, k.tenant FROM further_keys AS k \
                 LEFT JOIN users AS u ON u.tenant = k.tenant AND u.id = k.id \
                 WHERE NOT EXISTS (SELECT 1 FROM tenants AS t \
                 WHERE t.id = k.tenant AND t.status >= 2)",
            line: Line::new("further keys"),
            expected: Vec::new(),
            unchecked: 0,
        };
        Self { words, further_keys, tenant: TenantId::DEFAULT, schemas: HashMap::new() }
    }

    /// Begins with the rows of a tenant.
    pub(super) fn begin_tenant(&mut self, tenant: TenantId, schema: Arc<UserSchema>) {
        self.tenant = tenant;
        if !schema.indexes.is_empty() {
            self.schemas.insert(tenant, schema);
        }
    }

    /// Looks up the remaining rows of a tenant.
    pub(super) async fn end_tenant<R: CheckReader>(&mut self, reader: R) -> Result<(), R::Error> {
        self.words.look(reader, 0).await?;
        self.further_keys.look(reader, 0).await?;
        for index in self.schemas.get(&self.tenant).iter().flat_map(|schema| &schema.indexes) {
            let parameters = [self.tenant.into(), i64::from(index.kind).into()];
            if !index.is_complete() {
                let rows = first(reader, ROWS_OF_KIND, &parameters).await?.unwrap_or_default();
                self.further_keys.unchecked += rows.integer(0).unsigned_abs();
            } else if index.unique && index.status == IndexStatus::Ready {
                let shared = first(reader, SHARED_KEYS, &parameters).await?.unwrap_or_default();
                let what = format!("{} values that are to be unique are shared", shared.integer(0));
                let (line, place) = (&mut self.further_keys.line, index.member.name());
                line.require(shared.integer(0) == 0, &place, &what);
            }
        }
        Ok(())
    }

    /// Adds all rows that a user must have.
    pub(super) async fn add<R: CheckReader>(
        &mut self,
        reader: R,
        user: &User,
    ) -> Result<(), R::Error> {
        let schema = self.schemas.get(&self.tenant).map(|schema| &**schema);
        for row in rows_of(user, schema) {
            let table = if row.kind.is_none() { &mut self.words } else { &mut self.further_keys };
            table.expected.push(row);
        }
        self.words.look(reader, BATCH).await?;
        self.further_keys.look(reader, BATCH).await
    }

    /// Counts all rows, and finds surplus ones.
    pub(super) async fn end<R: CheckReader>(mut self, reader: R) -> [Line; 2] {
        for table in [&mut self.words, &mut self.further_keys] {
            let read = table.end(reader, &self.schemas).await;
            table.line.end(read);
        }
        [self.words.line, self.further_keys.line]
    }
}

impl Table {
    /// Looks up the expected rows if there are at least this many.
    async fn look<R: CheckReader>(&mut self, reader: R, least: usize) -> Result<(), R::Error> {
        if self.expected.is_empty() || self.expected.len() < least {
            return Ok(());
        }
        for missing in reader.missing(&self.expected).await? {
            if let Some(row) = self.expected.get(missing) {
                self.line.fault(&place(self.name, row.id.as_bytes()), "one is missing");
            }
        }
        self.line.count += u64::try_from(self.expected.len()).unwrap_or(u64::MAX);
        self.expected.clear();
        Ok(())
    }

    async fn end<R: CheckReader>(
        &mut self,
        reader: R,
        schemas: &HashMap<TenantId, Arc<UserSchema>>,
    ) -> Result<(), R::Error> {
        let count = number(reader, &format!("SELECT count(*) FROM {}", self.name)).await?;
        if count.unsigned_abs() == self.line.count - self.line.faults + self.unchecked {
            return Ok(());
        }
        let Self { name, line, .. } = self;
        let schema_of = |row: &Values| schemas.get(&row.tenant(4, "").ok()?).map(|found| &**found);
        each(reader, self.rows, &[], |row| name_surplus(&row, schema_of(&row), name, line)).await
    }
}

fn name_surplus(row: &Values, schema: Option<&UserSchema>, table: &str, line: &mut Line) {
    let kind = row.optional_integer(2).and_then(|kind| i16::try_from(kind).ok());
    let index = kind.and_then(|kind| schema?.index(kind));
    if index.is_some_and(|index| !index.is_complete()) {
        return;
    }
    let place = place(table, row.octets(0));
    match User::from_record(row.octets(3)) {
        Ok(user) if user.id.as_bytes() == row.octets(0) => {
            let is_own = |own: &SearchRow| {
                own.key.as_bytes() == row.octets(1) && own.kind == row.optional_integer(2)
            };
            let is_right = rows_of(&user, schema).any(|own| is_own(&own));
            line.require(is_right, &place, "one is not the record's");
        }
        _ => line.fault(&place, "there is no such user"),
    }
}

/// The rows that a user must have.
fn rows_of(user: &User, schema: Option<&UserSchema>) -> impl Iterator<Item = SearchRow> {
    let indexes = schema.map_or_else(Default::default, |schema| schema.indexes.as_slice());
    let keys = SearchKeys::of(user, indexes);
    let (id, SearchKeys { words, emails, phone_numbers, mut indexed }) = (user.id, keys);
    indexed
        .retain(|(kind, _)| indexes.iter().any(|index| index.kind == *kind && index.is_complete()));
    let of_indexes =
        indexed.into_iter().map(move |(kind, key)| SearchRow { id, kind: Some(kind.into()), key });
    let row = move |kind| move |key| SearchRow { id, kind, key };
    let words = words.into_iter().map(row(None));
    let emails = emails.into_iter().map(row(Some(0)));
    words.chain(emails).chain(phone_numbers.into_iter().map(row(Some(1)))).chain(of_indexes)
}
