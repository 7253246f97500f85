//! A value of a setting, as one source gives it.

use super::fault::Origin;
use super::table::Setting;

/// A value from one source, not yet parsed.
#[derive(Debug)]
pub(super) struct Claim {
    /// The setting.
    pub setting: &'static Setting,
    /// The value as text.
    pub text: String,
    /// The origin.
    pub origin: Origin,
}
