//! Authenticates the caller of a request by its `Authorization` header.
//!
//! A credential is always checked, also while the service is open. A key is compared with the
//! keyring, which is at most a second old; if the store does not respond, the request fails. A
//! token is verified with the keys of its issuer. Failures are counted by reason. Secrets are never
//! logged.

mod bearer;
mod lease;
mod ring;

use std::{borrow::Cow, sync::Arc};

use http::{
    HeaderMap, HeaderValue,
    header::{RETRY_AFTER, WWW_AUTHENTICATE},
    request::Parts,
};
use roster_core::{
    Actor, Directory, StoreError, TenantId, TenantName,
    access::{Authority, KeyService, MissingScope, Presented, Unauthentic},
};

use crate::{
    problem::{Problem, ProblemCode},
    tenancy::{Tenants, admitted},
};
pub(crate) use bearer::bearer;
pub(crate) use lease::Lease;
use lease::Leases;
use ring::Ring;
use roster_jwt::{Refused, TokenIssuer, Tokens};

/// The keys and issuers that authenticate callers, for the requests of one tenant.
#[derive(Clone)]
pub(crate) struct Access {
    /// The keys of the tenant.
    pub(crate) keys: KeyService,
    tenant: Option<TenantOf>,
    shared: Arc<Shared>,
}

/// A tenant other than the default one, which may be suspended meanwhile.
#[derive(Clone)]
struct TenantOf {
    /// The name may be that of another tenant later.
    id: TenantId,
    name: TenantName,
    tenants: Arc<Tenants>,
}

/// What the access to all tenants shares.
struct Shared {
    directory: Directory,
    ring: Ring,
    tokens: Tokens,
    require_key: bool,
    leases: Leases,
}

/// The work that is needed to verify the credential of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// Nothing: the request can be rejected at once.
    Nothing,
    /// A digest, because the credential is a well-formed key.
    Digest,
    /// A signature, because the credential is a token with a known issuer and key.
    Signature,
}

/// A credential. It has no `Debug`, so that it is never printed.
#[derive(Clone)]
enum Credential<'a> {
    /// None, which is allowed while the service is open.
    Nothing,
    /// An API key.
    Key(Presented),
    /// A token of an issuer.
    Token(Cow<'a, str>),
}

impl Credential<'_> {
    /// The same credential, for work that outlives the request.
    fn into_owned(self) -> Credential<'static> {
        match self {
            Self::Nothing => Credential::Nothing,
            Self::Key(presented) => Credential::Key(presented),
            Self::Token(token) => Credential::Token(Cow::Owned(token.into_owned())),
        }
    }
}

impl Access {
    /// With `require_key`, every caller needs a credential, even before the first key exists.
    pub(crate) fn new(directory: Directory, issuers: Vec<TokenIssuer>, require_key: bool) -> Self {
        let keys = directory.keys();
        let tokens = Tokens::new(issuers, &directory);
        let ring = Ring::new(directory.clone());
        let leases = Leases::default();
        let shared = Arc::new(Shared { directory, ring, tokens, require_key, leases });
        Self { keys, tenant: None, shared }
    }

    /// The access to a tenant.
    pub(crate) fn of_tenant(
        &self,
        directory: &Directory,
        name: TenantName,
        tenants: Arc<Tenants>,
    ) -> Self {
        let tenant = Some(TenantOf { id: directory.tenant_id(), name, tenants });
        Self { keys: directory.keys(), tenant, shared: Arc::clone(&self.shared) }
    }

    /// The caller of a request, whatever its tenant.
    pub(crate) async fn identify(&self, parts: &Parts) -> Result<Authority, Problem> {
        self.verify(&self.credential(&parts.headers)?).await
    }

    /// The caller of a request, or the reason for a rejection.
    pub(crate) async fn authenticate(&self, parts: &Parts) -> Result<Authority, Problem> {
        self.admit(&self.credential(&parts.headers)?).await
    }

    /// The work that is needed to verify the credential with these headers.
    pub(crate) fn check_of(&self, headers: &HeaderMap) -> Check {
        match self.credential(headers) {
            Ok(Credential::Key(_)) => Check::Digest,
            Ok(Credential::Token(token)) if self.shared.tokens.knows_key_of(&token) => {
                Check::Signature
            }
            Ok(Credential::Token(_) | Credential::Nothing) | Err(_) => Check::Nothing,
        }
    }

    /// The credential of a request. A malformed key is rejected before anything is looked up.
    fn credential<'a>(&self, headers: &'a HeaderMap) -> Result<Credential<'a>, Problem> {
        match bearer(headers)? {
            None => Ok(Credential::Nothing),
            Some(token) if self.is_token(token) => Ok(Credential::Token(Cow::Borrowed(token))),
            Some(token) => Ok(Credential::Key(presented(token)?)),
        }
    }

    /// The caller that a credential authenticates now, if it may call this tenant.
    async fn admit(&self, credential: &Credential<'_>) -> Result<Authority, Problem> {
        let authority = self.verify(credential).await?;
        match &self.tenant {
            Some(TenantOf { id, name, tenants }) => {
                let tenant = tenants.find(&self.shared.directory, name).await?;
                admitted(tenant.filter(|tenant| tenant.id == *id), &authority)?;
            }
            None if authority.reach().includes(TenantId::DEFAULT) => {}
            None => return Err(Problem::new(ProblemCode::WrongTenant)),
        }
        Ok(authority)
    }

    /// The caller that a credential authenticates now.
    async fn verify(&self, credential: &Credential<'_>) -> Result<Authority, Problem> {
        let presented = match credential {
            Credential::Token(token) => {
                return self.shared.tokens.admit(token).await.map_err(not_admitted);
            }
            Credential::Key(presented) => Some(presented),
            Credential::Nothing => None,
        };
        let now = self.shared.directory.now();
        let admitted = self.shared.ring.with_fresh(|ring| {
            let key = ring.keyring.admit(presented?, now);
            Some(key.map(|(key, end)| {
                ring.note_use(key.id, now);
                let authority = Authority::new(Actor::Key(key.id), key.scopes);
                authority.reaching(key.reach).expiring(end)
            }))
        });
        match admitted.await? {
            Some(admitted) => admitted.map_err(unauthentic),
            None if self.is_open() => Ok(Authority::anybody()),
            None => Err(nobody()),
        }
    }

    /// Whether a credential is a token of an issuer, rather than a key.
    fn is_token(&self, credential: &str) -> bool {
        !self.shared.tokens.is_empty()
            && !Presented::is_meant(credential)
            && roster_jwt::is_meant(credential)
    }

    /// Whether callers without a credential are admitted: the settings allow it, there is no issuer
    /// of tokens, and this process has never seen a key. Once closed, a process never opens again.
    pub(crate) fn is_open(&self) -> bool {
        let Shared { require_key, tokens, ring, .. } = &*self.shared;
        self.tenant.is_none() && !require_key && tokens.is_empty() && ring.is_open()
    }

    /// Reads the keys again after a change by this process, so that the next request uses them.
    pub(crate) async fn keys_changed(&self) -> Result<(), StoreError> {
        self.shared.ring.read_again().await
    }

    /// Reads the keys for the first time, and returns whether none was ever created. The keys of
    /// issuers are fetched in the background, so an unreachable issuer does not delay the start.
    pub(crate) async fn begin(&self) -> Result<bool, StoreError> {
        self.shared.tokens.begin();
        self.shared.ring.with_fresh(|ring| ring.keyring.is_open()).await
    }

    /// Has the store record which keys were used. If this fails, only times of last use are lost.
    pub(crate) async fn note_uses(&self) -> Result<(), StoreError> {
        match self.shared.ring.take_uses() {
            uses if uses.is_empty() => Ok(()),
            uses => self.keys.note_use(uses).await,
        }
    }
}

fn presented(token: &str) -> Result<Presented, Problem> {
    Presented::parse(token).ok_or_else(|| {
        invalid(if Presented::is_meant(token) {
            "the key is mistyped or cut off: its checksum does not match"
        } else {
            "the credential is not a key of this service"
        })
    })
}

const CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer realm=\"roster\"");

/// The problem of a request without a required credential (RFC 6750 section 3).
pub(crate) fn nobody() -> Problem {
    Problem::new(ProblemCode::Unauthenticated).with_header(WWW_AUTHENTICATE, CHALLENGE)
}

/// The problem of a request with a session that does not authenticate it.
pub(crate) fn session_ended() -> Problem {
    Problem::saying(ProblemCode::Unauthenticated, "the session has ended: sign in again")
        .with_header(WWW_AUTHENTICATE, CHALLENGE)
}

/// The problem of an invalid credential (RFC 6750 section 3.1).
fn invalid(detail: &'static str) -> Problem {
    const CHALLENGE: HeaderValue =
        HeaderValue::from_static("Bearer realm=\"roster\", error=\"invalid_token\"");
    Problem::saying(ProblemCode::Unauthenticated, detail).with_header(WWW_AUTHENTICATE, CHALLENGE)
}

/// The problem of a caller that uses another way to authenticate. RFC 6750 section 3.1: without the
/// code of an error.
fn another_scheme() -> Problem {
    let detail = "send a key or a token as Authorization: Bearer";
    Problem::saying(ProblemCode::Unauthenticated, detail).with_header(WWW_AUTHENTICATE, CHALLENGE)
}

fn unauthentic(why: Unauthentic) -> Problem {
    invalid(match why {
        Unauthentic::Unknown => "no key has this id and this secret",
        Unauthentic::Expired => "the key has expired: ask for a new one",
        Unauthentic::Revoked => "the key was revoked: ask for a new one",
    })
}

fn not_admitted(why: Refused) -> Problem {
    match why {
        Refused::Token(detail) => invalid(detail),
        Refused::Away => {
            let detail = "the token cannot be verified now; try again shortly";
            Problem::saying(ProblemCode::Unavailable, detail)
                .with_header(RETRY_AFTER, HeaderValue::from_static("1"))
        }
    }
}

/// The problem of a caller without the required scopes (RFC 6750 section 3.1).
impl From<MissingScope> for Problem {
    fn from(MissingScope(scopes): MissingScope) -> Self {
        let names: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
        let problem = Self::saying(
            ProblemCode::InsufficientScope,
            format!("this takes a credential of scope {}", names.join(" and ")),
        );
        problem.with_header(WWW_AUTHENTICATE, challenge(&names.join(" ")))
    }
}

fn challenge(scopes: &str) -> HeaderValue {
    let text = format!("Bearer realm=\"roster\", error=\"insufficient_scope\", scope=\"{scopes}\"");
    HeaderValue::try_from(text).unwrap_or(CHALLENGE)
}
