//! What a caller may do, in the words that a key or a token carries.
//!
//! A scope is for ever: rows are added, never renamed. The order of the table is the order in
//! which scopes are written.

use std::fmt;

macro_rules! scopes {
    ($($(#[$doc:meta])* $variant:ident $text:literal,)*) => {
        /// One thing that a caller may do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Scope {
            $($(#[$doc])* $variant,)*
        }

        impl Scope {
            /// Every scope there is.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The scope as it stands on the wire.
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
    /// Read the users.
    UsersRead "users:read",
    /// Create, replace, patch, delete and restore users, and list those who were deleted.
    UsersWrite "users:write",
    /// Forget a deleted user for good.
    UsersPurge "users:purge",
    /// Read the change log.
    EventsRead "events:read",
    /// Read the metrics.
    MetricsRead "metrics:read",
    /// Create, list, rotate and revoke keys of every scope.
    KeysAdmin "keys:admin",
    /// Everything of the SCIM face.
    Scim "scim",
    /// Have what is sent to the SCIM face read by the letter of the standard.
    ScimStrict "scim:strict",
}

impl Scope {
    /// Reads a scope as it is written; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|scope| scope.as_str() == text)
    }
}

/// Several scopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scopes(u16);

impl Scopes {
    /// No scope.
    pub const NONE: Self = Self(0);

    /// Every scope that lets its holder do something.
    pub fn all() -> Self {
        Scope::ALL.iter().copied().filter(|scope| *scope != Scope::ScimStrict).collect()
    }

    /// Whether the scope is among them.
    pub const fn hold(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The scopes in their order.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.iter().copied().filter(move |scope| self.hold(*scope))
    }

    /// Reads scopes as they are written, with one space between two; unknown ones are no scopes
    /// of ours and are left out.
    pub fn of_words(text: &str) -> Self {
        text.split(' ').filter_map(Scope::parse).collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

/// The scopes with one space between two (RFC 6749 section 3.3).
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
    fn every_scope_is_read_as_it_is_written_and_holds_itself_alone() {
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
    fn scopes_are_written_in_their_order_and_unknown_words_are_none_of_ours() {
        let scopes = Scopes::of_words("scim users:read openid users:read");
        assert_eq!(scopes.to_string(), "users:read scim");
        assert_eq!(Scopes::of_words(&Scopes::all().to_string()), Scopes::all());
        assert!(Scopes::of_words("").is_empty());
    }
}
