//! A batch of lines for the store.
//!
//! A line that cannot be parsed keeps its place among the others, so that results come in the order
//! of lines.

use std::sync::Arc;

use bytes::Bytes;
use roster_core::{
    Attribute, BulkLine, BulkWrite, Draft, Failure, Json, OnConflict, Outcome, Preconditions,
    Refusal, StoreError, Tags, Timestamp, UserId, Violation, ViolationCode, violation::TOLERATED,
};

use super::{
    bulk_query::LineKind, group_line::read_group, import_key::ImportKey, lines::Line,
    splitter::Format,
};
use crate::{
    extract::JsonParser,
    limits::admission::LogCharges,
    problem::{Problem, ProblemCode},
};

/// The maximum number of lines of a batch: half of what the store commits at a time.
pub(super) const BATCH_LINES_MAX: usize = 256;
/// A batch is full once its lines hold this many bytes.
const BATCH_BYTES_MAX: usize = 1024 * 1024;

/// Parsed lines, in their order.
#[derive(Debug, Default)]
pub(super) struct Batch {
    slots: Vec<Slot>,
    writes: Vec<BulkLine>,
    bytes: usize,
}

/// The slot of one line.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) number: u64,
    /// The id of a user to create, as it was sent.
    pub(super) sent_id: Option<String>,
    /// The text of a row: its result may repeat it or name a column.
    pub(super) text: Option<Bytes>,
    /// The error of a line that cannot be parsed or is refused. The other lines have a write.
    unread: Option<Problem>,
}

impl Batch {
    /// Adds the line with this number.
    pub(super) async fn take(
        &mut self,
        number: u64,
        line: &Line,
        (kind, format): (LineKind, &Format),
        (parser, charges, key): (&JsonParser, &LogCharges, Option<&ImportKey>),
    ) {
        let (mut sent_id, mut kept) = (None, None);
        let unread = match line {
            Line::Whole(text) => {
                self.bytes += text.len();
                kept = matches!(format, Format::Csv(_)).then(|| text.clone());
                let format = format.clone();
                match parser.read(text, move |text| read_write(kind, &format, text)).await {
                    Ok(Ok(write)) => {
                        if let BulkWrite::Create(draft, _) = &write {
                            sent_id = draft.sent_id().map(str::to_owned);
                        }
                        let start = charges.start(text.len());
                        let request_id = key.map(|key| key.request_id(number, text));
                        self.writes.push(BulkLine { write, start: Some(start), request_id });
                        None
                    }
                    Ok(Err(problem)) | Err(problem) => Some(problem),
                }
            }
            Line::TooLong => Some(Problem::saying(ProblemCode::BodyTooLarge, format.too_long())),
            Line::Malformed(fault, cell) => Some(format.malformed(*fault, *cell)),
        };
        self.slots.push(Slot { number, sent_id, text: kept, unread });
    }

    /// Adds a line that is not executed.
    pub(super) fn refuse(&mut self, number: u64, problem: Problem) {
        self.slots.push(Slot { number, sent_id: None, text: None, unread: Some(problem) });
    }

    pub(super) fn is_full(&self) -> bool {
        self.slots.len() >= BATCH_LINES_MAX || self.bytes >= BATCH_BYTES_MAX
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The number of its first line.
    pub(super) fn first(&self) -> Option<u64> {
        self.slots.first().map(|slot| slot.number)
    }

    /// The number of writes.
    pub(super) fn writes(&self) -> usize {
        self.writes.len()
    }

    /// The slots of the lines, and the writes of the valid ones.
    pub(super) fn into_parts(self) -> (Vec<Slot>, Vec<BulkLine>) {
        (self.slots, self.writes)
    }
}

/// The write of a line.
fn read_write(kind: LineKind, format: &Format, text: &[u8]) -> Result<BulkWrite, Problem> {
    let tree = format.read(text)?;
    let is_of_groups = matches!(kind, LineKind::Group(_));
    let write = match kind {
        LineKind::Create(upsert) => {
            let is_record = is_record(&tree);
            let mut draft = match upsert.on_conflict {
                OnConflict::Merge => Draft::parse_mergeable(tree),
                OnConflict::Fail | OnConflict::Skip | OnConflict::Replace => Draft::parse(tree),
            };
            if is_record {
                draft.excuse(TOLERATED);
            }
            Ok(BulkWrite::Create(draft, upsert))
        }
        LineKind::Group(on_conflict) => read_group(tree, on_conflict),
        // The `version` of the line is a precondition, as in the body of any patch.
        LineKind::Patch => {
            read_id(&tree).map(|id| BulkWrite::Patch(id, Preconditions::default(), Arc::new(tree)))
        }
        LineKind::Delete => read_deletion(&tree),
    };
    write.map_err(|violation| {
        let failure = Failure::Refused(Refusal::Invalid(violation.into()));
        if is_of_groups { Problem::of_group(failure) } else { failure.into() }
    })
}

const ID_NEEDED: &str = "send the id of a user, in each line or row";

/// The id of the user that a line names.
fn read_id(tree: &Json) -> Result<UserId, Violation> {
    match tree.member(Attribute::Id.name()) {
        Some(Json::Text(id)) => {
            UserId::parse(id).ok_or_else(|| violation("id", ViolationCode::InvalidValue, ID_NEEDED))
        }
        Some(_) => Err(violation("id", ViolationCode::WrongType, ID_NEEDED)),
        None => Err(violation("id", ViolationCode::Required, ID_NEEDED)),
    }
}

/// A line that names a user to delete, and perhaps the version that it must have.
fn read_deletion(tree: &Json) -> Result<BulkWrite, Violation> {
    let id = read_id(tree)?;
    let mut preconditions = Preconditions::default();
    let members = if let Json::Object(members) = tree { members.as_slice() } else { &[] };
    for (name, value) in members {
        match (name.as_str(), value) {
            ("id", _) => {}
            ("version", Json::Int(version)) => {
                preconditions.if_match = Some(Tags::Versions(vec![*version]));
            }
            ("version", _) => {
                let detail = "send a whole number";
                return Err(violation("version", ViolationCode::WrongType, detail));
            }
            _ => {
                let detail = "a line of a delete has id and version alone";
                return Err(violation(name, ViolationCode::UnknownMember, detail));
            }
        }
    }
    Ok(BulkWrite::Delete(id, preconditions))
}

fn violation(member: &str, code: ViolationCode, detail: &'static str) -> Violation {
    let escaped = member.replace('~', "~0").replace('/', "~1");
    Violation::new(format!("/{escaped}"), code, detail)
}

/// Whether a line is the whole record of a stored user, as an export writes it: it has all members
/// that only a service creates. Such a user was accepted before, perhaps with SCIM's tolerant
/// parsing.
fn is_record(tree: &Json) -> bool {
    let text = |name: &str| match tree.member(name) {
        Some(Json::Text(text)) => text.as_str(),
        _ => "",
    };
    let is_time = |name: &str| Timestamp::parse(text(name)).is_some();
    UserId::parse(text("id")).is_some()
        && matches!(tree.member("version"), Some(Json::Int(1..)))
        && is_time("created_at")
        && is_time("updated_at")
}

/// Combines the slots with the results of the writes.
pub(super) fn joined(
    slots: Vec<Slot>,
    results: Vec<Result<Outcome, Failure>>,
    problem: impl Fn(Failure) -> Problem,
) -> impl Iterator<Item = (Slot, Result<Outcome, Problem>)> {
    let mut results = results.into_iter();
    slots.into_iter().map(move |mut slot| {
        let result = match slot.unread.take() {
            Some(problem) => Err(problem),
            None => results.next().unwrap_or_else(no_result).map_err(&problem),
        };
        (slot, result)
    })
}

fn no_result() -> Result<Outcome, Failure> {
    Err(Failure::Store(StoreError::Internal("the store gave no result".into())))
}
