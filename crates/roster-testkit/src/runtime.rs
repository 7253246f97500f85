//! The runtime of a test.
#![expect(clippy::expect_used, reason = "this is how a test fails")]
#![expect(clippy::missing_panics_doc, reason = "a test without a runtime fails")]

use std::pin::{Pin, pin};

/// Runs a test to its end, on a runtime of its own with two threads.
pub fn block_on<T>(test: impl Future<Output = T>) -> T {
    let mut result = None;
    run(pin!(async { result = Some(test.await) }));
    result.expect("the test ended")
}

/// It takes a trait object, so that the compiler generates the code of the runtime once and not for
/// each test.
fn run(test: Pin<&mut dyn Future<Output = ()>>) {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().expect("a runtime starts").block_on(test);
}
