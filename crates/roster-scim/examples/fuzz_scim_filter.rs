//! Fuzzes SCIM filters against another parser of the same grammar.
//!
//! `cargo run --release -p roster-scim --example fuzz_scim_filter -- 10000000 [SEED]`. Filters are
//! made by mutating valid ones. A filter that both parsers accept must mean the same. A filter that
//! only one accepts must be a known [`Difference`], for which the RFC has a reason.

use roster_core::UserSchema;
use std::{collections::BTreeMap, env, io, io::Write as _, process::ExitCode, time::Instant};

use roster_scim::{ScimError, Strictness, filter};

const SEEDS: [&str; 26] = [
    r#"userName eq "bjensen""#,
    r#"name.familyName co "O'Malley""#,
    r#"urn:ietf:params:scim:schemas:core:2.0:User:userName sw "J""#,
    r#"title pr and userType eq "Employee""#,
    r#"title pr or userType eq "Intern""#,
    r#"schemas eq "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User""#,
    r#"userType ne "Employee" and not (emails co "a.example" or emails.value co "b.example")"#,
    r#"userType eq "Employee" and (emails.type eq "work")"#,
    r#"emails[type eq "work" and value co "@a.example"] or ims[type eq "xmpp" and value pr]"#,
    r#"meta.lastModified ge "2011-05-13T04:42:34Z" and meta.created lt "2026-01-01T00:00:00Z""#,
    "active eq true and not (active eq false)",
    r#"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager.value eq "26118915""#,
    r#"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager[value eq "1"]"#,
    "urn:ietf:params:scim:schemas:extension:roster:2.0:User:attributes.team eq 7",
    "urn:ietf:params:scim:schemas:extension:roster:2.0:User:attributes.a.b gt -1.5e-7",
    r#"emails[type eq "work"].value eq "x@y.example""#,
    "not(title pr)",
    r#"NOT (Title PR) AND USERNAME Eq "a""#,
    r#"addresses[country eq "GB" and not (locality eq null)] and roles.primary eq true"#,
    r#"x509Certificates.value sw "MII" and photos pr"#,
    r#"externalId eq "\u00e9\"\\x" or id eq "1""#,
    r#"((((nickName sw "straße"))))"#,
    r#"meta.version eq "W/\"3\"" and meta.resourceType eq "User""#,
    r#"name[givenName eq "a" or familyName pr]"#,
    r#"members.$ref eq "x" or groups[value eq "y"]"#,
    "userName eq bjensen",
];

const PIECES: [&str; 44] = [
    " and ",
    " or ",
    "not (",
    "not(",
    " and not (",
    "(",
    ")",
    "[",
    "]",
    ".",
    "\"",
    "\\",
    "\\u",
    " eq ",
    " ne ",
    " co ",
    " sw ",
    " ew ",
    " gt ",
    " ge ",
    " lt ",
    " le ",
    " pr",
    "null",
    "true",
    "false",
    "TRUE",
    "1e999",
    "-0",
    "9223372036854775808",
    "007",
    "emails",
    "value",
    "type",
    "name",
    ":",
    "$",
    "é",
    "\u{0}",
    "  ",
    "\t",
    "\n",
    "'",
    "",
];

/// Why only one parser accepts a filter. The other one parses syntax only and knows no attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    /// We reject unknown attributes. RFC 7644 section 3.4.2.1 does not define the result for them
    /// at the endpoint of one type; an empty list would mislead.
    UnknownAttribute,
    /// RFC 7644 section 3.4.2.2 and table 3: booleans and bytes have no order, a complex attribute
    /// is compared by one of its parts, and only an attribute with parts has brackets.
    OperatorOfType,
    /// RFC 7644 table 3: a literal has the attribute's type; an integer has 64 bits here (RFC 7493
    /// section 2.2).
    LiteralOfType,
    /// `not` is a keyword of the grammar (RFC 7644 figure 1), and no attribute has this name.
    ReservedWord,
    /// RFC 7644 section 7.5.1 and 3.4.2.1: a service limits the cost of a filter.
    Limit,
    /// RFC 7644 figure 1 has `SP` between words, which is one space: no tab, no line break, and
    /// none before a bracket of values.
    OtherSpace,
    /// RFC 7644 figure 1: `*1"not" "(" FILTER ")"` has no space in it, and none around brackets.
    SpaceAtBracket,
    /// The part after brackets, which is not in the grammar: Microsoft Entra sends it.
    PartAfterBrackets,
    /// A key below another key of `attributes`. No other attribute has nested keys.
    DeepKey,
}

type Counts = BTreeMap<Difference, u64>;

/// Why we reject a filter that the grammar allows.
fn why_refused(text: &str, error: &ScimError) -> Option<Difference> {
    let says = |words: &[&str]| words.iter().any(|words| error.detail.contains(words));
    if says(&["there is no attribute", "to filter by", "has no parts", "a key has 1 to 64"]) {
        return Some(Difference::UnknownAttribute);
    }
    if says(&["takes eq", "has no order", "name one, like", "name a key", "takes a condition in"]) {
        return Some(Difference::OperatorOfType);
    }
    let of_literal = [
        "quotation marks",
        "RFC 3339",
        "true or false",
        "whole number",
        "null goes with",
        "write one of",
        "co, sw and ew take",
        "true and false take",
        "or it is too large",
    ];
    if says(&of_literal) {
        return Some(Difference::LiteralOfType);
    }
    if says(&["not takes its condition"]) {
        return Some(Difference::ReservedWord);
    }
    if says(&["at most"]) {
        return Some(Difference::Limit);
    }
    let outside = outside_texts(text);
    if outside.contains(" [") || outside.chars().any(|c| c != ' ' && c.is_whitespace()) {
        return Some(Difference::OtherSpace);
    }
    None
}

/// Why the other parser rejects a filter that we accept.
fn why_taken(text: &str) -> Option<Difference> {
    let outside = outside_texts(text);
    if outside.contains("].") {
        return Some(Difference::PartAfterBrackets);
    }
    let lower = outside.to_ascii_lowercase();
    let at_bracket = ["not(", ")and", ")or", "and(", "or(", "]and", "]or", "( ", " )", "[ ", " ]"];
    if at_bracket.iter().any(|found| lower.contains(found)) || lower.contains("  ") {
        return Some(Difference::SpaceAtBracket);
    }
    if lower.starts_with(' ') || lower.ends_with(' ') {
        return Some(Difference::SpaceAtBracket);
    }
    let mut keys = lower.split("user:attributes.").skip(1);
    if keys.any(|keys| keys.split(' ').next().is_some_and(|key| key.contains('.'))) {
        return Some(Difference::DeepKey);
    }
    None
}

/// The text outside quotation marks.
fn outside_texts(text: &str) -> String {
    let (mut inside, mut escaped, mut kept) = (false, false, String::new());
    for c in text.chars() {
        if c == '"' && !escaped {
            inside = !inside;
        }
        if !inside {
            kept.push(c);
        }
        escaped = inside && c == '\\' && !escaped;
    }
    kept
}

fn check(text: &str, counts: &mut Counts) -> Result<bool, String> {
    let ours = filter::parse(text, Strictness::Strict, &UserSchema::default());
    let theirs = text.parse::<scim_v2::filter::Filter>();
    let difference = match (&ours, &theirs) {
        (Err(_), Err(_)) => return Ok(false),
        (Ok(ours), Ok(theirs)) => {
            // The other parser's result, written and parsed again, equals ours.
            let written = theirs.to_string();
            return match filter::parse(&written, Strictness::Strict, &UserSchema::default()) {
                Ok(again) if again == *ours => Ok(true),
                other => Err(format!("is {ours} here and {written} there, which is {other:?}")),
            };
        }
        (Err(error), Ok(_)) => why_refused(text, error),
        (Ok(_), Err(_)) => why_taken(text),
    };
    let Some(difference) = difference else {
        return Err(format!("here {ours:?}, there {theirs:?}"));
    };
    *counts.entry(difference).or_default() += 1;
    Ok(false)
}

/// The generator xorshift64: repeatable, and as random as mutation needs.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let limit = u64::try_from(limit.max(1)).unwrap_or(1);
        usize::try_from(self.0 % limit).unwrap_or(0)
    }

    fn pick<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts.get(self.below(texts.len())).copied().unwrap_or_default()
    }

    fn mutated(&mut self) -> String {
        let mut chars: Vec<char> = self.pick(&SEEDS).chars().collect();
        for _ in 0..self.below(4) {
            let at = self.below(chars.len() + 1);
            let end = (at + self.below(8)).min(chars.len());
            match self.below(6) {
                0 => drop(chars.drain(at..end)),
                1 => drop(chars.splice(at..at, self.pick(&PIECES).chars())),
                2 => drop(chars.splice(at..end, self.pick(&PIECES).chars())),
                3 => {
                    let copied: Vec<char> = chars.iter().skip(at).take(end - at).copied().collect();
                    let to = self.below(chars.len() + 1);
                    drop(chars.splice(to..to, copied));
                }
                4 => {
                    chars.extend(self.pick(&[" and ", " or "]).chars());
                    chars.extend(self.pick(&SEEDS).chars());
                }
                _ => {
                    let other: Vec<char> = self.pick(&SEEDS).chars().collect();
                    chars.truncate(at);
                    chars.extend(other.into_iter().skip(at));
                }
            }
        }
        chars.into_iter().collect()
    }
}

fn fuzz(executions: u64, seed: u64) -> Result<String, String> {
    let (mut random, mut counts, mut agreed) = (Random(seed | 1), Counts::new(), 0_u64);
    let began = Instant::now();
    for number in 0..executions {
        let text = random.mutated();
        let same = check(&text, &mut counts)
            .map_err(|fault| format!("execution {number}: {text:?}: {fault}"))?;
        agreed += u64::from(same);
    }
    let seconds = began.elapsed().as_secs();
    let mut lines =
        vec![format!("{executions} executions in {seconds} s, {agreed} filters mean the same")];
    lines.extend(counts.iter().map(|(difference, count)| format!("{count:>9} {difference:?}")));
    Ok(lines.join("\n"))
}

fn main() -> ExitCode {
    let mut words = env::args().skip(1);
    let executions = words.next().unwrap_or_else(|| "100000".to_owned()).parse();
    let seed = words.next().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let result = match executions {
        Ok(executions) => fuzz(executions, seed),
        Err(_) => Err("give a number of executions".to_owned()),
    };
    let is_ok = result.is_ok();
    let text = result.unwrap_or_else(|fault| fault);
    let written = writeln!(io::stdout(), "{text}").is_ok();
    if is_ok && written { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
