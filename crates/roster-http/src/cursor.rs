//! Cursors: where the next page of a list begins, sealed.
//!
//! A cursor may hold an e-mail address, so it is encrypted; it is authenticated together with the
//! question it belongs to, so that one of another order, another filter, another caller or
//! another store does not open. A nonce is random and never repeats within 192 bits.

use chacha20poly1305::{
    Key, KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use data_encoding::BASE64URL_NOPAD;
use roster_core::{
    Actor, Timestamp, UserId,
    list::{PageKey, SortKey},
    store::Secret,
};
use sha2::{Digest, Sha256};

const NONCE_BYTES: usize = 24;
const ID_BYTES: usize = 16;

/// The cursors of one store.
pub(crate) struct Cursors {
    cipher: XChaCha20Poly1305,
    secret: Secret,
}

/// Seals and opens the cursors of one caller; those of others do not open.
#[derive(Clone, Copy)]
pub(crate) struct OwnCursors<'a> {
    cursors: &'a Cursors,
    actor: &'a Actor,
}

impl Cursors {
    pub(crate) fn new(secret: &Secret) -> Self {
        Self { cipher: XChaCha20Poly1305::new(&Key::from(secret.0)), secret: *secret }
    }

    /// Those of this caller.
    pub(crate) fn of<'a>(&'a self, actor: &'a Actor) -> OwnCursors<'a> {
        OwnCursors { cursors: self, actor }
    }
}

impl OwnCursors<'_> {
    /// The cursor of a place in the list that `question` asks for; `None` without randomness.
    pub(crate) fn seal(&self, place: &PageKey, question: &[u8]) -> Option<String> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).ok()?;
        self.seal_with(nonce, &written(place), &self.bound_to(question))
    }

    /// As [`seal`](Self::seal), with the same text for the same place each time. The nonce follows
    /// from the secret and from all that is sealed, so none is used for two texts.
    pub(crate) fn seal_again(&self, place: &PageKey, question: &[u8]) -> Option<String> {
        let (place, question) = (written(place), self.bound_to(question));
        let length = u64::try_from(question.len()).ok()?.to_be_bytes();
        let hash = Sha256::new().chain_update(self.cursors.secret.0).chain_update(length);
        let hash = hash.chain_update(&question).chain_update(&place).finalize();
        self.seal_with(*hash.first_chunk()?, &place, &question)
    }

    fn seal_with(&self, nonce: [u8; NONCE_BYTES], msg: &[u8], aad: &[u8]) -> Option<String> {
        let sealed =
            self.cursors.cipher.encrypt(&XNonce::from(nonce), Payload { msg, aad }).ok()?;
        Some(BASE64URL_NOPAD.encode(&[nonce.as_slice(), &sealed].concat()))
    }

    /// The place that a cursor names, if it was sealed here for this caller and question.
    pub(crate) fn open(&self, cursor: &str, question: &[u8]) -> Option<PageKey> {
        let sealed = BASE64URL_NOPAD.decode(cursor.as_bytes()).ok()?;
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload { msg: sealed, aad: &self.bound_to(question) };
        read(&self.cursors.cipher.decrypt(&XNonce::from(*nonce), payload).ok()?)
    }

    /// The length tells where the caller ends.
    fn bound_to(&self, question: &[u8]) -> Vec<u8> {
        let actor = self.actor.to_string();
        [format!("{} {actor} ", actor.len()).as_bytes(), question].concat()
    }
}

fn written(place: &PageKey) -> Vec<u8> {
    let mut out = place.id.as_bytes().to_vec();
    match &place.key {
        SortKey::Id => out.push(b'i'),
        SortKey::Time(moment) => {
            out.push(b't');
            out.extend(moment.as_millis().to_be_bytes());
        }
        SortKey::Text(None) => out.push(b'n'),
        SortKey::Text(Some(text)) => {
            out.push(b's');
            out.extend(text.as_bytes());
        }
    }
    out
}

fn read(bytes: &[u8]) -> Option<PageKey> {
    let (id, rest) = bytes.split_first_chunk::<ID_BYTES>()?;
    let (kind, rest) = rest.split_first()?;
    let key = match kind {
        b'i' => SortKey::Id,
        b't' => SortKey::Time(Timestamp::from_millis(i64::from_be_bytes(rest.try_into().ok()?))),
        b'n' => SortKey::Text(None),
        b's' => SortKey::Text(Some(String::from_utf8(rest.to_vec()).ok()?)),
        _ => return None,
    };
    Some(PageKey { key, id: UserId::from_bytes(*id) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Vec<PageKey> {
        let keys = [
            SortKey::Id,
            SortKey::Time(Timestamp::from_millis(-7)),
            SortKey::Text(None),
            SortKey::Text(Some("ada@example.com".to_owned())),
        ];
        keys.map(|key| PageKey { key, id: UserId::from_bytes([7; 16]) }).to_vec()
    }

    #[test]
    fn a_place_comes_back_for_the_same_question() {
        let all = Cursors::new(&Secret([1; 32]));
        let cursors = all.of(&Actor::Anonymous);
        for place in places() {
            let cursor = cursors.seal(&place, b"q").expect("randomness");
            let sealed = BASE64URL_NOPAD.decode(cursor.as_bytes()).expect("base64");
            assert!(!sealed.windows(8).any(|window| window == b"ada@exam"));
            assert_eq!(cursors.open(&cursor, b"q"), Some(place));
        }
    }

    #[test]
    fn a_place_sealed_again_has_the_same_text_and_another_one_does_not() {
        let all = Cursors::new(&Secret([1; 32]));
        let cursors = all.of(&Actor::Anonymous);
        let mut texts = std::collections::BTreeSet::new();
        for place in places() {
            for question in [b"q".as_slice(), b"other"] {
                let text = cursors.seal_again(&place, question).expect("a text");
                assert_eq!(cursors.seal_again(&place, question).as_ref(), Some(&text));
                assert_eq!(cursors.open(&text, question), Some(place.clone()));
                assert_eq!(cursors.open(&text, b"a third"), None);
                texts.insert(text[..16].to_owned());
            }
        }
        assert_eq!(texts.len(), 2 * places().len(), "each has a nonce of its own");
    }

    #[test]
    fn another_question_caller_store_or_text_does_not_open() {
        let all = Cursors::new(&Secret([1; 32]));
        let cursors = all.of(&Actor::Anonymous);
        for place in places() {
            let cursor = cursors.seal(&place, b"q").expect("randomness");
            assert_eq!(cursors.open(&cursor, b"other"), None);
            assert_eq!(all.of(&Actor::System).open(&cursor, b"q"), None);
            let other = Cursors::new(&Secret([2; 32]));
            assert_eq!(other.of(&Actor::Anonymous).open(&cursor, b"q"), None);
            for at in 0..cursor.len() {
                let mut altered = cursor.clone().into_bytes();
                altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
                let altered = String::from_utf8(altered).expect("ASCII");
                assert_eq!(cursors.open(&altered, b"q"), None, "{at}");
            }
        }
        for text in ["", "x", "====", "AAAA"] {
            assert_eq!(cursors.open(text, b"q"), None);
        }
    }
}
