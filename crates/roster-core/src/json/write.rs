//! The canonical JSON writer: the same tree always gives the same bytes.
//!
//! It writes no white space, members in the order of the tree, the shortest form of each number
//! that parses to an equal one, and only the escapes that RFC 8259 section 7 requires.

use std::io::Write;

use super::Json;

/// Appends the tree as JSON text.
pub fn write_json(out: &mut Vec<u8>, json: &Json) {
    match json {
        Json::Null => out.extend_from_slice(b"null"),
        Json::Bool(true) => out.extend_from_slice(b"true"),
        Json::Bool(false) => out.extend_from_slice(b"false"),
        Json::Int(number) => write_display(out, number),
        // The debug form is the shortest that parses to an equal number, and it is valid JSON for
        // finite numbers.
        Json::Float(number) => write_display(out, &format_args!("{number:?}")),
        Json::Text(text) => write_text(out, text),
        Json::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                separate(index, out);
                write_json(out, item);
            }
            out.push(b']');
        }
        Json::Object(members) => write_object(out, members),
    }
}

/// Appends an object as JSON text.
pub(crate) fn write_object(out: &mut Vec<u8>, members: &[(String, Json)]) {
    out.push(b'{');
    for (index, (name, value)) in members.iter().enumerate() {
        separate(index, out);
        write_text(out, name);
        out.push(b':');
        write_json(out, value);
    }
    out.push(b'}');
}

/// Appends what stands before the item with this index.
pub fn separate(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.push(b',');
    }
}

/// Appends a string as JSON text, with its quotes.
pub fn write_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|b| *b < 0x20 || *b == b'"' || *b == b'\\') {
        let (plain, tail) = rest.split_at(at);
        out.extend_from_slice(plain);
        let Some((special, after)) = tail.split_first() else { break };
        match special {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            other => write_display(out, &format_args!("\\u{other:04x}")),
        }
        rest = after;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Appends the displayed form of a value.
pub(crate) fn write_display(out: &mut Vec<u8>, value: &dyn std::fmt::Display) {
    // Writing to a vector cannot fail.
    if write!(out, "{value}").is_err() {
        debug_assert!(false, "writing to a vector failed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::read;

    #[test]
    fn written_text_parses_to_an_equal_tree() {
        let text =
            r#"{"a":[null,true,false,-7,0.1,1e300,1.5e-300,-0.0,12.0],"q\"\\\n\t\u0001é😀":{}}"#;
        let tree = read(text.as_bytes()).expect("valid");
        let mut out = Vec::new();
        write_json(&mut out, &tree);
        assert_eq!(String::from_utf8(out.clone()).expect("UTF-8"), text);
        assert_eq!(read(&out), Ok(tree));
    }
}
