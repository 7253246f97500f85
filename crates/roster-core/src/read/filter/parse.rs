//! The parser (RFC 7644 section 3.4.2.2, figure 1): one pass from left to right.
//!
//! Length, depth and number of terms are limited before anything is built. Positions are bytes of
//! the text.

use super::{
    FilterFault,
    expression::{Expression, Operator},
    names::Names,
};
use crate::{
    json::{self, Json},
    limits::{FILTER_DEPTH_MAX, FILTER_LENGTH_MAX, FILTER_TERMS_MAX},
};

/// The maximum length in bytes of an unknown word that the detail of a fault repeats.
const WORD_SHOWN_MAX: usize = 256;

/// Parses a whole filter, or a condition, with the names of an interface.
pub fn parse<N: Names>(text: &str, names: &N) -> Parsed<N> {
    let mut parser = Parser::new(text, names)?;
    let expression = parser.any_of(None)?;
    if parser.at == text.len() {
        return Ok(expression);
    }
    Err(match parser.peek() {
        Some(b')') => parser.fault("there is no ( for this )"),
        Some(b']') => parser.fault("there is no [ for this ]"),
        _ => parser.fault("and, or, or the end was expected"),
    })
}

/// The path of a SCIM PATCH operation: a value, the values of a list that match a condition, or a
/// part of each of them.
#[derive(Clone, Debug)]
pub struct ValuePath<N: Names> {
    /// The name.
    pub name: N::Name,
    /// The condition in brackets.
    pub condition: Option<Expression<N::Path>>,
    /// The part after the brackets.
    pub part: Option<N::Name>,
}

/// Parses the path of a PATCH operation: `name`, `list[condition]` or `list[condition].part` (RFC
/// 7644 section 3.5.2, figure 7).
pub fn parse_value_path<N: Names>(text: &str, names: &N) -> Result<ValuePath<N>, FilterFault> {
    let mut parser = Parser::new(text, names)?;
    let start = parser.at;
    let name = parser.name(None)?;
    let (mut condition, mut part) = (None, None);
    if parser.peek() == Some(b'[') {
        condition = Some(parser.bracketed(&name, start)?);
        if parser.peek() == Some(b'.') {
            parser.at += 1;
            part = Some(parser.name(Some(&name))?);
        }
    }
    if parser.at == text.len() {
        return Ok(ValuePath { name, condition, part });
    }
    Err(parser.fault("the end of the path was expected"))
}

/// The fault of a word that is no name or operator. A long word is not repeated.
fn unknown_word(position: usize, word: &str, detail: String) -> FilterFault {
    let is_long = word.len() > WORD_SHOWN_MAX;
    let detail = if is_long { "no name and no operator is this long".to_owned() } else { detail };
    FilterFault { position, detail }
}

struct Parser<'t, N> {
    text: &'t str,
    at: usize,
    names: &'t N,
    terms: usize,
    depth: usize,
}

type Parsed<N> = Result<Expression<<N as Names>::Path>, FilterFault>;

impl<'t, N: Names> Parser<'t, N> {
    fn new(text: &'t str, names: &'t N) -> Result<Self, FilterFault> {
        if text.len() > FILTER_LENGTH_MAX {
            let detail = format!("a filter has at most {FILTER_LENGTH_MAX} bytes");
            return Err(FilterFault { position: FILTER_LENGTH_MAX, detail });
        }
        Ok(Self { text, at: 0, names, terms: 0, depth: 0 })
    }

    /// A chain of `or`.
    fn any_of(&mut self, within: Option<&N::Name>) -> Parsed<N> {
        self.deeper()?;
        let first = self.all_of(within)?;
        let mut further = Vec::new();
        while self.take_word("or") {
            further.push(self.all_of(within)?);
        }
        self.depth -= 1;
        Ok(Expression::chain(first, further, Expression::Or))
    }

    /// A chain of `and`, which has the higher precedence.
    fn all_of(&mut self, within: Option<&N::Name>) -> Parsed<N> {
        let first = self.one(within)?;
        let mut further = Vec::new();
        while self.take_word("and") {
            further.push(self.one(within)?);
        }
        Ok(Expression::chain(first, further, Expression::And))
    }

    fn one(&mut self, within: Option<&N::Name>) -> Parsed<N> {
        self.skip_spaces();
        let start = self.at;
        if self.peek() == Some(b'(') {
            return self.group(within);
        }
        if self.word().eq_ignore_ascii_case("not") {
            self.skip_spaces();
            if self.peek() != Some(b'(') {
                return Err(self.fault("( was expected: not takes its condition in parentheses"));
            }
            let inner = self.group(within)?;
            return Ok(Expression::Not(Box::new(inner)));
        }
        self.at = start;
        let name = self.name(within)?;
        if self.peek() == Some(b'[') {
            if within.is_some() {
                return Err(self.fault("brackets cannot be nested"));
            }
            return self.entry(&name, start);
        }
        self.test(&name)
    }

    fn name(&mut self, within: Option<&N::Name>) -> Result<N::Name, FilterFault> {
        let start = self.at;
        let word = self.word();
        if word.is_empty() {
            return Err(self.fault(self.names.expected(within)));
        }
        let resolved = self.names.resolve(word, within);
        resolved.map_err(|detail| unknown_word(start, word, detail))
    }

    fn group(&mut self, within: Option<&N::Name>) -> Parsed<N> {
        let open = self.at;
        self.at += 1;
        let inner = self.any_of(within)?;
        self.skip_spaces();
        if self.peek() != Some(b')') {
            return Err(self.unclosed(')', open));
        }
        self.at += 1;
        Ok(inner)
    }

    /// `list[condition]` and an optional part after it.
    fn entry(&mut self, list: &N::Name, start: usize) -> Parsed<N> {
        let mut inner = self.bracketed(list, start)?;
        if self.peek() == Some(b'.') {
            if !self.names.dialect().part_after_brackets {
                let detail = "put the whole condition into the brackets, like [type eq \"work\" \
                              and value ew \"@example.com\"]";
                return Err(self.fault(detail));
            }
            self.at += 1;
            let part = self.name(Some(list))?;
            inner = inner.and(self.test(&part)?);
        }
        let entry = self.names.entry(list, inner);
        entry.map_err(|detail| FilterFault { position: start, detail })
    }

    /// The condition in brackets at the current position; the list begins at `start`.
    fn bracketed(&mut self, list: &N::Name, start: usize) -> Parsed<N> {
        let takes = self.names.takes_brackets(list);
        takes.map_err(|detail| FilterFault { position: start, detail })?;
        let open = self.at;
        self.at += 1;
        let inner = self.any_of(Some(list))?;
        self.skip_spaces();
        if self.peek() != Some(b']') {
            return Err(self.unclosed(']', open));
        }
        self.at += 1;
        Ok(inner)
    }

    fn test(&mut self, name: &N::Name) -> Parsed<N> {
        self.terms += 1;
        if self.terms > FILTER_TERMS_MAX {
            let detail = format!("a filter has at most {FILTER_TERMS_MAX} tests");
            return Err(self.fault(detail));
        }
        self.skip_spaces();
        let start = self.at;
        let word = self.word();
        let Some(operator) = Operator::parse(word) else {
            let detail = if word.is_empty() {
                "an operator was expected: eq, ne, co, sw, ew, gt, ge, lt, le or pr".to_owned()
            } else {
                format!("there is no operator {word}: use eq, ne, co, sw, ew, gt, ge, lt, le or pr")
            };
            return Err(unknown_word(start, word, detail));
        };
        let at = |position| move |detail| FilterFault { position, detail };
        self.names.takes(name, operator).map_err(at(start))?;
        if operator == Operator::Present {
            return self.names.test(name, operator, None).map_err(at(start));
        }
        if self.peek().is_some_and(|byte| byte != b' ') {
            return Err(self.fault("a space was expected"));
        }
        self.skip_spaces();
        let start = self.at;
        let literal = self.literal()?;
        self.names.test(name, operator, Some(literal)).map_err(at(start))
    }

    /// A JSON text, number, boolean or null.
    fn literal(&mut self) -> Result<Json, FilterFault> {
        let start = self.at;
        let rest = self.rest();
        let length = match rest.as_bytes().first() {
            None => return Err(self.fault("a value was expected")),
            Some(b'"') => match text_length(rest.as_bytes()) {
                Some(length) => length,
                None => return Err(self.fault("this text is not closed by a \"")),
            },
            Some(b'\'') => return Err(self.fault("write texts in double quotation marks")),
            Some(_) if self.names.dialect().bare_words => bare_word_length(rest),
            Some(_) => rest.bytes().take_while(|byte| is_bare(*byte)).count(),
        };
        let written = rest.get(..length).unwrap_or_default();
        self.at += length;
        // Most texts have no escapes to decode.
        let plain = written.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        if let Some(plain) = plain.filter(|text| !text.bytes().any(|b| b == b'\\' || b < 0x20)) {
            return Ok(Json::Text(plain.to_owned()));
        }
        let read = json::read(written.as_bytes()).ok().filter(|value| {
            matches!(
                value,
                Json::Text(_) | Json::Int(_) | Json::Float(_) | Json::Bool(_) | Json::Null
            )
        });
        read.or_else(|| self.bare_word(written)).ok_or_else(|| {
            let detail = if written.starts_with('"') {
                "this text is not a valid JSON string"
            } else if written.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
                "this is not a JSON number, or it is too large"
            } else {
                "a value was expected: a text in quotation marks, a number, true, false or null"
            };
            FilterFault { position: start, detail: detail.to_owned() }
        })
    }

    /// A text without quotation marks, if the dialect accepts it. A keyword of the grammar is not
    /// such a text: there, a value is missing.
    fn bare_word(&self, written: &str) -> Option<Json> {
        let is_word = !written.is_empty()
            && !written.contains(['"', '\''])
            && !LINKS.iter().any(|link| link.eq_ignore_ascii_case(written))
            && Operator::parse(written).is_none();
        (self.names.dialect().bare_words && is_word).then(|| Json::Text(written.to_owned()))
    }

    fn deeper(&mut self) -> Result<(), FilterFault> {
        self.depth += 1;
        if self.depth > FILTER_DEPTH_MAX {
            let detail = format!("a filter nests at most {FILTER_DEPTH_MAX} deep");
            return Err(self.fault(detail));
        }
        Ok(())
    }

    /// Consumes this word if it is next, regardless of case.
    fn take_word(&mut self, wanted: &str) -> bool {
        let before = self.at;
        self.skip_spaces();
        // The word of a chain needs a space or a bracket before it.
        let stuck = self.at == before && self.text.get(..before).is_some_and(|t| t.ends_with('"'));
        let found = !stuck && self.word().eq_ignore_ascii_case(wanted);
        if !found {
            self.at = before;
            self.skip_spaces();
        }
        found
    }

    fn word(&mut self) -> &'t str {
        let rest = self.rest();
        let length = rest.bytes().take_while(|byte| is_of_word(*byte)).count();
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    fn skip_spaces(&mut self) {
        self.at += self.rest().bytes().take_while(|byte| *byte == b' ').count();
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fault(&self, detail: impl Into<String>) -> FilterFault {
        FilterFault { position: self.at, detail: detail.into() }
    }

    fn unclosed(&self, wanted: char, open: usize) -> FilterFault {
        self.fault(format!("and, or, or the {wanted} for byte {open} was expected"))
    }
}

const fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b':' | b'$') || byte > 0x7F
}

/// The words between conditions.
const LINKS: [&str; 3] = ["and", "or", "not"];

/// The length of a bare word: it ends before a space or a bracket.
fn bare_word_length(rest: &str) -> usize {
    rest.find([' ', '(', ')', '[', ']']).unwrap_or(rest.len())
}

const fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+')
}

/// The length of a JSON text with its quotation marks; `None` if it is not closed.
fn text_length(bytes: &[u8]) -> Option<usize> {
    let mut escaped = false;
    let closing = bytes.iter().skip(1).position(|byte| {
        let closes = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        closes
    });
    closing.map(|at| at + 2)
}
