//! Certificates that are replaced while the service runs.

use std::{
    fs,
    os::unix::fs::symlink,
    thread,
    time::{Duration, Instant},
};

use roster_testkit::process::Process;

use crate::{
    caller::Caller,
    service::{Made, made, serve, serve_in},
};

/// Waits until a connection succeeds that trusts only this certificate.
#[track_caller]
fn comes_to_show(service: &Process, made: &Made) -> Caller {
    let began = Instant::now();
    loop {
        match Caller::connect(service, made) {
            Ok(caller) => return caller,
            Err(error) => assert!(began.elapsed() < Duration::from_secs(30), "{error}"),
        }
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_certificate_that_is_replaced_serves_the_next_connection_and_the_old_one_goes_on() {
    let (one, other) = (made(), made());
    let (place, service) = serve(&one, &["--idle-timeout-ms", "600000"]);
    let mut before = Caller::connect(&service, &one).unwrap();
    before.is_served();
    other.put(place.path());
    comes_to_show(&service, &other).is_served();
    assert!(Caller::connect(&service, &one).is_err(), "the old certificate is shown on");
    before.is_served();
    let log = service.stop();
    before.ends_in_order();
    assert_eq!(log.matches("a new certificate is in use").count(), 1, "{log}");
}

#[test]
fn a_link_that_leads_elsewhere_is_a_new_certificate() {
    let (one, other) = (made(), made());
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    for (name, made) in [("1", &one), ("2", &other)] {
        fs::create_dir(at(name)).unwrap();
        made.put(&at(name));
    }
    symlink("1", at("now")).unwrap();
    symlink("now/tls.crt", at("tls.crt")).unwrap();
    symlink("now/tls.key", at("tls.key")).unwrap();
    let service = serve_in(place.path(), &[]);
    Caller::connect(&service, &one).unwrap().is_served();
    let at = |name: &str| place.path().join(name);
    symlink("2", at("next")).unwrap();
    fs::rename(at("next"), at("now")).unwrap();
    comes_to_show(&service, &other).is_served();
}

#[test]
fn a_broken_certificate_keeps_the_one_before_and_is_told_once() {
    let (one, other) = (made(), made());
    let (place, service) = serve(&one, &[]);
    fs::write(place.path().join("tls.crt"), "broken").unwrap();
    // Longer than three checks of the files.
    thread::sleep(Duration::from_secs(7));
    Caller::connect(&service, &one).unwrap().is_served();
    other.put(place.path());
    comes_to_show(&service, &other).is_served();
    let log = service.stop();
    assert_eq!(log.matches("WARN").count(), 1 + log.matches("chmod 600").count(), "{log}");
    assert!(log.contains("tls.crt contains no certificate"), "{log}");
}

#[test]
fn a_hangup_signal_asks_for_the_files_at_once_and_ends_nothing() {
    let (one, other) = (made(), made());
    let (place, service) = serve(&one, &[]);
    let mut before = Caller::connect(&service, &one).unwrap();
    other.put(place.path());
    service.signal("HUP");
    comes_to_show(&service, &other).is_served();
    before.is_served();
    let log = service.stop();
    assert!(log.contains("a new certificate is in use"), "{log}");
}
