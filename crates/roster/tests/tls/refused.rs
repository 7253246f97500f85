//! Certificates that the service rejects: the settings are invalid, and nothing was opened.

use std::{fs, net::TcpListener, path::Path};

use crate::service::{FILES, made, roster};

/// Fails the test unless every command with these arguments exits with 78 and this on stderr.
#[track_caller]
fn is_refused(place: &Path, arguments: &[&str], told: &str) {
    // If the port were opened first, the error would name the used port instead of the certificate.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    for command in ["serve", "check-config"] {
        let all = [&[command, "--listen", &listen], arguments].concat();
        let output = roster(place, &all).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(78), "{command}: {error}");
        assert!(error.contains(told), "{command}: {error}");
        assert!(!error.contains("PRIVATE KEY"), "{command}: {error}");
    }
    assert!(!place.join("roster-data").exists(), "something was made");
}

#[test]
fn one_file_without_the_other_is_refused() {
    let place = tempfile::tempdir().unwrap();
    made().put(place.path());
    let [certificate_flag, certificate, key_flag, key] = FILES;
    let told = "flag --tls-certificate: needs the private key too: set tls_key";
    is_refused(place.path(), &[certificate_flag, certificate], told);
    let told = "flag --tls-key: needs the certificate too: set tls_certificate";
    is_refused(place.path(), &[key_flag, key], told);
}

#[test]
fn files_that_are_missing_broken_or_of_two_pairs_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    is_refused(place, &FILES, "flag --tls-certificate: tls.crt cannot be read: No such file");
    let (one, other) = (made(), made());
    one.put(place);
    fs::write(place.join("tls.key"), &other.key).unwrap();
    is_refused(place, &FILES, "flag --tls-key: the key in tls.key is not that of the first");
    fs::write(place.join("tls.crt"), "nothing").unwrap();
    is_refused(place, &FILES, "flag --tls-certificate: tls.crt contains no certificate");
}

#[test]
fn files_that_are_in_order_are_no_fault_of_the_settings() {
    let place = tempfile::tempdir().unwrap();
    made().put(place.path());
    let all = [&["check-config"][..], &FILES].concat();
    let output = roster(place.path(), &all).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("tls_certificate = \"tls.crt\""), "{told}");
    assert!(told.contains("tls_min = \"1.2\""), "{told}");
}
