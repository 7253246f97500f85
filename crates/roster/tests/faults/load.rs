//! Concurrent writers that record each request, its time and its response.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use roster_testkit::process::{Answer, Process};
use serde_json::Value;

use crate::service::create;

const WRITERS: usize = 4;

/// The number of acknowledged writes before the fault begins.
const BEFORE: usize = 40;

/// The number of rejections after which a writer stops.
const REFUSALS: usize = 10;

/// The maximum number of requests of one writer.
const REQUESTS_MAX: usize = 20_000;

/// A write and its response.
pub(crate) struct Attempt {
    pub(crate) username: String,
    pub(crate) sent: Instant,
    pub(crate) answer: Answer,
}

/// Creates users, whose names begin with `name`, from several writers. Calls `fault` once some
/// writes are acknowledged. Ends when every writer has got enough rejections. Returns all attempts
/// in the order of sending, and the time at which the fault had begun.
pub(crate) fn across(
    service: &Process,
    name: &str,
    fault: impl FnOnce(),
) -> (Vec<Attempt>, Instant) {
    let acknowledged = AtomicUsize::new(0);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (acknowledged, over) = (&acknowledged, &over);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| format!("{name}-{writer}"))
            .map(|name| scope.spawn(move || write(service, &name, acknowledged, over)))
            .collect();
        while acknowledged.load(Ordering::Relaxed) < BEFORE {
            if writers.iter().any(thread::ScopedJoinHandle::is_finished) {
                over.store(true, Ordering::Relaxed);
                unreachable!("a writer ended before the fault began");
            }
            thread::sleep(Duration::from_millis(2));
        }
        fault();
        let begun = Instant::now();
        let mut attempts: Vec<Attempt> =
            writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        attempts.sort_by_key(|attempt| attempt.sent);
        (attempts, begun)
    })
}

fn write(
    service: &Process,
    name: &str,
    acknowledged: &AtomicUsize,
    over: &AtomicBool,
) -> Vec<Attempt> {
    let mut attempts = Vec::new();
    let mut refusals = 0;
    while refusals < REFUSALS && attempts.len() < REQUESTS_MAX && !over.load(Ordering::Relaxed) {
        let username = format!("{name}-{}", attempts.len());
        let sent = Instant::now();
        let answer = create(service, &username);
        if answer.status == 201 {
            acknowledged.fetch_add(1, Ordering::Relaxed);
        } else {
            refusals += 1;
        }
        attempts.push(Attempt { username, sent, answer });
    }
    attempts
}

/// The users whose creation was acknowledged.
pub(crate) fn acknowledged(attempts: &[Attempt]) -> Vec<Value> {
    let created = attempts.iter().filter(|attempt| attempt.answer.status == 201);
    created.map(|attempt| attempt.answer.body.clone()).collect()
}
