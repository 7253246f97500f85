//! The id of a request: the caller's id if it is usable, otherwise a generated one.
//!
//! The id is in every response, in the log and in the change log. A caller's id is used only if it
//! is harmless in a log line.

use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header of the id in requests and responses.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Generates request ids: a random prefix, then a count.
#[derive(Debug)]
pub(crate) struct RequestIds {
    prefix: String,
    next: AtomicU64,
}

impl RequestIds {
    /// Creates a generator whose ids no other process generates.
    pub(crate) fn new() -> Self {
        let mut random = [0; 8];
        // Without randomness, the count alone still distinguishes the requests of this process.
        if getrandom::fill(&mut random).is_err() {
            random = [0; 8];
        }
        Self { prefix: data_encoding::HEXLOWER.encode(&random), next: AtomicU64::new(1) }
    }

    /// The id of a request with these headers, as the value of its header.
    pub(crate) fn of(&self, headers: &HeaderMap) -> HeaderValue {
        if let Some(sent) = headers.get(X_REQUEST_ID)
            && is_usable(sent.as_bytes())
        {
            return sent.clone();
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let made = HeaderValue::try_from(format!("{}-{number}", self.prefix));
        made.unwrap_or_else(|_| HeaderValue::from_static("unnamed"))
    }
}

fn is_usable(text: &[u8]) -> bool {
    let harmless = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=64).contains(&text.len()) && text.iter().all(harmless)
}

/// The id as text.
pub(crate) fn text(id: &HeaderValue) -> &str {
    id.to_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usable_id_is_kept_and_any_other_replaced() {
        let ids = RequestIds::new();
        let of = |text: &'static str| {
            let headers = HeaderMap::from_iter([(X_REQUEST_ID, HeaderValue::from_static(text))]);
            ids.of(&headers)
        };
        assert_eq!(of("Abc-1.2_3"), "Abc-1.2_3");
        for text in ["", "a b", "a\"b", "{x}", "a/b"] {
            assert_ne!(of(text), text);
        }
        assert_ne!(ids.of(&HeaderMap::new()), ids.of(&HeaderMap::new()));
    }
}
