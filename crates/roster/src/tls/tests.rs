//! Files that change, are broken, do not fit, or are links.

use std::{fs, os::unix::fs::symlink, path::Path};

use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};
use tempfile::TempDir;

use super::{follow::Outcome, *};

/// A certificate and its key, as they stand in files.
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

fn put(place: &Path, made: &Made) {
    fs::write(place.join("tls.crt"), &made.certificate).unwrap();
    fs::write(place.join("tls.key"), &made.key).unwrap();
}

fn files(place: &Path) -> PairFiles {
    PairFiles { certificate: place.join("tls.crt"), key: place.join("tls.key") }
}

/// What keeps the files from being served.
fn refused(place: &Path) -> (Part, String) {
    let error = Tls::open(files(place), LeastTls::V1_2).unwrap_err();
    let error = error.downcast::<PairError>().unwrap();
    (error.part, error.to_string().replace(place.to_str().unwrap(), "DIR"))
}

struct Watched {
    place: TempDir,
    follower: Follower,
}

impl Watched {
    fn new(made: &Made) -> Self {
        let place = tempfile::tempdir().unwrap();
        put(place.path(), made);
        let follower = Tls::open(files(place.path()), LeastTls::V1_2).unwrap().into_follower();
        Self { place, follower }
    }

    fn look(&mut self) -> Outcome {
        self.follower.look(false)
    }

    /// Whether this is what the next handshake shows.
    fn shows(&self, made: &Made) -> bool {
        let shown = self.follower.shown.now();
        let pem = der(&made.certificate);
        shown.end_entity_cert().unwrap().as_ref() == pem
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
fn a_pair_of_each_usual_kind_is_taken() {
    let place = tempfile::tempdir().unwrap();
    for kind in [None, Some(&PKCS_ECDSA_P384_SHA384), Some(&PKCS_ED25519)] {
        let key = kind.map_or_else(KeyPair::generate, KeyPair::generate_for).unwrap();
        put(place.path(), &of(&key));
        assert!(Tls::open(files(place.path()), LeastTls::V1_2).is_ok(), "{kind:?}");
    }
    // The certificates of authorities follow the own one.
    let (own, authority) = (made(), made());
    let chain = format!("{}\n{}", own.certificate, authority.certificate);
    put(place.path(), &Made { certificate: chain, key: own.key });
    assert!(Tls::open(files(place.path()), LeastTls::V1_3).is_ok());
}

#[test]
fn what_makes_no_pair_is_refused_by_the_file_that_is_at_fault() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let (part, detail) = refused(place);
    assert_eq!(part, Part::Certificate);
    assert!(detail.starts_with("DIR/tls.crt cannot be read: No such file"), "{detail}");

    let (one, other) = (made(), made());
    fs::write(place.join("tls.crt"), &one.certificate).unwrap();
    let (part, detail) = refused(place);
    assert_eq!(part, Part::Key);
    assert!(detail.starts_with("DIR/tls.key cannot be read: No such file"), "{detail}");

    put(place, &Made { certificate: one.certificate.clone(), key: other.key.clone() });
    let (part, detail) = refused(place);
    assert_eq!(part, Part::Key);
    assert!(detail.contains("is not that of the first certificate in DIR/tls.crt"), "{detail}");

    let turned = format!("{}\n{}", other.certificate, one.certificate);
    put(place, &Made { certificate: turned, key: one.key.clone() });
    assert!(refused(place).1.contains("the service's own certificate comes first"));

    put(place, &Made { certificate: String::new(), key: one.key.clone() });
    assert_eq!(
        refused(place),
        (Part::Certificate, "DIR/tls.crt holds no certificate in the PEM format".to_owned())
    );

    put(place, &Made { certificate: one.certificate.clone(), key: "secret".to_owned() });
    let expected = "DIR/tls.key holds no private key that can be read without a password in the \
                    PEM format";
    assert_eq!(refused(place), (Part::Key, expected.to_owned()));

    let half = one.certificate.get(..one.certificate.len() / 2).unwrap().to_owned();
    put(place, &Made { certificate: half, key: one.key.clone() });
    let (part, detail) = refused(place);
    assert_eq!(part, Part::Certificate);
    assert!(detail.starts_with("DIR/tls.crt "), "{detail}");

    fs::remove_file(place.join("tls.crt")).unwrap();
    fs::create_dir(place.join("tls.crt")).unwrap();
    assert_eq!(refused(place).1, "DIR/tls.crt cannot be read: it is no file");
}

#[test]
fn no_error_repeats_anything_of_a_key() {
    let place = tempfile::tempdir().unwrap();
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
        put(place.path(), &Made { certificate: one.certificate.clone(), key });
        if let Err(error) = Tls::open(files(place.path()), LeastTls::V1_2) {
            let told = format!("{error:#} {error:?}");
            assert!(!told.contains(body.get(..12).unwrap()), "{told}");
        }
    }
}

#[test]
fn a_new_pair_is_shown_once_two_looks_have_found_it() {
    let (one, other) = (made(), made());
    let mut watched = Watched::new(&one);
    assert_eq!(watched.look(), Outcome::Nothing);
    put(watched.place.path(), &other);
    assert_eq!(watched.look(), Outcome::Nothing);
    assert!(watched.shows(&one));
    assert_eq!(watched.look(), Outcome::Renewed);
    assert!(watched.shows(&other));
    assert_eq!(watched.look(), Outcome::Nothing);
}

#[test]
fn whoever_asks_is_served_at_once_and_always_told() {
    let (one, other) = (made(), made());
    let mut watched = Watched::new(&one);
    assert_eq!(watched.follower.look(true), Outcome::Same);
    put(watched.place.path(), &other);
    assert_eq!(watched.follower.look(true), Outcome::Renewed);
    assert!(watched.shows(&other));
    fs::write(watched.place.path().join("tls.crt"), "").unwrap();
    for _ in 0..2 {
        assert!(is_kept(&watched.follower.look(true), "holds no certificate"));
    }
    assert_eq!(watched.look(), Outcome::Nothing);
}

#[test]
fn files_that_change_one_after_the_other_keep_the_pair_before_until_they_fit() {
    let (one, other) = (made(), made());
    let mut watched = Watched::new(&one);
    let place = watched.place.path().to_owned();
    fs::write(place.join("tls.crt"), &other.certificate).unwrap();
    // For as long as the key is late.
    assert_eq!(watched.look(), Outcome::Nothing);
    assert!(is_kept(&watched.look(), "is not that of the first certificate"));
    assert_eq!(watched.look(), Outcome::Nothing, "it was told once");
    assert!(watched.shows(&one));
    fs::write(place.join("tls.key"), &other.key).unwrap();
    assert_eq!(watched.look(), Outcome::Nothing);
    assert_eq!(watched.look(), Outcome::Renewed);
    assert!(watched.shows(&other));
}

#[test]
fn broken_files_are_told_once_for_each_change_and_keep_the_pair_before() {
    let (one, other) = (made(), made());
    let mut watched = Watched::new(&one);
    let place = watched.place.path().to_owned();
    for broken in ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        fs::write(place.join("tls.crt"), broken).unwrap();
        assert_eq!(watched.look(), Outcome::Nothing);
        assert!(is_kept(&watched.look(), "tls.crt"), "{broken}");
        assert_eq!((watched.look(), watched.look()), (Outcome::Nothing, Outcome::Nothing));
    }
    fs::remove_file(place.join("tls.key")).unwrap();
    assert_eq!(watched.look(), Outcome::Nothing);
    assert!(is_kept(&watched.look(), "tls.key cannot be read"));
    assert_eq!(watched.look(), Outcome::Nothing);
    assert!(watched.shows(&one));
    // The old ones come back: nothing is new. New ones are taken.
    put(&place, &one);
    assert_eq!((watched.look(), watched.look()), (Outcome::Nothing, Outcome::Same));
    put(&place, &other);
    assert_eq!((watched.look(), watched.look()), (Outcome::Nothing, Outcome::Renewed));
    assert!(watched.shows(&other));
}

#[test]
fn links_that_lead_elsewhere_are_followed() {
    // As it is mounted from a secret: tls.crt leads through ..data, which alone is changed.
    let (one, other) = (made(), made());
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    for (name, made) in [("..1", &one), ("..2", &other)] {
        fs::create_dir(at(name)).unwrap();
        put(&at(name), made);
    }
    symlink("..1", at("..data")).unwrap();
    symlink("..data/tls.crt", at("tls.crt")).unwrap();
    symlink("..data/tls.key", at("tls.key")).unwrap();
    let follower = Tls::open(files(place.path()), LeastTls::V1_2).unwrap().into_follower();
    symlink("..2", at("..data_tmp")).unwrap();
    fs::rename(at("..data_tmp"), at("..data")).unwrap();
    fs::remove_dir_all(at("..1")).unwrap();
    let mut watched = Watched { place, follower };
    assert!(watched.shows(&one));
    assert_eq!((watched.look(), watched.look()), (Outcome::Nothing, Outcome::Renewed));
    assert!(watched.shows(&other));
}

#[test]
fn a_key_that_anybody_may_read_is_told() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = tempfile::tempdir().unwrap();
    put(place.path(), &made());
    let key = place.path().join("tls.key");
    for (mode, told) in [(0o600, false), (0o640, false), (0o644, true)] {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        let tls = Tls::open(files(place.path()), LeastTls::V1_2).unwrap();
        assert_eq!(tls.exposed().is_some(), told, "{mode:o}");
    }
}
