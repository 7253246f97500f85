//! Sends requests, and sends some of them again.

use std::error::Error as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Method, Response, StatusCode, redirect};
use tokio::time::{sleep, timeout};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring::default_provider};
use url::{Host, Url};

use crate::call::{Answer, Call};
use crate::error::{Error, Problem};
use crate::records::Caller;

/// The longest pause before a request is sent again. If the service asks for a longer one, the
/// request fails.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// The time for a connection, with TLS.
const CONNECT: Duration = Duration::from_secs(10);
/// The time from a request to the head of its response.
const HEAD: Duration = Duration::from_mins(1);
/// The longest time without a byte of the content of a response.
const SILENCE: Duration = Duration::from_secs(30);
/// The largest response that is read: two pages of the largest records.
const RESPONSE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Makes a [`Client`].
#[derive(Debug, Clone)]
pub struct Builder {
    base: Url,
    credential: Option<HeaderValue>,
    attempts: u32,
    pub(crate) on_wait: Option<fn(&Error)>,
}

impl Builder {
    /// With an API key or a token. It never appears in errors, nor in what `Debug` writes.
    ///
    /// # Errors
    ///
    /// If it has characters that no key or token has.
    pub fn credential(mut self, credential: &str) -> Result<Self, Error> {
        let value = HeaderValue::try_from(format!("Bearer {}", credential.trim()));
        let mut value =
            value.map_err(|_| Error::Request("this is neither a key nor a token".to_owned()))?;
        value.set_sensitive(true);
        self.credential = Some(value);
        Ok(self)
    }

    /// How often a request is sent at most. 5 by default.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// What is called when [`Client::follow`] begins to wait for a service that does not answer.
    #[must_use]
    pub fn on_wait(mut self, notice: fn(&Error)) -> Self {
        self.on_wait = Some(notice);
        self
    }

    /// The client.
    ///
    /// # Errors
    ///
    /// If there is no TLS on this system.
    pub fn build(self) -> Result<Client, Error> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let tls = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::Request(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT)
            .user_agent(concat!("roster-client/", env!("CARGO_PKG_VERSION")));
        // A proxy of the environment would get the key, unencrypted.
        let http = if is_loopback(&self.base) { http.no_proxy() } else { http };
        let http = http.build().map_err(|error| Error::Request(causes(&error)))?;
        Ok(Client { http, settings: self })
    }
}

/// A client of one service, or of one of its tenants. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    pub(crate) settings: Builder,
}

impl Client {
    /// Begins a client of the service at this base URL, such as `https://directory.example.com`.
    ///
    /// # Errors
    ///
    /// If this is no URL with `http` or `https`.
    pub fn builder(base_url: &str) -> Result<Builder, Error> {
        // A URL with a password is not shown.
        let shown = if base_url.contains('@') { "this" } else { base_url };
        let no_url = |why: &str| Error::Request(format!("{shown} is no URL of a service: {why}"));
        let mut base = Url::parse(base_url).map_err(|error| no_url(&error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(no_url("it begins neither with https:// nor with http://"));
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(no_url("it has parts that no base URL has"));
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(no_url("it has a user or a password"));
        }
        if !base.path().ends_with('/') {
            let path = format!("{}/", base.path());
            base.set_path(&path);
        }
        Ok(Builder { base, credential: None, attempts: 5, on_wait: None })
    }

    /// The base URL, without a slash at its end.
    #[must_use]
    pub fn url(&self) -> &str {
        self.settings.base.as_str().trim_end_matches('/')
    }

    /// The client of a tenant of this service, with the same credential.
    ///
    /// # Errors
    ///
    /// If no tenant can have this name.
    pub fn tenant(&self, name: &str) -> Result<Self, Error> {
        let is_name = |character: char| {
            character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-'
        };
        if name.is_empty() || name.len() > 63 || !name.chars().all(is_name) {
            return Err(Error::Request(format!("no tenant can have the name {name:?}")));
        }
        let mut tenant = self.clone();
        let path = format!("{}tenants/{name}/", tenant.settings.base.path());
        tenant.settings.base.set_path(&path);
        Ok(tenant)
    }

    /// Who calls, and what the credential permits.
    ///
    /// # Errors
    ///
    /// If there is no response, or the credential is not valid.
    pub async fn caller(&self) -> Result<Caller, Error> {
        self.send(&Call::new(Method::GET, "caller")).await?.json()
    }

    /// Sends a request, and sends it again if that is safe.
    ///
    /// # Errors
    ///
    /// If there is no response after all attempts, or if the service refuses the request.
    pub async fn send(&self, call: &Call) -> Result<Answer, Error> {
        self.send_within(HEAD + call.wait(), call).await
    }

    /// Sends a request like [`Self::send`]. Each response must begin within this time.
    pub(crate) async fn send_within(&self, time: Duration, call: &Call) -> Result<Answer, Error> {
        let mut attempt = 1;
        loop {
            let error = match self.once(time, call).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            // A refused connection is not retried: there may be no service.
            let may_help = matches!(error, Error::Broken { .. })
                || matches!(error.status(), Some(429 | 502..=504));
            let has_executed_nothing = error
                .problem()
                .is_some_and(|problem| problem.status == 429 || problem.code == "overloaded");
            let is_safe = call.is_repeatable || has_executed_nothing;
            let is_soon = asked(&error).is_none_or(|pause| pause <= PAUSE_MAX);
            if attempt >= self.settings.attempts || !(may_help && is_safe && is_soon) {
                return Err(error);
            }
            sleep(pause(attempt, &error)).await;
            attempt += 1;
        }
    }

    async fn once(&self, time: Duration, call: &Call) -> Result<Answer, Error> {
        let request = self.request(call, call.body.clone().into());
        let late = |_| Err(self.silent("response", time));
        let response = timeout(time, request).await.unwrap_or_else(late)?;
        self.answer(call, response).await
    }

    /// Sends a request whose body and response have no limits, such as an import. Once only.
    ///
    /// # Errors
    ///
    /// If there is no response, if the service refuses the request, or if the response is not of
    /// the media type that the call accepts.
    pub async fn stream(&self, call: &Call, body: reqwest::Body) -> Result<Response, Error> {
        let response = self.request(call, body).await?;
        if !response.status().is_success() {
            return Err(self.refusal(call, response).await);
        }
        let text = |value: Option<&HeaderValue>| {
            value.and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
        };
        let (wanted, sent) =
            (text(call.headers.get(ACCEPT)), text(response.headers().get(CONTENT_TYPE)));
        if !sent.starts_with(&wanted) {
            return Err(self.strange(&format!("the response is {sent:?}, not {wanted}")));
        }
        Ok(response)
    }

    /// The content of a response of [`Self::stream`], as it arrives.
    pub fn pieces(
        &self,
        response: Response,
    ) -> impl Stream<Item = Result<Bytes, Error>> + Unpin + use<> {
        let client = self.clone();
        response.bytes_stream().map_err(move |error| client.broken(error)).boxed()
    }

    async fn request(&self, call: &Call, body: reqwest::Body) -> Result<Response, Error> {
        let mut url = self.settings.base.clone();
        url.set_path(&format!("{}{}", url.path(), call.path));
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&call.query);
        }
        let mut headers = call.headers.clone();
        if let Some(credential) = &self.settings.credential {
            headers.insert(AUTHORIZATION, credential.clone());
        }
        let request = self.http.request(call.method.clone(), url).headers(headers).body(body);
        request.send().await.map_err(|error| self.broken(error))
    }

    async fn answer(&self, call: &Call, response: Response) -> Result<Answer, Error> {
        if !response.status().is_success() && response.status() != StatusCode::NOT_MODIFIED {
            return Err(self.refusal(call, response).await);
        }
        let (status, headers) = (response.status(), response.headers().clone());
        let body = self.body(response).await?;
        Ok(Answer { status, headers, body: body.into(), url: self.url().to_owned() })
    }

    async fn body(&self, response: Response) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        let mut pieces = response.bytes_stream();
        loop {
            let next = timeout(SILENCE, pieces.try_next()).await;
            let next = next.map_err(|_| self.silent("more of the response", SILENCE))?;
            let Some(piece) = next.map_err(|error| self.broken(error))? else { break };
            body.extend_from_slice(&piece);
            if body.len() > RESPONSE_BYTES_MAX {
                return Err(self.strange("the response is larger than any of Roster"));
            }
        }
        Ok(body)
    }

    /// The problem in a response.
    async fn refusal(&self, call: &Call, response: Response) -> Error {
        let status = response.status();
        let retry_after_s = seconds(response.headers());
        let body = match self.body(response).await {
            Ok(body) => body,
            Err(error) => return error,
        };
        match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) => Error::Problem(Box::new(Problem { retry_after_s, ..problem })),
            // The response to HEAD has no content, so only the status says what is wrong.
            Err(_) if call.method == Method::HEAD => {
                Error::Problem(Box::new(Problem::of_status(status, retry_after_s)))
            }
            // A proxy, or a connection beyond the limits of the service.
            Err(_) if matches!(status.as_u16(), 502..=504) => Error::Broken {
                url: self.url().to_owned(),
                why: format!("the response is {status}"),
            },
            Err(_) => self.strange(&format!("the response is {status}, without a problem")),
        }
    }

    /// The error of a request without a complete response.
    pub(crate) fn broken(&self, error: reqwest::Error) -> Error {
        let (url, is_connect) = (self.url().to_owned(), error.is_connect());
        let why = causes(&error.without_url());
        if is_connect { Error::Connect { url, why } } else { Error::Broken { url, why } }
    }

    /// The error of a request that had nothing of what it waits for in this time.
    fn silent(&self, what: &str, time: Duration) -> Error {
        let why = format!("no {what} within {} s", time.as_secs());
        Error::Broken { url: self.url().to_owned(), why }
    }

    /// The error of a response that is not as Roster responds.
    #[must_use]
    pub fn strange(&self, why: &str) -> Error {
        Error::Strange { url: self.url().to_owned(), why: why.to_owned() }
    }
}

/// Whether a URL is that of this machine.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).to_canonical().is_loopback(),
        None => false,
    }
}

/// The last cause of an error, which says most.
fn causes(error: &reqwest::Error) -> String {
    let mut why = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        why = error.to_string();
        cause = error.source();
    }
    why
}

/// The seconds in `Retry-After`.
fn seconds(headers: &HeaderMap) -> Option<u64> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()
}

/// The pause that the service asks for.
fn asked(error: &Error) -> Option<Duration> {
    error.problem()?.retry_after_s.map(Duration::from_secs)
}

/// The pause after an attempt: what the service asks for, or 0.2 s, 0.4 s and so on, with a random
/// part, so that clients do not come back at the same time.
pub(crate) fn pause(attempt: u32, error: &Error) -> Duration {
    let random = getrandom::u32().unwrap_or_default() % 1000;
    let doubled = Duration::from_millis(200) * 2_u32.saturating_pow(attempt - 1).min(64);
    let pause = asked(error).unwrap_or(doubled.min(PAUSE_MAX));
    pause + pause.mul_f64(f64::from(random) / 2000.0)
}
