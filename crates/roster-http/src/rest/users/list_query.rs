//! The query of a list of users.
//!
//! All errors are reported together, each with its parameter. Values to compare are normalized as
//! for the check of uniqueness, so that a name is found in every spelling that counts as equal.

use std::collections::BTreeMap;

use roster_core::{
    Attribute, Status, UserId, UserSchema,
    filter::Expression,
    keys::username_lookup,
    limits::{ID_PARAMETERS_MAX, PAGE_SIZE_DEFAULT},
    list::{Direction, PageQuery, Sort, SortBy},
    text::{email_key, phone_key},
    words::Search,
};

use crate::{
    cursor::{List, ListCursors},
    extract::{
        Fields, Parameter, ParameterFault, duplicate, invalid, read_all, refused, text, unknown,
    },
    problem::{Fault, Problem},
    request::Call,
    rest::list::{ListQuery, unparsed},
    state::AppState,
};

/// How the users that match the query are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rest) enum ListForm {
    /// They are returned as a page of JSON.
    Page,
    /// All are returned, one on each line.
    Lines,
    /// Each is changed.
    Change,
}

/// The parsed query of a list of users.
pub(in crate::rest) struct UserListQuery<'a> {
    /// The page.
    pub(in crate::rest) page: PageQuery,
    /// The members to show.
    pub(in crate::rest) fields: Fields,
    pub(in crate::rest) query: ListQuery<'a>,
    pub(in crate::rest) cursors: ListCursors<'a>,
}

/// The parameters of this list, without those that every list has.
struct Given {
    page: PageQuery,
    filter: Option<String>,
    search: Option<Search>,
    fields: Fields,
    /// The conditions of equality, by the name of the parameter. Cursors do not depend on the order
    /// of the parameters.
    conditions: BTreeMap<&'static str, Expression>,
    ids: Vec<UserId>,
}

impl<'a> UserListQuery<'a> {
    /// Reads a query and opens its cursor. `take_other` may read other parameters. Parameters that
    /// do not apply to the form are errors.
    pub(in crate::rest) fn read(
        app: &'a AppState,
        call: &'a Call,
        form: ListForm,
        mut take_other: impl FnMut(&Parameter<'_>) -> Result<bool, ParameterFault>,
    ) -> Result<Self, Problem> {
        let mut query = ListQuery::default();
        let mut own = Given {
            page: PageQuery {
                schema: app.directory.schema(),
                ..PageQuery::first(PAGE_SIZE_DEFAULT)
            },
            filter: None,
            search: None,
            fields: Fields::of_users(),
            conditions: BTreeMap::new(),
            ids: Vec::new(),
        };
        let (given, mut faults) = read_all(call.parts.uri.query(), |parameter, is_repeated| {
            let name = parameter.name.as_ref();
            if is_repeated && !matches!(name, "id" | "fields") {
                Err(duplicate())
            } else if take_other(parameter)? || query.take(parameter)? {
                Ok(())
            } else {
                own.take(parameter)
            }
        })?;
        query.given = given;
        for (name, detail) in out_of_place(&query, form) {
            faults.push(|| Fault::of_parameter(name, "conflicting-parameter", detail));
        }
        if !faults.is_empty() {
            return Err(refused(faults));
        }
        // All other parameters are valid here. An invalid filter has a separate problem code.
        let filter = own.filter.map(|text| own.page.schema.filter(&text));
        let filter = filter.transpose().map_err(unparsed)?;
        let ids = (!own.ids.is_empty()).then(|| Expression::ids(own.ids));
        let conditions = ids.into_iter().chain(own.conditions.into_values());
        let filter = filter.map(|filter| filter.expression().clone());
        let words = query.search(own.search);
        let page = PageQuery { limit: query.limit, count: query.count, words, ..own.page };
        let mut page = conditions.chain(filter).fold(page, PageQuery::with);
        let cursors = app.cursors_of(List::Users, call.authority().actor()).with_query(&page);
        page.after = query.after(&cursors, |after| Some(after.clone()))?;
        Ok(Self { page, fields: own.fields, query, cursors })
    }
}

impl Given {
    fn take(&mut self, parameter: &Parameter<'_>) -> Result<(), ParameterFault> {
        let value = parameter.value();
        let mut equal = |name, attribute, key| {
            self.conditions.insert(name, Expression::equal(attribute, key));
        };
        match parameter.name.as_ref() {
            "sort" => self.page.sort = sort(&value, &self.page.schema)?,
            "filter" => self.filter = Some(value.into_owned()),
            "fields" => self.fields.add(&value)?,
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
            // An address or a phone number may contain a plus sign, but hardly ever a space.
            "email" => equal("email", Attribute::Email, email_key(&text(&parameter.literal())?)),
            "phone_number" => {
                let key = phone_key(&text(&parameter.literal())?);
                // Numbers that a client stored without any digit would all be equal.
                if key.is_empty() {
                    return Err(invalid("give a telephone number with digits"));
                }
                equal("phone_number", Attribute::PhoneNumber, key);
            }
            "q" => self.search = Search::parse(&value),
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
}

/// The parameters of lists that do not apply to a change, with the detail of the error for each.
const OF_LISTS: [(&str, &str); 6] = [
    ("sort", "users are changed in the order of ids; leave sort out"),
    ("q", "give the condition as a filter; leave q out"),
    ("limit", "all users that match are changed; leave limit out"),
    ("cursor", "all users that match are changed; leave cursor out"),
    ("count", "dry_run=true counts the users; leave count out"),
    ("fields", "leave fields out"),
];

/// The parameters that cannot be used with this form, each with the reason.
fn out_of_place(query: &ListQuery<'_>, form: ListForm) -> Vec<(&'static str, &'static str)> {
    match form {
        ListForm::Page => Vec::new(),
        ListForm::Lines => query.out_of_place_in_exports(true),
        ListForm::Change => OF_LISTS.iter().copied().filter(|(name, _)| query.has(name)).collect(),
    }
}

fn sort(text: &str, schema: &UserSchema) -> Result<Sort, ParameterFault> {
    let (direction, name) = match text.strip_prefix('-') {
        Some(name) => (Direction::Descending, name),
        None => (Direction::Ascending, text),
    };
    // Ids are in the order of creation.
    let name = if name == "created_at" { "id" } else { name };
    let by = SortBy::ALL.iter().copied().find(|by| by.name() == name);
    if let Some(by) = by {
        return Ok(Sort { by, direction });
    }
    match schema.index_named(name) {
        Some(index) if index.is_sortable() => {
            Ok(Sort { by: SortBy::Indexed(index.kind), direction })
        }
        Some(index) if index.multi_valued => {
            Err(invalid(&format!("{name} has several values; give a member with one")))
        }
        Some(_) => {
            let detail = format!(
                "the index of {name} is being built; GET /schema shows when the list can be in its \
                 order"
            );
            Err(("index-not-ready", detail))
        }
        None => Err(invalid(
            "give id, created_at, updated_at, username, email, family_name, name, expires_at, or a \
             member that the schema gives an index, like attributes.badge; a leading - descends",
        )),
    }
}
