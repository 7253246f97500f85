//! Random queries: lists with conditions, filters and words; deleted users; the change log.
#![expect(clippy::panic, reason = "a filter that the parser refuses is a fault to be seen")]

use std::sync::Arc;

use proptest::{
    arbitrary::any,
    collection::vec,
    option, prop_oneof,
    sample::{Index, select},
    strategy::{BoxedStrategy, Just, Strategy},
};
use roster_core::{
    Clock as _, EventKind, EventKinds, EventsQuery, Status, Timestamp, UserId, UserSchema,
    filter::{Expression, Filter},
    keys::username_lookup,
    list::{DeletedKey, DeletedQuery, Direction, PageKey, PageQuery, Sort, SortBy, SortKey},
    schema::{NONE, VALUE},
    text::{email_key, fold_key, phone_key},
    words::Search,
};

use super::{
    bodies::{EMAILS, EXTERNAL_IDS, NAMES, NUMBERS, USERNAMES, one_of, text},
    filters::{filter, search},
};
use crate::{Conditions, TestClock};

const DIRECTIONS: [Direction; 2] = [Direction::Ascending, Direction::Descending];

/// A list to read page by page. Ids are indexes into all users that were ever created.
#[derive(Clone, Debug)]
pub struct Question {
    query: PageQuery,
    filter: Option<String>,
    /// Which of the schema's indexes has the order, instead of that of the query.
    indexed: Option<Index>,
    ids: Option<Vec<Index>>,
    after: Option<Place>,
}

/// The position where it begins: anywhere, as if the row of a cursor had changed or been deleted.
#[derive(Clone, Debug)]
struct Place {
    text: Option<String>,
    /// A time, in milliseconds after the clock's start.
    time: i64,
    id: Index,
}

impl Question {
    /// The query, given all ids that were ever generated, for users of this schema.
    pub fn query(&self, known: &[UserId], schema: &Arc<UserSchema>) -> PageQuery {
        let chosen = |indices: &Vec<Index>| {
            let ids = indices.iter().filter(|_| !known.is_empty());
            ids.map(|index| *index.get(known)).collect()
        };
        let ids = self.ids.as_ref().map(chosen).map(Expression::ids);
        let filter = self.filter.as_ref().map(|text| parsed(text, schema).expression().clone());
        let query = PageQuery { schema: Arc::clone(schema), ..self.query.clone() };
        let mut query = ids.into_iter().chain(filter).fold(query, PageQuery::with);
        let sortable: Vec<i16> = schema
            .indexes
            .iter()
            .filter(|index| index.is_sortable())
            .map(|index| index.kind)
            .collect();
        if let Some(indexed) = self.indexed.filter(|_| !sortable.is_empty()) {
            query.sort.by = SortBy::Indexed(*indexed.get(&sortable));
        }
        query.after = self
            .after
            .as_ref()
            .filter(|_| !known.is_empty())
            .map(|place| PageKey { key: place.key(query.sort.by), id: *place.id.get(known) });
        query
    }
}

impl Place {
    fn key(&self, by: SortBy) -> SortKey {
        match by {
            SortBy::Id => SortKey::Id,
            SortBy::UpdatedAt => SortKey::Time(after_start(self.time)),
            SortBy::Username => {
                SortKey::Text(Some(username_lookup(self.text.as_deref().unwrap_or_default())))
            }
            SortBy::Email => SortKey::Text(self.text.as_deref().map(email_key)),
            SortBy::ExpiresAt => {
                SortKey::Text(self.text.as_ref().map(|_| after_start(self.time).to_string()))
            }
            SortBy::FamilyName | SortBy::Name => SortKey::Text(self.text.as_deref().map(fold_key)),
            SortBy::Indexed(_) => {
                let text = self.text.as_deref();
                let key = text.map_or_else(|| NONE.to_owned(), |text| VALUE.to_owned() + text);
                SortKey::Text(Some(key))
            }
        }
    }
}

/// A random list, from its start or from any position.
pub fn question() -> BoxedStrategy<Question> {
    let sort = (select(SortBy::ALL), select(&DIRECTIONS[..]));
    let rare = |strategy: BoxedStrategy<String>| {
        let some = strategy.prop_map(Some);
        prop_oneof![4 => Just(None), 1 => some]
    };
    let conditions = (
        rare(text(USERNAMES).prop_map(|text| username_lookup(&text)).boxed()),
        rare(text(EMAILS).prop_map(|text| email_key(&text)).boxed()),
        rare(text(EXTERNAL_IDS)),
        rare(one_of(NUMBERS).prop_map(|text| phone_key(&text)).boxed()),
        prop_oneof![
            2 => Just(None),
            1 => Just(Some(Status::Active)),
            1 => Just(Some(Status::Suspended)),
        ],
    );
    let equals = conditions.prop_map(|(username, email, external_id, phone_number, status)| {
        Conditions { ids: None, username, email, external_id, phone_number, status }
    });
    let ids = prop_oneof![
        5 => Just(None),
        1 => vec(any::<Index>(), 0..5).prop_map(Some),
    ];
    let count = any::<bool>();
    let texts = prop_oneof![text(USERNAMES), text(EMAILS), text(NAMES)];
    let place = (option::of(texts), -50_i64..500, any::<Index>())
        .prop_map(|(text, time, id)| Place { text, time, id });
    let after = prop_oneof![2 => Just(None), 1 => place.prop_map(Some)];
    let filter = prop_oneof![2 => Just(None), 1 => filter().prop_map(Some)];
    let indexed = prop_oneof![3 => Just(None), 1 => any::<Index>().prop_map(Some)];
    let typed = prop_oneof![3 => Just(None), 1 => search().prop_map(Some)];
    let alone = prop_oneof![3 => Just(true), 1 => Just(false)];
    ((sort, after, 0_usize..6, count, indexed), (equals, ids, filter, typed, alone))
        .prop_map(|(list, (mut equals, mut ids, filter, typed, alone))| {
            let ((by, direction), after, limit, count, indexed) = list;
            // With more conditions hardly any user would match all of them.
            if alone && (filter.is_some() || typed.is_some()) {
                equals = Conditions { status: equals.status, ..Conditions::default() };
                ids = None;
            }
            let query = equals.of(PageQuery {
                sort: Sort { by, direction },
                count,
                words: typed.map(|typed| searched(&typed)).unwrap_or_default(),
                ..PageQuery::first(limit)
            });
            Question { query, filter, indexed, ids, after }
        })
        .boxed()
}

/// Parses a generated filter, which must be valid.
fn parsed(text: &str, schema: &UserSchema) -> Filter {
    schema.filter(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"))
}

fn searched(typed: &str) -> Vec<String> {
    Search::parse(typed).map_or_else(Vec::new, |search| search.words)
}

/// The time that is some milliseconds after the clock's start.
fn after_start(millis: i64) -> Timestamp {
    Timestamp::from_millis(TestClock::new().now().as_millis() + millis)
}

/// A list of deleted users. The id of its start position is an index into all users that were
/// ever created.
#[derive(Clone, Debug)]
pub struct DeletedQuestion {
    query: DeletedQuery,
    after: Option<(i64, Index)>,
}

impl DeletedQuestion {
    /// The query, given all ids that were ever generated.
    pub fn query(&self, known: &[UserId]) -> DeletedQuery {
        let place =
            |(millis, id): (i64, Index)| DeletedKey { at: after_start(millis), id: *id.get(known) };
        let after = self.after.filter(|_| !known.is_empty()).map(place);
        DeletedQuery { after, ..self.query.clone() }
    }
}

/// A random list of deleted users, from its start or from any position.
pub fn deleted_question() -> BoxedStrategy<DeletedQuestion> {
    let rare = |strategy| prop_oneof![3 => Just(None), 1 => option::of(strategy)];
    let after = prop_oneof![2 => Just(None), 1 => (-50_i64..500, any::<Index>()).prop_map(Some)];
    let bytes_max = select(&[1, 700, usize::MAX][..]);
    let filter = prop_oneof![2 => Just(None), 1 => filter().prop_map(Some)];
    let typed = prop_oneof![3 => Just(None), 1 => search().prop_map(Some)];
    (select(&DIRECTIONS[..]), 1_usize..6, rare(-50_i64..500), after, bytes_max, filter, typed)
        .prop_map(|(direction, limit, before, after, bytes_max, filter, typed)| {
            let before = before.map(after_start);
            let filter = filter.map(|text| Arc::new(parsed(&text, &UserSchema::default())));
            let words = typed.map(|typed| searched(&typed)).unwrap_or_default();
            let first = DeletedQuery::first(limit);
            let query = DeletedQuery { direction, before, filter, words, bytes_max, ..first };
            DeletedQuestion { query, after }
        })
        .boxed()
}

/// A read of the change log. Its user is an index into all users that were ever created.
#[derive(Clone, Debug)]
pub struct EventsQuestion {
    query: EventsQuery,
    whose: Option<Index>,
}

impl EventsQuestion {
    /// The query, given all ids that were ever generated.
    pub fn query(&self, known: &[UserId]) -> EventsQuery {
        let user_id = self.whose.filter(|_| !known.is_empty()).map(|whose| *whose.get(known));
        EventsQuery { user_id, ..self.query.clone() }
    }
}

/// A random read of the change log, from its start or from any position.
pub fn events_question() -> BoxedStrategy<EventsQuestion> {
    let kind = option::of(select(EventKind::ALL));
    let after = prop_oneof![1 => Just(0), 2 => 0_i64..60];
    let bytes_max = select(&[1, 700, usize::MAX][..]);
    (after, 1_usize..6, kind, option::of(any::<Index>()), bytes_max)
        .prop_map(|(after, limit, kind, whose, bytes_max)| {
            let kinds = kind.map_or(EventKinds::ALL, EventKinds::only);
            let query = EventsQuery { kinds, bytes_max, ..EventsQuery::after(after, limit) };
            EventsQuestion { query, whose }
        })
        .boxed()
}
