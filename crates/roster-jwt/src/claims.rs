//! The claims of a token: their checks, and the caller and scopes that they grant.
//!
//! Times are compared with the directory's clock, everything else with the settings. Error texts
//! are for the sender and contain no part of the token.

use std::{sync::Arc, time::Duration};

use roster_core::{
    Actor, Json, Timestamp,
    access::{Authority, Scope},
    text::is_control_or_format,
};

use crate::{
    TokenIssuer,
    limits::{LEEWAY_MS, SUBJECT_LENGTH_MAX},
    token::{as_text, text_of},
};

/// The caller of a token, and its validity.
#[derive(Clone)]
pub(crate) struct Admitted {
    pub(crate) authority: Authority,
    /// The time from which it is no longer valid.
    pub(crate) until: Timestamp,
}

impl TokenIssuer {
    /// Checks the claims at this time. The issuer was compared before.
    pub(crate) fn admit(&self, claims: &Json, now: Timestamp) -> Result<Admitted, &'static str> {
        if !self.is_audience(claims.member("aud")) {
            return Err("the token is not for this audience");
        }
        let end = moment(claims, "exp")?.ok_or("the token has no exp")?;
        let until = Timestamp::from_millis(end.saturating_add(LEEWAY_MS));
        if until <= now {
            return Err("the token has expired: ask its issuer for a new one");
        }
        let latest = now.as_millis().saturating_add(LEEWAY_MS);
        let issued = moment(claims, "iat")?;
        if [moment(claims, "nbf")?, issued].into_iter().flatten().any(|begin| begin > latest) {
            return Err("the token is not valid yet");
        }
        // A token without `iat` may be old, so at least the rest of its time is compared.
        let begin = issued.unwrap_or(latest).min(latest);
        if self.lifetime_max.is_some_and(|max| is_longer(end.saturating_sub(begin), max)) {
            return Err("the token is valid for too long: ask its issuer for a shorter one");
        }
        let subject = text_of(claims, "sub").filter(|subject| is_subject(subject));
        let subject = Arc::from(subject.ok_or("the token has no usable sub")?);
        let actor = Actor::Subject { issuer: Arc::from(self.name.as_str()), subject };
        let scopes = self.words(claims).filter_map(|word| self.scope(word)).collect();
        let expires_at = Some(Timestamp::from_millis(end));
        Ok(Admitted { authority: Authority::new(actor, scopes).expiring(expires_at), until })
    }

    fn is_audience(&self, claim: Option<&Json>) -> bool {
        let own = |one: &Json| as_text(one) == Some(self.audience.as_str());
        match claim {
            Some(Json::Array(several)) => several.iter().any(own),
            Some(one) => own(one),
            None => false,
        }
    }

    /// The values of the scope claim: a space-separated text, or a list.
    fn words<'a>(&self, claims: &'a Json) -> impl Iterator<Item = &'a str> {
        let (text, list) = match claims.member(&self.scope_claim) {
            Some(Json::Text(text)) => (text.as_str(), &[][..]),
            Some(Json::Array(list)) => ("", list.as_slice()),
            _ => ("", &[][..]),
        };
        text.split(' ').chain(list.iter().filter_map(as_text))
    }

    /// The scope of a value; `None` for a value without the prefix.
    fn scope(&self, word: &str) -> Option<Scope> {
        Scope::parse(word.strip_prefix(self.scope_prefix.as_str())?)
    }
}

/// A NumericDate (RFC 7519 section 2), in milliseconds. A fraction of a second is dropped.
fn moment(claims: &Json, name: &str) -> Result<Option<i64>, &'static str> {
    const NO_NUMBER: &str = "exp, nbf and iat of the token must be numbers";
    let seconds = match claims.member(name) {
        None => return Ok(None),
        Some(Json::Int(seconds)) => *seconds,
        // The integer part consists of digits, unless the number is too large.
        Some(Json::Float(seconds)) => {
            format!("{:.0}", seconds.floor()).parse().map_err(|_| NO_NUMBER)?
        }
        Some(_) => return Err(NO_NUMBER),
    };
    Ok(Some(seconds.saturating_mul(1000)))
}

fn is_longer(lifetime_ms: i64, max: Duration) -> bool {
    u128::try_from(lifetime_ms).is_ok_and(|lifetime| lifetime > max.as_millis())
}

/// The change log and the log of the service contain the subject, so it is visible and in one line.
fn is_subject(text: &str) -> bool {
    let is_bad = |c: char| is_control_or_format(c) || matches!(c, '\u{2028}' | '\u{2029}');
    let length = text.chars().count();
    (1..=SUBJECT_LENGTH_MAX).contains(&length)
        && !text.chars().any(is_bad)
        && !text.chars().all(char::is_whitespace)
}
