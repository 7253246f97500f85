//! A service with TLS in a separate process, and the files of its certificate.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use rcgen::{CertificateParams, KeyPair};
use roster_testkit::process::Process;
use tempfile::TempDir;

/// A certificate for loopback and its key, as PEM texts.
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

/// Serves with this certificate on a free port. The directory is removed when it is dropped.
pub(crate) fn serve(made: &Made, arguments: &[&str]) -> (TempDir, Process) {
    let place = tempfile::tempdir().unwrap();
    made.put(place.path());
    let service = serve_in(place.path(), arguments);
    (place, service)
}

/// Serves with the certificate in the directory.
pub(crate) fn serve_in(place: &Path, arguments: &[&str]) -> Process {
    let mut command = roster(place, &["serve", "--listen", "127.0.0.1:0"]);
    command.args(FILES).args(arguments).stderr(Stdio::piped());
    Process::start(&mut command)
}
