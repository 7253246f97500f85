//! Certificate files that change, are invalid, do not match, or are symbolic links.

use std::{fs, os::unix::fs::symlink, path::Path};

use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};
use tempfile::TempDir;

use super::{follow::Outcome, *};

/// A certificate and its key, as PEM.
struct Made {
    certificate: String,
    key: String,
}

fn made() -> Made {
    of(&KeyPair::generate().unwrap())
}

fn of(key: &KeyPair) -> Made {
    let params = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
    let certificate = params.self_signed(key).unwrap().pem();
    Made { certificate, key: key.serialize_pem() }
}

fn put(directory: &Path, made: &Made) {
    fs::write(directory.join("tls.crt"), &made.certificate).unwrap();
    fs::write(directory.join("tls.key"), &made.key).unwrap();
}

fn files(directory: &Path) -> PairFiles {
    PairFiles { certificate: directory.join("tls.crt"), key: directory.join("tls.key") }
}

/// The error for invalid files.
fn refused(directory: &Path) -> (Part, String) {
    let error = Tls::open(files(directory), LeastTls::V1_2).unwrap_err();
    let error = error.downcast::<PairError>().unwrap();
    (error.part, error.to_string().replace(directory.to_str().unwrap(), "DIR"))
}

struct Watched {
    directory: TempDir,
    follower: Follower,
}

impl Watched {
    fn new(made: &Made) -> Self {
        let directory = tempfile::tempdir().unwrap();
        put(directory.path(), made);
        let follower = Tls::open(files(directory.path()), LeastTls::V1_2).unwrap().into_follower();
        Self { directory, follower }
    }

    fn check(&mut self) -> Outcome {
        self.follower.check(false)
    }

    /// Whether the next handshake uses this certificate.
    fn uses(&self, made: &Made) -> bool {
        let current = self.follower.current.get();
        let pem = der(&made.certificate);
        current.end_entity_cert().unwrap().as_ref() == pem
    }
}

fn der(text: &str) -> Vec<u8> {
    use tokio_rustls::rustls::pki_types::{CertificateDer, pem::PemObject as _};
    CertificateDer::from_pem_slice(text.as_bytes()).unwrap().to_vec()
}

fn is_kept(outcome: &Outcome, word: &str) -> bool {
    matches!(outcome, Outcome::Kept(reason) if reason.contains(word))
}

#[test]
fn a_pair_of_each_usual_kind_is_accepted() {
    let directory = tempfile::tempdir().unwrap();
    for kind in [None, Some(&PKCS_ECDSA_P384_SHA384), Some(&PKCS_ED25519)] {
        let key = kind.map_or_else(KeyPair::generate, KeyPair::generate_for).unwrap();
        put(directory.path(), &of(&key));
        assert!(Tls::open(files(directory.path()), LeastTls::V1_2).is_ok(), "{kind:?}");
    }
    // The certificates of authorities follow the certificate of the service.
    let (own, authority) = (made(), made());
    let chain = format!("{}\n{}", own.certificate, authority.certificate);
    put(directory.path(), &Made { certificate: chain, key: own.key });
    assert!(Tls::open(files(directory.path()), LeastTls::V1_3).is_ok());
}

#[test]
fn an_invalid_pair_is_rejected_and_the_file_at_fault_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (part, detail) = refused(directory);
    assert_eq!(part, Part::Certificate);
    assert!(detail.starts_with("DIR/tls.crt cannot be read: No such file"), "{detail}");

    let (one, other) = (made(), made());
    fs::write(directory.join("tls.crt"), &one.certificate).unwrap();
    let (part, detail) = refused(directory);
    assert_eq!(part, Part::Key);
    assert!(detail.starts_with("DIR/tls.key cannot be read: No such file"), "{detail}");

    put(directory, &Made { certificate: one.certificate.clone(), key: other.key.clone() });
    let (part, detail) = refused(directory);
    assert_eq!(part, Part::Key);
    assert!(detail.contains("is not that of the first certificate in DIR/tls.crt"), "{detail}");

    let turned = format!("{}\n{}", other.certificate, one.certificate);
    put(directory, &Made { certificate: turned, key: one.key.clone() });
    assert!(refused(directory).1.contains("the service's own certificate comes first"));

    put(directory, &Made { certificate: String::new(), key: one.key.clone() });
    assert_eq!(
        refused(directory),
        (Part::Certificate, "DIR/tls.crt contains no certificate in the PEM format".to_owned())
    );

    // The certificate is at the start, but a part of the file would not be read.
    let long = one.certificate.clone() + &"\n".repeat(1024 * 1024);
    put(directory, &Made { certificate: long, key: one.key.clone() });
    let expected = "DIR/tls.crt cannot be read: it is larger than 1048576 bytes";
    assert_eq!(refused(directory), (Part::Certificate, expected.to_owned()));

    put(directory, &Made { certificate: one.certificate.clone(), key: "secret".to_owned() });
    let expected = "DIR/tls.key contains no private key that can be read without a password in the \
                    PEM format";
    assert_eq!(refused(directory), (Part::Key, expected.to_owned()));

    let half = one.certificate.get(..one.certificate.len() / 2).unwrap().to_owned();
    put(directory, &Made { certificate: half, key: one.key.clone() });
    let (part, detail) = refused(directory);
    assert_eq!(part, Part::Certificate);
    assert!(detail.starts_with("DIR/tls.crt "), "{detail}");

    fs::remove_file(directory.join("tls.crt")).unwrap();
    fs::create_dir(directory.join("tls.crt")).unwrap();
    assert_eq!(refused(directory).1, "DIR/tls.crt cannot be read: it is not a file");
}

#[test]
fn no_error_contains_text_of_a_key() {
    let directory = tempfile::tempdir().unwrap();
    let one = made();
    let lines: Vec<_> = one.key.lines().collect();
    let body = lines.get(1).unwrap();
    let broken = [
        one.key.replace("-----END PRIVATE KEY-----", ""),
        one.key.replace('=', "!"),
        one.key.replacen("-----\n", "", 1),
        one.key.replacen(body, &format!("%{body}"), 1),
        one.key.replacen('M', "N", 1),
        format!("-----BEGIN {body}\n{}", one.key),
    ];
    for key in broken {
        put(directory.path(), &Made { certificate: one.certificate.clone(), key });
        if let Err(error) = Tls::open(files(directory.path()), LeastTls::V1_2) {
            let text = format!("{error:#} {error:?}");
            assert!(!text.contains(body.get(..12).unwrap()), "{text}");
        }
    }
}

#[test]
fn a_new_pair_is_used_after_two_equal_checks() {
    let (one, other) = (made(), made());
    let mut watched = Watched::new(&one);
    assert_eq!(watched.check(), Outcome::Nothing);
    put(watched.directory.path(), &other);
    assert_eq!(watched.check(), Outcome::Nothing);
    assert!(watched.uses(&one));
    assert_eq!(watched.check(), Outcome::Renewed);
    assert!(watched.uses(&other));
    assert_eq!(watched.check(), Outcome::Nothing);
}

#[test]
fn a_signal_reloads_immediately_and_always_reports() {
    let (one, other) = (made(), made());
    let mut watched = Watched::new(&one);
    assert_eq!(watched.follower.check(true), Outcome::Same);
    put(watched.directory.path(), &other);
    assert_eq!(watched.follower.check(true), Outcome::Renewed);
    assert!(watched.uses(&other));
    fs::write(watched.directory.path().join("tls.crt"), "").unwrap();
    for _ in 0..2 {
        assert!(is_kept(&watched.follower.check(true), "contains no certificate"));
    }
    assert_eq!(watched.check(), Outcome::Nothing);
}

#[test]
fn the_old_pair_stays_until_both_files_have_changed() {
    let (one, other) = (made(), made());
    let mut watched = Watched::new(&one);
    let directory = watched.directory.path().to_owned();
    fs::write(directory.join("tls.crt"), &other.certificate).unwrap();
    // The key file has not changed yet.
    assert_eq!(watched.check(), Outcome::Nothing);
    assert!(is_kept(&watched.check(), "is not that of the first certificate"));
    assert_eq!(watched.check(), Outcome::Nothing, "it was reported once");
    assert!(watched.uses(&one));
    fs::write(directory.join("tls.key"), &other.key).unwrap();
    assert_eq!(watched.check(), Outcome::Nothing);
    assert_eq!(watched.check(), Outcome::Renewed);
    assert!(watched.uses(&other));
}

#[test]
fn invalid_files_are_reported_once_for_each_change_and_the_old_pair_stays() {
    let (one, other) = (made(), made());
    let mut watched = Watched::new(&one);
    let directory = watched.directory.path().to_owned();
    for broken in ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        fs::write(directory.join("tls.crt"), broken).unwrap();
        assert_eq!(watched.check(), Outcome::Nothing);
        assert!(is_kept(&watched.check(), "tls.crt"), "{broken}");
        assert_eq!((watched.check(), watched.check()), (Outcome::Nothing, Outcome::Nothing));
    }
    fs::remove_file(directory.join("tls.key")).unwrap();
    assert_eq!(watched.check(), Outcome::Nothing);
    assert!(is_kept(&watched.check(), "tls.key cannot be read"));
    assert_eq!(watched.check(), Outcome::Nothing);
    assert!(watched.uses(&one));
    // The old files are restored, which is not a change. Then new files are used.
    put(&directory, &one);
    assert_eq!((watched.check(), watched.check()), (Outcome::Nothing, Outcome::Same));
    put(&directory, &other);
    assert_eq!((watched.check(), watched.check()), (Outcome::Nothing, Outcome::Renewed));
    assert!(watched.uses(&other));
}

#[test]
fn changed_symbolic_links_are_followed() {
    // Kubernetes mounts a secret like this: tls.crt is a link through ..data, and only ..data
    // changes.
    let (one, other) = (made(), made());
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for (name, made) in [("..1", &one), ("..2", &other)] {
        fs::create_dir(at(name)).unwrap();
        put(&at(name), made);
    }
    symlink("..1", at("..data")).unwrap();
    symlink("..data/tls.crt", at("tls.crt")).unwrap();
    symlink("..data/tls.key", at("tls.key")).unwrap();
    let follower = Tls::open(files(directory.path()), LeastTls::V1_2).unwrap().into_follower();
    symlink("..2", at("..data_tmp")).unwrap();
    fs::rename(at("..data_tmp"), at("..data")).unwrap();
    fs::remove_dir_all(at("..1")).unwrap();
    let mut watched = Watched { directory, follower };
    assert!(watched.uses(&one));
    assert_eq!((watched.check(), watched.check()), (Outcome::Nothing, Outcome::Renewed));
    assert!(watched.uses(&other));
}

#[test]
fn a_key_that_all_users_may_read_is_reported() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = tempfile::tempdir().unwrap();
    put(directory.path(), &made());
    let key = directory.path().join("tls.key");
    for (mode, is_exposed) in [(0o600, false), (0o640, false), (0o644, true)] {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        let tls = Tls::open(files(directory.path()), LeastTls::V1_2).unwrap();
        assert_eq!(tls.exposed().is_some(), is_exposed, "{mode:o}");
    }
}
