//! The environment as a source of settings.
//!
//! Every variable that starts with `ROSTER_` is ours, so an unknown one is a fault: a mistyped
//! name would else be a setting that silently does nothing. The one exception are the variables
//! that Kubernetes puts into every container for a service that is called `roster`.

use std::ffi::OsString;

use super::CONFIG_FILE_ENV;
use super::fault::{Faults, Origin};
use super::nearest::did_you_mean;
use super::resolve::Claim;
use super::table::SETTINGS;

/// What every variable of ours starts with.
const PREFIX: &str = "ROSTER_";

/// What the environment says: the settings file and the values of settings.
#[derive(Debug, Default)]
pub(super) struct Environment {
    /// The file that `ROSTER_CONFIG` names, where it is set and not empty.
    pub config_file: Option<OsString>,
    /// One claim for each setting that is given.
    pub claims: Vec<Claim>,
}

/// The variables of this process.
pub(super) fn read() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// Sorts variables into claims, and reports the unknown ones of ours.
pub(super) fn sort(variables: Vec<(OsString, OsString)>, faults: &mut Faults) -> Environment {
    let mut environment = Environment::default();
    let mut ours: Vec<(String, OsString)> = variables
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, _)| name.starts_with(PREFIX))
        .collect();
    // The system gives variables in no order; a report must read the same every time.
    ours.sort();
    for (name, value) in ours {
        if name == CONFIG_FILE_ENV {
            environment.config_file = Some(value).filter(|path| !path.is_empty());
        } else if let Some(setting) = SETTINGS.iter().find(|setting| setting.env == name) {
            let origin = Origin::Environment(name);
            match value.into_string() {
                Ok(text) => environment.claims.push(Claim { setting, text, origin }),
                Err(_) => faults.push(origin, "the value is not valid UTF-8"),
            }
        } else if !is_service_link(&name) {
            let known = SETTINGS.iter().map(|setting| setting.env).chain([CONFIG_FILE_ENV]);
            let hint = did_you_mean(&name, known);
            faults.push(Origin::Environment(name), format!("no setting has this name{hint}"));
        }
    }
    environment
}

/// Whether Kubernetes made the variable, because a service is called `roster`: it is not a
/// setting that somebody mistyped, and the operator cannot take it away.
fn is_service_link(name: &str) -> bool {
    name == "ROSTER_SERVICE_HOST"
        || name == "ROSTER_PORT"
        || name.starts_with("ROSTER_SERVICE_PORT")
        || name
            .strip_prefix("ROSTER_PORT_")
            .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}
