//! Rust without its comments and the inside of its strings.
//!
//! Every byte that is taken out becomes a space and line breaks stay, so that a place in what is
//! left is the same place in the file. It is no parser: it knows only where text begins and ends.

/// Takes out comments, strings and characters.
pub(super) fn strip(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    let mut inside_name = false;
    while let Some(first) = rest.chars().next() {
        let taken = taken_out(rest, inside_name);
        let kept = if taken == 0 { first.len_utf8() } else { taken };
        let (piece, after) = rest.split_at(kept);
        if taken == 0 {
            out.push(first);
        } else {
            out.extend(piece.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        }
        inside_name = taken == 0 && (first.is_alphanumeric() || first == '_');
        rest = after;
    }
    out
}

/// How many bytes at the start of `rest` are a comment, a string or a character; 0 for none.
fn taken_out(rest: &str, inside_name: bool) -> usize {
    if rest.starts_with("//") {
        rest.find('\n').unwrap_or(rest.len())
    } else if rest.starts_with("/*") {
        block_comment(rest)
    } else if rest.starts_with('"') {
        quoted(rest)
    } else if rest.starts_with('\'') {
        character(rest)
    } else if !inside_name {
        raw_string(rest)
    } else {
        0
    }
}

/// The length of a block comment, comments inside it included.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(here) = rest.get(at..).filter(|here| !here.is_empty()) {
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth = depth.saturating_sub(1);
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of a string with escapes.
fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a character; 0 for a lifetime.
fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            // The escaped character itself may be a quote.
            chars.next();
            chars.find(|(_, c)| *c == '\'').map_or(0, |(end, _)| end + 1)
        }
        Some(_) => match chars.next() {
            Some((end, '\'')) => end + 1,
            Some(_) | None => 0,
        },
        None => 0,
    }
}

/// The length of a raw string; 0 for anything else.
fn raw_string(rest: &str) -> usize {
    let Some(marked) = ["br", "cr", "r"].iter().find_map(|mark| rest.strip_prefix(mark)) else {
        return 0;
    };
    let body = marked.trim_start_matches('#');
    let hashes = marked.len() - body.len();
    let Some(body) = body.strip_prefix('"') else {
        return 0;
    };
    let end = format!("\"{}", "#".repeat(hashes));
    let before = rest.len() - body.len();
    body.find(&end).map_or(rest.len(), |at| before + at + end.len())
}
