//! The URL of a PostgreSQL database.
//!
//! It may contain a password, which is never printed. `Display` prints only user, hosts and
//! database.

use std::fmt;

use roster_postgres::Connector;

/// The URL of the database.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl {
    url: String,
    printable: String,
}

impl DatabaseUrl {
    /// Parses a URL; the error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            return Err("must start with postgres://".to_owned());
        }
        match Connector::parse(text) {
            Ok(connector) => Ok(Self { url: text.to_owned(), printable: connector.shown() }),
            Err(error) => Err(format!("cannot be used: {error}")),
        }
    }

    /// The URL, with its password.
    pub fn as_str(&self) -> &str {
        &self.url
    }
}

/// User, hosts and database.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.printable)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_printed() {
        for (url, printable) in [
            ("postgres://ada:s3cret@db/users", "postgres://ada@db:5432/users"),
            ("postgres://ada:s3?cret@db/users", "postgres://ada@db:5432/users"),
            (
                "postgres://ada:s%40@a:1,b:2/u?%70assword=s3&application_name=x",
                "postgres://ada@a:1,b:2/u",
            ),
            ("postgresql://db/users?user=ada&password=s3", "postgres://ada@db:5432/users"),
        ] {
            let url = DatabaseUrl::parse(url).unwrap();
            assert_eq!(url.to_string(), printable);
            assert!(!format!("{url:?}").contains("s3"), "{url:?}");
        }
    }

    #[test]
    fn urls_of_other_databases_are_rejected() {
        for url in ["mysql://db", "postgres://", "postgres://db/u", "db", "postgres://a@b:x/c"] {
            assert!(DatabaseUrl::parse(url).is_err(), "{url}");
        }
    }
}
