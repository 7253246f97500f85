//! The URL of a PostgreSQL database.
//!
//! It may hold a password, which is never shown: what is printed of it can be read back, but for
//! that.

use std::fmt;

use roster_postgres::Connector;

/// Where the users are, if not in the data directory.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// Reads a URL; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Self(text.to_owned());
        if !["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            return Err("must start with postgres://".to_owned());
        }
        match Connector::parse(text) {
            Ok(_) => Ok(url),
            Err(error) => Err(format!("is no URL of a database: {error}")),
        }
    }

    /// The URL itself, for whoever connects.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Without the password.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = self.0.split_once("://").unwrap_or(("postgres", &self.0));
        let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (user, place) = place.rsplit_once('@').unwrap_or(("", place));
        let user = user.split_once(':').map_or(user, |(user, _)| user);
        let at = if user.is_empty() { "" } else { "@" };
        write!(f, "{scheme}://{user}{at}{place}")?;
        let shown = |parameter: &&str| !parameter.starts_with("password=");
        let mut sign = '?';
        for parameter in parameters.split('&').filter(|one| !one.is_empty()).filter(shown) {
            write!(f, "{sign}{parameter}")?;
            sign = '&';
        }
        Ok(())
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
            ("postgres://ada:s3cret@db/users", "postgres://ada@db/users"),
            ("postgres://ada:s%40@a:1,b:2/u?password=s3&user=x", "postgres://ada@a:1,b:2/u?user=x"),
            ("postgresql://db/users?user=ada&password=s", "postgresql://db/users?user=ada"),
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
