//! What `roster serve` prints on stdout once it listens.
//!
//! Where it listens, where the data lies, and a line that can be pasted into a shell as it is: it
//! names the address that is truly served, not the one callers elsewhere may use, unless there is
//! a certificate, which is for the name that those use.

use std::io::{self, Write};
use std::net::SocketAddr;

use super::exposure::Callers;
use crate::config::{BaseUrl, DatabaseUrl};
use crate::data_dir::DataDir;

/// The first user that a newcomer creates.
const FIRST_USER: &str = r#"{"email":"ada@example.com","name":"Ada Lovelace"}"#;

/// What is listened on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listening {
    /// Address and port.
    pub(super) address: SocketAddr,
    /// Whether the port speaks TLS.
    pub(super) tls: bool,
}

/// Prints the banner. A closed stdout is no reason not to serve, so its error is passed over.
pub(super) fn print(
    listening: Listening,
    base_url: &BaseUrl,
    data: &DataDir,
    database: Option<&DatabaseUrl>,
    callers: &Callers,
) {
    let mut out = io::stdout().lock();
    let banner = text(listening, base_url, data, database, callers);
    out.write_all(banner.as_bytes()).and_then(|()| out.flush()).unwrap_or_default();
}

/// The banner's lines.
fn text(
    listening: Listening,
    base_url: &BaseUrl,
    data: &DataDir,
    database: Option<&DatabaseUrl>,
    callers: &Callers,
) -> String {
    let Listening { address, tls } = listening;
    let scheme = if tls { "https" } else { "http" };
    let here = format!("{scheme}://{address}{}", base_url.mount());
    let version = env!("CARGO_PKG_VERSION");
    let elsewhere = match base_url.to_string() {
        url if url == here => String::new(),
        url => format!("Callers reach it by   {url}\n"),
    };
    let path = data.path().display();
    let place = match (data, database) {
        (_, Some(database)) => format!("The users are in      {database}"),
        (DataDir::Kept { .. }, None) => format!("The data lies in      {path}"),
        (DataDir::Temporary(_), None) => format!("Sample users lie in   {path} (removed at exit)"),
    };
    let users = pasted(&if tls { base_url.to_string() } else { here.clone() });
    let key = if callers.present_a_key { "-H \"Authorization: Bearer $KEY\" " } else { "" };
    let who = &callers.line;
    format!(
        "Roster {version} listens on {here}\n{elsewhere}{place}\n{who}\n\n\
         Try:  curl {key}--json '{FIRST_USER}' {users}\n"
    )
}

/// The users' URL as a shell takes it: brackets of an IPv6 address are a pattern to some shells.
fn pasted(here: &str) -> String {
    if here.contains('[') { format!("'{here}/users'") } else { format!("{here}/users") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn banner(listening: &str, base_url: Option<&str>) -> String {
        of(Listening { address: listening.parse().unwrap(), tls: false }, base_url)
    }

    fn of(listening: Listening, base_url: Option<&str>) -> String {
        let Listening { address, tls } = listening;
        let base_url = base_url
            .map_or_else(|| BaseUrl::of_address(address, tls), |url| BaseUrl::parse(url).unwrap());
        let data = DataDir::Kept { path: "/srv/roster".into(), open_to_others: false };
        let callers = Callers { line: "Anyone.".to_owned(), present_a_key: false };
        text(listening, &base_url, &data, None, &callers)
    }

    #[test]
    fn the_curl_line_names_what_is_served() {
        let banner = banner("127.0.0.1:8080", None);
        let curl = concat!(
            r#"Try:  curl --json '{"email":"ada@example.com","name":"Ada Lovelace"}' "#,
            "http://127.0.0.1:8080/users\n"
        );
        assert!(banner.ends_with(curl), "{banner}");
        assert!(banner.contains("/srv/roster"), "{banner}");
        assert!(!banner.contains("Callers"), "{banner}");
    }

    #[test]
    fn once_there_are_keys_the_curl_line_sends_one() {
        let address = "127.0.0.1:8080".parse().unwrap();
        let base_url = BaseUrl::of_address(address, false);
        let data = DataDir::Kept { path: "/srv/roster".into(), open_to_others: false };
        let listening = Listening { address, tls: false };
        let callers = Callers { line: "Callers with a key.".to_owned(), present_a_key: true };
        let banner = text(listening, &base_url, &data, None, &callers);
        assert!(banner.contains("\nCallers with a key.\n"), "{banner}");
        let curl = r#"Try:  curl -H "Authorization: Bearer $KEY" --json '"#;
        assert!(banner.contains(curl), "{banner}");
    }

    #[test]
    fn the_curl_line_goes_to_the_mount_of_the_base_url() {
        let banner = banner("127.0.0.1:9000", Some("https://directory.example.com/v1/"));
        assert!(banner.ends_with(" http://127.0.0.1:9000/v1/users\n"), "{banner}");
        assert!(banner.contains("https://directory.example.com/v1\n"), "{banner}");
    }

    #[test]
    fn under_tls_the_curl_line_goes_to_the_name_of_the_certificate() {
        let listening = Listening { address: "127.0.0.1:8443".parse().unwrap(), tls: true };
        let banner = of(listening, Some("https://directory.example.com/v1"));
        assert!(banner.contains("listens on https://127.0.0.1:8443/v1\n"), "{banner}");
        assert!(banner.ends_with(" https://directory.example.com/v1/users\n"), "{banner}");
        let banner = of(listening, None);
        assert!(banner.ends_with(" https://127.0.0.1:8443/users\n"), "{banner}");
        assert!(!banner.contains("Callers"), "{banner}");
    }

    #[test]
    fn an_ipv6_address_is_quoted_for_the_shell() {
        assert!(banner("[::1]:8080", None).ends_with(" 'http://[::1]:8080/users'\n"));
    }
}
