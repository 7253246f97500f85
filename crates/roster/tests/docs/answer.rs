//! Compares a response in a document with a response of the service.
//!
//! Both are split into words. Words that differ in each run, such as ids, only need the same kind,
//! and must correspond to each other everywhere. White space between the words of a JSON text does
//! not count, so a document may break long lines.

use std::collections::BTreeMap;

/// The maximum width of a response in a document, in columns.
const COLUMNS: usize = 94;

/// The words of a document, each with the corresponding word of this run.
#[derive(Default)]
pub(crate) struct Words(BTreeMap<String, String>);

/// A kind of word that differs from run to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Id,
    Time,
    /// A random start with a counter: positions, tags of lists.
    Stamp,
    Request,
    Cursor,
    Release,
    /// An API key. Its id is part of it, and also a word of its own.
    Key,
    /// The id of an API key whose key is not shown.
    KeyId,
}

impl Words {
    /// A command with the words of this run.
    pub(crate) fn translated(&self, command: &str) -> String {
        let word = |told| self.0.get(told).map_or(told, String::as_str);
        words(command).into_iter().map(word).collect()
    }

    /// A response with the words of the document.
    pub(crate) fn told_again(&self, answer: &str) -> String {
        let told = |word| self.0.iter().find(|(_, given)| *given == word).map(|(told, _)| told);
        words(answer).into_iter().map(|word| told(word).map_or(word, String::as_str)).collect()
    }

    /// Returns the first difference, if there is one. Records the words of this run.
    pub(crate) fn compare(&mut self, told: &str, given: &str) -> Option<String> {
        self.compare_words(&plain(told), &plain(given))
    }

    /// The same for text that is no response: white space separates its words.
    pub(crate) fn compare_text(&mut self, told: &str, given: &str) -> Option<String> {
        let one_space = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        self.compare_words(&one_space(told), &one_space(given))
    }

    fn compare_words(&mut self, told: &str, given: &str) -> Option<String> {
        let (told, given) = (words(told), words(given));
        for (told, given) in key_ids(&told).zip(key_ids(&given)) {
            self.0.insert(told.to_owned(), given.to_owned());
            self.0.insert(format!("key:{told}"), format!("key:{given}"));
        }
        let kinds = [Kind::Id, Kind::Time, Kind::Stamp, Kind::Request, Kind::Cursor, Kind::Release];
        for kind in kinds.into_iter().chain([Kind::Key]) {
            let of_kind = |word: &&&str| Kind::of(word) == Some(kind);
            for (told, given) in told.iter().filter(of_kind).zip(given.iter().filter(of_kind)) {
                self.0.entry((*told).to_owned()).or_insert_with(|| (*given).to_owned());
            }
        }
        // A random id may have letters of one case alone, so only its place says what it is.
        for (told, given) in told.iter().zip(&given) {
            if Kind::of(told) == Some(Kind::KeyId) && is_alphanumeric_id(given) {
                self.0.entry((*told).to_owned()).or_insert_with(|| (*given).to_owned());
            }
        }
        for (told, given) in told.iter().zip(&given) {
            let means = self.0.get(*told).map_or(*told, String::as_str);
            if means != *given {
                return Some(format!("it says {told:?}, but it is {given:?}"));
            }
        }
        (told.len() != given.len())
            .then(|| format!("it has {} words, but there are {}", told.len(), given.len()))
    }
}

/// The ids of the API keys among the words.
fn key_ids<'a>(words: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let keys = words.iter().filter(|word| Kind::of(word) == Some(Kind::Key));
    keys.filter_map(|key| key.split('_').nth(1))
}

/// Splits a text into words: runs of characters that belong together, and single other characters.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    let inside = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    while let Some(first) = rest.chars().next() {
        let end = if inside(first) {
            rest.find(|c| !inside(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

impl Kind {
    fn of(word: &str) -> Option<Self> {
        let hex =
            |text: &str| text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let parts: Vec<&str> = word.split('-').collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        if word.starts_with("rst_") && word.split('_').count() == 4 {
            Some(Self::Key)
        } else if is_key_id(word) {
            Some(Self::KeyId)
        } else if lengths == [8, 4, 4, 4, 12] && parts.iter().all(|part| hex(part)) {
            Some(Self::Id)
        } else if word.len() == 24 && word.ends_with('Z') && word.find('T') == Some(10) {
            Some(Self::Time)
        } else if let [start, count, ..] = parts.as_slice()
            && start.len() == 16
            && hex(start)
            && digits(count)
        {
            Some(Self::Stamp)
        } else if word.len() == 32 && hex(word) {
            Some(Self::Request)
        } else if word.len() >= 60 && !word.contains(['.', ':']) {
            Some(Self::Cursor)
        } else if word.split('.').count() == 3 && word.split('.').all(digits) {
            Some(Self::Release)
        } else {
            None
        }
    }
}

/// Whether a word has ten letters and digits of both cases, perhaps before a colon.
fn is_key_id(word: &str) -> bool {
    let has = |kind: fn(&char) -> bool| word.chars().skip(1).any(|one| kind(&one));
    is_alphanumeric_id(word) && has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase)
}

/// Whether a word has ten letters and digits, perhaps before a colon.
fn is_alphanumeric_id(word: &str) -> bool {
    let id = word.strip_suffix(':').unwrap_or(word);
    id.len() == 10 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// A response without irrelevant parts: the date, line ends, white space between the words of JSON.
fn plain(answer: &str) -> String {
    let (head, body) = parts(answer);
    let mut text = String::new();
    for line in head.lines() {
        text.push_str(if line.starts_with("date: ") { "date:" } else { line.trim_end() });
        text.push('\n');
    }
    let mut inside = false;
    let mut escaped = false;
    for c in body.chars() {
        if inside || !c.is_whitespace() {
            text.push(c);
        }
        inside ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
    }
    text
}

/// The head and body of `curl -i` output. Without `-i` there is no head.
fn parts(answer: &str) -> (&str, &str) {
    if answer.starts_with("HTTP/") {
        answer.split_once("\n\n").unwrap_or((answer, ""))
    } else {
        ("", answer)
    }
}

/// A response as a document shows it: long JSON on several lines. If it has several JSON texts, one
/// per line, each one begins a line.
pub(crate) fn folded(answer: &str) -> String {
    let (head, body) = parts(answer);
    let mut text = String::new();
    if !head.is_empty() {
        text.push_str(head.trim_end());
        text.push('\n');
    }
    if !head.is_empty() && !body.trim().is_empty() {
        text.push('\n');
    }
    for line in body.trim().lines() {
        fold(line, 0, &mut text);
        text.push('\n');
    }
    text
}

/// Writes a JSON value, on one line if it fits.
fn fold(value: &str, indent: usize, text: &mut String) {
    let member = value.starts_with('"').then(|| value.find("\":")).flatten();
    let (name, value) = value.split_at(member.map_or(0, |end| end + 2));
    text.push_str(name);
    let bracket = value.chars().next().filter(|c| "[{".contains(*c));
    let Some(open) = bracket.filter(|_| indent + name.len() + value.len() > COLUMNS) else {
        return text.push_str(value);
    };
    text.push(open);
    let inner = value.get(1..value.len() - 1).unwrap_or_default();
    for (index, element) in elements(inner).into_iter().enumerate() {
        text.push_str(if index > 0 { ",\n" } else { "\n" });
        text.push_str(&" ".repeat(indent + 2));
        fold(element, indent + 2, text);
    }
    text.push('\n');
    text.push_str(&" ".repeat(indent));
    text.push(if open == '[' { ']' } else { '}' });
}

/// The elements between the commas of this level.
fn elements(inner: &str) -> Vec<&str> {
    let (mut depth, mut inside, mut escaped, mut begin) = (0_usize, false, false, 0);
    let mut found = Vec::new();
    for (at, c) in inner.char_indices() {
        match c {
            '"' if !escaped => inside = !inside,
            '[' | '{' if !inside => depth += 1,
            ']' | '}' if !inside => depth -= 1,
            ',' if !inside && depth == 0 => {
                found.push(inner.get(begin..at).unwrap_or_default());
                begin = at + 1;
            }
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    found.push(inner.get(begin..).unwrap_or_default());
    found
}

#[test]
fn what_differs_from_run_to_run_may_differ_if_it_does_so_everywhere() {
    let id = |n: u8| format!("0190d1c2-8000-7000-8000-00000000000{n}");
    let mut words = Words::default();
    let told = format!("HTTP/1.1 200 OK\ndate: then\n\n{{\"id\": \"{}\",\n \"n\": 1}}\n", id(1));
    let given = format!("HTTP/1.1 200 OK\ndate: now\n\n{{\"id\":\"{}\",\"n\":1}}", id(2));
    assert_eq!(words.compare(&told, &given), None);
    let command = format!("curl x/users/{}", id(1));
    assert_eq!(words.translated(&command), format!("curl x/users/{}", id(2)));
    assert_eq!(words.compare(&id(1), &id(2)), None);
    assert!(words.compare(&id(1), &id(3)).is_some(), "the same id stands for another");
    let key = |id: &str| format!("{{\"id\":\"{id}\",\"key\":\"rst_{id}_secret_sum{id}\"}}");
    assert_eq!(words.compare(&key("one"), &key("two")), None);
    assert_eq!(
        words.translated("-H 'Bearer rst_one_secret_sumone'"),
        "-H 'Bearer rst_two_secret_sumtwo'"
    );
    assert_eq!(words.compare("\"key:one\"", "\"key:two\""), None);
    let told = "created key hxRMikK9En: okta";
    assert_eq!(words.compare_text(told, "created key 7QK2ABCD9E: okta"), None);
    assert!(words.compare_text(told, "created key 7QK2ABCD9F: okta").is_some(), "another key");
}

#[test]
fn any_other_difference_is_told() {
    for (told, given) in [
        ("{\"name\":\"Ada\"}", "{\"name\":\"Eve\"}"),
        ("{\"name\":\"A b\"}", "{\"name\":\"Ab\"}"),
        ("{\"a\":1}", "{\"a\":1,\"b\":2}"),
        ("HTTP/1.1 200 OK\netag: \"1\"\n\n", "HTTP/1.1 200 OK\netag: \"2\"\n\n"),
        ("HTTP/1.1 200 OK\netag: \"1\"\n\n", "HTTP/1.1 200 OK\n\n"),
        ("{\"id\":\"x\"}", "{\"id\":\"0190d1c2-8000-7000-8000-000000000001\"}"),
        ("", "{}"),
    ] {
        assert!(Words::default().compare(told, given).is_some(), "{told} {given}");
    }
}

#[test]
fn long_json_is_printed_over_several_lines() {
    let long = "x".repeat(COLUMNS);
    let text = format!("{{\"a\":[1,{{\"b\":\"{{,\\\"\"}}],\"c\":\"{long}\"}}");
    let lines = format!("{{\n  \"a\":[1,{{\"b\":\"{{,\\\"\"}}],\n  \"c\":\"{long}\"\n}}\n");
    assert_eq!(folded(&text), lines);
    assert_eq!(plain(&lines), text);
    assert_eq!(folded(&format!("{text}\n{{\"b\":1}}\n")), format!("{lines}{{\"b\":1}}\n"));
}
