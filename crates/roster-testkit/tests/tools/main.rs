//! The tools of the tests are tested here and not beside their code, so that the crate is not
//! compiled a second time.
#![expect(clippy::expect_used, reason = "this is how a test fails")]
#![expect(clippy::indexing_slicing, reason = "a missing element fails the test")]

mod clock;
mod openapi;
mod postgres;
