//! Test support: the oracle, the cases that every engine must pass, random records and command
//! sequences, and checks of responses against the API description.
//!
//! This crate is not part of the service; other crates use it only in tests.
//!
//! - [`oracle`]: a simple store in memory, to which the engines are compared
//! - [`mod@conformance`]: the cases that every engine passes
//! - [`arbitrary`], [`sequences`], [`queries`]: random records, commands and queries
//! - [`conditions`], [`clock`]: failures that a test causes, and a clock that it sets
//! - [`openapi`]: checks of responses against the description
//! - [`runtime`]: the async runtime of a test
//! - [`process`], [`postgres`]: the built binary, and a PostgreSQL server
//! - [`replay`]: the collection rebuilt from the change log
//!
//! ```
//! use roster_core::{Rules, Store as _};
//! use roster_testkit::Oracle;
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
//! # runtime.block_on(async {
//! let store = Oracle::new(Rules::default());
//! let head = store.head().await.expect("memory is readable");
//! assert_eq!((head.position, head.live()), (0, 0));
//! # });
//! ```

pub mod arbitrary;
pub mod clock;
pub mod conditions;
pub mod conformance;
pub mod largest_writes;
pub mod openapi;
pub mod oracle;
pub mod postgres;
pub mod process;
pub mod queries;
pub mod replay;
pub mod runtime;
pub mod sequences;

pub use clock::TestClock;
pub use conditions::Conditions;
pub use oracle::Oracle;
