//! Records are split and cut without being parsed. A JSON parser without knowledge of records
//! agrees, whatever the bytes are.

use proptest::{
    arbitrary::any, collection::vec, prelude::ProptestConfig, prop_assert, prop_assert_eq,
    proptest, sample::Index,
};
use roster_core::{
    Attribute, Status, Timestamp, User, UserId,
    project::{Members, members},
};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::record::profile;

/// The names and the texts of an object's members, in their order.
fn read(bytes: &[u8]) -> Option<Vec<(&str, &str)>> {
    struct Split;

    impl<'de> Visitor<'de> for Split {
        type Value = Vec<(&'de str, &'de str)>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a record")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut record: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some((name, value)) = record.next_entry::<&str, &RawValue>()? {
                members.push((name, value.get()));
            }
            Ok(members)
        }
    }

    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let members = reader.deserialize_map(Split).ok()?;
    reader.end().ok()?;
    Some(members)
}

fn split(record: &[u8]) -> Option<Vec<(&'static str, &str)>> {
    let texts = members(record)?;
    let text = |attribute: &Attribute| Some((attribute.name(), texts.get(*attribute)?));
    Some(Attribute::ALL.iter().filter_map(text).collect())
}

fn in_table_order<'a>(mut members: Vec<(&'a str, &'a str)>) -> Vec<(&'a str, &'a str)> {
    members.sort_by_key(|(name, _)| Attribute::from_name(name));
    members
}

fn user(profile: roster_core::Profile) -> User {
    User {
        id: UserId::from_bytes([7; 16]),
        version: 3,
        status: Status::Suspended,
        profile,
        updated_at: Timestamp::from_millis(1_800_000_000_000),
    }
}

proptest! {
    #[test]
    fn every_record_is_split_as_a_json_parser_splits_it(profile in profile()) {
        let record = user(profile).to_record();
        prop_assert!(read(&record).is_some());
        prop_assert_eq!(split(&record), read(&record));
    }

    #[test]
    fn every_record_is_cut_to_the_selected_members(
        profile in profile(),
        wanted in vec(any::<Index>(), 0..6),
    ) {
        let record = user(profile).to_record();
        let mut wanted: Vec<Attribute> =
            wanted.iter().map(|index| *index.get(Attribute::ALL)).collect();
        let mut out = Vec::new();
        prop_assert_eq!(Members::new(&wanted).project(&record, &mut out), Some(()));
        wanted.extend([Attribute::Id, Attribute::Version]);
        let mut all = read(&record).expect("JSON");
        all.retain(|(name, _)| wanted.iter().any(|attribute| attribute.name() == *name));
        prop_assert_eq!(read(&out), Some(all));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn bytes_that_are_split_are_split_as_by_a_json_parser(
        profile in profile(),
        // Characters of JSON, and any others.
        changes in vec((any::<Index>(), "[\\[\\]{}\",:\\\\0-9eE.+u \n-]|\\PC", 0..3_u8), 1..4),
    ) {
        let mut bytes = user(profile).to_record().to_vec();
        for (index, text, kind) in changes {
            let at = index.index(bytes.len());
            let end = if kind == 0 { at } else { at + 1 };
            let text = if kind == 2 { "" } else { text.as_str() };
            bytes.splice(at..end, text.bytes());
            if bytes.is_empty() {
                return Ok(());
            }
        }
        if let Some(split) = split(&bytes) {
            prop_assert_eq!(Some(split), read(&bytes).map(in_table_order));
        }
    }

    #[test]
    fn bytes_that_are_cut_are_json_with_the_same_members(
        profile in profile(),
        index in any::<Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = user(profile).to_record().to_vec();
        let at = index.index(bytes.len());
        bytes[at] = byte;
        let everything = Members::new(Attribute::ALL);
        let mut out = Vec::new();
        if everything.project(&bytes, &mut out).is_some() {
            let mut all = read(&bytes).expect("JSON");
            all.retain(|(name, _)| Attribute::from_name(name).is_some());
            if !all.is_empty() {
                prop_assert_eq!(read(&out), Some(all));
            }
        }
    }
}
