//! The grammar (RFC 7644 section 3.4.2.2, figure 1), read in one pass from left to right.
//!
//! Bounded in length, depth and terms before anything is built; positions are bytes of the text.

use std::iter;

use super::{
    FilterFault,
    expression::{Expression, Operand, Operator, Path, Test},
    literal, names,
    names::Names,
};
use crate::{
    attribute::{Attribute, Kind},
    json::{self, Json},
    limits::{FILTER_DEPTH_MAX, FILTER_LENGTH_MAX, FILTER_TERMS_MAX},
};

/// Reads a whole filter.
pub(super) fn parse(text: &str, names: &dyn Names) -> Result<Expression, FilterFault> {
    if text.len() > FILTER_LENGTH_MAX {
        let detail = format!("a filter has at most {FILTER_LENGTH_MAX} bytes");
        return Err(FilterFault { position: FILTER_LENGTH_MAX, detail });
    }
    let mut parser = Parser { text, at: 0, names, terms: 0, depth: 0 };
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

struct Parser<'t> {
    text: &'t str,
    at: usize,
    names: &'t dyn Names,
    terms: usize,
    depth: usize,
}

type Parsed = Result<Expression, FilterFault>;

impl<'t> Parser<'t> {
    /// A chain of `or`.
    fn any_of(&mut self, within: Option<Attribute>) -> Parsed {
        self.deeper()?;
        let first = self.all_of(within)?;
        let mut further = Vec::new();
        while self.take_word("or") {
            further.push(self.all_of(within)?);
        }
        self.depth -= 1;
        Ok(chain(first, further, Expression::Or))
    }

    /// A chain of `and`, which binds closer.
    fn all_of(&mut self, within: Option<Attribute>) -> Parsed {
        let first = self.one(within)?;
        let mut further = Vec::new();
        while self.take_word("and") {
            further.push(self.one(within)?);
        }
        Ok(chain(first, further, Expression::And))
    }

    fn one(&mut self, within: Option<Attribute>) -> Parsed {
        self.skip_spaces();
        let start = self.at;
        if self.peek() == Some(b'(') {
            return self.group(within);
        }
        let word = self.word();
        if word.is_empty() {
            let wanted = match within {
                Some(list) => format!("a part of {} was expected", list.name()),
                None => "the name of a member was expected".to_owned(),
            };
            return Err(self.fault(wanted));
        }
        if word.eq_ignore_ascii_case("not") {
            self.skip_spaces();
            if self.peek() != Some(b'(') {
                return Err(self.fault("( was expected: not takes its condition in parentheses"));
            }
            let inner = self.group(within)?;
            return Ok(Expression::Not(Box::new(inner)));
        }
        let resolved = self.names.resolve(word, within);
        let path = resolved.map_err(|detail| FilterFault { position: start, detail })?;
        if self.peek() == Some(b'[') {
            return self.entry(&path, within, start);
        }
        self.test(path)
    }

    fn group(&mut self, within: Option<Attribute>) -> Parsed {
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

    /// `list[condition]`.
    fn entry(&mut self, path: &Path, within: Option<Attribute>, start: usize) -> Parsed {
        if within.is_some() {
            return Err(self.fault("brackets do not stand within brackets"));
        }
        let list = match path {
            Path::Member(attribute) if is_compound(*attribute) => *attribute,
            Path::Member(_) | Path::Part(..) | Path::Free(_) => {
                let detail = "only a list takes a condition in brackets".to_owned();
                return Err(FilterFault { position: start, detail });
            }
        };
        let open = self.at;
        self.at += 1;
        let inner = self.any_of(Some(list))?;
        self.skip_spaces();
        if self.peek() != Some(b']') {
            return Err(self.unclosed(']', open));
        }
        self.at += 1;
        if self.peek() == Some(b'.') {
            let detail = "put the whole condition into the brackets, like [type eq \"work\" and \
                          value ew \"@example.com\"]";
            return Err(self.fault(detail));
        }
        Ok(Expression::Entry(list, Box::new(inner)))
    }

    fn test(&mut self, path: Path) -> Parsed {
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
            return Err(FilterFault { position: start, detail });
        };
        let path = if operator == Operator::Present { path } else { names::of_values(path) };
        literal::check_operator(&path, operator)
            .map_err(|detail| FilterFault { position: start, detail })?;
        if operator == Operator::Present {
            return Ok(Expression::Test(Test { path, operator, operand: Operand::None }));
        }
        self.skip_spaces();
        let start = self.at;
        let literal = self.literal()?;
        let operand = literal::operand(&path, operator, literal)
            .map_err(|detail| FilterFault { position: start, detail })?;
        Ok(Expression::Test(Test { path, operator, operand }))
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
            Some(_) => rest.bytes().take_while(|byte| is_bare(*byte)).count(),
        };
        let written = rest.get(..length).unwrap_or_default();
        self.at += length;
        // Most texts need no decoding.
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
        read.ok_or_else(|| {
            let detail = if written.starts_with('"') {
                "this text is not written as JSON has it"
            } else if written.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
                "this is no number as JSON has it, or it is too large"
            } else {
                "a value was expected: a text in quotation marks, a number, true, false or null"
            };
            FilterFault { position: start, detail: detail.to_owned() }
        })
    }

    fn deeper(&mut self) -> Result<(), FilterFault> {
        self.depth += 1;
        if self.depth > FILTER_DEPTH_MAX {
            let detail = format!("a filter nests at most {FILTER_DEPTH_MAX} deep");
            return Err(self.fault(detail));
        }
        Ok(())
    }

    /// Takes this word if it comes next, whatever its case.
    fn take_word(&mut self, wanted: &str) -> bool {
        let before = self.at;
        self.skip_spaces();
        let found = self.word().eq_ignore_ascii_case(wanted);
        // A chain needs a space or a bracket around its word.
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

/// The links as one expression; a link that is such a chain itself is part of it.
fn chain(
    first: Expression,
    further: Vec<Expression>,
    link: fn(Vec<Expression>) -> Expression,
) -> Expression {
    if further.is_empty() {
        return first;
    }
    let is_and = matches!(link(Vec::new()), Expression::And(_));
    let mut flat = Vec::with_capacity(further.len() + 1);
    for one in iter::once(first).chain(further) {
        match one {
            Expression::And(more) if is_and => flat.extend(more),
            Expression::Or(more) if !is_and => flat.extend(more),
            one @ (Expression::And(_)
            | Expression::Or(_)
            | Expression::Not(_)
            | Expression::Entry(..)
            | Expression::Test(_)) => flat.push(one),
        }
    }
    link(flat)
}

const fn is_compound(attribute: Attribute) -> bool {
    matches!(attribute.kind(), Kind::One(_) | Kind::Many(_))
}

const fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b':' | b'$') || byte > 0x7F
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
