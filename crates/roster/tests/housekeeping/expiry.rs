//! Users are suspended when they expire.

use std::time::Duration;

use roster::housekeeping::{Housekeeping, Retention, Round};
use roster_core::{
    Directory, Draft, EventKind, EventsQuery, Mode, Preconditions, Status, TenantName, User,
    UserId,
    access::AuditView,
    json,
    tenant::{TenantAct, TenantDraft},
};
use roster_http::{Duty, HousekeepingMetrics};
use roster_testkit::{process::Engine, runtime::block_on};

use super::{
    rounds::Harness,
    store::{Place, caller, may, terms},
};

const MINUTE: Duration = Duration::from_mins(1);
const KEEP: Retention = Retention { deleted: None, events: None };

roster_testkit::over_each_engine! {
    users_are_suspended_once_their_time_has_passed,
    an_expired_user_that_is_activated_is_suspended_again,
    a_later_time_does_not_activate_a_user,
    users_of_every_tenant_expire,
    a_jump_of_the_clock_suspends_nobody,
    many_users_expire_at_once,
}

fn suspended(suspended: u64) -> Round {
    Round { suspended, ..Round::default() }
}

fn read(body: &str) -> roster_core::Json {
    json::read(body.as_bytes()).unwrap()
}

/// Creates a user that expires this long after the start of the test's clock.
async fn expiring(directory: &Directory, username: &str, after: Duration) -> UserId {
    let start = roster_testkit::TestClock::new();
    start.elapse(after);
    let at = roster_core::Clock::now(&start);
    let body = format!(r#"{{"username":"{username}","expires_at":"{at}"}}"#);
    directory.create(may(), Draft::parse(read(&body)), terms()).await.unwrap().stored.id
}

async fn user(directory: &Directory, id: UserId) -> User {
    let stored = directory.get(may(), id).await.unwrap().unwrap();
    User::from_record(&stored.record).unwrap()
}

async fn patch(directory: &Directory, id: UserId, body: &str) {
    directory.patch(may(), id, read(body), terms()).await.unwrap();
}

/// A place with a user that has expired and was suspended.
async fn after_an_expiry(engine: Engine) -> (Place, Housekeeping, UserId) {
    let place = Place::new(engine).await;
    let ada = expiring(&place.directory, "ada", MINUTE).await;
    let mut housekeeping = place.start(KEEP, &HousekeepingMetrics::default());
    place.clock.elapse(MINUTE);
    assert_eq!(housekeeping.round().await, suspended(1));
    (place, housekeeping, ada)
}

fn users_are_suspended_once_their_time_has_passed(engine: Engine) {
    block_on(async {
        let (place, metrics) = (Place::new(engine).await, HousekeepingMetrics::default());
        let ada = expiring(&place.directory, "ada", 2 * MINUTE).await;
        let eve = expiring(&place.directory, "eve", 3 * MINUTE).await;
        let kept = place.create("kept").await;
        let mut housekeeping = place.start(KEEP, &metrics);
        assert_eq!(housekeeping.round().await, Round::default());
        place.clock.elapse(Duration::from_millis(119_999));
        assert_eq!(housekeeping.round().await, Round::default());
        place.clock.elapse(Duration::from_millis(1));
        assert_eq!(housekeeping.round().await, suspended(1), "at its time");
        let after = user(&place.directory, ada).await;
        assert_eq!((after.status, after.version), (Status::Suspended, 2));
        assert_eq!(user(&place.directory, eve).await.status, Status::Active);
        assert_eq!(housekeeping.round().await, Round::default(), "once");
        // What happens while the service is stopped is done at its start.
        drop(housekeeping);
        place.clock.elapse(MINUTE);
        assert_eq!(place.start(KEEP, &metrics).round().await, suspended(1));
        assert_eq!(user(&place.directory, kept).await.version, 1);
        let query = EventsQuery { user_id: Some(ada), ..EventsQuery::after(0, 10) };
        let events = place.directory.events(may(), AuditView::Nothing, query).await.unwrap().events;
        let (_, event) = events.last().unwrap();
        assert_eq!(event.kind, EventKind::Updated);
        assert_eq!(
            (event.actor.as_str(), event.request_id.as_str()),
            ("roster:expiry", "housekeeping")
        );
        assert_eq!(event.changed, [roster_core::Attribute::Status]);
    });
}

fn an_expired_user_that_is_activated_is_suspended_again(engine: Engine) {
    block_on(async {
        let (place, mut housekeeping, ada) = after_an_expiry(engine).await;
        patch(&place.directory, ada, r#"{"status":"active"}"#).await;
        assert_eq!(housekeeping.round().await, suspended(1));
        patch(&place.directory, ada, r#"{"status":"active","expires_at":null}"#).await;
        assert_eq!(housekeeping.round().await, Round::default());
        assert_eq!(user(&place.directory, ada).await.status, Status::Active);
    });
}

fn a_later_time_does_not_activate_a_user(engine: Engine) {
    block_on(async {
        let (place, mut housekeeping, ada) = after_an_expiry(engine).await;
        patch(&place.directory, ada, r#"{"expires_at":"2100-01-01T00:00:00Z"}"#).await;
        assert_eq!(housekeeping.round().await, Round::default());
        assert_eq!(user(&place.directory, ada).await.status, Status::Suspended);
    });
}

async fn tenant(place: &Place, name: &str) -> Directory {
    let name = TenantName::parse(name);
    let act = TenantAct::Create(TenantDraft { name, ..TenantDraft::default() });
    let change = place
        .directory
        .change_tenant(may(), act, Preconditions::default(), Mode::Write, caller())
        .await;
    place.directory.of_tenant(change.unwrap().tenant.id).await.unwrap()
}

fn users_of_every_tenant_expire(engine: Engine) {
    block_on(async {
        let (place, metrics) = (Place::new(engine).await, HousekeepingMetrics::default());
        let (acme, globex) = (tenant(&place, "acme").await, tenant(&place, "globex").await);
        let mut users = Vec::new();
        for directory in [&place.directory, &acme, &globex] {
            users.push((directory, expiring(directory, "ada", MINUTE).await));
        }
        let globex_name = TenantName::parse("globex").unwrap();
        let delete = TenantAct::Delete(globex_name.clone());
        let none = Preconditions::default;
        place.directory.change_tenant(may(), delete, none(), Mode::Write, caller()).await.unwrap();
        place.clock.elapse(MINUTE);
        assert_eq!(place.start(KEEP, &metrics).round().await, suspended(2));
        let restore = TenantAct::Restore(globex_name);
        place.directory.change_tenant(may(), restore, none(), Mode::Write, caller()).await.unwrap();
        assert_eq!(place.start(KEEP, &metrics).round().await, suspended(1));
        for (directory, id) in users {
            assert_eq!(user(directory, id).await.status, Status::Suspended);
        }
    });
}

fn a_jump_of_the_clock_suspends_nobody(engine: Engine) {
    block_on(async {
        let (place, metrics) = (Place::new(engine).await, HousekeepingMetrics::default());
        let ada = expiring(&place.directory, "ada", Duration::from_hours(24 * 365)).await;
        let mut housekeeping = place.start(KEEP, &metrics);
        assert_eq!(housekeeping.round().await, Round::default());
        place.clock.step(401 * 24 * 3_600_000);
        place.clock.elapse(MINUTE);
        assert_eq!(housekeeping.round().await, Round::default());
        assert_eq!(user(&place.directory, ada).await.status, Status::Active);
    });
}

fn many_users_expire_at_once(engine: Engine) {
    block_on(async {
        let (place, metrics) = (Place::new(engine).await, HousekeepingMetrics::default());
        for number in 0..1234 {
            expiring(&place.directory, &format!("u{number}"), MINUTE).await;
        }
        place.clock.elapse(2 * MINUTE);
        let mut housekeeping = place.start(KEEP, &metrics);
        assert_eq!(housekeeping.round().await, suspended(1234));
        let head = place.directory.head().await.unwrap();
        assert_eq!((head.active, head.suspended), (0, 1234));
    });
}

#[tokio::test]
async fn a_store_that_fails_is_tried_again() {
    let harness = Harness::new(roster_core::Rules::default());
    expiring(&harness.directory, "ada", MINUTE).await;
    let metrics = HousekeepingMetrics::default();
    let mut housekeeping = harness.keeping(KEEP, metrics.clone()).await;
    harness.elapse(2 * MINUTE);
    harness.store.fail(true);
    let round = housekeeping.round().await;
    assert_eq!((round.suspended, metrics.failures(Duty::Expiry) > 0), (0, true), "{round:?}");
    harness.store.fail(false);
    assert_eq!(housekeeping.round().await, suspended(1));
}
