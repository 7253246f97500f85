//! Cursors: the position of the next page of a list, encrypted and bound to one request.
//!
//! A cursor is base64url without padding (RFC 4648 section 5) of these bytes:
//!
//! | Bytes | Field | Value |
//! |---|---|---|
//! | 1 | version | 2 |
//! | 1 | list | [`List::code`] |
//! | 24 | nonce | random, or derived from what is encrypted ([`ListCursors::seal_stored`]) |
//! | rest | contents | XChaCha20-Poly1305 under the store's secret; the last 16 bytes are its tag |
//!
//! The contents, integers in big-endian order:
//!
//! | Bytes | Field | Value |
//! |---|---|---|
//! | 8 | page size | SCIM cursors only |
//! | 8 | time of issue | SCIM cursors only: milliseconds since 1970, signed |
//! | 16 | id | of the last item on the page |
//! | 1 | kind of key | `i` the id alone, `t` a time, `n` an absent text, `s` a text |
//! | 0, 8 or rest | key | nothing; milliseconds since 1970, signed; nothing; UTF-8 |
//!
//! The associated data are the version, the list and the context: one line per fact, `name "value"`
//! with the value as a JSON string, first `caller` as the change log spells it, then `tenant`
//! unless it is the default one, then the order and the conditions ([`ListCursors::with`]). A
//! cursor for another order, other conditions, another tenant, caller or store does not decrypt.
//!
//! A change of these bytes or of the lines of a context must increment the version. A cursor of
//! another version is invalid, like any altered cursor.

use std::fmt::Display;

use chacha20poly1305::{
    Key, KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use data_encoding::BASE64URL_NOPAD;
use roster_core::{
    Actor, Timestamp, UserId,
    json::write_text,
    list::{Direction, PageKey, PageQuery, SortBy, SortKey},
    store::Secret,
};
use sha2::{Digest, Sha256};

use crate::problem::{Problem, ProblemCode};

const VERSION: u8 = 2;
const HEADER_BYTES: usize = 2;
const NONCE_BYTES: usize = 24;
const ID_BYTES: usize = 16;

/// The lists that have cursors.
#[derive(Clone, Copy)]
pub(crate) enum List {
    Users,
    DeletedUsers,
    Groups,
    Members,
    Keys,
    Tenants,
    DeletedTenants,
    ScimUsers,
    ScimGroups,
    /// SCIM's users by `startIndex`. The store keeps the positions where pages ended.
    ScimUsersByIndex,
    ScimGroupsByIndex,
}

impl List {
    const fn code(self) -> u8 {
        match self {
            Self::Users => 1,
            Self::DeletedUsers => 2,
            Self::Groups => 3,
            Self::Members => 4,
            Self::ScimUsers => 5,
            Self::ScimGroups => 6,
            Self::ScimUsersByIndex => 7,
            Self::ScimGroupsByIndex => 8,
            Self::Keys => 9,
            Self::Tenants => 10,
            Self::DeletedTenants => 11,
        }
    }
}

/// Encrypts and decrypts the cursors of one store.
pub(crate) struct Cursors {
    cipher: XChaCha20Poly1305,
    secret: Secret,
}

impl Cursors {
    pub(crate) fn new(secret: &Secret) -> Self {
        Self { cipher: XChaCha20Poly1305::new(&Key::from(secret.0)), secret: *secret }
    }

    /// The cursors of a list for this caller, before the conditions are added.
    pub(crate) fn of(&self, list: List, caller: &Actor) -> ListCursors<'_> {
        let header = [VERSION, list.code()];
        ListCursors { cursors: self, header, bound: header.to_vec() }.with("caller", Some(caller))
    }
}

/// The cursors of one list for one caller, one order and one set of conditions.
pub(crate) struct ListCursors<'a> {
    cursors: &'a Cursors,
    header: [u8; HEADER_BYTES],
    /// The associated data: header and context.
    bound: Vec<u8>,
}

impl ListCursors<'_> {
    /// Adds a line to the context for each of the values.
    pub(crate) fn with<T: Display>(
        mut self,
        name: &str,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        for value in values {
            self.bound.extend_from_slice(name.as_bytes());
            self.bound.push(b' ');
            write_text(&mut self.bound, &value.to_string());
            self.bound.push(b'\n');
        }
        self
    }

    /// Adds the order and the conditions of a list of users.
    pub(crate) fn with_query(self, query: &PageQuery) -> Self {
        let PageQuery { sort, filter, words, schema, .. } = query;
        // Another member may have the number of the index later.
        let member = if let SortBy::Indexed(kind) = sort.by {
            schema.index(kind).map(|index| index.member.name())
        } else {
            None
        };
        let minus = if sort.direction == Direction::Descending { "-" } else { "" };
        self.with("sort", Some(format!("{minus}{}", sort.by.name())))
            .with("member", member)
            .with("filter", filter)
            .with("word", words)
    }

    /// A digest that is equal for an equal list, caller, order and set of conditions.
    pub(crate) fn digest(&self) -> [u8; 32] {
        Sha256::digest(&self.bound).into()
    }

    /// The cursor of the page after this key.
    pub(crate) fn seal(&self, after: &PageKey) -> Result<String, Problem> {
        self.seal_contents(&key_to_bytes(after))
    }

    /// The SCIM cursor of the page after this key.
    pub(crate) fn seal_scim(
        &self,
        after: &PageKey,
        page_size: usize,
        issued: Timestamp,
    ) -> Result<String, Problem> {
        let mut contents = u64::try_from(page_size).unwrap_or(u64::MAX).to_be_bytes().to_vec();
        contents.extend(issued.as_millis().to_be_bytes());
        contents.extend(key_to_bytes(after));
        self.seal_contents(&contents)
    }

    /// Like [`seal`](Self::seal), but equal for an equal key. The nonce is a hash of the secret and
    /// of all encrypted and authenticated data, so two different texts never share a nonce.
    pub(crate) fn seal_stored(&self, after: &PageKey) -> Result<String, Problem> {
        let contents = key_to_bytes(after);
        let length = u64::try_from(self.bound.len()).map_err(|_| internal())?.to_be_bytes();
        let hash = Sha256::new().chain_update(self.cursors.secret.0).chain_update(length);
        let hash = hash.chain_update(&self.bound).chain_update(&contents).finalize();
        let nonce = hash.first_chunk().ok_or_else(internal)?;
        self.seal_with(*nonce, &contents)
    }

    /// Decrypts a cursor of [`seal`](Self::seal) or [`seal_stored`](Self::seal_stored), and returns
    /// its key.
    pub(crate) fn open(&self, cursor: &str) -> Option<PageKey> {
        key_from_bytes(&self.open_contents(cursor)?)
    }

    /// Decrypts a SCIM cursor, and returns its key, its page size and its time of issue.
    pub(crate) fn open_scim(&self, cursor: &str) -> Option<(PageKey, usize, Timestamp)> {
        let contents = self.open_contents(cursor)?;
        let (page_size, rest) = contents.split_first_chunk()?;
        let (issued, key) = rest.split_first_chunk()?;
        let page_size = usize::try_from(u64::from_be_bytes(*page_size)).ok()?;
        let issued = Timestamp::from_millis(i64::from_be_bytes(*issued));
        Some((key_from_bytes(key)?, page_size, issued))
    }

    fn seal_contents(&self, contents: &[u8]) -> Result<String, Problem> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|_| internal())?;
        self.seal_with(nonce, contents)
    }

    fn seal_with(&self, nonce: [u8; NONCE_BYTES], contents: &[u8]) -> Result<String, Problem> {
        let payload = Payload { msg: contents, aad: &self.bound };
        let sealed = self.cursors.cipher.encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| internal())?;
        Ok(BASE64URL_NOPAD.encode(&[&self.header, nonce.as_slice(), &sealed].concat()))
    }

    fn open_contents(&self, cursor: &str) -> Option<Vec<u8>> {
        let bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).ok()?;
        let rest = bytes.strip_prefix(&self.header)?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload { msg: sealed, aad: &self.bound };
        self.cursors.cipher.decrypt(&XNonce::from(*nonce), payload).ok()
    }
}

fn internal() -> Problem {
    Problem::new(ProblemCode::Internal)
}

fn key_to_bytes(after: &PageKey) -> Vec<u8> {
    let mut out = after.id.as_bytes().to_vec();
    match &after.key {
        SortKey::Id => out.push(b'i'),
        SortKey::Time(time) => {
            out.push(b't');
            out.extend(time.as_millis().to_be_bytes());
        }
        SortKey::Text(None) => out.push(b'n'),
        SortKey::Text(Some(text)) => {
            out.push(b's');
            out.extend(text.as_bytes());
        }
    }
    out
}

fn key_from_bytes(bytes: &[u8]) -> Option<PageKey> {
    let (id, rest) = bytes.split_first_chunk::<ID_BYTES>()?;
    let (kind, rest) = rest.split_first()?;
    let key = match (kind, rest) {
        (b'i', []) => SortKey::Id,
        (b't', time) => {
            SortKey::Time(Timestamp::from_millis(i64::from_be_bytes(time.try_into().ok()?)))
        }
        (b'n', []) => SortKey::Text(None),
        (b's', text) => SortKey::Text(Some(String::from_utf8(text.to_vec()).ok()?)),
        _ => return None,
    };
    Some(PageKey { key, id: UserId::from_bytes(*id) })
}

#[cfg(test)]
mod tests;
