//! The built binary purges by itself.

use std::time::{Duration, Instant};

use roster_testkit::process::{Engine, Place, Process};

/// Longest wait for what is to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running service, ended with the test.
struct Service(Process);

impl Service {
    fn start(place: &Place, keep: &str) -> Self {
        let mut command = place.serve(env!("CARGO_BIN_EXE_roster"));
        Self(Process::start(command.args(["--deleted-keep", keep])))
    }

    /// Creates and deletes a user.
    fn delete_one(&self) {
        let path = self.0.create(r#"{"username":"ada"}"#);
        let deleted = self.0.ask("DELETE", &path, "");
        assert_eq!(deleted.status, 204, "{deleted:?}");
    }

    /// How many deleted users are kept.
    fn kept(&self) -> usize {
        let metrics = self.0.ask("GET", "/metrics", "").text;
        let line = "roster_users{status=\"deleted\"} ";
        metrics.lines().find_map(|text| text.strip_prefix(line)).unwrap().parse().unwrap()
    }
}

roster_testkit::over_each_engine! {
    a_deleted_user_is_purged_by_itself,
    a_deleted_user_is_kept_as_long_as_it_is_told_to,
}

fn a_deleted_user_is_purged_by_itself(engine: Engine) {
    let place = Place::new(engine);
    let service = Service::start(&place, "1s");
    service.delete_one();
    let begin = Instant::now();
    while service.kept() > 0 {
        assert!(begin.elapsed() < PATIENCE, "nobody purges");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn a_deleted_user_is_kept_as_long_as_it_is_told_to(engine: Engine) {
    let place = Place::new(engine);
    let service = Service::start(&place, "never");
    service.delete_one();
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(service.kept(), 1);
}
