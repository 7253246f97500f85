//! The columns of a CSV file: which member each of them has, and the records that rows make.

use std::{borrow::Cow, collections::HashSet};

use roster_core::{
    Attribute, Capped, Json, Part, UserSchema,
    attribute::{Kind, PartKind},
    json::{self, write_json},
    limits::CSV_COLUMNS_MAX,
    schema::{DeclaredMember, ValueType},
    text::nfc,
};

use super::{
    cells::{Cells, is_formula, restored},
    mapping::{MappedColumn, Mapping},
    names::{Names, Target},
    rows::BARE_CR,
};
use crate::{
    problem::{Fault, Problem, ProblemCode},
    rest::bulk::lines::RowFault,
};

/// The columns of the table that a service returns with the results of rows. They are last, and
/// ignored in a file that is sent.
pub(in super::super) const RESULT_COLUMNS: [&str; 5] =
    ["status", "code", "line", "column", "detail"];

/// The columns of a file.
#[derive(Debug)]
pub(in super::super) struct Columns {
    pub(super) cells: Cells,
    pub(in super::super) delimiter: u8,
    pub(super) all: Vec<Column>,
    /// How many of them are repeated with the results: all but those of earlier results.
    repeated: usize,
    schema: UserSchema,
}

#[derive(Debug)]
pub(super) struct Column {
    pub(super) header: String,
    /// `None` if the column is ignored.
    pub(super) target: Option<Target>,
    /// The pointer to its member; empty if the column is ignored.
    pub(super) pointer: String,
}

impl Columns {
    /// Reads the header row.
    pub(in super::super) fn read(
        header: &[u8],
        delimiter: u8,
        mapping: &Mapping,
        schema: UserSchema,
    ) -> Result<Self, Problem> {
        let cells = Cells::new(delimiter);
        let mut columns = Vec::new();
        let mut faults = Capped::default();
        let names = Names::new(&schema, mapping.guesses);
        let mut headers = Vec::new();
        for cell in cells.read(header) {
            let cell = String::from_utf8(cell).map_err(|_| malformed(NOT_UTF8))?;
            headers.push(nfc(restored(cell.trim()).to_owned()));
        }
        let mapped = mapping.columns(&headers, &names, &mut faults)?;
        let given = |header: &str| mapped.iter().find(|mapped| mapped.column == header);
        let is_mapped = |name: &&str| given(name).is_some();
        let results = headers.len().saturating_sub(RESULT_COLUMNS.len());
        let has_results = headers.get(results..).is_some_and(|last| last == RESULT_COLUMNS)
            && !RESULT_COLUMNS.iter().any(is_mapped);
        let repeated = if has_results { results } else { headers.len() };
        if repeated > CSV_COLUMNS_MAX {
            return Err(malformed(format!("a row has at most {CSV_COLUMNS_MAX} cells")));
        }
        for (index, header) in headers.into_iter().enumerate() {
            let mut target = None;
            if index < repeated {
                match given(&header).map(|mapped| mapped.target.clone()) {
                    Some(given) => target = given,
                    None => match names.find(&header) {
                        Ok(found) => target = Some(found),
                        Err(detail) => {
                            let fault =
                                || Fault::in_column(header.clone(), "unknown-column", detail);
                            faults.push(fault);
                        }
                    },
                }
            }
            let same = columns.iter().find(|other: &&Column| {
                target.as_ref().is_some_and(|target| other.target.as_ref() == Some(target))
            });
            if let Some(other) = same {
                let detail = format!("the column {} has the same member", other.header);
                faults.push(|| Fault::in_column(header.clone(), "duplicate-column", detail));
            }
            let pointer = target.as_ref().map(Target::pointer).unwrap_or_default();
            columns.push(Column { header, target, pointer });
        }
        if !faults.is_empty() {
            return Err(invalid_columns(&columns, &mapped, faults));
        }
        Ok(Self { cells, delimiter, all: columns, repeated, schema })
    }

    /// The columns and their members, as one text.
    pub(in super::super) fn shape(&self) -> String {
        let mut out = Vec::new();
        write_json(&mut out, &self.describe());
        String::from_utf8_lossy(&out).into_owned()
    }

    /// The number of columns of the file.
    pub(in super::super) fn count(&self) -> usize {
        self.all.len()
    }

    /// The headers, as they were sent, without those of earlier results.
    pub(in super::super) fn headers(&self) -> impl Iterator<Item = &str> {
        self.all.iter().take(self.repeated).map(|column| column.header.as_str())
    }

    /// The mapping, as a line of a dry run: each column with its member, `null` if it is ignored.
    pub(in super::super) fn describe(&self) -> Json {
        let text = |text: &str| Json::Text(text.to_owned());
        let columns = self.all.iter().map(|column| {
            let member = column.target.as_ref().map_or(Json::Null, |target| text(&target.name()));
            let header = ("column".to_owned(), text(&column.header));
            Json::Object(vec![header, ("member".to_owned(), member)])
        });
        Json::Object(vec![("columns".to_owned(), Json::Array(columns.collect()))])
    }

    /// The values of the cells of a row, one for each of the headers; missing ones are empty.
    pub(in super::super) fn values(&self, row: &[u8]) -> Vec<String> {
        let cells = self.cells.read(row).into_iter();
        let mut cells: Vec<String> =
            cells.map(|cell| restored(&String::from_utf8_lossy(&cell)).to_owned()).collect();
        cells.resize(self.repeated, String::new());
        cells
    }

    /// The record of a row: an object with the members of its cells that are not empty.
    pub(in super::super) fn record(&self, row: &[u8]) -> Result<Json, Problem> {
        let cells = self.cells.read(row);
        let (has, wants) = (cells.len(), self.all.len());
        if has != wants {
            let plural = if has == 1 { "" } else { "s" };
            let detail = format!("the row has {has} cell{plural}, and the header {wants}");
            let code = if has < wants { "missing-cell" } else { "extra-cell" };
            return Err(self.malformed(has.min(wants), code, detail));
        }
        let mut record = Record::default();
        let mut faults = Capped::default();
        for (column, cell) in self.all.iter().zip(cells) {
            let Some(target) = &column.target else { continue };
            if let Err((code, detail)) = self.take(target, cell, &mut record) {
                let fault = || Fault::at(target.pointer(), code, detail);
                faults.push(|| fault().with_column(column.header.clone()));
            }
        }
        if !faults.is_empty() {
            return Err(Problem::listing(ProblemCode::InvalidUser, "cell", faults));
        }
        Ok(record.into_json())
    }

    fn take(
        &self,
        target: &Target,
        cell: Vec<u8>,
        record: &mut Record,
    ) -> Result<(), (&'static str, String)> {
        let cell =
            String::from_utf8(cell).map_err(|_| ("invalid-encoding", NOT_UTF8.to_owned()))?;
        if is_formula(&cell) {
            let detail = "a spreadsheet would execute this; if it is the value, put an apostrophe \
                          before it";
            return Err(("formula", detail.to_owned()));
        }
        let cell = restored(&cell);
        if cell.is_empty() {
            return Ok(());
        }
        match target {
            Target::Active => record.put(Attribute::Status.name(), active(cell)?)?,
            Target::Member(attribute) => {
                let value = value(attribute.kind(), cell)?;
                match (attribute, value) {
                    (Attribute::Attributes, Json::Object(members)) => {
                        record.put_attributes(members)?;
                    }
                    (Attribute::Attributes, value) if value != Json::Null => {
                        return Err(("wrong-type", "send a JSON object in this cell".to_owned()));
                    }
                    (attribute, value) => record.put(attribute.name(), value)?,
                }
            }
            Target::Part { of, part } => {
                record.put_part(of.name(), None, *part, part_value(*of, *part, cell))?;
            }
            Target::Entry { list, index, part } => {
                let value = part_value(*list, *part, cell);
                record.put_part(list.name(), Some(*index), *part, value)?;
            }
            Target::Attribute(name) => {
                let declared = self.schema.members.iter().find(|member| member.name == *name);
                record.put_attribute(name, declared_value(declared, cell)?)?;
            }
        }
        Ok(())
    }

    /// The problem of a row that is not CSV in this cell.
    pub(in super::super) fn malformed_row(&self, fault: RowFault, cell: usize) -> Problem {
        match fault {
            RowFault::Misquoted => {
                let detail = "a quotation mark neither opens nor closes the cell, nor is doubled \
                              inside it";
                self.malformed(cell, "misquoted-cell", detail.to_owned())
            }
            RowFault::BareCr => self.malformed(cell, "bare-cr", BARE_CR.to_owned()),
        }
    }

    fn malformed(&self, cell: usize, code: &'static str, detail: String) -> Problem {
        let header = self.all.get(cell).map(|column| column.header.clone());
        let header = header.unwrap_or_else(|| format!("cell {}", cell + 1));
        malformed(detail.clone()).with_faults(Fault::in_column(header, code, detail).into())
    }
}

/// The problem of columns. Often the first row of a file is no header row.
fn invalid_columns(all: &[Column], mapped: &[MappedColumn], faults: Capped<Fault>) -> Problem {
    if mapped.is_empty() && all.len() > 1 && all.iter().all(|column| column.target.is_none()) {
        let detail = "no column has a member; the first row must have the names of the columns";
        return Problem::saying(ProblemCode::InvalidColumns, detail).with_faults(faults);
    }
    Problem::listing(ProblemCode::InvalidColumns, "column", faults)
}

const NOT_UTF8: &str = "the text is not UTF-8; save the file as CSV UTF-8";

/// The problem of a row or a file that is not CSV.
pub(in super::super) fn malformed(detail: impl Into<Cow<'static, str>>) -> Problem {
    Problem::saying(ProblemCode::MalformedCsv, detail)
}

/// The parts of the entries of a member, with the index of each.
type Entries = Vec<(Option<usize>, Vec<(String, Json)>)>;

/// The record of a row under construction.
#[derive(Debug, Default)]
struct Record {
    members: Vec<(String, Json)>,
    /// Compound members by name, with the index of each entry and its parts. A member that is one
    /// object has no index.
    parts: Vec<(&'static str, Entries)>,
    attributes: Vec<(String, Json)>,
}

impl Record {
    fn put(&mut self, name: &str, value: Json) -> Result<(), (&'static str, String)> {
        let is_there = self.members.iter().any(|(known, _)| known == name)
            || (name == Attribute::Attributes.name() && !self.attributes.is_empty());
        if is_there || self.parts.iter().any(|(known, _)| *known == name) {
            return Err(twice(name));
        }
        self.members.push((name.to_owned(), value));
        Ok(())
    }

    /// Adds the members of an object in one cell.
    fn put_attributes(
        &mut self,
        object: Vec<(String, Json)>,
    ) -> Result<(), (&'static str, String)> {
        let known: HashSet<&str> = self.attributes.iter().map(|(name, _)| name.as_str()).collect();
        if let Some((name, _)) = object.iter().find(|(name, _)| known.contains(name.as_str())) {
            return Err(twice(&format!("attributes.{name}")));
        }
        self.attributes.extend(object);
        Ok(())
    }

    /// Adds the value of one cell at a path of members of `attributes`.
    fn put_attribute(&mut self, path: &str, value: Json) -> Result<(), (&'static str, String)> {
        let twice = || twice(&format!("attributes.{path}"));
        if self.members.iter().any(|(known, _)| known == Attribute::Attributes.name()) {
            return Err(twice());
        }
        let (outer, name) = path.rsplit_once('.').map_or((None, path), |(a, b)| (Some(a), b));
        let mut object = &mut self.attributes;
        for outer in outer.into_iter().flat_map(|outer| outer.split('.')) {
            let at = object.iter().position(|(known, _)| known == outer).unwrap_or_else(|| {
                object.push((outer.to_owned(), Json::Object(Vec::new())));
                object.len() - 1
            });
            let Some((_, Json::Object(inner))) = object.get_mut(at) else { return Err(twice()) };
            object = inner;
        }
        if object.iter().any(|(known, _)| known == name) {
            return Err(twice());
        }
        object.push((name.to_owned(), value));
        Ok(())
    }

    fn put_part(
        &mut self,
        name: &'static str,
        index: Option<usize>,
        part: Part,
        value: Json,
    ) -> Result<(), (&'static str, String)> {
        if self.members.iter().any(|(known, _)| known == name) {
            return Err(twice(name));
        }
        let place = self.parts.iter().position(|(known, _)| *known == name);
        let place = place.unwrap_or_else(|| {
            self.parts.push((name, Vec::new()));
            self.parts.len() - 1
        });
        let Some((_, entries)) = self.parts.get_mut(place) else { return Ok(()) };
        let part = (part.name().to_owned(), value);
        match entries.iter_mut().find(|(known, _)| *known == index) {
            Some((_, parts)) => parts.push(part),
            None => entries.push((index, vec![part])),
        }
        Ok(())
    }

    fn into_json(self) -> Json {
        let Self { mut members, parts, attributes } = self;
        for (name, mut entries) in parts {
            add_short_form(name, &members, &mut entries);
            entries.sort_by_key(|(index, _)| *index);
            let is_list = entries.iter().all(|(index, _)| index.is_some());
            let mut objects = entries.into_iter().map(|(_, parts)| Json::Object(parts));
            let value = if is_list {
                Json::Array(objects.collect())
            } else {
                objects.next().unwrap_or(Json::Null)
            };
            members.push((name.to_owned(), value));
        }
        if !attributes.is_empty() {
            members.push((Attribute::Attributes.name().to_owned(), Json::Object(attributes)));
        }
        Json::Object(members)
    }
}

/// The error of a cell whose member another cell of its row has.
fn twice(name: &str) -> (&'static str, String) {
    ("duplicate-column", format!("another cell has {name} too"))
}

/// Adds the entry of a short form to the other entries of its list, if the row has no first entry.
fn add_short_form(name: &str, members: &[(String, Json)], entries: &mut Entries) {
    let short = Attribute::from_name(name).and_then(Attribute::short_form);
    let short = short.and_then(|short| members.iter().find(|(known, _)| known == short.name()));
    let Some((_, value)) = short else { return };
    if entries.iter().any(|(index, _)| *index == Some(0)) {
        return;
    }
    let mut parts = vec![(Part::Value.name().to_owned(), value.clone())];
    let is_primary = |(name, _): &(String, Json)| name == Part::Primary.name();
    if !entries.iter().any(|(_, parts)| parts.iter().any(is_primary)) {
        parts.push((Part::Primary.name().to_owned(), Json::Bool(true)));
    }
    entries.push((Some(0), parts));
}

/// The value of a cell for a member of this kind.
fn value(kind: Kind, cell: &str) -> Result<Json, (&'static str, String)> {
    match kind {
        Kind::ServerMade => {
            Ok(cell.parse().map_or_else(|_| Json::Text(cell.to_owned()), Json::Int))
        }
        Kind::Status | Kind::Text(_) | Kind::ShortForm { .. } => Ok(Json::Text(cell.to_owned())),
        Kind::Mark | Kind::Flag { .. } => Ok(boolean(cell)),
        Kind::One(_) | Kind::Many(_) | Kind::Object => {
            let read = json::read(cell.as_bytes()).map_err(|fault| fault.detail);
            let no_null = "null removes nothing here; leave the cell empty";
            let read = read.and_then(|value| {
                if value == Json::Null { Err(no_null.to_owned()) } else { Ok(value) }
            });
            read.map_err(|detail| {
                let detail = format!("send JSON in this cell, or a column for each part: {detail}");
                ("wrong-type", detail)
            })
        }
    }
}

fn part_value(of: Attribute, part: Part, cell: &str) -> Json {
    let shape = match of.kind() {
        Kind::One(shape) | Kind::Many(shape) => Some(shape),
        Kind::ServerMade
        | Kind::Status
        | Kind::Text(_)
        | Kind::ShortForm { .. }
        | Kind::Mark
        | Kind::Flag { .. }
        | Kind::Object => None,
    };
    let kind = shape.and_then(|shape| shape.parts.iter().find(|(known, _)| *known == part));
    match kind {
        Some((_, PartKind::Flag)) => boolean(cell),
        Some((_, PartKind::Text(_))) | None => Json::Text(cell.to_owned()),
    }
}

fn declared_value(
    declared: Option<&DeclaredMember>,
    cell: &str,
) -> Result<Json, (&'static str, String)> {
    let text = || Json::Text(cell.to_owned());
    let Some(declared) = declared else { return Ok(text()) };
    let value = |text: &str| json::read(text.as_bytes()).ok();
    if declared.multi_valued {
        return value(cell).filter(|value| matches!(value, Json::Array(_))).ok_or_else(|| {
            ("wrong-type", "send a JSON array in this cell, such as [\"a\",\"b\"]".to_owned())
        });
    }
    Ok(match declared.value_type {
        ValueType::String | ValueType::DateTime => text(),
        ValueType::Boolean => boolean(cell),
        // Anything that is no number is refused as a text.
        ValueType::Integer | ValueType::Number => value(cell)
            .filter(|value| matches!(value, Json::Int(_) | Json::Float(_)))
            .unwrap_or_else(text),
    })
}

/// A boolean, as spreadsheets write it; other texts are refused as texts.
fn boolean(cell: &str) -> Json {
    match cell {
        _ if cell.eq_ignore_ascii_case("true") => Json::Bool(true),
        _ if cell.eq_ignore_ascii_case("false") => Json::Bool(false),
        _ => Json::Text(cell.to_owned()),
    }
}

/// The status that SCIM's `active` means.
fn active(cell: &str) -> Result<Json, (&'static str, String)> {
    let Json::Bool(is_active) = boolean(cell) else {
        return Err(("invalid-value", "send true or false".to_owned()));
    };
    Ok(Json::Text(if is_active { "active" } else { "suspended" }.to_owned()))
}
