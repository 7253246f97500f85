//! TLS between the service and a real server: every mode, every kind of certificate, and the errors
//! if the connection fails. The results are compared with PostgreSQL's own client.

#![expect(clippy::unwrap_used, clippy::panic, reason = "this is how a test fails")]

mod certificates;
mod files;
mod server;

use certificates::{
    Authority, Identity, expired, of_server, of_server_and_authority, of_server_by_common_name,
    of_version_1, self_signed, to_come, unbindable,
};
use server::{Server, Wire};

/// Compares the connection of a store with the expected one and with PostgreSQL's own client.
async fn expect(server: &Server, url: &str, expected: &Wire) {
    let found = server.connect(url).await;
    match (&found, expected) {
        (Wire::Refused(said), Wire::Refused(part)) => assert!(said.contains(part), "{url}: {said}"),
        _ => assert_eq!(found, *expected, "{url}"),
    }
    let libpq = server.by_libpq(url);
    assert!(found.is_like(&libpq), "{url}: {found:?}, but libpq: {libpq:?}");
}

fn refused(part: &str) -> Wire {
    Wire::Refused(part.to_owned())
}

/// The results of a mode for four servers: one without TLS, and three with a certificate of the
/// named authority, of another authority, and for another host.
type Row = (&'static str, [Wire; 4]);

fn modes() -> Vec<Row> {
    let clear = || [Wire::Clear, Wire::Clear, Wire::Clear, Wire::Clear];
    let offered = || [Wire::Clear, Wire::Tls, Wire::Tls, Wire::Tls];
    let none = || refused("the server offers no TLS");
    let unknown = || refused("certificate is not trusted");
    let wrong = || refused("is not for \"localhost\" but for \"elsewhere.example\"");
    vec![
        ("sslmode=disable", clear()),
        ("sslmode=disable&sslrootcert=ROOT", clear()),
        ("", offered()),
        ("sslmode=prefer", offered()),
        ("sslmode=require", [none(), Wire::Tls, Wire::Tls, Wire::Tls]),
        ("sslmode=require&sslrootcert=ROOT", [none(), Wire::Tls, unknown(), Wire::Tls]),
        ("sslmode=verify-ca&sslrootcert=ROOT", [none(), Wire::Tls, unknown(), Wire::Tls]),
        ("sslrootcert=ROOT&sslmode=verify-full", [none(), Wire::Tls, unknown(), wrong()]),
    ]
}

#[tokio::test]
async fn every_sslmode_behaves_as_in_libpq() {
    let (known, other) = (Authority::new("known"), Authority::new("other"));
    let server = Server::start(&known.issue(&["localhost"]));
    let root = server.file("root.pem", &known.certificate);
    let states: [(usize, &dyn Fn()); 4] = [
        (1, &|| {}),
        (2, &|| server.show(&other.issue(&["localhost"]))),
        (3, &|| server.show(&known.issue(&["elsewhere.example"]))),
        (0, &|| server.set("ssl", "off")),
    ];
    for (state, enter) in states {
        enter();
        for (parameters, expected) in modes() {
            let parameters = parameters.replace("ROOT", &root.display().to_string());
            expect(&server, &server.url("localhost", &parameters), &expected[state]).await;
        }
    }
}

#[tokio::test]
async fn certificates_are_accepted_as_in_libpq() {
    let (known, other) = (Authority::new("known"), Authority::new("other"));
    let below = known.below("below");
    let chained = below.issue(&["localhost"]);
    let whole = format!("{}{}", chained.certificate, below.certificate);
    let alone = self_signed(&of_server(&["localhost"]));
    let own = self_signed(&of_server_and_authority(&["localhost"]));
    let old = self_signed(&expired(of_server_and_authority(&["localhost"])));
    let expired_one = || known.issue_as(&expired(of_server(&["localhost"])));
    let early = || known.issue_as(&to_come(of_server(&["localhost"])));
    let both = || known.issue(&["a.example", "localhost"]);
    let namesake = || Authority::new("known").issue(&["localhost"]);
    let address = || known.issue(&["127.0.0.1"]);
    // The certificate, the named authorities, and the expected result.
    let cases: Vec<(&str, Identity, &str, Wire)> = vec![
        ("in-two-steps", with(&chained, &whole), ROOT, Wire::Tls),
        ("without-the-step-between", copy(&chained), ROOT, refused("certificate is not trusted")),
        ("by-a-namesake", namesake(), ROOT, refused("certificate is not trusted")),
        ("by-itself", copy(&alone), &alone.certificate, Wire::Tls),
        ("by-itself-an-authority", copy(&own), &own.certificate, Wire::Tls),
        ("by-itself-unknown", copy(&own), ROOT, refused("is one of an authority")),
        ("by-itself-expired", copy(&old), &old.certificate, refused("has expired")),
        ("expired", expired_one(), ROOT, refused("has expired")),
        ("early", early(), ROOT, refused("is not valid yet")),
        ("among-others", both(), ROOT, Wire::Tls),
        ("for-an-address", address(), ROOT, refused("but for 127.0.0.1")),
    ];
    let server = Server::start(&cases[0].1);
    for (what, shown, roots, expected) in cases {
        server.show(&shown);
        let roots = roots.replace(ROOT, &format!("{}{}", other.certificate, known.certificate));
        let root = server.file(what, &roots);
        let parameters = format!("sslmode=verify-full&sslrootcert={}", root.display());
        expect(&server, &server.url("localhost", &parameters), &expected).await;
    }
}

/// A placeholder for the authorities of the test.
const ROOT: &str = "ROOT";

fn copy(identity: &Identity) -> Identity {
    with(identity, &identity.certificate)
}

fn with(identity: &Identity, certificate: &str) -> Identity {
    Identity { certificate: certificate.to_owned(), key: identity.key.clone() }
}

#[tokio::test]
async fn an_ip_address_is_verified_like_a_host_name() {
    let known = Authority::new("known");
    let server = Server::start(&known.issue(&["127.0.0.1"]));
    let root = server.file("root.pem", &known.certificate);
    let parameters = format!("sslmode=verify-full&sslrootcert={}", root.display());
    expect(&server, &server.url("127.0.0.1", &parameters), &Wire::Tls).await;
    server.show(&known.issue(&["localhost"]));
    let wrong = refused("127.0.0.1\" but for \"localhost\"");
    expect(&server, &server.url("127.0.0.1", &parameters), &wrong).await;
}

/// libpq accepts both. Roster rejects them with an error that differs from that of a wrong
/// certificate.
#[tokio::test]
async fn version_1_and_common_name_certificates_are_rejected_when_verified() {
    let known = Authority::new("known");
    let server = Server::start(&known.issue_as(&of_server_by_common_name("localhost")));
    let root = server.file("root.pem", &known.certificate);
    let verified = |path: &std::path::Path| {
        server.url("localhost", &format!("sslmode=verify-full&sslrootcert={}", path.display()))
    };
    let said = server.connect(&verified(&root)).await.reason();
    assert!(said.contains("is not for \"localhost\": it names no host"), "{said}");
    server.show(&of_version_1());
    let root = server.file("old.pem", &of_version_1().certificate);
    let said = server.connect(&verified(&root)).await.reason();
    assert!(said.contains("X.509 version 3"), "{said}");
    for parameters in ["", "sslmode=require"] {
        expect(&server, &server.url("localhost", parameters), &Wire::Tls).await;
    }
}

#[tokio::test]
async fn a_client_certificate_is_sent_to_a_server_that_requires_one() {
    let (known, other) = (Authority::new("known"), Authority::new("other"));
    let server = Server::start(&known.issue(&["localhost"]));
    server.put("callers.crt", &known.certificate);
    server.set("ssl_ca_file", "callers.crt");
    server.put(
        "pg_hba.conf",
        "hostssl postgres all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n\
         host template1 all 127.0.0.1/32 scram-sha-256\n",
    );
    for (of, expected) in [(&known, Wire::Tls), (&other, refused(""))] {
        let ours = of.issue(&[]);
        let certificate = server.file("ours.crt", &ours.certificate);
        let key = server.file("ours.key", &ours.key);
        let (certificate, key) = (certificate.display(), key.display());
        let parameters = format!("sslmode=require&sslcert={certificate}&sslkey={key}");
        expect(&server, &server.url("localhost", &parameters), &expected).await;
    }
    let none = refused("connection requires a valid client certificate");
    expect(&server, &server.url("localhost", "sslmode=require"), &none).await;
}

#[tokio::test]
async fn prefer_falls_back_to_plain_when_the_server_rejects_tls_logins() {
    let server = Server::start(&Authority::new("any").issue(&["localhost"]));
    server.put("pg_hba.conf", "hostnossl all all 127.0.0.1/32 scram-sha-256\n");
    expect(&server, &server.url("localhost", "sslmode=prefer"), &Wire::Clear).await;
    let said = refused("no pg_hba.conf entry");
    expect(&server, &server.url("localhost", "sslmode=require"), &said).await;
    let nobody = server.url("localhost", "").replace("//roster:", "//nobody:");
    server.put("pg_hba.conf", "hostnossl all roster 127.0.0.1/32 scram-sha-256\n");
    let said = server.connect(&nobody).await.reason();
    assert!(said.contains("SSL encryption") && said.contains("; without TLS: "), "{said}");
    assert!(said.contains("no encryption"), "{said}");
}

#[tokio::test]
async fn a_unix_socket_uses_no_tls() {
    let known = Authority::new("known");
    let server = Server::start(&known.issue(&["localhost"]));
    let root = server.file("root.pem", &known.certificate);
    let verified = format!("sslmode=verify-full&sslrootcert={}", root.display());
    for parameters in ["sslmode=disable", "sslmode=prefer", "sslmode=require", &verified] {
        let url = server.url(&server.socket(), parameters);
        expect(&server, &url, &Wire::Clear).await;
    }
}

#[tokio::test]
async fn channel_binding_ties_the_login_to_the_certificate() {
    let server = Server::start(&Authority::new("any").issue(&["localhost"]));
    let url = |parameters: &str| server.url("localhost", parameters);
    expect(&server, &url("sslmode=require&channel_binding=require"), &Wire::Tls).await;
    let said = server.connect(&url("sslmode=disable&channel_binding=require")).await.reason();
    assert!(said.contains("channel binding"), "{said}");
    server.show(&unbindable());
    assert_eq!(server.connect(&url("sslmode=require")).await, Wire::Tls);
    let said = server.connect(&url("sslmode=require&channel_binding=require")).await.reason();
    assert!(said.contains("channel binding"), "{said}");
}

#[tokio::test]
async fn each_host_of_a_url_is_verified_against_its_own_name() {
    let known = Authority::new("known");
    let server = Server::start(&known.issue(&["localhost"]));
    let root = server.file("root.pem", &known.certificate);
    let parameters = format!("sslmode=verify-full&sslrootcert={}", root.display());
    let hosts = |names: [&str; 2]| {
        let url = server.url(names[0], &parameters);
        let (before, after) = url.split_once("/postgres?").unwrap();
        format!("{before},{}/postgres?{after}", server.address(names[1]))
    };
    for names in [["localhost", "127.0.0.1"], ["127.0.0.1", "localhost"]] {
        assert_eq!(server.connect(&hosts(names)).await, Wire::Tls);
    }
    server.show(&known.issue(&["elsewhere.example"]));
    let said = server.connect(&hosts(["localhost", "127.0.0.1"])).await.reason();
    assert!(said.contains("elsewhere.example"), "{said}");
}
