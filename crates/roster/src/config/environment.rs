//! The environment.
//!
//! Every variable that starts with `ROSTER_` belongs to Roster, so an unknown one is a fault:
//! otherwise a misspelled name would silently have no effect. The exception are variables that
//! Kubernetes sets in every container for a service called `roster`, and those of the commands that
//! ask a service.

use std::ffi::OsString;

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

/// Fails if a variable of this process is none of Roster's: also for a command that asks a service,
/// where a misspelled tenant would mean the default tenant.
pub(super) fn check_names() -> Result<(), Faults> {
    let mut faults = Faults::default();
    refuse_unknown_names(read().into_iter().map(|(name, _)| name), &mut faults);
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
            refuse_unknown(name, faults);
        }
    }
    environment
}

fn refuse_unknown_names(names: impl Iterator<Item = OsString>, faults: &mut Faults) {
    let names = names.filter_map(|name| name.into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(PREFIX)).collect();
    names.sort();
    for name in names {
        refuse_unknown(name, faults);
    }
}

fn refuse_unknown(name: String, faults: &mut Faults) {
    let known = SETTINGS.iter().map(|setting| setting.env);
    let mut known = known.chain([CONFIG_FILE_ENV]).chain(roster_cli::VARIABLES);
    if known.clone().any(|one| one == name) || is_service_link(&name) {
        return;
    }
    let hint = did_you_mean(&name, &mut known);
    faults.push(Origin::Environment(name), format!("no setting has this name{hint}"));
}

/// Whether Kubernetes set the variable because a service is called `roster`. It is not a misspelled
/// setting, and the operator cannot remove it.
fn is_service_link(name: &str) -> bool {
    name == "ROSTER_SERVICE_HOST"
        || name == "ROSTER_PORT"
        || name.starts_with("ROSTER_SERVICE_PORT")
        || name
            .strip_prefix("ROSTER_PORT_")
            .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
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
        refuse_unknown_names(known.chain(of_others).map(OsString::from), &mut faults);
        assert_eq!(faults.as_slice(), []);
        let wrong = ["ROSTER_URLL", "ROSTER_TENNANT"].map(OsString::from);
        refuse_unknown_names(wrong.into_iter(), &mut faults);
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
