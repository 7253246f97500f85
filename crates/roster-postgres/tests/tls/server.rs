//! A server whose certificate can be changed, and the results of connecting to it.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use roster_core::{Rules, Store};
use roster_postgres::{Connector, Postgres, Settings};
use roster_testkit::postgres::Cluster;
use tempfile::TempDir;

use crate::certificates::Identity;

/// A server, and a folder for the files of its clients.
pub(crate) struct Server {
    cluster: Cluster,
    folder: TempDir,
    asked: AtomicU32,
}

/// The result of connecting.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// Connected without TLS.
    Clear,
    /// Connected with TLS.
    Tls,
    /// Not connected, with this error.
    Refused(String),
}

/// The database for administration. The tests restrict the access to the other one.
const OTHER: &str = "template1";

/// The maximum time until a server uses its changed files.
const RELOAD: Duration = Duration::from_secs(20);

impl Server {
    /// Starts a server with this certificate.
    pub(crate) fn start(shown: &Identity) -> Self {
        let files = [("server.crt", &*shown.certificate), ("server.key", &*shown.key)];
        let cluster = Cluster::with(&files, &["unix_socket_directories=."]);
        let folder = tempfile::tempdir().unwrap();
        let server = Self { cluster, folder, asked: AtomicU32::new(0) };
        server.set("ssl", "on");
        server
    }

    /// Changes the certificate.
    pub(crate) fn show(&self, identity: &Identity) {
        self.cluster.put("server.crt", &identity.certificate);
        self.cluster.put("server.key", &identity.key);
        self.reload();
    }

    /// Changes a setting.
    pub(crate) fn set(&self, name: &str, value: &str) {
        self.administer(&format!("ALTER SYSTEM SET {name} = '{value}'"));
        self.reload();
    }

    /// Writes a file in the data directory.
    pub(crate) fn put(&self, name: &str, text: &str) {
        self.cluster.put(name, text);
        self.reload();
    }

    /// Writes a file for clients, and returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        file(&self.folder, name, text)
    }

    /// The URL with this host name.
    pub(crate) fn url(&self, host: &str, parameters: &str) -> String {
        let url = self.cluster.url("postgres").replace("127.0.0.1", host);
        format!("{url}?{parameters}")
    }

    /// The folder of the socket, encoded for a URL.
    pub(crate) fn socket(&self) -> String {
        self.administer("SHOW data_directory").replace('/', "%2F")
    }

    /// Host and port, with this host name.
    pub(crate) fn address(&self, host: &str) -> String {
        let url = self.url(host, "");
        let (_, after) = url.split_once('@').unwrap();
        after.split_once('/').unwrap().0.to_owned()
    }

    /// Opens a store with this URL, and returns how it is connected.
    pub(crate) async fn connect(&self, url: &str) -> Wire {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        let name = format!("asked_{asked}");
        let sign = if url.ends_with('?') { "" } else { "&" };
        let connector = match Connector::parse(&format!("{url}{sign}application_name={name}")) {
            Ok(connector) => connector,
            Err(error) => return Wire::Refused(error.to_string()),
        };
        let store = match Postgres::open(Settings::new(connector, Rules::default())).await {
            Ok(store) => store,
            Err(error) => {
                let source = std::error::Error::source(&error).unwrap();
                return Wire::Refused(source.to_string());
            }
        };
        store.health().await.unwrap();
        let seen = self.administer(&format!(
            "SELECT DISTINCT ssl, version FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
             WHERE application_name = '{name}'"
        ));
        store.close().await;
        match &*seen {
            "f|" => Wire::Clear,
            "t|TLSv1.3" | "t|TLSv1.2" => Wire::Tls,
            other => panic!("{url}: {other:?}"),
        }
    }

    /// The result of PostgreSQL's own client for a URL.
    pub(crate) fn by_libpq(&self, url: &str) -> Wire {
        let seen = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        match self.cluster.ask(url, seen) {
            Ok(seen) if seen == "t" => Wire::Tls,
            Ok(seen) if seen == "f" => Wire::Clear,
            Ok(seen) => panic!("{url}: {seen:?}"),
            Err(errors) => Wire::Refused(errors),
        }
    }

    /// Disables channel binding, because libpq cannot bind to an Ed25519 certificate and fails even
    /// where binding is optional.
    fn administer(&self, sql: &str) -> String {
        let url = format!("{}?channel_binding=disable", self.cluster.url(OTHER));
        self.cluster.ask(&url, sql).unwrap()
    }

    fn reload(&self) {
        let loaded = || self.administer("SELECT pg_conf_load_time()");
        let (before, began) = (loaded(), Instant::now());
        self.administer("SELECT pg_reload_conf()");
        while loaded() == before {
            assert!(began.elapsed() < RELOAD, "the server takes no note of its files");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Wire {
    /// The error; panics if it is connected.
    #[track_caller]
    pub(crate) fn reason(self) -> String {
        match self {
            Self::Refused(reason) => reason,
            Self::Clear | Self::Tls => panic!("it is connected: {self:?}"),
        }
    }

    /// Whether both connect in the same way, or neither connects.
    pub(crate) const fn is_like(&self, other: &Self) -> bool {
        matches!(
            (self, other),
            (Self::Clear, Self::Clear)
                | (Self::Tls, Self::Tls)
                | (Self::Refused(_), Self::Refused(_))
        )
    }
}

/// Writes a file that only its owner can read.
pub(crate) fn file(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}
