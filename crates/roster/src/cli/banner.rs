//! The text that `roster serve` prints on stdout after it starts to listen.
//!
//! It names the address, the data directory or database, and a command for a shell. The command
//! uses the listening address, not the one that callers on other machines may use. With a
//! certificate it uses the base URL, because the certificate is for that name.

use std::io::{self, Write};
use std::net::SocketAddr;

use super::bind_check::Callers;
use crate::config::{BaseUrl, DatabaseUrl};
use crate::data_dir::DataDir;

/// The user in the command.
const FIRST_USER: &str = r#"{"email":"ada@example.com","name":"Ada Lovelace"}"#;

/// The port of the service.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listening {
    /// Address and port.
    pub(super) address: SocketAddr,
    /// Whether the port speaks TLS.
    pub(super) tls: bool,
}

/// Prints the banner. Errors are ignored: a closed stdout does not prevent serving.
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
        url => format!("Base URL              {url}\n"),
    };
    let path = data.path().display();
    let storage = match (data, database) {
        (_, Some(database)) => format!("Database              {database}"),
        (DataDir::Kept { .. }, None) => format!("Data directory        {path}"),
        (DataDir::Temporary(_), None) => format!("Sample data in        {path} (removed at exit)"),
    };
    let users = quoted(&if tls { base_url.to_string() } else { here.clone() });
    let key = if callers.needs_credential { "-H \"Authorization: Bearer $KEY\" " } else { "" };
    let who = &callers.line;
    format!(
        "Roster {version} listens on {here}\n{elsewhere}{storage}\n{who}\n\n\
         Try:  curl {key}--json '{FIRST_USER}' {users}\n"
    )
}

/// The URL of the users, quoted for a shell: some shells treat brackets of an IPv6 address as a
/// pattern.
fn quoted(here: &str) -> String {
    if here.contains('[') { format!("'{here}/users'") } else { format!("{here}/users") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_dir::Others;

    fn kept() -> DataDir {
        let path = "/srv/roster".into();
        DataDir::Kept { path, others: Others::Nothing, is_new: false }
    }

    fn banner(listening: &str, base_url: Option<&str>) -> String {
        of(Listening { address: listening.parse().unwrap(), tls: false }, base_url)
    }

    fn of(listening: Listening, base_url: Option<&str>) -> String {
        let Listening { address, tls } = listening;
        let base_url = base_url
            .map_or_else(|| BaseUrl::of_address(address, tls), |url| BaseUrl::parse(url).unwrap());
        let data = kept();
        let callers = Callers { line: "Anyone.".to_owned(), needs_credential: false };
        text(listening, &base_url, &data, None, &callers)
    }

    #[test]
    fn the_command_uses_the_listening_address() {
        let banner = banner("127.0.0.1:8080", None);
        let curl = concat!(
            r#"Try:  curl --json '{"email":"ada@example.com","name":"Ada Lovelace"}' "#,
            "http://127.0.0.1:8080/users\n"
        );
        assert!(banner.ends_with(curl), "{banner}");
        assert!(banner.contains("/srv/roster"), "{banner}");
        assert!(!banner.contains("Base URL"), "{banner}");
    }

    #[test]
    fn if_keys_exist_the_command_sends_one() {
        let address = "127.0.0.1:8080".parse().unwrap();
        let base_url = BaseUrl::of_address(address, false);
        let data = kept();
        let listening = Listening { address, tls: false };
        let callers = Callers { line: "Callers with a key.".to_owned(), needs_credential: true };
        let banner = text(listening, &base_url, &data, None, &callers);
        assert!(banner.contains("\nCallers with a key.\n"), "{banner}");
        let curl = r#"Try:  curl -H "Authorization: Bearer $KEY" --json '"#;
        assert!(banner.contains(curl), "{banner}");
    }

    #[test]
    fn the_command_uses_the_path_of_the_base_url() {
        let banner = banner("127.0.0.1:9000", Some("https://directory.example.com/v1/"));
        assert!(banner.ends_with(" http://127.0.0.1:9000/v1/users\n"), "{banner}");
        assert!(banner.contains("https://directory.example.com/v1\n"), "{banner}");
    }

    #[test]
    fn with_tls_the_command_uses_the_base_url() {
        let listening = Listening { address: "127.0.0.1:8443".parse().unwrap(), tls: true };
        let banner = of(listening, Some("https://directory.example.com/v1"));
        assert!(banner.contains("listens on https://127.0.0.1:8443/v1\n"), "{banner}");
        assert!(banner.ends_with(" https://directory.example.com/v1/users\n"), "{banner}");
        let banner = of(listening, None);
        assert!(banner.ends_with(" https://127.0.0.1:8443/users\n"), "{banner}");
        assert!(!banner.contains("Base URL"), "{banner}");
    }

    #[test]
    fn an_ipv6_address_is_quoted_for_the_shell() {
        assert!(banner("[::1]:8080", None).ends_with(" 'http://[::1]:8080/users'\n"));
    }
}
