//! A group with very many members takes little more memory than the text of its body.
//!
//! The only test of its program, because it measures the memory of the process.
#![expect(clippy::expect_used, reason = "this is how a test fails")]

use std::fs;

use roster_core::limits::GROUP_BODY_BYTES_MAX;
use roster_scim::{Strictness, group, patch};

/// The largest amount of memory that the process had since the last call of [`reset`], in bytes.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kilobytes = line.trim().strip_suffix(" kB").expect("kilobytes");
    kilobytes.trim().parse::<usize>().expect("a number") * 1024
}

/// Forgets the peak. Returns the memory that is in use.
fn reset() -> usize {
    fs::write("/proc/self/clear_refs", "5").expect("the peak is reset");
    peak()
}

/// A part of the largest body, so that the test is quick.
const BODY_BYTES: usize = GROUP_BODY_BYTES_MAX / 4;

/// As many pieces as fit into a body.
fn filled(start: &str, piece: impl Fn(usize) -> String, end: &str) -> String {
    let mut text = String::with_capacity(BODY_BYTES);
    text.push_str(start);
    for number in 0.. {
        let piece = piece(number);
        if text.len() + piece.len() + end.len() + 1 > BODY_BYTES {
            break;
        }
        if number > 0 {
            text.push(',');
        }
        text.push_str(&piece);
    }
    text.push_str(end);
    text
}

fn id(number: usize) -> String {
    format!("0190d1c2-8000-7000-8000-{number:012}")
}

fn shown(number: usize) -> String {
    let id = id(number);
    format!(
        r#"{{"value":"{id}","display":"User {number}","type":"User","$ref":
        "https://directory.example/scim/v2/Users/{id}","more":[{{"a":0}},{{"a":0}}]}}"#
    )
}

fn bare(number: usize) -> String {
    format!(r#"{{"value":"{}"}}"#, id(number))
}

fn small(_: usize) -> String {
    "{}".to_owned()
}

#[test]
fn a_group_is_read_in_at_most_three_times_the_memory_of_its_body() {
    let group = r#"{"displayName":"a","members":["#;
    let unknown = r#"{"displayName":"a","unknown":["#;
    let add = r#"{"Operations":[{"value":["#;
    let add_end = r#"],"op":"add","path":"members"}]}"#;
    let within = r#"{"Operations":[{"op":"replace","value":{"displayName":"b","members":["#;
    let no_list = r#"{"Operations":[{"op":"replace","path":"displayName","value":["#;
    let bodies = [
        (filled(group, shown, "]}"), true, false),
        (filled(group, bare, "]}"), true, false),
        (filled(unknown, small, "]}"), true, false),
        (filled(add, shown, add_end), true, true),
        (filled(add, bare, add_end), true, true),
        (filled(within, shown, "]}}]}"), true, true),
        (filled(no_list, small, "]}]}"), true, true),
    ];
    for (number, (body, is_valid, is_patch)) in bodies.iter().enumerate() {
        let before = reset();
        let read = if *is_patch {
            let read = patch::group::read(body.as_bytes(), Strictness::Tolerant).expect("JSON");
            read.map(|patch| patch.members_named())
        } else {
            let read = group::read(body.as_bytes(), Strictness::Tolerant).expect("JSON");
            read.map(|group| group.members.len())
        };
        // The body itself is the first part of the three.
        let taken = peak() - before;
        assert_eq!(read.is_ok(), *is_valid, "body {number}: {read:?}");
        assert!(taken <= 2 * body.len(), "body {number}: {taken} bytes for {}", body.len());
    }
}
