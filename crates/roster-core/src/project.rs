//! Showing only some members of a record.
//!
//! Works on the bytes of the canonical JSON: members are cut out whole, in their order, and never
//! parsed into a user. What could not have been written here is no record, white space included.

use crate::{
    attribute::Attribute,
    json::{member_name, skip_value},
};

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

/// The members of a record, each as its JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texts<'r>([Option<&'r str>; Attribute::ALL.len()]);

impl<'r> Texts<'r> {
    /// The value of a member, if the record has it.
    #[inline]
    pub fn get(&self, attribute: Attribute) -> Option<&'r str> {
        self.0.get(attribute.place()).copied().flatten()
    }
}

/// Splits a record into the texts of its members; `None` if the bytes are no record.
pub fn members(record: &[u8]) -> Option<Texts<'_>> {
    let mut texts = Texts([None; Attribute::ALL.len()]);
    each_member(record, |member| {
        let text = texts.0.get_mut(member.attribute?.place())?;
        text.replace(member.value()?).is_none().then_some(())
    })?;
    Some(texts)
}

/// Where a member stands in the text of a record.
struct Member<'r> {
    /// None if no attribute has the name.
    attribute: Option<Attribute>,
    record: &'r str,
    name: usize,
    value: usize,
    end: usize,
}

impl<'r> Member<'r> {
    /// Name and value.
    fn whole(&self) -> Option<&'r str> {
        self.record.get(self.name..self.end)
    }

    fn value(&self) -> Option<&'r str> {
        self.record.get(self.value..self.end)
    }
}

/// Hands over the members in their order, until one is not taken.
fn each_member<'r>(record: &'r [u8], mut take: impl FnMut(Member<'r>) -> Option<()>) -> Option<()> {
    let text = std::str::from_utf8(record).ok()?;
    let place = |rest: &[u8]| text.len() - rest.len();
    let mut rest = record.strip_prefix(b"{")?;
    loop {
        let (name, value) = member_name(rest)?;
        let after = skip_value(value)?;
        let start = place(rest);
        let attribute = Attribute::from_name(text.get(start + 1..start + 1 + name.len())?);
        let (value, end) = (place(value), place(after));
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
        let texts = members(record).expect("a record");
        let shown = Attribute::ALL.iter().filter_map(|it| texts.get(*it).map(|text| (*it, text)));
        let split = [
            (Attribute::Id, "\"x\""),
            (Attribute::Version, "3"),
            (Attribute::Name, "\"A \\\"B\\\"\""),
            (Attribute::Emails, "[{\"value\":1}]"),
        ];
        assert_eq!(shown.collect::<Vec<_>>(), split);
    }

    #[test]
    fn members_out_of_their_order_are_found_and_none_stands_twice() {
        let texts = members(br#"{"name":"A","id":"x","version":3}"#).expect("a record");
        assert_eq!(texts.get(Attribute::Id), Some("\"x\""));
        assert_eq!(texts.get(Attribute::Version), Some("3"));
        assert_eq!(members(br#"{"id":"x","id":"y"}"#), None);
    }

    #[test]
    fn what_was_not_written_as_a_record_is_none() {
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
