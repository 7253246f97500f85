//! Showing only some members of a record.
//!
//! Works on the bytes of the canonical JSON: members are cut out whole, in their order, and never
//! parsed into a user.

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::attribute::Attribute;

/// The members to show; `id` and `version` always are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members(Vec<Attribute>);

impl Members {
    /// These members.
    pub fn new(mut members: Vec<Attribute>) -> Self {
        members.extend([Attribute::Id, Attribute::Version]);
        members.sort();
        members.dedup();
        Self(members)
    }

    /// Appends the record with these members alone; `None` if the bytes are no record.
    pub fn project(&self, record: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let mut reader = serde_json::Deserializer::from_slice(record);
        reader.deserialize_map(Cut { members: &self.0, out }).ok()
    }
}

/// The members of a record in their order, each as its JSON text; `None` if the bytes are no
/// record.
pub fn members(record: &[u8]) -> Option<Vec<(Attribute, &str)>> {
    serde_json::Deserializer::from_slice(record).deserialize_map(Split).ok()
}

struct Split;

impl<'de> Visitor<'de> for Split {
    type Value = Vec<(Attribute, &'de str)>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut record: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::with_capacity(24);
        while let Some((name, value)) = record.next_entry::<&str, &RawValue>()? {
            let attribute = Attribute::from_name(name)
                .ok_or_else(|| serde::de::Error::custom("a member of no record"))?;
            members.push((attribute, value.get()));
        }
        Ok(members)
    }
}

struct Cut<'a> {
    members: &'a [Attribute],
    out: &'a mut Vec<u8>,
}

impl<'de> Visitor<'de> for Cut<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut record: A) -> Result<(), A::Error> {
        let mut separator = b'{';
        while let Some((name, value)) = record.next_entry::<&str, &RawValue>()? {
            let wanted = Attribute::from_name(name)
                .is_some_and(|attribute| self.members.contains(&attribute));
            if wanted {
                self.out.extend_from_slice(&[separator, b'"']);
                self.out.extend_from_slice(name.as_bytes());
                self.out.extend_from_slice(b"\":");
                self.out.extend_from_slice(value.get().as_bytes());
                separator = b',';
            }
        }
        self.out.push(b'}');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_wanted_members_are_shown_in_their_order() {
        let record =
            br#"{"id":"x","version":3,"status":"active","name":"A \"B\"","emails":[{"value":1}]}"#;
        let mut out = Vec::new();
        let members = Members::new(vec![Attribute::Emails, Attribute::Name]);
        assert_eq!(members.project(record, &mut out), Some(()));
        let shown = br#"{"id":"x","version":3,"name":"A \"B\"","emails":[{"value":1}]}"#;
        assert_eq!(out, shown);
    }

    #[test]
    fn a_record_is_split_into_the_texts_of_its_members() {
        let record = br#"{"id":"x","version":3,"name":"A \"B\"","emails":[{"value":1}]}"#;
        let split = [
            (Attribute::Id, "\"x\""),
            (Attribute::Version, "3"),
            (Attribute::Name, "\"A \\\"B\\\"\""),
            (Attribute::Emails, "[{\"value\":1}]"),
        ];
        assert_eq!(super::members(record), Some(split.to_vec()));
        assert_eq!(super::members(br#"{"other":1}"#), None);
    }
}
