//! Tests of fetching over TLS, and of the selection of keys from a set. The tests of the binary use
//! whole tokens over HTTP.

use std::sync::Arc;

use data_encoding::BASE64URL_NOPAD;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use roster_core::{Json, json};
use roster_outbound::Client;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::ring::default_provider,
        pki_types::{CertificateDer, PrivateKeyDer},
    },
};

use crate::{
    TokenAlgorithm,
    fetch::get,
    key_set::{KeySet, NoKey},
    limits::{ANSWER_BYTES_MAX, SET_KEYS_MAX},
    url::IssuerUrl,
};

/// Starts a loopback server that sends one response and has a certificate for this name. Returns
/// its URL and the authorities that trust it.
async fn server(name: &str, answer: String) -> (IssuerUrl, RootCertStore) {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = authority.self_signed(&authority_key).unwrap();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec![name.to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &issuer).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(leaf)], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut head = Vec::new();
            while !head.windows(4).any(|four| four == b"\r\n\r\n") {
                if stream.read_buf(&mut head).await.unwrap_or(0) == 0 {
                    break;
                }
            }
            let _gone = stream.write_all(answer.as_bytes()).await;
            let _gone = stream.shutdown().await;
        }
    });
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(root)).unwrap();
    (IssuerUrl::parse(&url).unwrap(), roots)
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn an_answer_is_fetched_from_a_server_that_the_authorities_vouch_for() {
    let (url, roots) = server("localhost", ok("{}")).await;
    assert_eq!(get(&Client::trusting(roots), &url).await.unwrap(), "{}");
    let nobody = get(&Client::trusting(RootCertStore::empty()), &url).await.unwrap_err();
    assert!(nobody.contains("certificate"), "{nobody}");
}

#[tokio::test]
async fn a_server_of_another_name_is_not_believed() {
    let (url, roots) = server("issuer.example.com", ok("{}")).await;
    let told = get(&Client::trusting(roots), &url).await.unwrap_err();
    assert!(told.contains("certificate"), "{told}");
}

#[tokio::test]
async fn only_a_whole_small_answer_of_status_200_is_taken() {
    let large = "x".repeat(ANSWER_BYTES_MAX + 1);
    let just = "x".repeat(ANSWER_BYTES_MAX);
    for (answer, is_taken) in [
        (ok(&just), true),
        (ok(&large), false),
        (format!("HTTP/1.1 200 OK\r\n\r\n{large}"), false),
        ("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n".to_owned(), false),
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}".to_owned(), false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}".to_owned(), false),
        (String::new(), false),
    ] {
        let start: String = answer.chars().take(60).collect();
        let (url, roots) = server("localhost", answer).await;
        let taken = get(&Client::trusting(roots), &url).await;
        assert_eq!(taken.is_ok(), is_taken, "{start}");
    }
}

/// A number with this many bits, as encoded in a JWK.
fn bits(count: usize) -> String {
    let mut bytes = vec![0xff; count.div_ceil(8)];
    bytes[0] >>= count.div_ceil(8) * 8 - count;
    BASE64URL_NOPAD.encode(&bytes)
}

fn set(keys: &[String]) -> Result<KeySet, String> {
    KeySet::read(format!("{{\"keys\":[{}]}}", keys.join(",")).as_bytes())
}

#[test]
fn keys_that_are_weak_broken_or_for_something_else_are_left_out() {
    let rsa = |bits: &str, more: &str| {
        format!(r#"{{"kid":"a","kty":"RSA","e":"AQAB","n":"{bits}"{more}}}"#)
    };
    let good = bits(2048);
    let x = BASE64URL_NOPAD.encode(&[7; 32]);
    let short = BASE64URL_NOPAD.encode(&[7; 31]);
    let leading = BASE64URL_NOPAD.encode(&[&[0][..], &[0x7f; 256][..]].concat());
    let ec = |crv: &str, x: &str, y: &str| {
        format!(r#"{{"kid":"a","kty":"EC","crv":"{crv}","x":"{x}","y":"{y}"}}"#)
    };
    let ed = |x: &str| format!(r#"{{"kid":"a","kty":"OKP","crv":"Ed25519","x":"{x}"}}"#);
    for (key, is_used) in [
        (rsa(&good, ""), true),
        (rsa(&bits(8192), ""), true),
        (rsa(&good, r#","use":"sig","key_ops":["verify"],"alg":"PS256""#), true),
        (rsa(&bits(2047), ""), false),
        (rsa(&bits(1024), ""), false),
        (rsa(&leading, ""), false),
        (rsa(&bits(8193), ""), false),
        (rsa("", ""), false),
        (rsa("=", ""), false),
        (rsa(&good, r#","use":"enc""#), false),
        (rsa(&good, r#","use":1"#), false),
        (rsa(&good, r#","key_ops":["sign"]"#), false),
        (rsa(&good, r#","key_ops":"verify""#), false),
        (rsa(&good, r#","alg":"RSA-OAEP""#), false),
        (rsa(&good, r#","alg":"ES256""#), false),
        (rsa(&good, r#","d":"AQAB""#), false),
        (ec("P-256", &x, &x), true),
        (ec("P-256", &x, &short), false),
        (ec("P-384", &x, &x), false),
        (ec("secp256k1", &x, &x), false),
        (ed(&x), true),
        (ed(&short), false),
        (format!(r#"{{"kid":"a","kty":"oct","k":"{x}"}}"#), false),
        (r#"{"kid":"a"}"#.to_owned(), false),
        ("7".to_owned(), false),
    ] {
        assert_eq!(set(std::slice::from_ref(&key)).unwrap().names("a"), is_used, "{key}");
    }
}

#[test]
fn a_set_is_small_and_its_keys_are_found_without_doubt() {
    let x = BASE64URL_NOPAD.encode(&[7; 32]);
    let ed = |kid: &str| format!(r#"{{{kid}"kty":"OKP","crv":"Ed25519","x":"{x}"}}"#);
    assert!(!set(&vec![ed(""); SET_KEYS_MAX]).unwrap().is_cut);
    let mut keys = vec![ed(r#""kid":"a","#)];
    keys.extend(vec!["{}".to_owned(); SET_KEYS_MAX + 1]);
    assert!(!set(&keys).unwrap().is_cut, "keys that cannot be used do not count");
    keys.extend((1..=SET_KEYS_MAX).map(|n| ed(&format!(r#""kid":"b{n}","#))));
    let cut = set(&keys).unwrap();
    assert!(cut.is_cut && cut.names("a") && cut.names("b1"));
    assert!(!cut.names(&format!("b{SET_KEYS_MAX}")));
    for text in ["", "[]", "{}", r#"{"keys":{}}"#] {
        assert!(KeySet::read(text.as_bytes()).is_err(), "{text}");
    }
    let found =
        |keys: &[String], kid, algorithm| set(keys).unwrap().find(kid, algorithm).map(|_| ());
    let (a, b) = (ed(r#""kid":"a","#), ed(r#""kid":"b","#));
    let eddsa = TokenAlgorithm::EdDsa;
    assert_eq!(found(&[a.clone(), b.clone()], Some("a"), eddsa), Ok(()));
    assert_eq!(found(&[a.clone(), b.clone()], Some("c"), eddsa), Err(NoKey::Unknown));
    assert_eq!(found(&[a.clone(), b], None, eddsa), Ok(()), "the same key with two ids");
    let other = ed("").replace(&x, &BASE64URL_NOPAD.encode(&[8; 32]));
    assert_eq!(found(&[a.clone(), other], None, eddsa), Err(NoKey::Unnamed));
    assert_eq!(found(&[], None, eddsa), Err(NoKey::Unnamed));
    assert_eq!(found(std::slice::from_ref(&a), None, eddsa), Ok(()));
    assert_eq!(found(std::slice::from_ref(&a), None, TokenAlgorithm::Es256), Err(NoKey::Misfit));
}

#[test]
fn a_key_that_is_listed_twice_is_one_key_and_different_keys_with_one_id_are_none() {
    let x = |byte: u8| BASE64URL_NOPAD.encode(&[byte; 32]);
    let ed = |byte: u8, more: &str| {
        let x = x(byte);
        format!(r#"{{"kid":"a","kty":"OKP","crv":"Ed25519","x":"{x}"{more}}}"#)
    };
    let p256 = format!(r#"{{"kid":"a","kty":"EC","crv":"P-256","x":"{0}","y":"{0}"}}"#, x(7));
    let (one, two) = (ed(7, ""), ed(8, ""));
    let stated = ed(7, r#","alg":"EdDSA","use":"sig""#);
    let eddsa = TokenAlgorithm::EdDsa;
    for (keys, expected, shared_id) in [
        (&[one.clone(), one.clone()][..], Ok(()), None),
        (&[one.clone(), stated.clone(), one.clone()], Ok(()), None),
        // RFC 7517 section 4.5 names this as a use of one id.
        (&[one.clone(), p256.clone()], Ok(()), None),
        (&[one.clone(), two.clone()], Err(NoKey::Shared), Some("a")),
        (&[stated, two.clone()], Err(NoKey::Shared), Some("a")),
        (&[p256], Err(NoKey::Misfit), None),
    ] {
        let set = set(keys).unwrap();
        assert_eq!(set.find(Some("a"), eddsa).map(|_| ()), expected, "{keys:?}");
        assert_eq!(set.shared_id.as_deref(), shared_id, "{keys:?}");
    }
    // A token without a key id means the only key, which is listed twice.
    assert!(set(&[one.clone(), one]).unwrap().find(None, eddsa).is_ok());
    // The same entry counts once.
    assert!(!set(&vec![two; SET_KEYS_MAX + 1]).unwrap().is_cut);
}

#[test]
fn a_key_that_cannot_be_read_leaves_the_others() {
    let x = BASE64URL_NOPAD.encode(&[7; 32]);
    let good = format!(r#"{{"kid":"a","kty":"OKP","crv":"Ed25519","x":"{x}"}}"#);
    for odd in [
        r#"{"kty":"oct","kid":"z","kid":"z"}"#,
        r#"{"kty":"oct","serial":123456789012345678901234567890}"#,
        "1e999",
    ] {
        assert!(set(&[odd.to_owned(), good.clone()]).unwrap().names("a"), "{odd}");
    }
    let marked = format!("\u{feff}{{\"keys\":[{good}]}}");
    assert!(KeySet::read(marked.as_bytes()).unwrap().names("a"));
}

#[test]
fn a_document_with_a_member_twice_is_none() {
    let read = json::read(br#"{"issuer":"a","issuer":"b"}"#);
    assert!(!matches!(read, Ok(Json::Object(_))));
}
