//! A jump of the wall clock deletes nothing, and an idle directory deletes on time.

use std::time::Duration;

use roster::housekeeping::{Retention, Round};
use roster_core::{EventsQuery, access::AuditView};
use roster_http::HousekeepingMetrics;
use roster_testkit::{process::Engine, runtime::block_on};

use super::store::{Place, may};

const MINUTE: Duration = Duration::from_mins(1);
const DAY: Duration = Duration::from_hours(24);
const KEEP: Retention =
    Retention { deleted: Some(Duration::from_hours(24 * 30)), events: Some(DAY) };
const HOUR_MS: i64 = 3_600_000;

/// How far the wall clock jumps.
const JUMPS_MS: [i64; 3] = [-HOUR_MS, 401 * 24 * HOUR_MS, 3 * 365 * 24 * HOUR_MS];

roster_testkit::over_each_engine! {
    a_jump_while_running_deletes_nothing,
    a_jump_before_the_start_deletes_nothing,
    a_jump_before_the_first_start_deletes_nothing,
    a_jump_is_believed_after_seven_days_of_uptime,
    a_clock_that_returns_ends_the_wait,
    a_quiet_directory_purges_on_day_thirty,
    two_processes_do_not_count_time_twice,
}

async fn nothing_is_gone(place: &Place) {
    assert_eq!(place.deleted().await, 1);
    let events =
        place.directory.events(may(), AuditView::Nothing, EventsQuery::after(0, 10)).await.unwrap();
    assert_eq!(events.events.len(), 2);
}

/// A store with a deleted user and two events.
async fn store(engine: Engine) -> Place {
    let place = Place::new(engine).await;
    let ada = place.create("ada").await;
    place.delete(ada).await;
    place
}

fn a_jump_while_running_deletes_nothing(engine: Engine) {
    block_on(async {
        for jump in JUMPS_MS {
            let (place, metrics) = (store(engine).await, HousekeepingMetrics::default());
            let mut housekeeping = place.start(KEEP, &metrics);
            assert_eq!(housekeeping.round().await, Round::default());
            place.clock.step(jump);
            for _ in 0..100 {
                place.clock.elapse(MINUTE);
                assert_eq!(housekeeping.round().await, Round::default(), "{jump}");
            }
            nothing_is_gone(&place).await;
            let ahead = jump.max(0) / 1000;
            assert_eq!(metrics.clock_ahead(), ahead, "the jump is reported");
        }
    });
}

fn a_jump_before_the_start_deletes_nothing(engine: Engine) {
    block_on(async {
        for jump in JUMPS_MS {
            let (place, metrics) = (store(engine).await, HousekeepingMetrics::default());
            assert_eq!(place.start(KEEP, &metrics).round().await, Round::default());
            place.clock.step(jump);
            let mut housekeeping = place.start(KEEP, &metrics);
            assert_eq!(housekeeping.round().await, Round::default(), "{jump}");
            place.clock.elapse(MINUTE);
            assert_eq!(housekeeping.round().await, Round::default(), "{jump}");
            nothing_is_gone(&place).await;
        }
    });
}

fn a_jump_before_the_first_start_deletes_nothing(engine: Engine) {
    block_on(async {
        for jump in JUMPS_MS {
            let (place, metrics) = (store(engine).await, HousekeepingMetrics::default());
            place.clock.step(jump);
            let mut housekeeping = place.start(KEEP, &metrics);
            assert_eq!(housekeeping.round().await, Round::default(), "{jump}");
            nothing_is_gone(&place).await;
        }
    });
}

fn a_jump_is_believed_after_seven_days_of_uptime(engine: Engine) {
    block_on(async {
        let (place, metrics) = (store(engine).await, HousekeepingMetrics::default());
        let keep = Retention { events: None, ..KEEP };
        let mut housekeeping = place.start(keep, &metrics);
        housekeeping.round().await;
        place.clock.step(JUMPS_MS[1]);
        assert_eq!(housekeeping.round().await, Round::default());
        for _ in 0..7 * 24 - 1 {
            place.clock.elapse(60 * MINUTE);
            assert_eq!(housekeeping.round().await, Round::default());
        }
        // A restart loses at most the time since the last round.
        housekeeping = place.start(keep, &metrics);
        assert_eq!(housekeeping.round().await, Round::default());
        place.clock.elapse(60 * MINUTE);
        assert_eq!(housekeeping.round().await, Round { purged: 1, ..Round::default() });
        assert_eq!(metrics.clock_ahead(), 0);
    });
}

fn a_clock_that_returns_ends_the_wait(engine: Engine) {
    block_on(async {
        let (place, metrics) = (store(engine).await, HousekeepingMetrics::default());
        let mut housekeeping = place.start(Retention { events: None, ..KEEP }, &metrics);
        housekeeping.round().await;
        place.clock.step(JUMPS_MS[1]);
        for _ in 0..6 {
            place.clock.elapse(DAY);
            assert_eq!(housekeeping.round().await, Round::default());
        }
        assert!(metrics.clock_ahead() > 0);
        place.clock.step(-JUMPS_MS[1]);
        for _ in 0..20 {
            place.clock.elapse(DAY);
            assert_eq!(housekeeping.round().await, Round::default());
        }
        assert_eq!(metrics.clock_ahead(), 0);
        nothing_is_gone(&place).await;
    });
}

fn a_quiet_directory_purges_on_day_thirty(engine: Engine) {
    block_on(async {
        let (place, metrics) = (store(engine).await, HousekeepingMetrics::default());
        let mut housekeeping = place.start(Retention { events: None, ..KEEP }, &metrics);
        housekeeping.round().await;
        let mut purged = Vec::new();
        for hour in 1..=60 * 24 {
            place.clock.elapse(60 * MINUTE);
            if housekeeping.round().await.purged > 0 {
                purged.push(hour);
            }
        }
        assert_eq!(purged, [30 * 24 + 1], "the first round after 30 days");
    });
}

fn two_processes_do_not_count_time_twice(engine: Engine) {
    block_on(async {
        let (place, metrics) = (store(engine).await, HousekeepingMetrics::default());
        let keep = Retention { events: None, ..KEEP };
        let mut processes = [place.start(keep, &metrics), place.start(keep, &metrics)];
        processes[0].round().await;
        // From here on the mark advances only with uptime.
        place.clock.step(JUMPS_MS[2]);
        for _ in 0..6 * 24 {
            for process in &mut processes {
                place.clock.elapse(30 * MINUTE);
                assert_eq!(process.round().await, Round::default());
            }
        }
        nothing_is_gone(&place).await;
        for _ in 0..2 * 24 {
            place.clock.elapse(60 * MINUTE);
            processes[0].round().await;
        }
        assert_eq!(place.deleted().await, 0, "the time was counted once");
    });
}
