//! Forged and invalid tokens, each with the expected error text: a rejection for another reason
//! would prove nothing.

use data_encoding::{BASE64, BASE64URL};
use ring::hmac;
use serde_json::{Value, json};

use super::issuer::{Signer, base64};

/// A name, a token, and the expected error text.
pub(super) type Attack = (&'static str, String, &'static str);

const NO_ALGORITHM: &str = "not signed by an algorithm that is allowed here";
const WRONG: &str = "signature is wrong";
const UNKNOWN: &str = "a key that its issuer does not publish";
const MISFIT: &str = "not signed by the algorithm that its key is for";
const NOT_JSON: &str = "not base64url of JSON";
const MEMBER: &str = "header has a member that is not taken";

/// The keys and claims that the attacks start from.
pub(super) struct Forge {
    pub(super) rsa: Signer,
    pub(super) other: Signer,
    pub(super) p256: Signer,
    pub(super) ed25519: Signer,
    /// Valid claims.
    pub(super) claims: Value,
    /// The issuer's clock, in seconds.
    pub(super) now: i64,
}

impl Forge {
    /// The keys that the issuer publishes.
    pub(super) fn published(&self) -> Vec<Value> {
        let with = |mut jwk: Value, name: &str, value: Value| {
            jwk[name] = value;
            jwk
        };
        vec![
            self.rsa.jwk("rsa"),
            self.p256.jwk("p256"),
            self.ed25519.jwk("ed25519"),
            with(self.rsa.jwk("rs256-only"), "alg", json!("RS256")),
            with(self.rsa.jwk("for-encryption"), "use", json!("enc")),
            with(self.rsa.jwk("to-sign"), "key_ops", json!(["sign"])),
            with(self.rsa.jwk("leaked"), "d", json!("AQAB")),
            with(self.rsa.jwk("by-secret"), "alg", json!("HS256")),
            json!({"kty": "oct", "kid": "secret", "k": base64(&[7; 32])}),
            json!({"kty": "RSA", "kid": "weak", "e": "AQAB", "n": base64(&[0xc5; 128])}),
            self.rsa.jwk("twice"),
            self.other.jwk("twice"),
        ]
    }

    /// A valid token.
    pub(super) fn good(&self) -> String {
        self.by(&json!({"alg": "RS256", "kid": "rsa", "typ": "at+jwt"}), &self.claims)
    }

    /// Valid tokens of each algorithm.
    pub(super) fn all_good(&self) -> Vec<String> {
        let by = |signer: &Signer, alg: &str, kid: &str| {
            signer.token(&json!({"alg": alg, "kid": kid}).to_string(), &self.claims.to_string())
        };
        vec![
            self.good(),
            by(&self.rsa, "RS256", "rs256-only"),
            by(&self.rsa, "PS256", "rsa"),
            by(&self.p256, "ES256", "p256"),
            by(&self.ed25519, "EdDSA", "ed25519"),
        ]
    }

    fn by(&self, header: &Value, claims: &Value) -> String {
        self.rsa.token(&header.to_string(), &claims.to_string())
    }

    /// A token whose header has this member, and which is valid otherwise.
    fn header(&self, name: &str, value: Value) -> String {
        let mut header = json!({"alg": "RS256", "kid": "rsa"});
        header[name] = value;
        self.by(&header, &self.claims)
    }

    /// A token whose claims have this one, or lack it.
    fn claim(&self, name: &str, value: Option<Value>) -> String {
        let mut claims = self.claims.clone();
        match value {
            Some(value) => claims[name] = value,
            None => drop(claims.as_object_mut().expect("claims").remove(name)),
        }
        self.by(&json!({"alg": "RS256", "kid": "rsa"}), &claims)
    }

    /// The parts of a valid token.
    fn parts(&self) -> [String; 3] {
        let good = self.good();
        let parts: Vec<String> = good.split('.').map(str::to_owned).collect();
        parts.try_into().expect("three parts")
    }

    fn hmac(&self, alg: &str, kid: &str, secret: &[u8]) -> String {
        let header = base64(json!({"alg": alg, "kid": kid}).to_string().as_bytes());
        let signed = format!("{header}.{}", base64(self.claims.to_string().as_bytes()));
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        format!("{signed}.{}", base64(hmac::sign(&key, signed.as_bytes()).as_ref()))
    }

    /// Every attack.
    pub(super) fn attacks(&self) -> Vec<Attack> {
        [self.on_algorithms(), self.on_keys(), self.on_headers(), self.on_text(), self.on_claims()]
            .concat()
    }

    fn on_algorithms(&self) -> Vec<Attack> {
        let [_, claims, signature] = self.parts();
        let der = self.rsa.der();
        let pem = format!(
            "-----BEGIN RSA PUBLIC KEY-----\n{}\n-----END RSA PUBLIC KEY-----\n",
            BASE64.encode(&der)
        );
        let mut attacks = vec![
            ("HS256 by the PEM", self.hmac("HS256", "rsa", pem.as_bytes()), NO_ALGORITHM),
            ("HS256 by the DER", self.hmac("HS256", "rsa", &der), NO_ALGORITHM),
            ("HS384", self.hmac("HS384", "rsa", &der), NO_ALGORITHM),
            ("HS256 by a published secret", self.hmac("HS256", "secret", &[7; 32]), NO_ALGORITHM),
            ("a MAC that says RS256", self.hmac("RS256", "rsa", &der), WRONG),
            ("an algorithm off the list", self.header("alg", json!("RS512")), NO_ALGORITHM),
            ("an algorithm that is none", self.header("alg", json!("RS257")), NO_ALGORITHM),
            ("an algorithm in small letters", self.header("alg", json!("rs256")), NO_ALGORITHM),
            ("no algorithm", self.header("alg", Value::Null), NO_ALGORITHM),
            ("two algorithms", self.header("alg", json!(["RS256", "none"])), NO_ALGORITHM),
            ("ES256 by an RSA key", self.header("alg", json!("ES256")), MISFIT),
            ("EdDSA by an RSA key", self.header("alg", json!("EdDSA")), MISFIT),
            ("RS256 that says PS256", self.says("PS256", false), WRONG),
            ("PS256 that says RS256", self.says("RS256", true), WRONG),
        ];
        for (name, none) in [
            ("none", "none"),
            ("None", "None"),
            ("NONE", "NONE"),
            ("nOnE", "nOnE"),
            ("none and a space", "none "),
        ] {
            let header = base64(json!({"alg": none}).to_string().as_bytes());
            attacks.push((name, format!("{header}.{claims}.{signature}"), NO_ALGORITHM));
        }
        let header = base64(br#"{"alg":"none"}"#);
        attacks.push(("none, unsigned", format!("{header}.{claims}."), "has no signature"));
        attacks
    }

    /// A token signed in one of the two ways of RSA that says so, or not.
    fn says(&self, alg: &str, pss: bool) -> String {
        let header = base64(json!({"alg": alg, "kid": "rsa"}).to_string().as_bytes());
        let signed = format!("{header}.{}", base64(self.claims.to_string().as_bytes()));
        format!("{signed}.{}", base64(&self.rsa.sign(signed.as_bytes(), pss)))
    }

    fn on_keys(&self) -> Vec<Attack> {
        let named = |kid: &str| self.header("kid", json!(kid));
        let psychic = base64(br#"{"alg":"ES256","kid":"p256"}"#);
        let psychic = format!(
            "{psychic}.{}.{}",
            base64(self.claims.to_string().as_bytes()),
            base64(&[0; 64])
        );
        let colliding = r#"{"alg":"RS256","kid":"rsa"}"#;
        let bare = json!({"alg": "RS256"});
        let only = json!({"alg": "PS256", "kid": "rs256-only"});
        vec![
            ("an unknown kid", named("stranger"), UNKNOWN),
            ("a kid that is a path", named("../../../../dev/null"), UNKNOWN),
            ("a kid that is SQL", named("rsa' OR '1'='1"), UNKNOWN),
            ("a kid that is a command", named("rsa|/bin/true"), UNKNOWN),
            ("a kid of other case", named("RSA"), UNKNOWN),
            ("an empty kid", named(""), UNKNOWN),
            ("a kid that is a number", self.header("kid", json!(7)), "kid is no string"),
            ("a kid that is null", self.header("kid", Value::Null), "kid is no string"),
            ("no kid where there are many keys", self.by(&bare, &self.claims), "names no key"),
            ("a kid that two keys have", named("twice"), "different keys with the key id"),
            ("a key for encryption", named("for-encryption"), UNKNOWN),
            ("a key that only signs", named("to-sign"), UNKNOWN),
            ("a key whose secret was published", named("leaked"), UNKNOWN),
            ("a key that is for HS256", named("by-secret"), UNKNOWN),
            ("a key that is a secret", named("secret"), UNKNOWN),
            ("a weak key", named("weak"), UNKNOWN),
            ("PS256 by a key for RS256", self.by(&only, &self.claims), MISFIT),
            (
                "a key of the same kid elsewhere",
                self.other.token(colliding, &self.claims.to_string()),
                WRONG,
            ),
            ("an ES256 signature of zeros", psychic, WRONG),
        ]
    }

    fn on_headers(&self) -> Vec<Attack> {
        let own = self.other.jwk("rsa");
        let own = json!({"alg": "RS256", "kid": "rsa", "jwk": own}).to_string();
        let url = json!("http://127.0.0.1:1/jwks");
        vec![
            ("jku", self.header("jku", url.clone()), MEMBER),
            ("x5u", self.header("x5u", url), MEMBER),
            ("x5c", self.header("x5c", json!(["MIIB"])), MEMBER),
            ("jwk", self.other.token(&own, &self.claims.to_string()), MEMBER),
            ("crit", self.header("crit", json!(["exp"])), MEMBER),
            ("crit, empty", self.header("crit", json!([])), MEMBER),
            ("b64", self.header("b64", json!(false)), MEMBER),
            ("zip", self.header("zip", json!("DEF")), MEMBER),
            ("another type", self.header("typ", json!("dpop+jwt")), "of another type"),
            ("a type that is a number", self.header("typ", json!(1)), "of another type"),
            ("a nested token", self.header("cty", json!("JWT")), "of another type"),
            ("a token as claims", self.rsa.token(&own, &json!(self.good()).to_string()), NOT_JSON),
            (
                "a header that stands twice",
                self.rsa.token(r#"{"alg":"none","alg":"RS256","kid":"rsa"}"#, "{}"),
                NOT_JSON,
            ),
        ]
    }

    fn on_text(&self) -> Vec<Attack> {
        let [header, claims, signature] = self.parts();
        let mut root = self.claims.clone();
        root["sub"] = json!("root");
        let root = base64(root.to_string().as_bytes());
        let renamed = base64(br#"{"alg":"RS256","kid":"rs256-only"}"#);
        let long = self.claim("pad", Some(json!("x".repeat(7 * 1024))));
        let padded = BASE64URL.encode(br#"{"alg":"RS256","kid":"rsa"}"#);
        let twice = self.claims.to_string().replacen('{', r#"{"sub":"root","#, 1);
        let rs = r#"{"alg":"RS256","kid":"rsa"}"#;
        let cut = &signature[..signature.len() - 2];
        vec![
            ("a stripped signature", format!("{header}.{claims}."), "has no signature"),
            ("a missing signature", format!("{header}.{claims}"), "has not three parts"),
            ("a cut signature", format!("{header}.{claims}.{cut}"), WRONG),
            ("a changed payload", format!("{header}.{root}.{signature}"), WRONG),
            ("a changed header", format!("{renamed}.{claims}.{signature}"), WRONG),
            ("another token's signature", self.spliced(), WRONG),
            ("more than 8 KiB", long, "longer than 8192 bytes"),
            ("five parts", format!("{header}.{claims}.{signature}.a.b"), "has not three parts"),
            ("four parts", format!("{header}.{claims}.{signature}."), "has not three parts"),
            ("dots alone", "..".to_owned(), NOT_JSON),
            ("padding", format!("{padded}=.{claims}.{signature}"), NOT_JSON),
            ("padding of the signature", format!("{header}.{claims}.{signature}="), "no signature"),
            ("base64 of the other alphabet", format!("{header}+/.{claims}.{signature}"), NOT_JSON),
            ("a claim that stands twice", self.rsa.token(rs, &twice), NOT_JSON),
            ("claims that are a list", self.rsa.token(rs, "[]"), NOT_JSON),
            ("claims that are a text", self.rsa.token(rs, "\"x\""), NOT_JSON),
            ("claims that are no JSON", self.rsa.token(rs, "{"), NOT_JSON),
            (
                "claims with something behind them",
                self.rsa.token(rs, &format!("{}{{}}", self.claims)),
                NOT_JSON,
            ),
        ]
    }

    fn spliced(&self) -> String {
        let [header, claims, _] = self.parts();
        let other = self.claim("sub", Some(json!("grace")));
        let signature = other.rsplit('.').next().expect("a signature");
        format!("{header}.{claims}.{signature}")
    }

    fn on_claims(&self) -> Vec<Attack> {
        const ISSUER: &str = "of an unknown issuer";
        const AUDIENCE: &str = "not for this audience";
        const NUMBERS: &str = "must be numbers";
        const YET: &str = "not valid yet";
        let url = self.claims["iss"].as_str().expect("a URL");
        let now = self.now;
        let with = |name: &str, value: Value| self.claim(name, Some(value));
        vec![
            ("another issuer", with("iss", json!("https://issuer.example.com")), ISSUER),
            ("the issuer with a slash", with("iss", json!(format!("{url}/"))), ISSUER),
            ("the issuer in capitals", with("iss", json!(url.to_uppercase())), ISSUER),
            ("issuers in a list", with("iss", json!([url])), "has no iss"),
            ("no issuer", self.claim("iss", None), "has no iss"),
            ("another audience", with("aud", json!("https://other.test")), AUDIENCE),
            ("other audiences", with("aud", json!(["a", "b"])), AUDIENCE),
            (
                "an audience that begins like ours",
                with("aud", json!("https://roster.test.x")),
                AUDIENCE,
            ),
            ("no audience in the list", with("aud", json!([])), AUDIENCE),
            ("no audience", self.claim("aud", None), "lacks one of"),
            ("valid for more than a day", with("exp", json!(now + 86_461)), "for too long"),
            ("valid forever", with("exp", json!(i64::MAX / 1000)), "for too long"),
            ("issued long ago", with("iat", json!(now - 86_400)), "for too long"),
            ("a subject of spaces", with("sub", json!("  ")), "no usable sub"),
            ("a subject of wide spaces", with("sub", json!("\u{2003}\u{a0}")), "no usable sub"),
            ("a subject of two lines", with("sub", json!("a\u{2028}b")), "no usable sub"),
            ("a subject of two paragraphs", with("sub", json!("a\u{2029}b")), "no usable sub"),
            ("a subject with a line break", with("sub", json!("a\nb")), "no usable sub"),
            ("expired", with("exp", json!(now - 61)), "has expired"),
            ("expired at the leeway's end", with("exp", json!(now - 60)), "has expired"),
            ("expired long ago", with("exp", json!(-1)), "lacks one of"),
            ("no end", self.claim("exp", None), "lacks one of"),
            ("an end that is a text", with("exp", json!((now + 300).to_string())), "lacks one of"),
            ("an end that is null", with("exp", Value::Null), "lacks one of"),
            ("an end beyond numbers", with("exp", json!(1e300)), "lacks one of"),
            ("not yet valid", with("nbf", json!(now + 61)), YET),
            ("a beginning that is a text", with("nbf", json!("0")), NUMBERS),
            ("made in the future", with("iat", json!(now + 61)), YET),
            ("a making that is a list", with("iat", json!([now])), NUMBERS),
            ("no subject", self.claim("sub", None), "lacks one of"),
            ("an empty subject", with("sub", json!("")), "no usable sub"),
            ("a subject that is a number", with("sub", json!(7)), "lacks one of"),
            ("a subject of two lines", with("sub", json!("ada\nroot")), "no usable sub"),
            (
                "a subject that reads backwards",
                with("sub", json!("ada\u{202e}toor")),
                "no usable sub",
            ),
            ("a subject with a hidden mark", with("sub", json!("root\u{200b}")), "no usable sub"),
            ("a subject of 256 characters", with("sub", json!("a".repeat(256))), "no usable sub"),
        ]
    }
}
