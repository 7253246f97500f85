//! The id of a request: the caller's id if it is usable, otherwise a generated one.
//!
//! The id is in every response, in the log and in the change log. A caller's id is used only if it
//! is harmless in a log line. Generated ids do not show how many requests there were.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header of the id in requests and responses.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Generates request ids: a count, encrypted by two hashes whose keys are random.
#[derive(Debug)]
pub(crate) struct RequestIds {
    hashers: [RandomState; 2],
    next: AtomicU64,
}

impl RequestIds {
    /// Creates a generator whose ids no other process generates.
    pub(crate) fn new() -> Self {
        Self { hashers: [(); 2].map(|()| RandomState::new()), next: AtomicU64::new(1) }
    }

    /// The id of a request with these headers, as the value of its header.
    pub(crate) fn of(&self, headers: &HeaderMap) -> HeaderValue {
        if let Some(sent) = headers.get(X_REQUEST_ID)
            && is_usable(sent.as_bytes())
        {
            return sent.clone();
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let halves = self.hashers.each_ref().map(|hasher| hasher.hash_one(number).to_be_bytes());
        let made = HeaderValue::try_from(data_encoding::HEXLOWER.encode(halves.as_flattened()));
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

    #[test]
    fn generated_ids_differ_and_do_not_count() {
        let ids = RequestIds::new();
        let mut made: Vec<_> = (0..1_000).map(|_| ids.of(&HeaderMap::new())).collect();
        assert!(made.iter().all(|id| text(id).len() == 32 && is_usable(id.as_bytes())));
        assert!(!made.is_sorted_by_key(|id| text(id).to_owned()));
        let starts: std::collections::HashSet<_> = made.iter().map(|id| &text(id)[..4]).collect();
        assert!(starts.len() > 900, "the ids have no common prefix");
        made.sort_by(|one, other| text(one).cmp(text(other)));
        made.dedup();
        assert_eq!(made.len(), 1_000);
    }
}
