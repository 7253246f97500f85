//! The query of a list: its parameters, read all at once.
//!
//! Faults are listed together, each by its parameter. Equality values become keys here, made as
//! uniqueness makes them, so that a name is found however it is typed.

use std::collections::BTreeMap;

use roster_core::{
    Attribute, Capped, Status, UserId,
    filter::{Expression, Filter, FilterFault},
    keys::username_lookup,
    limits::{FIELDS_MAX, ID_PARAMETERS_MAX, SEARCH_LENGTH_MAX, SEARCH_WORDS_MAX, TEXT_LENGTH_MAX},
    list::{Direction, PageKey, PageQuery, Sort, SortBy},
    project::Members,
    text::{email_key, nfc, phone_key},
    words::{SearchFault, search_words},
};

use crate::{
    cursor::ListCursors,
    extract::{
        self, Parameter, ParameterFault, boolean, duplicate, invalid, limit, parameters, unknown,
    },
    problem::{Fault, Problem, ProblemCode},
};

/// What a list asks for.
pub(super) struct ListQuery<'a> {
    /// The page.
    pub(super) page: PageQuery,
    /// The members to show; all when absent.
    pub(super) members: Option<Members>,
    given: Vec<Parameter<'a>>,
    /// What must be equal, by the name of the parameter: cursors do not depend on their order.
    conditions: BTreeMap<&'static str, Expression>,
    ids: Vec<UserId>,
    cursors: ListCursors<'a>,
}

impl<'a> ListQuery<'a> {
    /// Reads the query of a page; opens its cursor.
    pub(super) fn read(query: Option<&'a str>, cursors: ListCursors<'a>) -> Result<Self, Problem> {
        Self::read_without(&[], query, cursors)
    }

    /// Reads a query in which these parameters have no place, each with the reason.
    pub(super) fn read_without(
        out_of_place: &[(&str, &str)],
        query: Option<&'a str>,
        cursors: ListCursors<'a>,
    ) -> Result<Self, Problem> {
        let given = parameters(query)?;
        let page = PageQuery::first(roster_core::limits::PAGE_SIZE_DEFAULT);
        let (conditions, ids) = (BTreeMap::new(), Vec::new());
        let mut list = Self { page, members: None, given: Vec::new(), conditions, ids, cursors };
        let mut faults = Capped::default();
        let (mut cursor, mut filter) = (None, None);
        for (index, parameter) in given.iter().enumerate() {
            let name = parameter.name.as_ref();
            let twice = given.iter().take(index).any(|before| before.name == parameter.name);
            let reason = out_of_place.iter().find(|(known, _)| *known == name);
            let taken = if let Some((_, reason)) = reason {
                Err(("conflicting-parameter", (*reason).to_owned()))
            } else if twice && name != "id" {
                Err(duplicate())
            } else if name == "cursor" {
                cursor = Some(parameter.value().into_owned());
                Ok(())
            } else if name == "filter" {
                filter = Some(parameter.value().into_owned());
                Ok(())
            } else {
                list.take(parameter)
            };
            if let Err((code, detail)) = taken {
                faults.push(|| Fault::of_parameter(name, code, detail));
            }
        }
        if !list.page.words.is_empty() && given.iter().any(|given| given.name == "sort") {
            let detail = "what is searched for comes in the order of creation; leave sort out";
            faults.push(|| Fault::of_parameter("sort", "conflicting-parameter", detail));
        }
        if !faults.is_empty() {
            return Err(extract::refused(faults));
        }
        // The rest was understood: what is wrong with the filter is a problem of its own.
        let filter = filter.map(|text| Filter::parse(&text)).transpose().map_err(refused)?;
        let ids = (!list.ids.is_empty()).then(|| Expression::ids(std::mem::take(&mut list.ids)));
        let conditions = ids.into_iter().chain(std::mem::take(&mut list.conditions).into_values());
        let filter = filter.map(|filter| filter.expression().clone());
        list.page = conditions.chain(filter).fold(list.page, PageQuery::with);
        let cursors = list.cursors.with_query(&list.page);
        if let Some(cursor) = cursor {
            let after = cursors.open(&cursor);
            list.page.after = Some(after.ok_or_else(|| Problem::new(ProblemCode::InvalidCursor))?);
        }
        Ok(Self { given, cursors, ..list })
    }

    fn take(&mut self, parameter: &Parameter<'_>) -> Result<(), ParameterFault> {
        let value = parameter.value();
        let mut equal = |name, attribute, key| {
            self.conditions.insert(name, Expression::equal(attribute, key));
        };
        match parameter.name.as_ref() {
            "limit" => self.page.limit = limit(&value)?,
            "sort" => self.page.sort = sort(&value)?,
            "count" => self.page.count = boolean(&value)?,
            "fields" => self.members = Some(members(&value)?),
            "id" => {
                let id = UserId::parse(&value).ok_or_else(|| invalid("give the id of a user"))?;
                if self.ids.len() >= ID_PARAMETERS_MAX {
                    return Err(("too-many", format!("give at most {ID_PARAMETERS_MAX} ids")));
                }
                self.ids.push(id);
            }
            "username" => {
                equal("username", Attribute::Username, username_lookup(&text(&value)?));
            }
            // An address or a number may hold a plus sign, and hardly ever a space.
            "email" => equal("email", Attribute::Email, email_key(&text(&parameter.literal())?)),
            "phone_number" => {
                let key = phone_key(&text(&parameter.literal())?);
                equal("phone_number", Attribute::PhoneNumber, key);
            }
            "q" => self.page.words = search_words(&value).map_err(unsearchable)?,
            "external_id" => equal("external_id", Attribute::ExternalId, text(&value)?),
            "status" => {
                let status = Status::parse(&value);
                let status = status.ok_or_else(|| invalid("give active or suspended"))?;
                self.conditions.insert("status", Expression::status(status));
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }

    /// The cursor of the next page.
    pub(super) fn seal(&self, after: &PageKey) -> Result<String, Problem> {
        self.cursors.seal(after)
    }

    /// The target of the next page.
    pub(super) fn target(&self, path: &str, cursor: &str) -> String {
        extract::target(path, &self.given, cursor)
    }
}

/// The problem of a filter that is none.
fn refused(fault: FilterFault) -> Problem {
    let detail = format!("at byte {}: {}", fault.position, fault.detail);
    let fault =
        Fault::of_parameter("filter", "invalid-filter", fault.detail).with_position(fault.position);
    Problem::saying(ProblemCode::InvalidFilter, detail).with_faults(fault.into())
}

fn unsearchable(fault: SearchFault) -> ParameterFault {
    match fault {
        SearchFault::NoWord => invalid("give at least one letter or digit"),
        SearchFault::TooManyWords => ("too-many", format!("give at most {SEARCH_WORDS_MAX} words")),
        SearchFault::TooLong => invalid(&format!("give at most {SEARCH_LENGTH_MAX} bytes")),
    }
}

fn sort(text: &str) -> Result<Sort, ParameterFault> {
    let (direction, name) = match text.strip_prefix('-') {
        Some(name) => (Direction::Descending, name),
        None => (Direction::Ascending, text),
    };
    // Ids are in the order of creation.
    let name = if name == "created_at" { "id" } else { name };
    let by = SortBy::ALL.iter().copied().find(|by| by.name() == name);
    let names = "id, created_at, updated_at, username, email, family_name or name";
    let by = by.ok_or_else(|| invalid(&format!("give {names}; a leading - descends")))?;
    Ok(Sort { by, direction })
}

fn members(text: &str) -> Result<Members, ParameterFault> {
    let names = text.split(',');
    if names.clone().count() > FIELDS_MAX {
        return Err(("too-many", format!("give at most {FIELDS_MAX} names")));
    }
    let known = names.map(|name| {
        Attribute::from_name(name).ok_or_else(|| match near(name) {
            Some(known) => invalid(&format!("did you mean {known}?")),
            None => invalid("give names of members, with commas between them"),
        })
    });
    known.collect::<Result<_, _>>().map(Members::new)
}

fn near(name: &str) -> Option<&'static str> {
    roster_core::text::nearest(name, Attribute::ALL.iter().map(|known| known.name()))
}

/// A value to compare, normalised as stored values are.
fn text(value: &str) -> Result<String, ParameterFault> {
    if value.is_empty() || value.chars().nth(TEXT_LENGTH_MAX).is_some() {
        return Err(invalid(&format!("give 1 to {TEXT_LENGTH_MAX} characters")));
    }
    Ok(nfc(value.to_owned()))
}
