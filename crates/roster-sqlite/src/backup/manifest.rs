//! The manifest of a backup: one line of JSON after the database.
//!
//! It is parsed only after the digest was verified. Unknown members are ignored, so newer versions
//! may add members. A change that older versions must not ignore increments the format.

use std::fmt;

use roster_core::{Json, LogId, Timestamp, json};

/// The format of backups that this program writes, and the newest that it reads.
pub(crate) const FORMAT: i64 = 1;

/// The manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The format of the file.
    pub format: i64,
    /// How many migrations the database has had.
    pub schema: i64,
    /// The identity of its change log.
    pub log_id: LogId,
    /// How many events it had.
    pub position: i64,
    /// How many users the collection had.
    pub users: i64,
    /// The number of stored deleted users.
    pub deleted_users: i64,
    /// When the backup was made.
    pub created_at: Timestamp,
    /// The version of the program that made it.
    pub program: String,
}

impl Manifest {
    /// The members of the manifest, in their order in the file.
    pub fn members(&self) -> Vec<(String, Json)> {
        let text = |text: String| Json::Text(text);
        let members = [
            ("format", Json::Int(self.format)),
            ("schema", Json::Int(self.schema)),
            ("log_id", text(self.log_id.to_string())),
            ("position", Json::Int(self.position)),
            ("users", Json::Int(self.users)),
            ("deleted_users", Json::Int(self.deleted_users)),
            ("created_at", text(self.created_at.to_string())),
            ("program", text(self.program.clone())),
        ];
        members.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// The manifest as JSON.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        json::write_json(&mut out, &Json::Object(self.members()));
        out
    }

    /// Parses a manifest. Returns `None` for anything else.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let tree = json::read(text).ok()?;
        let number = |name: &str| match tree.member(name) {
            Some(Json::Int(number)) if *number >= 0 => Some(*number),
            _ => None,
        };
        let text = |name: &str| match tree.member(name) {
            Some(Json::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        Some(Self {
            format: number("format")?,
            schema: number("schema")?,
            log_id: LogId::parse(text("log_id")?)?,
            position: number("position")?,
            users: number("users")?,
            deleted_users: number("deleted_users")?,
            created_at: Timestamp::parse(text("created_at")?)?,
            program: text("program")?.to_owned(),
        })
    }
}

impl fmt::Display for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { log_id, position, users, deleted_users, created_at, .. } = self;
        write!(
            f,
            "{users} users and {deleted_users} deleted users, log {log_id} up to position \
             {position}, as of {created_at}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_equal() {
        let manifest = Manifest {
            format: 1,
            schema: 2,
            log_id: LogId([0, 1, 2, 3, 0xfc, 0xfd, 0xfe, 0xff]),
            position: 7,
            users: 5,
            deleted_users: 1,
            created_at: Timestamp::from_millis(1_700_000_000_007),
            program: "0.1.0".to_owned(),
        };
        assert_eq!(Manifest::read(&manifest.to_json()), Some(manifest));
        for other in ["", "{}", "[]", r#"{"format":1}"#] {
            assert_eq!(Manifest::read(other.as_bytes()), None, "{other}");
        }
    }
}
