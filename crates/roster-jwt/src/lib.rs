//! Verification of tokens from configured issuers (RFC 7519, with the rules of RFC 8725).
//!
//! A token is parsed strictly. It is verified with the keys of the issuer that it names, and its
//! claims are compared with the settings. An accepted token is cached by its digest for a minute,
//! while the key set that verified it is current. Neither a token nor a part of one is logged or
//! sent.
//!
//! # Modules
//!
//! - `token`, `signature`, `claims`: the parts of a token, and how each is checked
//! - `algorithm`: the signature algorithms
//! - `url`, `fetch`: the URL of an issuer, and requests to it
//! - `tenant`: the tenant that a token is for
//! - `published`, `key_set`: the keys that an issuer publishes, and when they are fetched again
//! - [`limits`]: all limits
//!
//! # Example
//!
//! ```
//! use roster_jwt::{IssuerUrl, TokenAlgorithm, TokenIssuer};
//!
//! let issuer = TokenIssuer {
//!     name: "login".to_owned(),
//!     url: IssuerUrl::parse("https://login.example.com")?,
//!     audience: "directory".to_owned(),
//!     algorithms: TokenAlgorithm::parse("ES256").into_iter().collect(),
//!     scope_claim: "scope".to_owned(),
//!     scope_prefix: "roster:".to_owned(),
//!     lifetime_max: Some(roster_jwt::limits::LIFETIME_MAX),
//!     tenant: roster_jwt::TokenTenant::Default,
//! };
//! assert_eq!(issuer.algorithms.len(), 1);
//! // Keys of an issuer are only fetched over TLS, except on the same machine.
//! assert!(IssuerUrl::parse("http://login.example.com").is_err());
//! # Ok::<(), String>(())
//! ```

mod algorithm;
mod claims;
mod fetch;
mod key_set;
pub mod limits;
mod published;
mod signature;
mod tenant;
#[cfg(test)]
mod tests;
mod token;
mod url;

use std::time::Duration;

use jsonwebtoken::{Validation, errors::ErrorKind};
use quick_cache::sync::Cache;
use roster_core::{
    Directory, Timestamp,
    access::{Authority, Reach},
};
use roster_outbound::Client;
use sha2::{Digest as _, Sha256};

pub use algorithm::TokenAlgorithm;
use claims::Admitted;
use key_set::{KeySet, NoKey};
use limits::{REMEMBERED_MAX, REMEMBERED_MS};
use published::Published;
pub use tenant::TokenTenant;
use token::{NOT_ALLOWED, Token};
pub use url::IssuerUrl;

/// Whether a credential has the form of a token.
pub fn is_meant(text: &str) -> bool {
    text.contains('.')
}

/// An issuer of tokens, and the requirements on its tokens.
#[derive(Clone, Debug)]
pub struct TokenIssuer {
    /// A short name, as the change log spells the issuer.
    pub name: String,
    /// Its URL, which must equal `iss` exactly.
    pub url: IssuerUrl,
    /// The required value of `aud`.
    pub audience: String,
    /// The accepted signature algorithms.
    pub algorithms: Vec<TokenAlgorithm>,
    /// The claim with the scopes.
    pub scope_claim: String,
    /// The prefix of Roster's scopes in that claim; may be empty.
    pub scope_prefix: String,
    /// The longest time for which a token may be valid; `None` for any time.
    pub lifetime_max: Option<Duration>,
    /// The tenant that its tokens are for.
    pub tenant: TokenTenant,
}

/// All issuers.
pub struct Tokens {
    issuers: Vec<(TokenIssuer, Published)>,
    remembered: Cache<[u8; 32], Remembered>,
    directory: Directory,
}

/// An accepted token.
#[derive(Clone)]
struct Remembered {
    authority: Authority,
    issuer: usize,
    /// The digest of the key set that verified it.
    set: [u8; 32],
    from: Timestamp,
    until: Timestamp,
}

/// Why a token is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is invalid. The text is for its sender.
    Token(&'static str),
    /// The keys of its issuer, or the store with its tenant, are not available.
    Away,
}

impl From<&'static str> for Refused {
    fn from(why: &'static str) -> Self {
        Self::Token(why)
    }
}

impl Tokens {
    /// The issuers of the settings.
    pub fn new(issuers: Vec<TokenIssuer>, directory: &Directory) -> Self {
        let client = (!issuers.is_empty()).then(Client::of_the_system);
        let issuers = issuers.into_iter().zip(client.into_iter().cycle());
        let published = |(issuer, client): (TokenIssuer, Client)| {
            let published = Published::new(issuer.url.clone(), client, directory.clone());
            (issuer, published)
        };
        Self {
            issuers: issuers.map(published).collect(),
            remembered: Cache::new(REMEMBERED_MAX),
            directory: directory.clone(),
        }
    }

    /// Whether there is no issuer.
    pub const fn is_empty(&self) -> bool {
        self.issuers.is_empty()
    }

    /// Starts to fetch the keys of all issuers.
    pub fn begin(&self) {
        for (_, published) in &self.issuers {
            published.begin();
        }
    }

    /// Whether a token names a configured issuer and a cached key. Verifies and fetches nothing.
    pub fn knows_key_of(&self, text: &str) -> bool {
        let Ok(token) = Token::read(text) else { return false };
        let own = |issuer: &TokenIssuer| token.issuer() == Some(issuer.url.as_str());
        let mut issuers = self.issuers.iter();
        let Some((issuer, published)) = issuers.find(|(issuer, _)| own(issuer)) else {
            return false;
        };
        issuer.algorithms.contains(&token.algorithm)
            && published.cached().is_some_and(|known| {
                known.keys.find(token.key_id.as_deref(), token.algorithm).is_ok()
            })
    }

    /// The caller of a token.
    pub async fn admit(&self, text: &str) -> Result<Authority, Refused> {
        let digest: [u8; 32] = Sha256::digest(text).into();
        if let Some(authority) = self.remembered(&digest).await? {
            return Ok(authority);
        }
        let token = Token::read(text)?;
        let named = token.issuer().ok_or("the token has no iss")?;
        let mut issuers = self.issuers.iter().enumerate();
        let own = issuers.find(|(_, (issuer, _))| issuer.url.as_str() == named);
        let (index, (issuer, published)) = own.ok_or("the token is of an unknown issuer")?;
        if !issuer.algorithms.contains(&token.algorithm) {
            return Err(NOT_ALLOWED.into());
        }
        let known = published.keys(token.key_id.as_deref()).await?;
        let mut known = known;
        if let Err(fault) = verify(&token, issuer, &known.keys) {
            let others = if fault.is_of_keys { published.others(&known).await } else { None };
            known = others.ok_or(fault.why)?;
            verify(&token, issuer, &known.keys).map_err(|fault| fault.why)?;
        }
        let now = self.directory.now();
        let Admitted { authority, until } = issuer.admit(&token.claims, now)?;
        let tenant = issuer.tenant.of(&token.claims, &self.directory).await?;
        let authority = authority.reaching(Reach::Tenant(tenant));
        let until = until.min(Timestamp::from_millis(now.as_millis() + REMEMBERED_MS));
        let remembered = Remembered {
            authority: authority.clone(),
            issuer: index,
            set: known.keys.digest,
            from: now,
            until,
        };
        self.remembered.insert(digest, remembered);
        Ok(authority)
    }

    /// The cached caller of a token, if a new verification would use the same keys.
    async fn remembered(&self, digest: &[u8; 32]) -> Result<Option<Authority>, Refused> {
        let Some(found) = self.remembered.get(digest) else { return Ok(None) };
        let Some((_, published)) = self.issuers.get(found.issuer) else { return Ok(None) };
        let known = published.keys(None).await?;
        let now = self.directory.now();
        let holds = found.set == known.keys.digest && found.from <= now && now < found.until;
        Ok(holds.then_some(found.authority))
    }
}

/// Why a token is not verified.
struct Unverified {
    why: &'static str,
    /// Whether other keys may verify it.
    is_of_keys: bool,
}

/// Verifies the token's signature with the keys of the issuer.
fn verify(token: &Token<'_>, issuer: &TokenIssuer, keys: &KeySet) -> Result<(), Unverified> {
    let key = keys.find(token.key_id.as_deref(), token.algorithm).map_err(|fault| {
        let (why, is_of_keys) = match fault {
            // The keys were just read for it.
            NoKey::Unknown => {
                ("the token is signed by a key that its issuer does not publish", false)
            }
            NoKey::Unnamed => ("the token names no key, and its issuer has not exactly one", true),
            NoKey::Shared => {
                ("the issuer publishes different keys with the key id of the token", true)
            }
            NoKey::Misfit => ("the token is not signed by the algorithm that its key is for", true),
        };
        Unverified { why, is_of_keys }
    })?;
    signature::install();
    let mut asked = Validation::new(token.algorithm.to_jsonwebtoken());
    asked.set_issuer(&[&issuer.url]);
    asked.set_audience(&[&issuer.audience]);
    asked.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    // Checked with the other claims, by the directory's clock.
    asked.validate_exp = false;
    let decoded = jsonwebtoken::decode::<serde_json::Value>(token.text, &key.material, &asked);
    let Err(error) = decoded else { return Ok(()) };
    let is = |kind: &ErrorKind| error.kind() == kind;
    let is_of_keys = is(&ErrorKind::InvalidSignature);
    let why = if is_of_keys {
        "the token's signature is wrong"
    } else if is(&ErrorKind::InvalidAudience) {
        "the token is not for this audience"
    } else if matches!(error.kind(), ErrorKind::MissingRequiredClaim(_)) {
        "the token lacks one of exp, iss, aud and sub, or one of them has another type"
    } else {
        "the token is not well formed"
    };
    Err(Unverified { why, is_of_keys })
}
