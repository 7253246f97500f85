//! The environment.
//!
//! Every variable that starts with `ROSTER_` belongs to Roster, so an unknown one is a fault:
//! otherwise a misspelled name would silently have no effect. The exception are variables that
//! Kubernetes sets in every container for a service called `roster` or `roster-…`, and those of the
//! commands that ask a service.

use std::ffi::{OsStr, OsString};
use std::net::IpAddr;

use super::CONFIG_FILE_ENV;
use super::claim::Claim;
use super::fault::{Faults, Origin};
use super::nearest::did_you_mean;
use super::table::SETTINGS;

/// The prefix of all variables.
const PREFIX: &str = "ROSTER_";

/// The settings file and the values in the environment.
#[derive(Debug, Default)]
pub(super) struct Environment {
    /// The file in `ROSTER_CONFIG`, if set and not empty.
    pub config_file: Option<OsString>,
    /// The given settings.
    pub claims: Vec<Claim>,
}

/// The variables of this process.
pub(super) fn read() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// Whether requests are to go to a tenant.
pub(super) fn names_tenant() -> bool {
    read().into_iter().any(|(name, tenant)| name == "ROSTER_TENANT" && !tenant.is_empty())
}

/// Fails if a variable of this process is none of Roster's: also for a command that asks a service,
/// where a misspelled tenant would mean the default tenant.
pub(super) fn check_names() -> Result<(), Faults> {
    let mut faults = Faults::default();
    refuse_unknown_names(read(), &mut faults);
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Finds the settings among variables, and reports unknown ones.
pub(super) fn sort(variables: Vec<(OsString, OsString)>, faults: &mut Faults) -> Environment {
    let mut environment = Environment::default();
    let mut roster: Vec<(String, OsString)> = variables
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, _)| name.starts_with(PREFIX))
        .collect();
    // The system's order is not defined; the report must always be the same.
    roster.sort();
    for (name, value) in roster {
        if name == CONFIG_FILE_ENV {
            environment.config_file = Some(value).filter(|path| !path.is_empty());
        } else if let Some(setting) = SETTINGS.iter().find(|setting| setting.env == name) {
            let origin = Origin::Environment(name);
            match value.into_string() {
                Ok(text) => environment.claims.push(Claim { setting, text, origin }),
                Err(_) => faults.push(origin, "the value is not valid UTF-8"),
            }
        } else {
            refuse_unknown(name, &value, faults);
        }
    }
    environment
}

fn refuse_unknown_names(variables: Vec<(OsString, OsString)>, faults: &mut Faults) {
    let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value));
    let mut named: Vec<_> = variables.into_iter().filter_map(text).collect();
    named.retain(|(name, _)| name.starts_with(PREFIX));
    named.sort();
    for (name, value) in named {
        refuse_unknown(name, &value, faults);
    }
}

fn refuse_unknown(name: String, value: &OsStr, faults: &mut Faults) {
    let known = SETTINGS.iter().map(|setting| setting.env);
    let mut known = known.chain([CONFIG_FILE_ENV]).chain(roster_cli::VARIABLES);
    if known.clone().any(|one| one == name) || is_service_link(&name, value) {
        return;
    }
    let hint = did_you_mean(&name, &mut known);
    faults.push(Origin::Environment(name), format!("no setting has this name{hint}"));
}

/// Whether Kubernetes set the variable because a service is called `roster`, or begins so. It is no
/// misspelled setting, and the operator cannot remove it.
fn is_service_link(name: &str, value: &OsStr) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let value = value.to_str().unwrap_or_default();
    if name.ends_with("_SERVICE_HOST") {
        return value.parse::<IpAddr>().is_ok();
    }
    if name.ends_with("_SERVICE_PORT") || name.contains("_SERVICE_PORT_") {
        return is_number(value);
    }
    let is_protocol = |text: &str| matches!(text, "TCP" | "UDP" | "SCTP");
    let mut words = name.split('_').skip_while(|word| *word != "PORT");
    match (words.next(), words.next(), words.next()) {
        (Some(_), Some(port), Some(protocol)) => is_number(port) && is_protocol(protocol),
        (Some(_), None, None) => value.contains("://"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_asks_a_service_accepts_all_names_of_roster_and_no_others() {
        let of_the_service = SETTINGS.iter().map(|setting| setting.env);
        let of_others = ["HOME", "ROSTER_SERVICE_HOST", "ROSTER_PORT_80_TCP", "roster_tennant"];
        let known = of_the_service.chain([CONFIG_FILE_ENV]).chain(roster_cli::VARIABLES);
        let mut faults = Faults::default();
        let with_a_value = |name: &str| (OsString::from(name), OsString::from("10.0.0.1"));
        refuse_unknown_names(known.chain(of_others).map(with_a_value).collect(), &mut faults);
        assert_eq!(faults.as_slice(), []);
        let wrong = ["ROSTER_URLL", "ROSTER_TENNANT"].map(with_a_value);
        refuse_unknown_names(wrong.into(), &mut faults);
        let said: Vec<_> = faults.as_slice().iter().map(ToString::to_string).collect();
        let end = |name| format!("no setting has this name; did you mean {name}?");
        assert_eq!(
            said,
            [
                format!("environment ROSTER_TENNANT: {}", end("ROSTER_TENANT")),
                format!("environment ROSTER_URLL: {}", end("ROSTER_URL")),
            ]
        );
    }
}
