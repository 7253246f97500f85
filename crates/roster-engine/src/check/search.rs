//! Checks words and further keys: the tables must contain exactly the rows that follow from the
//! records.
//!
//! Each expected row is looked up, then all rows are counted. Only if there are more rows than
//! expected, every row is compared with its user, to find the surplus ones.

use roster_core::{SearchKeys, User, UserId};

use super::{CheckReader, Line, each, findings::place, number};
use crate::database::Values;

/// The maximum number of rows that are looked up at once.
const BATCH: usize = 2000;

/// A row of `words` or `further_keys`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchRow {
    /// The user.
    pub id: UserId,
    /// 0 for an e-mail address, 1 for a telephone number, `None` for a word.
    pub kind: Option<i64>,
    /// The word or the key.
    pub key: String,
}

/// The findings for both tables.
pub(super) struct Search {
    words: Table,
    further_keys: Table,
}

struct Table {
    name: &'static str,
    /// The statement for all rows: id, key, kind, record of the user.
    rows: &'static str,
    line: Line,
    /// Expected rows that were not looked up yet.
    expected: Vec<SearchRow>,
}

impl Search {
    pub(super) const fn new() -> Self {
        let words = Table {
            name: "words",
            rows: "SELECT w.id, w.word, NULL, u.record FROM words AS w \
                 LEFT JOIN users AS u ON u.tenant = w.tenant AND u.id = w.id",
            line: Line::new("words"),
            expected: Vec::new(),
        };
        let further_keys = Table {
            name: "further_keys",
            rows: "SELECT k.id, k.key, k.kind, u.record FROM further_keys AS k \
                 LEFT JOIN users AS u ON u.tenant = k.tenant AND u.id = k.id",
            line: Line::new("further keys"),
            expected: Vec::new(),
        };
        Self { words, further_keys }
    }

    /// Looks up the remaining rows of a tenant.
    pub(super) async fn end_tenant<R: CheckReader>(&mut self, reader: R) -> Result<(), R::Error> {
        self.words.look(reader, 0).await?;
        self.further_keys.look(reader, 0).await
    }

    /// Adds all rows that a user must have.
    pub(super) async fn add<R: CheckReader>(
        &mut self,
        reader: R,
        user: &User,
    ) -> Result<(), R::Error> {
        for row in rows_of(user) {
            let table = if row.kind.is_none() { &mut self.words } else { &mut self.further_keys };
            table.expected.push(row);
        }
        self.words.look(reader, BATCH).await?;
        self.further_keys.look(reader, BATCH).await
    }

    /// Counts all rows, and finds surplus ones.
    pub(super) async fn end<R: CheckReader>(mut self, reader: R) -> [Line; 2] {
        for table in [&mut self.words, &mut self.further_keys] {
            let read = table.end(reader).await;
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

    async fn end<R: CheckReader>(&mut self, reader: R) -> Result<(), R::Error> {
        let count = number(reader, &format!("SELECT count(*) FROM {}", self.name)).await?;
        if count.unsigned_abs() == self.line.count - self.line.faults {
            return Ok(());
        }
        let Self { name, line, .. } = self;
        each(reader, self.rows, &[], |row| name_surplus(&row, name, line)).await
    }
}

fn name_surplus(row: &Values, table: &str, line: &mut Line) {
    let place = place(table, row.octets(0));
    match User::from_record(row.octets(3)) {
        Ok(user) if user.id.as_bytes() == row.octets(0) => {
            let is_own = |own: &SearchRow| {
                own.key.as_bytes() == row.octets(1) && own.kind == row.optional_integer(2)
            };
            line.require(rows_of(&user).any(|own| is_own(&own)), &place, "one is not the record's");
        }
        _ => line.fault(&place, "there is no such user"),
    }
}

/// The rows that a user must have.
fn rows_of(user: &User) -> impl Iterator<Item = SearchRow> {
    let (id, SearchKeys { words, emails, phone_numbers }) = (user.id, SearchKeys::of(user));
    let row = move |kind| move |key| SearchRow { id, kind, key };
    let words = words.into_iter().map(row(None));
    let emails = emails.into_iter().map(row(Some(0)));
    words.chain(emails).chain(phone_numbers.into_iter().map(row(Some(1))))
}
