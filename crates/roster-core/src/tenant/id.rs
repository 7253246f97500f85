//! The number of a tenant, which leads every key of its rows.

/// The number of a tenant in its store.
///
/// Users and groups of different tenants may have equal ids, names and addresses. An engine reads
/// and writes rows of one tenant only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantId(i32);

impl TenantId {
    /// The tenant of every store. Its requests name no tenant.
    pub const DEFAULT: Self = Self(0);

    /// The tenant with this number; `None` if no tenant can have it.
    pub fn new(number: i64) -> Option<Self> {
        i32::try_from(number).ok().filter(|number| *number >= 0).map(Self)
    }

    /// Its number.
    pub const fn number(self) -> i32 {
        self.0
    }

    /// Whether it is the tenant of every store.
    pub const fn is_default(self) -> bool {
        self.0 == 0
    }
}
