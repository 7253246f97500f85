//! Runs cases: functions of a backend.
#![expect(clippy::print_stdout, reason = "the test harness shows it if a case fails")]

use std::{
    pin::Pin,
    sync::{Mutex, PoisonError},
    thread,
};

use roster_testkit::runtime::block_on;

use crate::service::{Backend, Engine};

/// A case, to be run on a backend.
pub type Case = fn(Backend) -> Pin<Box<dyn Future<Output = ()>>>;

/// How many cases of a ledger run at a time.
const AT_ONCE: usize = 4;

/// Runs one case over an engine.
pub fn run<F: Future<Output = ()>>(engine: Engine, case: impl FnOnce(Backend) -> F) {
    block_on(case(Backend::new(engine)));
}

/// Runs every case over the oracle and returns what they have seen. Several run at a time, because
/// many of them wait for a timer.
pub fn run_all(cases: Vec<(&str, Case)>) -> Backend {
    let backend = Backend::new(Engine::Oracle);
    let cases = Mutex::new(cases.into_iter());
    let next = || cases.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((name, case)) = next() {
                    println!("{name}");
                    block_on(case(backend.clone()));
                }
            });
        }
    });
    backend
}
