//! The canonical JSON of a group, which rows, events and responses contain.

use bytes::Bytes;

use super::Group;
use crate::{
    id::UserId,
    json::{self, Json},
    timestamp::Timestamp,
    user::CorruptRecord,
};

impl Group {
    /// The canonical JSON.
    pub fn to_record(&self) -> Bytes {
        let text = |text: String| Json::Text(text);
        let mut members = vec![
            ("id".to_owned(), text(self.id.to_string())),
            ("version".to_owned(), Json::Int(self.version)),
            ("display_name".to_owned(), text(self.display_name.clone())),
        ];
        if let Some(external_id) = &self.external_id {
            members.push(("external_id".to_owned(), text(external_id.clone())));
        }
        let count = Json::Int(i64::try_from(self.member_count).unwrap_or(i64::MAX));
        members.push(("member_count".to_owned(), count));
        members.push(("created_at".to_owned(), text(self.id.created_at().to_string())));
        members.push(("updated_at".to_owned(), text(self.updated_at.to_string())));
        let mut out = Vec::with_capacity(256);
        json::write_object(&mut out, &members);
        Bytes::from(out)
    }

    /// Parses a record without checking its values, so records that older rules accepted stay
    /// readable.
    pub fn from_record(record: &[u8]) -> Result<Self, CorruptRecord> {
        let corrupt = |member: &str| CorruptRecord { member: member.to_owned() };
        let tree = json::read(record).map_err(|_| corrupt("its JSON"))?;
        let text = |name: &str| match tree.member(name) {
            Some(Json::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        let Some(Json::Int(version)) = tree.member("version") else {
            return Err(corrupt("version"));
        };
        let Some(Json::Int(member_count)) = tree.member("member_count") else {
            return Err(corrupt("member_count"));
        };
        Ok(Self {
            id: text("id").and_then(UserId::parse).ok_or_else(|| corrupt("id"))?,
            version: *version,
            display_name: text("display_name").ok_or_else(|| corrupt("display_name"))?.to_owned(),
            external_id: text("external_id").map(str::to_owned),
            member_count: member_count.unsigned_abs(),
            updated_at: text("updated_at")
                .and_then(Timestamp::parse)
                .ok_or_else(|| corrupt("updated_at"))?,
        })
    }
}
