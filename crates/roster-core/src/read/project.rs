//! Selects members of a record.
//!
//! It works on the bytes of the canonical JSON: members are copied whole, in their order, and not
//! parsed. Bytes that the writer could not have written, such as white space, are not a record.

use crate::{
    json::{member_name, skip_value},
    user::attribute::Attribute,
};

/// A selection of members; `id` and `version` are always included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members(Vec<Attribute>);

impl Members {
    /// A selection of these members.
    pub fn new(mut members: Vec<Attribute>) -> Self {
        members.extend([Attribute::Id, Attribute::Version]);
        members.sort();
        members.dedup();
        Self(members)
    }

    /// Whether it has this member.
    pub fn has(&self, attribute: Attribute) -> bool {
        self.0.contains(&attribute)
    }

    /// Appends the record with only these members; `None` if the bytes are not a record.
    pub fn project(&self, record: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let mut separator = b'{';
        each_member(record, |member| {
            if member.attribute.is_some_and(|attribute| self.0.contains(&attribute)) {
                out.push(separator);
                out.extend_from_slice(member.whole()?.as_bytes());
                separator = b',';
            }
            Some(())
        })?;
        out.push(b'}');
        Some(())
    }
}

/// The JSON texts of a record's members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texts<'r>([Option<&'r str>; Attribute::ALL.len()]);

impl<'r> Texts<'r> {
    /// The JSON text of a member's value, if the record has it.
    #[inline]
    pub fn get(&self, attribute: Attribute) -> Option<&'r str> {
        self.0.get(attribute.index()).copied().flatten()
    }
}

/// Splits a record into the JSON texts of its members; `None` if the bytes are not a record.
pub fn members(record: &[u8]) -> Option<Texts<'_>> {
    let mut texts = Texts([None; Attribute::ALL.len()]);
    each_member(record, |member| {
        let text = texts.0.get_mut(member.attribute?.index())?;
        text.replace(member.value()?).is_none().then_some(())
    })?;
    Some(texts)
}

/// The offsets of a member in the text of a record.
struct Member<'r> {
    /// `None` if no attribute has the name.
    attribute: Option<Attribute>,
    record: &'r str,
    name: usize,
    value: usize,
    end: usize,
}

impl<'r> Member<'r> {
    /// The text of the name and the value.
    fn whole(&self) -> Option<&'r str> {
        self.record.get(self.name..self.end)
    }

    fn value(&self) -> Option<&'r str> {
        self.record.get(self.value..self.end)
    }
}

/// Calls `take` for each member in order, until it returns `None`.
fn each_member<'r>(record: &'r [u8], mut take: impl FnMut(Member<'r>) -> Option<()>) -> Option<()> {
    let text = std::str::from_utf8(record).ok()?;
    let offset = |rest: &[u8]| text.len() - rest.len();
    let mut rest = record.strip_prefix(b"{")?;
    loop {
        let (name, value) = member_name(rest)?;
        let after = skip_value(value)?;
        let start = offset(rest);
        let attribute = Attribute::from_name(text.get(start + 1..start + 1 + name.len())?);
        let (value, end) = (offset(value), offset(after));
        take(Member { attribute, record: text, name: start, value, end })?;
        match after.split_first()? {
            (b',', more) => rest = more,
            (b'}', []) => return Some(()),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_selected_members_are_copied_in_their_order() {
        let record =
            br#"{"id":"x","version":3,"status":"active","name":"A \"B\"","emails":[{"value":1}]}"#;
        let mut out = Vec::new();
        let members = Members::new(vec![Attribute::Emails, Attribute::Name]);
        assert_eq!(members.project(record, &mut out), Some(()));
        let expected = br#"{"id":"x","version":3,"name":"A \"B\"","emails":[{"value":1}]}"#;
        assert_eq!(out, expected);
    }

    #[test]
    fn a_record_is_split_into_the_texts_of_its_members() {
        let record = br#"{"id":"x","version":3,"name":"A \"B\"","emails":[{"value":1}]}"#;
        let texts = members(record).expect("a record");
        let found = Attribute::ALL.iter().filter_map(|it| texts.get(*it).map(|text| (*it, text)));
        let split = [
            (Attribute::Id, "\"x\""),
            (Attribute::Version, "3"),
            (Attribute::Name, "\"A \\\"B\\\"\""),
            (Attribute::Emails, "[{\"value\":1}]"),
        ];
        assert_eq!(found.collect::<Vec<_>>(), split);
    }

    #[test]
    fn members_out_of_order_are_found_and_duplicates_are_rejected() {
        let texts = members(br#"{"name":"A","id":"x","version":3}"#).expect("a record");
        assert_eq!(texts.get(Attribute::Id), Some("\"x\""));
        assert_eq!(texts.get(Attribute::Version), Some("3"));
        assert_eq!(members(br#"{"id":"x","id":"y"}"#), None);
    }

    #[test]
    fn bytes_that_are_not_a_record_are_rejected() {
        for bytes in [
            &b""[..],
            b"{",
            b"{}",
            b"[]",
            br#"{"other":1}"#,
            br#"{"id":"x"} "#,
            br#"{"id": "x"}"#,
            br#"{"id":"x",}"#,
            br#"{"id":"x""#,
            br#"{"id":}"#,
            b"{\"id\":\"\xff\"}",
        ] {
            assert_eq!(members(bytes), None, "{}", String::from_utf8_lossy(bytes));
        }
    }
}
