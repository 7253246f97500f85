//! The URL of a PostgreSQL database.
//!
//! It may contain a password, which is never printed. `Display` prints only user, hosts and
//! database; `without_password` is the whole URL without it.

use std::fmt;

use roster_postgres::Connector;
use url::form_urlencoded;

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

    /// The URL without its password: with every parameter, because without `sslmode` and others a
    /// settings file would mean another connection.
    pub fn without_password(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("postgres", &self.url));
        let (credentials, place) = match rest.split_once('@') {
            Some((credentials, place)) => (Some(credentials), place),
            None => (None, rest),
        };
        let user = credentials.map(|both| both.split_once(':').map_or(both, |(user, _)| user));
        let user = user.map(|user| format!("{user}@")).unwrap_or_default();
        let (place, query) = place.split_once('?').unwrap_or((place, ""));
        let kept: Vec<&str> = query.split('&').filter(|one| !is_password(one)).collect();
        let kept = kept.join("&");
        let sign = if kept.is_empty() { "" } else { "?" };
        format!("{scheme}://{user}{place}{sign}{kept}")
    }

    /// The URL, with its password.
    pub fn as_str(&self) -> &str {
        &self.url
    }
}

/// Whether a parameter of the query is the password.
fn is_password(parameter: &str) -> bool {
    form_urlencoded::parse(parameter.as_bytes()).any(|(name, _)| name == "password")
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
    fn all_but_the_password_is_kept_for_a_settings_file() {
        let parameters = "sslmode=require&connect_timeout=3&options=-c%20x%3Dy\
                          &target_session_attrs=read-write";
        for (url, kept) in [
            ("postgres://ada:s3@db/u?{}", "postgres://ada@db/u?{}"),
            ("postgresql://ada:s3?:/@a:1,b:2/u?{}", "postgresql://ada@a:1,b:2/u?{}"),
            ("postgres://ada@db/u?p%61ssword=s3&{}", "postgres://ada@db/u?{}"),
            ("postgres://db?user=ada&{}&password=s3", "postgres://db?user=ada&{}"),
            ("postgres://ada:s3@db/u", "postgres://ada@db/u"),
            ("postgres://ada@db/u?password=s3", "postgres://ada@db/u"),
        ] {
            let [url, kept] = [url, kept].map(|text| text.replace("{}", parameters));
            let printed = DatabaseUrl::parse(&url).unwrap().without_password();
            assert_eq!(printed, kept);
            assert_eq!(DatabaseUrl::parse(&printed).unwrap().without_password(), kept);
        }
    }

    #[test]
    fn no_part_of_a_password_with_an_at_sign_is_taken_for_a_host() {
        for url in [
            "postgres://ada:s3@cret@db/users",
            "postgres://ada:s3@cret/@db/users",
            "postgres://ada:s3@cr?et=@db/users",
            "postgres://ada:s3@cret:x@db/users",
            "postgres://db/users?user=ada&password=s3@cret",
            "postgres://db:5432/users?user=ada&password=s3@cret",
        ] {
            let said = DatabaseUrl::parse(url).unwrap_err();
            assert!(said.contains("%40"), "{said}");
            assert!(!said.contains("s3") && !said.contains("cr"), "{said}");
        }
        let said = DatabaseUrl::parse("postgres://ada:s3@cret%40db/users").unwrap_err();
        assert!(said.contains("host with an @") && !said.contains("cret"), "{said}");
        DatabaseUrl::parse("postgres://ada%40x:s3%40cret@db/users?options=%40").unwrap();
    }

    #[test]
    fn urls_of_other_databases_are_rejected() {
        for url in ["mysql://db", "postgres://", "postgres://db/u", "db", "postgres://a@b:x/c"] {
            assert!(DatabaseUrl::parse(url).is_err(), "{url}");
        }
    }
}
