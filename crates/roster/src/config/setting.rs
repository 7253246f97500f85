//! A row of the table of settings.

use super::group::Group;
use super::kind::Kind;

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// The key in the settings file.
    pub key: &'static str,
    /// The environment variable.
    pub env: &'static str,
    /// The flag, without dashes.
    pub flag: &'static str,
    /// The heading in the help.
    pub group: Group,
    /// The type, range and field.
    pub kind: Kind,
    /// The default as text; empty for none.
    pub default: &'static str,
    /// One sentence that describes it.
    pub doc: &'static str,
}
