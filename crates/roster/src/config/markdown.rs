//! The settings as tables for the manual.
//!
//! `docs/configuration.md` contains this text, and a test compares both.

use std::fmt::Write as _;

use super::group::Group;
use super::kind::Kind;
use super::table::{SETTINGS, Setting};

/// A heading and a table for each group of settings, in the order of the help.
pub fn settings_as_markdown() -> String {
    let mut text = String::new();
    let mut group: Option<Group> = None;
    for setting in SETTINGS {
        if group != Some(setting.group) {
            group = Some(setting.group);
            let gap = if text.is_empty() { "" } else { "\n" };
            // Writing to a string cannot fail.
            let _infallible = writeln!(
                text,
                "{gap}### {}\n\n| Key | Default | Values | What it does |\n|---|---|---|---|",
                setting.group.heading()
            );
        }
        let Setting { key, doc, .. } = setting;
        let _infallible =
            writeln!(text, "| `{key}` | {} | {} | {doc} |", default(setting), values(setting));
    }
    text
}

fn default(setting: &Setting) -> String {
    if setting.default.is_empty() { "not set".to_owned() } else { format!("`{}`", setting.default) }
}

fn values(setting: &Setting) -> String {
    let range = setting.kind.range();
    match &setting.kind {
        Kind::Address(_) => "address:port".to_owned(),
        Kind::Directory(_) => "directory".to_owned(),
        Kind::File(_) => "file".to_owned(),
        Kind::BaseUrl(_) => "http or https URL".to_owned(),
        Kind::Database(_) => "postgres URL".to_owned(),
        Kind::Hosts(_) => "host names".to_owned(),
        Kind::Networks(_) => "addresses and networks".to_owned(),
        Kind::Origins(_) => "http or https origins".to_owned(),
        Kind::Text { what, .. } => (*what).to_owned(),
        Kind::Switch(_) | Kind::OptionalSwitch(_) => "true, false".to_owned(),
        Kind::Choice { words, .. } => words.join(", "),
        Kind::Count { .. } | Kind::Retention { .. } => range.unwrap_or_default(),
        Kind::Bytes { .. } => format!("{} bytes", range.unwrap_or_default()),
        Kind::Millis { .. } => format!("{} ms", range.unwrap_or_default()),
    }
}
