//! The query plan of every statement, as a snapshot.

use std::ops::Bound;

use roster_core::{
    Guard, Rules, Sharing, Status, Timestamp, UserId, limits,
    list::{Direction, Equals, PageKey, Sort, SortBy, SortKey},
    plan::{Driver, Lookup, Range, RangeKey},
};

use super::explain::{
    Enters::{AtKey, AtStart},
    Statement, explain,
};
use crate::{
    clock_mark, deleted, erasure,
    establish::{KEYS, SETTING},
    events, groups,
    in_force::STATE,
    keys,
    page::{
        parameters::Parameters,
        range::{self, Bounds},
        sql::{FURTHER, Shape, Start, WORDS, lookup, with_head},
        total::counted,
    },
    reads::{GET_DELETED, HEAD},
    user_lookups, walks,
    writer::{forget, sql},
};

const fn rules(email: Sharing, external_id: Sharing) -> Rules {
    Rules { email, external_id, put: Guard::Off, delete: Guard::Off }
}

#[tokio::test]
async fn every_statement_goes_along_its_index_whatever_is_there() {
    let groups = [
        ("pages", pages()),
        ("pages_of_ranges", pages_of_ranges()),
        ("unordered", unordered()),
        ("lookups", lookups()),
        ("reads", reads()),
        ("writes", writes()),
        ("outlived", outlived()),
        ("erasures", erasures()),
        ("clock_marks", clock_marks()),
        ("keys", keys_of_callers()),
        ("groups", groups_and_members()),
        ("walks", vec![at_key(&["walk_ends_walk"], walks::FIND)]),
    ];
    let rules = [
        rules(Sharing::Unique, Sharing::Shared),
        rules(Sharing::Shared, Sharing::Unique),
        rules(Sharing::Unique, Sharing::Unique),
    ];
    for (name, plans) in explain(&rules, &groups).await {
        insta::assert_snapshot!(name, plans);
    }
}

#[tokio::test]
async fn keys_that_may_be_unique_are_counted_and_found_along_an_index() {
    let [email, external_id] = KEYS;
    let counted = vec![
        at_key(&["users_email"], email.count),
        at_start(&["users_external_id"], external_id.count),
        at_key(&["users_email"], email.list),
        at_start(&["users_external_id"], external_id.list),
        at_key(&["settings_pkey"], SETTING),
    ];
    // Before they are, and as long as they are.
    let held = vec![at_key(&["users_external_id"], sql::HOLDERS_OF_EXTERNAL_IDS)];
    for (sharing, name, statements) in
        [(Sharing::Shared, "counted_keys", counted), (Sharing::Unique, "unique_keys", held)]
    {
        let rules = [rules(Sharing::Shared, sharing)];
        for (name, plans) in explain(&rules, &[(name, statements)]).await {
            insta::assert_snapshot!(name, plans);
        }
    }
}

const BOTH: [Direction; 2] = [Direction::Ascending, Direction::Descending];

const LIMIT: usize = 51;

const EQUALS: [Driver; 5] =
    [Driver::Username, Driver::Email, Driver::ExternalId, Driver::PhoneNumber, Driver::Status];

fn at_key(indexes: &'static [&'static str], sql: impl Into<String>) -> Statement {
    Statement { sql: sql.into(), indexes, enters: AtKey }
}

fn at_start(indexes: &'static [&'static str], sql: impl Into<String>) -> Statement {
    Statement { sql: sql.into(), indexes, enters: AtStart }
}

fn text() -> String {
    "x".to_owned()
}

/// The driver's own condition alone.
fn equals(driver: &Driver) -> Equals {
    let mut equals = Equals::default();
    match driver {
        Driver::Ids => equals.ids = Some(vec![UserId::from_bytes([7; 16])]),
        Driver::Username => equals.username = Some(text()),
        Driver::Email => equals.email = Some(text()),
        Driver::ExternalId => equals.external_id = Some(text()),
        Driver::PhoneNumber => equals.phone_number = Some(text()),
        Driver::Status => equals.status = Some(Status::Active),
        Driver::Lookups(_) | Driver::Words | Driver::Range(_) | Driver::Sort => {}
    }
    equals
}

fn all_equals() -> Equals {
    Equals {
        ids: None,
        username: Some(text()),
        email: Some(text()),
        external_id: Some(text()),
        phone_number: Some(text()),
        status: Some(Status::Active),
    }
}

fn by_index(by: SortBy) -> &'static [&'static str] {
    match by {
        SortBy::Id => &["users_pkey"],
        SortBy::UpdatedAt => &["users_updated_at"],
        SortBy::Username => &["users_username"],
        SortBy::Email => &["users_email"],
        SortBy::FamilyName => &["users_family_name"],
        SortBy::Name => &["users_name"],
    }
}

fn driver_index(driver: &Driver, by: SortBy) -> &'static [&'static str] {
    match driver {
        Driver::Username => &["users_username"],
        Driver::Email => &["users_email"],
        Driver::ExternalId => &["users_external_id"],
        Driver::PhoneNumber => &["users_phone_number"],
        Driver::Status => &["users_status"],
        Driver::Ids => &["users_pkey"],
        Driver::Lookups(_) | Driver::Words | Driver::Range(_) | Driver::Sort => by_index(by),
    }
}

fn page_key(by: SortBy) -> PageKey {
    let key = match by {
        SortBy::Id => SortKey::Id,
        SortBy::UpdatedAt => SortKey::Time(Timestamp::from_millis(7)),
        SortBy::Username | SortBy::Email | SortBy::FamilyName | SortBy::Name => {
            SortKey::Text(Some(text()))
        }
    };
    PageKey { key, id: UserId::from_bytes([7; 16]) }
}

fn parameters() -> Parameters {
    Parameters::new(LIMIT, None)
}

/// A statement of a walk; where nothing is left to be tested, the one that tells the head too.
fn forms(shape: &Shape<'_>, rows: String) -> Vec<String> {
    let is_direct = shape.driver.residuals(shape.equals).next().is_none();
    let direct = is_direct.then(|| with_head(&rows, shape.sort.by));
    [rows].into_iter().chain(direct).collect()
}

/// The rows of a walk along one index, from its start and after a place, in both directions.
fn walks(driver: &Driver, by: SortBy, equals: &Equals) -> Vec<Statement> {
    let mut statements = Vec::new();
    for direction in BOTH {
        let shape = Shape { driver, sort: Sort { by, direction }, equals };
        for start in [Start::First, Start::After] {
            let whole = *driver == Driver::Sort && start == Start::First;
            for sql in forms(&shape, shape.rows(start, &mut parameters())) {
                let enters = if whole { AtStart } else { AtKey };
                statements.push(Statement { sql, indexes: driver_index(driver, by), enters });
            }
        }
    }
    statements
}

/// Pages that are walked along one index.
fn pages() -> Vec<Statement> {
    let mut statements = Vec::new();
    for by in SortBy::ALL.iter().copied() {
        for conditions in [Equals::default(), equals(&Driver::Status), all_equals()] {
            statements.extend(walks(&Driver::Sort, by, &conditions));
        }
    }
    for driver in EQUALS {
        for conditions in [equals(&driver), all_equals()] {
            statements.extend(walks(&driver, SortBy::Id, &conditions));
        }
    }
    statements.extend(walks(&Driver::Email, SortBy::Email, &equals(&Driver::Email)));
    statements
}

/// The ranges that filters ask for, by an order.
fn ranges(by: SortBy) -> [Range; 4] {
    let key = || match by {
        SortBy::Id => RangeKey::Id(UserId::from_bytes([7; 16])),
        SortBy::UpdatedAt => RangeKey::Time(Timestamp::from_millis(7)),
        SortBy::Username | SortBy::Email | SortBy::FamilyName | SortBy::Name => {
            RangeKey::Text(text())
        }
    };
    [
        (Bound::Included(key()), Bound::Excluded(key())),
        (Bound::Excluded(key()), Bound::Unbounded),
        (Bound::Unbounded, Bound::Included(key())),
        (Bound::Included(key()), Bound::Included(key())),
    ]
    .map(|(from, to)| Range { by, from, to })
}

/// Pages along a range of an index, and ids of it.
fn pages_of_ranges() -> Vec<Statement> {
    let mut statements = Vec::new();
    for by in SortBy::ALL.iter().copied() {
        for range in ranges(by) {
            let found = range::ids(by, &Bounds::of(&range), &mut parameters());
            statements.push(at_key(by_index(by), found));
            let driver = Driver::Range(range.clone());
            for direction in BOTH {
                let sort = Sort { by, direction };
                for conditions in [Equals::default(), equals(&Driver::Status)] {
                    let shape = Shape { driver: &driver, sort, equals: &conditions };
                    for after in [None, Some(page_key(by))] {
                        let (bounds, start) = Bounds::after(&range, sort, after.as_ref());
                        let rows = shape.rows_in(&bounds, start, &mut parameters());
                        let forms = forms(&shape, rows).into_iter();
                        statements.extend(forms.map(|sql| at_key(by_index(by), sql)));
                    }
                }
            }
        }
    }
    statements
}

/// Rows that are put in order afterwards, and totals.
fn unordered() -> Vec<Statement> {
    let mut statements = Vec::new();
    for driver in EQUALS.into_iter().chain([Driver::Ids]) {
        let index = |by| driver_index(&driver, by);
        for by in SortBy::ALL.iter().copied() {
            let sort = Sort { by, direction: Direction::Ascending };
            for conditions in [equals(&driver), all_equals()] {
                let shape = Shape { driver: &driver, sort, equals: &conditions };
                statements.push(at_key(index(by), shape.driven(&mut parameters())));
                let matches = shape.matches(&mut parameters());
                statements.push(at_key(index(by), counted(&matches)));
                if driver == Driver::Ids {
                    statements.push(at_key(index(by), shape.of_ids(&mut parameters())));
                    statements.push(at_key(index(by), shape.keys_of_ids(&mut parameters())));
                }
            }
        }
    }
    let everyone = Shape {
        driver: &Driver::Sort,
        sort: Sort { by: SortBy::Id, direction: Direction::Ascending },
        equals: &Equals::default(),
    };
    assert!(everyone.driver.residuals(everyone.equals).next().is_none(), "counted by the head");
    statements
}

/// Ids that keys and words find.
fn lookups() -> Vec<Statement> {
    let lookups: [(Lookup, &'static [&'static str]); 7] = [
        (Lookup::Id(UserId::from_bytes([7; 16])), &["users_pkey"]),
        (Lookup::Username(text()), &["users_username"]),
        (Lookup::Email(text()), &["users_email"]),
        (Lookup::AnyEmail(text()), &["users_email"]),
        (Lookup::ExternalId(text()), &["users_external_id"]),
        (Lookup::PhoneNumber(text()), &["users_phone_number"]),
        (Lookup::AnyPhoneNumber(text()), &["users_phone_number"]),
    ];
    let mut statements: Vec<Statement> =
        lookups.iter().map(|(one, index)| at_key(index, lookup(one))).collect();
    statements.push(at_key(&["further_keys_pkey"], FURTHER));
    statements.push(at_key(&["words_pkey"], WORDS));
    statements
}

/// Single users, the head, the log, those who left.
fn reads() -> Vec<Statement> {
    let mut statements = vec![
        at_key(&["users_pkey"], user_lookups::GET),
        at_key(&["deleted_users_pkey"], GET_DELETED),
        at_key(&[], HEAD),
        at_start(&["settings_pkey"], STATE),
        at_start(&["events_pkey", "erasures_pkey"], events::rows(false, false)),
        at_start(&["events_pkey", "erasures_pkey"], events::rows(false, true)),
        at_start(&["events_pkey", "events_user", "erasures_pkey"], events::rows(true, false)),
        at_start(&["events_pkey", "events_user", "erasures_pkey"], events::rows(true, true)),
    ];
    for direction in BOTH {
        for (after, before) in [(false, false), (true, false), (false, true), (true, true)] {
            let sql = deleted::rows(direction, after, before);
            let make = if after || before { at_key } else { at_start };
            statements.push(make(&["deleted_users_deleted_at"], sql));
        }
    }
    statements
}

/// All that a write asks, and all that it writes.
fn writes() -> Vec<Statement> {
    vec![
        at_key(&["users_pkey"], sql::LOAD),
        at_key(&["users_pkey"], sql::LOCK),
        at_key(&["deleted_users_pkey"], sql::LOAD_DELETED),
        at_key(&["deleted_users_pkey"], sql::LOCK_DELETED),
        at_key(&["users_username", "users_email"], sql::HOLDERS),
        at_key(&["idempotency_keys_pkey", "events_pkey", "erasures_pkey"], sql::IDEMPOTENCY),
        at_key(&["users_pkey"], sql::DELETE),
        at_key(&["deleted_users_pkey"], sql::DROP_DELETED),
        at_key(&["users_pkey"], sql::REPLACE),
        at_key(&[], sql::CREATE),
        at_key(&[], sql::KEEP_DELETED),
        at_key(&["words_pkey"], sql::DROP_WORDS),
        at_key(&[], sql::ADD_WORDS),
        at_key(&["further_keys_pkey"], sql::DROP_KEYS),
        at_key(&[], sql::ADD_KEYS),
        at_key(&["idempotency_keys_pkey"], sql::DELETE_EXPIRED_IDEMPOTENCY),
        at_key(&[], sql::APPEND),
        at_key(&[], sql::POSITION),
    ]
}

/// The keys of callers.
fn keys_of_callers() -> Vec<Statement> {
    vec![
        at_key(&["keys_head_pkey"], keys::GENERATION),
        at_key(&["keys_pkey"], keys::KEYS),
        at_key(&[], keys::PUT),
        at_key(&["keys_pkey"], keys::DROP),
        at_key(&[], keys::COUNT),
        at_key(&["keys_pkey"], keys::NOTE_USE),
    ]
}

/// Groups and who belongs to them.
fn groups_and_members() -> Vec<Statement> {
    let statements = vec![
        at_key(&["groups_pkey"], groups::GET),
        at_key(&["groups_pkey"], groups::members::OF_MEMBERS),
        at_key(&["groups_head_pkey"], groups::page::TOTAL),
        at_key(&["groups_pkey"], groups::page::BY_IDS),
        at_key(&["groups_name"], groups::page::BY_NAME),
        at_key(&["group_members_member", "groups_pkey"], groups::page::BY_MEMBER),
        at_key(&["group_members_member"], groups::page::OF_MEMBER),
        at_key(&["groups_external_id"], groups::page::BY_EXTERNAL_ID),
        at_key(&["groups_external_id"], groups::page::COUNT_BY_EXTERNAL_ID),
        at_key(&["groups_pkey"], groups::page::ALL),
        at_key(&["group_members_pkey"], groups::members::MEMBERS),
        at_key(&["group_members_member", "groups_pkey"], groups::DIRECT),
        at_key(&["groups_head_pkey"], sql::LOCK_GROUPS),
        at_key(&["groups_head_pkey"], sql::COUNT_GROUPS),
        at_key(&["groups_pkey"], sql::GROUP),
        at_key(&["groups_name"], sql::GROUP_NAME_HOLDER),
        at_key(&["group_members_member"], sql::MEMBERS_AMONG),
        at_key(&["group_members_pkey"], sql::ALL_MEMBERS),
        at_key(&["group_members_member", "groups_pkey", "users_pkey"], sql::NEWCOMERS),
        at_key(&["group_members_member"], sql::GROUPS_ABOVE),
        at_key(&["group_members_nested"], sql::GROUPS_BELOW),
        at_key(&[], sql::CREATE_GROUPS),
        at_key(&["groups_pkey"], sql::UPDATE_GROUPS),
        at_key(&["groups_pkey"], sql::DELETE_GROUPS),
        at_key(&["group_members_pkey"], sql::DELETE_MEMBERSHIPS_OF_GROUPS),
        at_key(&[], sql::ADD_MEMBERSHIPS),
        at_key(&["group_members_member"], sql::REMOVE_MEMBERSHIPS),
    ];
    let most = format!("LIMIT {}", limits::GROUPS_OF_MEMBER_MAX);
    assert!(sql::NEWCOMERS.contains(&most), "as many as may be are enough to know");
    let most = format!("LIMIT {}", limits::GROUP_NESTING_MAX + 1);
    assert!(sql::GROUPS_ABOVE.ends_with(&most) && sql::GROUPS_BELOW.ends_with(&most));
    let most = format!("LIMIT {}) AS met", limits::TOTAL_EXACT_MAX + 1);
    assert!(groups::page::COUNT_BY_EXTERNAL_ID.ends_with(&most));
    statements
}

/// The histories of purged users.
fn erasures() -> Vec<Statement> {
    vec![
        at_key(
            &["events_user", "idempotency_keys_user", "events_pkey", "idempotency_keys_pkey"],
            erasure::BEGIN,
        ),
        at_start(&["erasures_pkey"], erasure::PENDING),
        at_key(&["erasures_pkey"], erasure::LOCK),
        at_key(&["events_user"], erasure::NEXT),
        at_key(&["events_user"], erasure::EMPTY),
        at_key(&["idempotency_keys_user", "idempotency_keys_pkey"], erasure::DROP_KEYS),
        at_key(&["erasures_pkey"], erasure::MOVE),
        at_key(&["erasures_pkey"], erasure::END),
    ]
}

/// The clock mark.
fn clock_marks() -> Vec<Statement> {
    vec![
        at_key(&["clock_mark_pkey"], clock_mark::READ),
        at_start(&["events_pkey"], clock_mark::NEWEST_EVENT),
        at_key(&[], clock_mark::WRITE),
    ]
}

/// What has outlived its time.
fn outlived() -> Vec<Statement> {
    vec![
        at_key(&["idempotency_keys_at", "idempotency_keys_pkey"], forget::DROP_KEYS),
        at_start(&["events_pkey"], forget::OLDEST_EVENTS),
        at_key(&["events_pkey"], forget::DROP_EVENTS),
    ]
}
