//! Where keys are kept: in a service or in a store.

use crate::failure::Failure;
use crate::output::Record;

/// How long a key lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Days {
    /// A number of days.
    Count(u32),
    /// It does not expire.
    Never,
}

/// A key to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    /// What it is for.
    pub name: String,
    /// What it permits.
    pub scopes: Vec<String>,
    /// None is a year.
    pub days: Option<Days>,
    /// Whether it has its scopes in all tenants.
    pub has_all_tenants: bool,
}

/// Where keys are kept. Records of keys have the members that the service shows.
pub trait Keys {
    /// What people call it, such as `the data directory /data`. None if that cannot be found out;
    /// each operation then says why.
    fn place(&self) -> Option<String>;

    /// All keys.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    fn list(&self) -> impl Future<Output = Result<Vec<Record>, Failure>>;

    /// Creates a key. In a dry run it only checks what can be checked by reading.
    ///
    /// # Errors
    ///
    /// If the key is not valid, or cannot be created.
    fn create(
        &self,
        key: &NewKey,
        is_dry_run: bool,
    ) -> impl Future<Output = Result<Record, Failure>>;

    /// Gives the key with this id a new secret.
    ///
    /// # Errors
    ///
    /// If the key is not valid any more, or cannot be changed.
    fn rotate(&self, id: &str, overlap_s: u64) -> impl Future<Output = Result<Record, Failure>>;

    /// Revokes the key with this id.
    ///
    /// # Errors
    ///
    /// If it cannot be changed.
    fn revoke(&self, id: &str) -> impl Future<Output = Result<(), Failure>>;
}
