//! Selects members of a record.
//!
//! It works on the bytes of the canonical JSON: members are copied whole, in their order, and not
//! parsed. Bytes that the writer could not have written, such as white space, are not a record.

use crate::{
    json::{member_name, skip_value},
    user::attribute::Attribute,
};

/// A selection of members by their names; `id` and `version` are always included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members(Vec<&'static str>);

impl Members {
    /// A selection of these members of users.
    pub fn new(members: &[Attribute]) -> Self {
        Self::named(members.iter().map(|attribute| attribute.name()).collect())
    }

    /// A selection of the members with these names.
    pub fn named(mut names: Vec<&'static str>) -> Self {
        names.extend([Attribute::Id.name(), Attribute::Version.name()]);
        Self(names)
    }

    /// Whether it has this member.
    pub fn has(&self, attribute: Attribute) -> bool {
        self.0.contains(&attribute.name())
    }

    /// Appends the record with only these members; `None` if the bytes are not a record.
    pub fn project(&self, record: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let mut separator = b'{';
        each_member(record, |member| {
            if self.0.contains(&member.name()?) {
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
        let text = texts.0.get_mut(Attribute::from_name(member.name()?)?.index())?;
        text.replace(member.value()?).is_none().then_some(())
    })?;
    Some(texts)
}

/// The offsets of a member in the text of a record.
struct Member<'r> {
    record: &'r str,
    name: usize,
    name_length: usize,
    value: usize,
    end: usize,
}

impl<'r> Member<'r> {
    fn name(&self) -> Option<&'r str> {
        self.record.get(self.name + 1..self.name + 1 + self.name_length)
    }

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
        let (start, name_length) = (offset(rest), name.len());
        let (value, end) = (offset(value), offset(after));
        take(Member { record: text, name: start, name_length, value, end })?;
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
        let members = Members::new(&[Attribute::Emails, Attribute::Name]);
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
