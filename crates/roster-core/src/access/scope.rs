//! Scopes: what a caller may do, as keys and tokens name it.
//!
//! Scopes are stable: rows are added, never renamed. Scopes are written in the order of this table.

use std::fmt;

macro_rules! scopes {
    ($($(#[$doc:meta])* $variant:ident $text:literal,)*) => {
        /// A set of operations that a key or a token allows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Scope {
            $($(#[$doc])* $variant,)*
        }

        impl Scope {
            /// Every scope.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The scope's name.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            const fn bit(self) -> u16 {
                let mut bit = 1;
                $(
                    if matches!(self, Self::$variant) {
                        return bit;
                    }
                    bit <<= 1;
                )*
                bit
            }
        }
    };
}

scopes! {
    /// Read users.
    UsersRead "users:read",
    /// Create, replace, patch, delete and restore users. With the scope to read users, read deleted
    /// users.
    UsersWrite "users:write",
    /// Purge deleted users.
    UsersPurge "users:purge",
    /// Read the change log.
    EventsRead "events:read",
    /// Read the metrics.
    MetricsRead "metrics:read",
    /// Create, list, rotate and revoke keys with any scope.
    KeysAdmin "keys:admin",
    /// All operations of the SCIM interface.
    Scim "scim",
    /// Parse requests to the SCIM interface strictly by the standard.
    ScimStrict "scim:strict",
    /// Replace the schema of users.
    SchemaWrite "schema:write",
    /// With the scope to change users, create users with ids that the caller chooses.
    UsersRestoreIds "users:restore-ids",
    /// With a credential for all tenants, create, list, replace and patch tenants.
    TenantsAdmin "tenants:admin",
    /// With the scope to read the change log, read its audit events.
    AuditRead "audit:read",
    /// All operations on webhooks. One that a caller makes sends what the caller may read.
    WebhooksAdmin "webhooks:admin",
}

impl Scope {
    /// Parses a scope; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|scope| scope.as_str() == text)
    }
}

/// A set of scopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scopes(u16);

impl Scopes {
    /// No scope.
    pub const NONE: Self = Self(0);

    /// Every scope that allows an operation.
    pub fn all() -> Self {
        Scope::ALL.iter().copied().filter(|scope| *scope != Scope::ScimStrict).collect()
    }

    /// Whether the set contains a scope.
    pub const fn hold(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The scopes in the order of the table.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.iter().copied().filter(move |scope| self.hold(*scope))
    }

    /// Parses names separated by single spaces. Unknown names are ignored.
    pub fn of_words(text: &str) -> Self {
        text.split(' ').filter_map(Scope::parse).collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

/// The names, separated by single spaces (RFC 6749 section 3.3).
impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, scope) in self.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{}", scope.as_str())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scope_is_parsed_from_its_name_and_contains_only_itself() {
        for one in Scope::ALL {
            assert_eq!(Scope::parse(one.as_str()), Some(*one));
            let alone: Scopes = [*one].into_iter().collect();
            for other in Scope::ALL {
                assert_eq!(alone.hold(*other), one == other, "{one:?} {other:?}");
            }
        }
        assert_eq!(Scope::parse("users"), None);
    }

    #[test]
    fn scopes_are_written_in_table_order_and_unknown_names_are_ignored() {
        let scopes = Scopes::of_words("scim users:read openid users:read");
        assert_eq!(scopes.to_string(), "users:read scim");
        assert_eq!(Scopes::of_words(&Scopes::all().to_string()), Scopes::all());
        assert!(Scopes::of_words("").is_empty());
    }
}
