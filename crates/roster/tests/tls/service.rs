//! A service under TLS in a process of its own, and the files of its certificate.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
    process::{Child, Command, Stdio},
};

use rcgen::{CertificateParams, KeyPair};
use tempfile::TempDir;

/// A certificate for loopback and its key, as they stand in files.
pub(crate) struct Made {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

pub(crate) fn made() -> Made {
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    Made { certificate: certificate.pem(), key: key.serialize_pem() }
}

impl Made {
    pub(crate) fn put(&self, place: &Path) {
        fs::write(place.join("tls.crt"), &self.certificate).unwrap();
        fs::write(place.join("tls.key"), &self.key).unwrap();
    }
}

/// The binary without any `ROSTER_*` variable of the machine.
pub(crate) fn roster(place: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roster"));
    command.args(arguments).current_dir(place).env_clear();
    command
}

/// The flags that name `tls.crt` and `tls.key` of the working directory.
pub(crate) const FILES: [&str; 4] = ["--tls-certificate", "tls.crt", "--tls-key", "tls.key"];

/// A running service, killed where a test fails.
pub(crate) struct Service {
    child: Child,
    pub(crate) place: TempDir,
    pub(crate) banner: String,
}

impl Service {
    /// Serves with this certificate at a free port.
    pub(crate) fn start(made: &Made, arguments: &[&str]) -> Self {
        let place = tempfile::tempdir().unwrap();
        made.put(place.path());
        Self::start_in(place, arguments)
    }

    /// Serves with the certificate that is there.
    pub(crate) fn start_in(place: TempDir, arguments: &[&str]) -> Self {
        let mut child = roster(place.path(), &["serve", "--listen", "127.0.0.1:0"])
            .args(FILES)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut banner = String::new();
        let mut out = BufReader::new(child.stdout.as_mut().unwrap());
        while !banner.contains("Try:") {
            assert_ne!(out.read_line(&mut banner).unwrap(), 0, "ended early: {banner}");
        }
        Self { child, place, banner }
    }

    /// Host and port.
    pub(crate) fn address(&self) -> &str {
        let (_, rest) = self.banner.split_once("listens on https://").unwrap();
        rest.split(['/', '\n']).next().unwrap()
    }

    /// Sends a signal to this process and no other.
    pub(crate) fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }

    /// Ends it as an operator does; tells its log.
    pub(crate) fn stop(mut self) -> String {
        self.signal("TERM");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        log
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
