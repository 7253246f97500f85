//! The REST interface over sockets. Every exchange is checked against the API description.
//!
//! A case is a function of a backend; it runs over each engine. One more test runs all cases in
//! this process, and then checks that each documented response and each code occurred.
#![expect(clippy::expect_used, clippy::panic, reason = "this is how a case fails")]
#![expect(clippy::indexing_slicing, reason = "a missing element fails the case")]
#![expect(clippy::format_push_string, reason = "clearer than writing with errors that cannot be")]

mod access;
mod audit_events;
mod body_authority;
mod bulk;
mod caller;
#[macro_use]
mod cases;
mod compression;
mod console;
mod cors;
mod cursors;
mod deleted_users;
mod disclosure;
mod dry_run;
mod endpoints;
mod errors;
mod event_forks;
mod event_streams;
mod event_waits;
mod events;
mod examples;
mod failures;
mod filter;
mod group_lists;
mod groups;
mod guards;
mod idempotency;
mod indexes;
mod jwt;
mod keys;
mod ledger;
mod lists;
mod log_growth;
mod methods;
mod mount;
mod patience;
mod preconditions;
mod pressure;
mod problems;
mod record;
mod schema;
mod search;
mod tenants_deleted;
mod tenants_isolation;
mod tenants_resource;
mod transcript;
mod transcripts;
mod upsert;
mod webhooks;
mod writes;

use bulk::{
    change, csv, csv_names, csv_reports, csv_results, csv_round_trip, export, export_types,
    group_lines, import, intake, on_conflict, resume, shut_out,
};
use roster_test_service::{
    cases::{Case, run},
    client,
    service::{self, Engine},
    store,
};

/// One test of each case over one engine.
macro_rules! tests {
    ($engine:ident: $($module:ident::$case:ident,)*) => {
        $(
            #[test]
            fn $case() {
                crate::run(crate::Engine::$engine, crate::$module::$case);
            }
        )*
    };
}

macro_rules! cases {
    ($(mod $module:ident { $($case:ident,)* })*) => {
        mod oracle {
            tests! { Oracle: $($($module::$case,)*)* }
        }

        mod sqlite {
            tests! { Sqlite: $($($module::$case,)*)* }
        }

        mod postgres {
            tests! { Postgres: $($($module::$case,)*)* }
        }

        /// Every case, for the ledger.
        fn all_cases() -> Vec<(&'static str, Case)> {
            vec![$($((stringify!($case), |backend| Box::pin($module::$case(backend))),)*)*]
        }
    };
}

with_all_cases!(cases);
