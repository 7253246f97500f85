//! JSON pointers (RFC 6901) to the values of violations.
//!
//! A pointer is built while a body is traversed: a push returns the length to which the caller
//! later truncates, so a traversal without violations allocates at most once. Pointers have the
//! plain string form, not the URI fragment form.

use std::fmt::{self, Write};

/// One step of a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment<'a> {
    /// The member of an object, by its unescaped name.
    Member(&'a str),
    /// An index in an array.
    Index(usize),
}

impl<'a> From<&'a str> for Segment<'a> {
    fn from(name: &'a str) -> Self {
        Self::Member(name)
    }
}

impl From<usize> for Segment<'_> {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// A pointer to a value in a JSON document; the empty pointer is the document itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer(String);

/// The pointer with these segments.
pub fn pointer<'a>(segments: impl IntoIterator<Item = Segment<'a>>) -> Pointer {
    let mut pointer = Pointer::default();
    for segment in segments {
        pointer.push(segment);
    }
    pointer
}

impl Pointer {
    /// The pointer to the whole document.
    pub fn root() -> Self {
        Self::default()
    }

    /// The pointer to a member of this value.
    pub fn member(mut self, name: &str) -> Self {
        self.push_member(name);
        self
    }

    /// The pointer to an item of this array.
    pub fn index(mut self, index: usize) -> Self {
        self.push_index(index);
        self
    }

    /// Appends a segment and returns the length for [`Self::back_to`].
    pub fn push<'a>(&mut self, segment: impl Into<Segment<'a>>) -> usize {
        match segment.into() {
            Segment::Member(name) => self.push_member(name),
            Segment::Index(index) => self.push_index(index),
        }
    }

    /// Appends a member, with its name escaped, and returns the length for [`Self::back_to`].
    pub fn push_member(&mut self, name: &str) -> usize {
        let length = self.0.len();
        self.0.reserve(name.len() + 1);
        self.0.push('/');
        for c in name.chars() {
            match c {
                '~' => self.0.push_str("~0"),
                '/' => self.0.push_str("~1"),
                other => self.0.push(other),
            }
        }
        length
    }

    /// Appends an index and returns the length for [`Self::back_to`].
    pub fn push_index(&mut self, index: usize) -> usize {
        let length = self.0.len();
        // Writing to a String cannot fail.
        write!(self.0, "/{index}").unwrap_or_default();
        length
    }

    /// Truncates to a length that a push returned. A length beyond the end changes nothing.
    pub fn back_to(&mut self, length: usize) {
        if self.0.is_char_boundary(length) {
            self.0.truncate(length);
        }
    }

    /// The pointer as text, such as `/emails/0/value`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<Pointer> for String {
    fn from(pointer: Pointer) -> Self {
        pointer.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_pointer_has_its_segments() {
        assert_eq!(pointer([]).as_str(), "");
        assert_eq!(pointer(["email".into()]).to_string(), "/email");
        assert_eq!(
            pointer(["emails".into(), 0.into(), "value".into()]).as_str(),
            "/emails/0/value"
        );
        assert_eq!(Pointer::root().member("emails").index(12).as_str(), "/emails/12");
    }

    #[test]
    fn names_are_escaped() {
        for (name, text) in
            [("a/b", "/a~1b"), ("m~n", "/m~0n"), ("~1", "/~01"), ("", "/"), ("%é\"", "/%é\"")]
        {
            assert_eq!(pointer([name.into()]).as_str(), text);
        }
    }

    #[test]
    fn back_to_removes_segments() {
        let mut pointer = Pointer::root();
        let root = pointer.push("emails");
        let list = pointer.push(3);
        pointer.push_member("value");
        pointer.back_to(list);
        assert_eq!(pointer.as_str(), "/emails");
        pointer.back_to(99);
        assert_eq!(pointer.as_str(), "/emails");
        pointer.back_to(root);
        assert_eq!(pointer.as_str(), "");
    }

    proptest! {
        #[test]
        fn a_json_reader_finds_the_member(name in any::<String>(), index in 0usize..4) {
            let mut list = vec![Value::Null; index];
            list.push(Value::from("here"));
            let document = Value::Object([(name.clone(), Value::from(list))].into_iter().collect());
            let pointer = pointer([name.as_str().into(), index.into()]);
            prop_assert_eq!(document.pointer(pointer.as_str()), Some(&Value::from("here")));
        }
    }
}
