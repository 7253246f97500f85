//! The URL of a PostgreSQL database.
//!
//! It may hold a password, which is never shown: what is printed is made anew of the parts that
//! may be seen.

use std::fmt;

use roster_postgres::Connector;

/// Where the users are, if not in the data directory.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl {
    url: String,
    shown: String,
}

impl DatabaseUrl {
    /// Reads a URL; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            return Err("must start with postgres://".to_owned());
        }
        match Connector::parse(text) {
            Ok(connector) => Ok(Self { url: text.to_owned(), shown: connector.shown() }),
            Err(error) => Err(format!("cannot be used: {error}")),
        }
    }

    /// The URL itself, for whoever connects.
    pub fn as_str(&self) -> &str {
        &self.url
    }
}

/// User, hosts and name of the database.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
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
    fn a_password_is_not_shown() {
        for (url, shown) in [
            ("postgres://ada:s3cret@db/users", "postgres://ada@db:5432/users"),
            ("postgres://ada:s3?cret@db/users", "postgres://ada@db:5432/users"),
            (
                "postgres://ada:s%40@a:1,b:2/u?%70assword=s3&application_name=x",
                "postgres://ada@a:1,b:2/u",
            ),
            ("postgresql://db/users?user=ada&password=s3", "postgres://ada@db:5432/users"),
        ] {
            let url = DatabaseUrl::parse(url).unwrap();
            assert_eq!(url.to_string(), shown);
            assert!(!format!("{url:?}").contains("s3"), "{url:?}");
        }
    }

    #[test]
    fn what_is_no_url_of_postgresql_is_refused() {
        for url in ["mysql://db", "postgres://", "postgres://db/u", "db", "postgres://a@b:x/c"] {
            assert!(DatabaseUrl::parse(url).is_err(), "{url}");
        }
    }
}
