//! An issuer of tokens on a loopback port. The test sets its responses, counts the requests, and
//! can make it unreachable. Its RSA keys are in this directory; they sign only the tokens of tests.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use data_encoding::BASE64URL_NOPAD;
use ring::{
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
        RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaKeyPair,
    },
};
use roster_core::access::Scopes;
use roster_jwt::{IssuerUrl, TokenAlgorithm, TokenIssuer, TokenTenant};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

pub(super) const AUDIENCE: &str = "https://roster.test";

/// The responses of an issuer.
#[derive(Clone)]
pub(super) struct Answers {
    /// Its discovery document; `None` for the correct one.
    pub(super) document: Option<Value>,
    pub(super) keys: Vec<Value>,
    /// It accepts connections and closes them.
    pub(super) away: bool,
    pub(super) status: &'static str,
    /// The delay of a response.
    pub(super) slow: Duration,
}

pub(super) struct Issuer {
    pub(super) url: String,
    answers: Arc<Mutex<Answers>>,
    fetches: Arc<AtomicUsize>,
}

impl Issuer {
    /// An issuer that publishes these keys.
    pub(super) async fn open(keys: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (document, slow) = (None, Duration::ZERO);
        let answers = Answers { document, keys, away: false, status: "200 OK", slow };
        let answers = Arc::new(Mutex::new(answers));
        let fetches = Arc::new(AtomicUsize::new(0));
        let issuer =
            Self { url: url.clone(), answers: Arc::clone(&answers), fetches: Arc::clone(&fetches) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let now = answers.lock().unwrap_or_else(PoisonError::into_inner).clone();
                tokio::spawn(answer(stream, url.clone(), now, Arc::clone(&fetches)));
            }
        });
        issuer
    }

    /// Changes its responses.
    pub(super) fn set(&self, change: impl FnOnce(&mut Answers)) {
        change(&mut self.answers.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// How often its keys were fetched.
    pub(super) fn fetches(&self) -> usize {
        self.fetches.load(Ordering::SeqCst)
    }

    /// The setting that trusts it.
    pub(super) fn trusted(&self) -> TokenIssuer {
        let algorithms = ["RS256", "PS256", "ES256", "EdDSA"];
        TokenIssuer {
            tenant: TokenTenant::Default,
            name: "jwt".to_owned(),
            url: IssuerUrl::parse(&self.url).expect("a URL"),
            audience: AUDIENCE.to_owned(),
            algorithms: algorithms.iter().filter_map(|name| TokenAlgorithm::parse(name)).collect(),
            scope_claim: "scope".to_owned(),
            scope_prefix: String::new(),
            lifetime_max: Some(roster_jwt::limits::LIFETIME_MAX),
        }
    }

    /// Claims that are valid for five minutes, with every scope.
    pub(super) fn claims(&self, now_ms: i64) -> Value {
        let now = now_ms / 1000;
        json!({
            "iss": self.url, "aud": AUDIENCE, "sub": "ada", "scope": Scopes::all().to_string(),
            "exp": now + 300, "nbf": now, "iat": now,
        })
    }
}

async fn answer(mut stream: TcpStream, url: String, now: Answers, fetches: Arc<AtomicUsize>) {
    let mut head = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        if now.away || stream.read_buf(&mut head).await.unwrap_or(0) == 0 {
            return;
        }
    }
    tokio::time::sleep(now.slow).await;
    let body = if head.starts_with(b"GET /.well-known/openid-configuration ") {
        let right = json!({"issuer": url, "jwks_uri": format!("{url}/jwks")});
        now.document.unwrap_or(right)
    } else {
        assert!(head.starts_with(b"GET /jwks "), "{}", String::from_utf8_lossy(&head));
        fetches.fetch_add(1, Ordering::SeqCst);
        json!({"keys": now.keys})
    };
    let (status, body) = (now.status, body.to_string());
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nLocation: /jwks\r\nContent-Length: {length}\r\n\r\n");
    let _gone = stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).await;
}

/// A signing key.
pub(super) enum Signer {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Signer {
    pub(super) fn rsa() -> Self {
        Self::Rsa(RsaKeyPair::from_pkcs8(include_bytes!("rsa-one.p8")).expect("a key"))
    }

    pub(super) fn other_rsa() -> Self {
        Self::Rsa(RsaKeyPair::from_pkcs8(include_bytes!("rsa-other.p8")).expect("a key"))
    }

    pub(super) fn p256() -> Self {
        let (way, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(way, &random).expect("a key");
        Self::P256(EcdsaKeyPair::from_pkcs8(way, document.as_ref(), &random).expect("a key"))
    }

    pub(super) fn ed25519() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(document.as_ref()).expect("a key"))
    }

    /// The public key, by that name.
    pub(super) fn jwk(&self, kid: &str) -> Value {
        match self {
            Self::Rsa(key) => {
                let public = PublicKeyComponents::<Vec<u8>>::from(key.public());
                let (n, e) = (base64(&public.n), base64(&public.e));
                json!({"kty": "RSA", "kid": kid, "n": n, "e": e})
            }
            Self::P256(key) => {
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "kid": kid, "x": base64(x), "y": base64(y)})
            }
            Self::Ed25519(key) => {
                let x = base64(key.public_key().as_ref());
                json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": x})
            }
        }
    }

    /// The public key as DER.
    pub(super) fn der(&self) -> Vec<u8> {
        match self {
            Self::Rsa(key) => key.public().as_ref().to_vec(),
            Self::P256(key) => key.public_key().as_ref().to_vec(),
            Self::Ed25519(key) => key.public_key().as_ref().to_vec(),
        }
    }

    /// A signature. RSA has two padding schemes.
    pub(super) fn sign(&self, message: &[u8], pss: bool) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                let signed = if pss {
                    key.sign(&RSA_PSS_SHA256, &random, message, &mut signature)
                } else {
                    key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                };
                signed.expect("it signs");
                signature
            }
            Self::P256(key) => key.sign(&random, message).expect("it signs").as_ref().to_vec(),
            Self::Ed25519(key) => key.sign(message).as_ref().to_vec(),
        }
    }

    /// A token of these texts.
    pub(super) fn token(&self, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", base64(header.as_bytes()), base64(claims.as_bytes()));
        let signature = self.sign(signed.as_bytes(), header.contains("\"PS256\""));
        format!("{signed}.{}", base64(&signature))
    }
}

pub(super) fn base64(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}
