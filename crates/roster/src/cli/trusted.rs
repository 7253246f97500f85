//! Whether an issuer of tokens is told wholly.
//!
//! Without an audience any token of the issuer would do, also one that was made for somebody else.

use crate::config::{Config, Faults, Report};

/// Refuses an issuer without an audience, and an audience without an issuer.
pub(super) fn check(config: &Config, report: &Report) -> Result<(), Faults> {
    let mut faults = Faults::default();
    match (&config.jwt_issuer, config.jwt_audience.as_str()) {
        (Some(_), "") => faults.push(
            report.origin_of("jwt_issuer"),
            "needs to know for whom its tokens are made: set jwt_audience",
        ),
        (None, audience) if !audience.is_empty() => {
            faults.push(report.origin_of("jwt_audience"), "needs an issuer: set jwt_issuer");
        }
        (Some(_) | None, _) => {}
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}
