//! The files that a URL names: root certificates, client certificates and keys.

use std::{
    error::Error as _,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    process::Command,
};

use roster_core::Rules;
use roster_postgres::{Connector, Postgres, Settings};

use crate::{
    certificates::Authority,
    server::{Server, file},
};

/// The error for a URL with these parameters.
#[track_caller]
fn said(parameters: &str) -> String {
    let url = format!("postgres://ada:kept-to-itself@db/users?{parameters}");
    match Connector::parse(&url) {
        Ok(_) => panic!("{url} is taken"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_error_for_an_unusable_file_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, others) = (Authority::new("a").issue(&["a"]), Authority::new("b").issue(&["b"]));
    let path = |name: &str, text: &str| file(&folder, name, text).display().to_string();
    let certificate = path("a.crt", &ours.certificate);
    let key = path("a.key", &ours.key);
    let damaged = ours.certificate.replace("MII", "\u{7f}!!");
    let locked =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let cases = [
        (
            "sslmode=verify-full&sslrootcert=/no/such/file".to_owned(),
            "/no/such/file cannot be read",
        ),
        (
            "sslmode=verify-ca&sslrootcert=/".to_owned(),
            "sslrootcert=/ cannot be read: it is not a file",
        ),
        (format!("sslmode=verify-ca&sslrootcert={key}"), "holds no certificate"),
        (format!("sslmode=require&sslrootcert={}", path("none", "")), "holds no certificate"),
        (format!("sslmode=require&sslrootcert={}", path("half", &damaged)), "is damaged"),
        ("sslmode=verify-full".to_owned(), "sslmode=verify-full needs sslrootcert"),
        (format!("sslcert={certificate}"), "sslcert and sslkey go together"),
        (format!("sslkey={key}"), "sslcert and sslkey go together"),
        (format!("sslcert={certificate}&sslkey=/no/key"), "sslkey=/no/key cannot be read"),
        (format!("sslcert={certificate}&sslkey={certificate}"), "holds no private key"),
        (format!("sslcert={certificate}&sslkey={}", path("locked", locked)), "without a password"),
        (
            format!("sslcert={certificate}&sslkey={}", path("b.key", &others.key)),
            "sslcert and sslkey cannot be used",
        ),
        ("sslmode=require&sslnegotiation=direct".to_owned(), "sslnegotiation=direct"),
        ("sslmode=require&sslcrl=file".to_owned(), "unknown option `sslcrl`"),
        ("target_session_attrs=read-only".to_owned(), "the host that takes writes"),
    ];
    for (parameters, expected) in cases {
        let said = said(&parameters);
        assert!(said.contains(expected), "{parameters}: {said}");
        assert!(!said.contains("kept-to-itself"), "{said}");
    }
    // Files that are not used are not opened.
    let unused = "sslmode=disable&sslrootcert=/no/such/file&sslcert=/no/such/file";
    Connector::parse(&format!("postgres://ada@db/users?{unused}")).unwrap();
}

#[test]
fn a_key_file_readable_by_others_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let ours = Authority::new("a").issue(&["a"]);
    let certificate = file(&folder, "a.crt", &ours.certificate);
    let key = file(&folder, "a.key", &ours.key);
    let url = format!("sslcert={}&sslkey={}", certificate.display(), key.display());
    Connector::parse(&format!("postgres://ada@db/users?{url}")).unwrap();
    for mode in [0o604, 0o622, 0o644, 0o777] {
        fs::set_permissions(&key, Permissions::from_mode(mode)).unwrap();
        let said = said(&url);
        assert!(said.contains("can be read by others"), "{mode:o}: {said}");
    }
}

/// The URL for a run of this test in a child process with another system trust store. The location
/// of the trust store is read from the environment, which cannot be changed within a process.
const INSIDE: &str = "ROSTER_TEST_TLS_URL";

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a matter of the test run, not of the service")]
async fn sslrootcert_system_trusts_the_system_authorities() {
    if let Ok(url) = std::env::var(INSIDE) {
        let settings = Settings::new(Connector::parse(&url).unwrap(), Rules::default());
        match Postgres::open(settings).await {
            Ok(_) => println!("connected"),
            Err(error) => println!("{}", error.source().unwrap()),
        }
        return;
    }
    let known = Authority::new("known");
    let server = Server::start(&known.issue(&["localhost"]));
    let url = server.url("localhost", "sslrootcert=system");
    let said = server.connect(&url).await.reason();
    assert!(said.contains("certificate is not trusted") || said.contains("trusts no"), "{said}");
    let roots = server.file("system.pem", &known.certificate);
    for (host, expected) in [("localhost", "connected"), ("127.0.0.1", "is not for \"127.0.0.1\"")]
    {
        let done = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "files::sslrootcert_system_trusts_the_system_authorities"])
            .arg("--nocapture")
            .env(INSIDE, server.url(host, "sslrootcert=system"))
            .env("SSL_CERT_FILE", &roots)
            .env_remove("SSL_CERT_DIR")
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&done.stdout);
        assert!(printed.contains(expected), "{host}: {printed}");
    }
}
