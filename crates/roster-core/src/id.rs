//! The id of a user or group: a UUIDv7 (RFC 9562) that the server creates. It accepts one from a
//! client only to restore a user.
//!
//! An id is 36 characters, which are written in lower case and read in any case (RFC 9562 section
//! 4). Its first 48 bits are the time of creation, which gives `created_at` and the order of
//! creation without further columns.

use std::fmt;

use uuid::Uuid;

use crate::timestamp::Timestamp;

/// The id of a user or group, in the order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserId(Uuid);

impl UserId {
    /// Parses an id with its hyphens, in any case; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 36 {
            return None;
        }
        Uuid::try_parse(text).ok().map(Self)
    }

    /// The id with these bytes, most significant first.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// The id from the bytes of a column; `None` unless there are 16.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        Uuid::from_slice(bytes).ok().map(Self)
    }

    /// The bytes, most significant first. Their order is the order of ids.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// Whether it is a UUID of version 7, as all ids of users are.
    pub fn is_version_7(self) -> bool {
        self.0.get_version_num() == 7 && self.0.get_variant() == uuid::Variant::RFC4122
    }

    /// The time in the first 48 bits.
    pub fn created_at(self) -> Timestamp {
        let mut millis = [0; 8];
        for (to, from) in millis.iter_mut().skip(2).zip(self.0.as_bytes()) {
            *to = *from;
        }
        Timestamp::from_millis(i64::from_be_bytes(millis))
    }
}

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffer = Uuid::encode_buffer();
        f.write_str(self.0.as_hyphenated().encode_lower(&mut buffer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "0190d1c2-8000-7000-8000-000000000001";

    #[test]
    fn is_read_in_any_case_and_written_in_lower_case() {
        for text in [TEXT, "0190D1C2-8000-7000-8000-000000000001"] {
            assert_eq!(UserId::parse(text).map(|id| id.to_string()).as_deref(), Some(TEXT));
        }
        for other in [
            "0190d1c2800070008000000000000001",
            "{0190d1c2-8000-7000-8000-000000000001}",
            "0190d1c2-8000-7000-8000-00000000000",
            "",
            "ada",
        ] {
            assert_eq!(UserId::parse(other), None, "{other}");
        }
    }

    #[test]
    fn contains_the_time_of_creation() {
        let id = UserId::parse(TEXT).map(UserId::created_at);
        assert_eq!(id, Some(Timestamp::from_millis(0x0190_d1c2_8000)));
    }
}
