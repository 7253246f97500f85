//! A service under TLS in a process of its own, and the files of its certificate.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use rcgen::{CertificateParams, KeyPair};
use roster_testkit::process::Process;
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

/// A running service, ended with the test.
pub(crate) struct Service {
    process: Process,
    pub(crate) place: TempDir,
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
        let mut command = roster(place.path(), &["serve", "--listen", "127.0.0.1:0"]);
        command.args(FILES).args(arguments).stderr(Stdio::piped());
        Self { process: Process::start(&mut command), place }
    }

    pub(crate) fn banner(&self) -> &str {
        self.process.banner()
    }

    /// Host and port.
    pub(crate) fn address(&self) -> &str {
        self.process.address()
    }

    /// Sends a signal to this process and no other.
    pub(crate) fn signal(&self, name: &str) {
        self.process.signal(name);
    }

    /// Ends it as an operator does; tells its log.
    pub(crate) fn stop(self) -> String {
        self.process.stop()
    }
}
