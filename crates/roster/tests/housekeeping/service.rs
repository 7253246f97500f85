//! The built binary purges deleted users by itself.

use std::time::{Duration, Instant};

use roster_testkit::process::{Engine, Place, Process};

/// The maximum wait for an expected state.
const PATIENCE: Duration = Duration::from_secs(30);

/// A service that keeps deleted users for this time.
fn serve(place: &Place, keep: &str) -> Process {
    let mut command = place.serve(env!("CARGO_BIN_EXE_roster"));
    Process::start(command.args(["--deleted-keep", keep]))
}

/// Creates and deletes a user.
fn delete_one(service: &Process) {
    let path = service.create(r#"{"username":"ada"}"#);
    let deleted = service.ask("DELETE", &path, "");
    assert_eq!(deleted.status, 204, "{deleted:?}");
}

/// The number of stored deleted users.
fn kept(service: &Process) -> usize {
    let metrics = service.get("/metrics").text;
    let line = "roster_users{status=\"deleted\"} ";
    metrics.lines().find_map(|text| text.strip_prefix(line)).unwrap().parse().unwrap()
}

roster_testkit::over_each_engine! {
    a_deleted_user_is_purged_by_itself,
    a_deleted_user_is_kept_as_long_as_it_is_told_to,
}

fn a_deleted_user_is_purged_by_itself(engine: Engine) {
    let place = Place::new(engine);
    let service = serve(&place, "1s");
    delete_one(&service);
    let begin = Instant::now();
    while kept(&service) > 0 {
        assert!(begin.elapsed() < PATIENCE, "nobody purges");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn a_deleted_user_is_kept_as_long_as_it_is_told_to(engine: Engine) {
    let place = Place::new(engine);
    let service = serve(&place, "never");
    delete_one(&service);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(kept(&service), 1);
}
