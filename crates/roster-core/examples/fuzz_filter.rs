//! Fuzzes the filter language with mutations of valid filters.
//!
//! `cargo run --release -p roster-core --example fuzz_filter -- 10000000 [SEED]`. Each text is
//! either rejected with a position inside it, or prints as a text that parses to the same filter
//! and matches the same users and records. With `measure` instead of a number, the program reports
//! how long ordinary filters take to parse.

use std::{env, hint, io, io::Write as _, process::ExitCode, time::Instant};

use roster_core::{
    Actor, Caller, Command, Decision, Draft, OnConflict, Rules, Timestamp, User, UserAct, UserId,
    UserSchema, Work, decide,
    filter::{Filter, Memberships},
    json,
    list::PageQuery,
    plan::Plan,
};

const SEEDS: [&str; 14] = [
    r#"family_name sw "Love" and not (status eq "suspended")"#,
    r#"emails[type eq "work" and value ew "@example.com"]"#,
    r#"username eq "ada" or email eq "ada@example.com" or phone_number eq "+44 20""#,
    r#"attributes.team eq "core" and attributes.badge gt 1815 and attributes.on eq true"#,
    r#"created_at gt "2026-01-01T00:00:00Z" and updated_at le "2026-11-20T12:00:00.123+01:00""#,
    r#"not (title pr or nickname co "x") and (name ew "\u00e9\ud83d\ude80" or version ge 2)"#,
    r#"id eq "0190d1c2-8000-7000-8000-000000000001""#,
    r#"addresses[country eq "GB" and not (locality eq null)] or manager.id ne null"#,
    "attributes.deep.er.x eq -1.5e-7 or attributes.big lt 9223372036854775808",
    "email_verified ne true and emails.primary eq false",
    r#"((((name sw "straße"))))"#,
    r#"external_id co "" and photos pr and x509_certificates.value sw "MII""#,
    r#"phone_numbers.value ew "０１２３" and username gt "Ａ""#,
    "roles.value eq \"\u{fb01}\u{1f9d1}\u{200d}\u{1f680}\"",
];

/// The parses in a measured batch, and the batches for each text.
const BATCH: u32 = 5_000;
const BATCHES: u32 = 40;

const PIECES: [&str; 40] = [
    " and ",
    " or ",
    "not (",
    "(",
    ")",
    "[",
    "]",
    ".",
    "\"",
    "\\",
    "\\u",
    "eq",
    "ne",
    "co",
    "sw",
    "ew",
    "gt",
    "ge",
    "lt",
    "le",
    "pr",
    "null",
    "true",
    "1e999",
    "-0",
    "9223372036854775807",
    "attributes.",
    "emails",
    "value",
    "type",
    "name",
    "created_at",
    "\u{0}",
    "é",
    "\u{10FFFF}",
    "  ",
    "\t",
    "\n",
    "'",
    "",
];

/// The generator xorshift64, which is repeatable and random enough for mutations.
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
}

fn mutated(random: &mut Random) -> String {
    let mut chars: Vec<char> = random.pick(&SEEDS).chars().collect();
    for _ in 0..=random.below(3) {
        let at = random.below(chars.len() + 1);
        let end = (at + random.below(8)).min(chars.len());
        match random.below(5) {
            0 => drop(chars.drain(at..end)),
            1 => drop(chars.splice(at..at, random.pick(&PIECES).chars())),
            2 => drop(chars.splice(at..end, random.pick(&PIECES).chars())),
            3 => {
                let copied: Vec<char> = chars.iter().skip(at).take(end - at).copied().collect();
                let to = random.below(chars.len() + 1);
                drop(chars.splice(to..to, copied));
            }
            _ => {
                let other: Vec<char> = random.pick(&SEEDS).chars().collect();
                chars.truncate(at);
                chars.extend(other.into_iter().skip(at));
            }
        }
    }
    chars.into_iter().collect()
}

fn users() -> Vec<User> {
    let bodies = [
        r#"{"username":"ada","email":"ada@example.com","attributes":{"team":"core","badge":1815,
            "on":true,"deep":{"er":[{"x":-1.5e-7},{"x":[]}]}},"phone_number":"+44 20"}"#,
        r#"{"username":"Zoë","name":"Zoë 🚀 Straße","title":"x","manager":{"id":"1"},
            "emails":[{"value":"a@bücher.example","type":"work"},{"value":"b@example.com"}],
            "addresses":[{"country":"GB"}],"status":"suspended"}"#,
    ];
    let user = |body: &str| {
        let tree = json::read(body.as_bytes()).ok()?;
        let id = UserId::parse("0190d1c2-8000-7000-8000-000000000001")?;
        let draft = Box::new(Draft::parse(tree));
        let act = UserAct::Create { id, draft, upsert: OnConflict::Fail.into() };
        let caller = Caller { actor: Actor::System, request_id: "fuzz".to_owned() };
        let command = Command::of(act.clone(), Timestamp::from_millis(0), caller);
        match decide(Rules::default(), &UserSchema::default(), None, &act, &command) {
            Ok(Decision::Write(change)) => Some(User::clone(&change.user)),
            _ => None,
        }
    };
    bodies.into_iter().filter_map(user).collect()
}

/// Checks how a text is parsed: an error if it is wrong, `Ok(true)` if the text is a filter.
fn check(text: &str, users: &[User]) -> Result<bool, String> {
    let filter = match Filter::parse(text) {
        Err(fault) if fault.position <= text.len() && !fault.detail.is_empty() => return Ok(false),
        Err(fault) => return Err(format!("{fault:?}")),
        Ok(filter) => filter,
    };
    let printed = filter.to_string();
    // A text with many escapes may print longer than a filter may be.
    match Filter::parse(&printed) {
        Ok(again) if again == filter => {}
        Err(fault) if fault.detail.contains("bytes") => {}
        other => return Err(format!("prints as {printed}, which is {other:?}")),
    }
    for user in users {
        let (groups, work) = (Memberships::default(), Work::new(u64::MAX));
        let by_record = filter.matches_record(&user.to_record(), &groups, &work);
        let by_record = by_record.map_err(|e| e.to_string())?;
        if by_record != filter.matches(user, &groups) {
            return Err("matches a record and its user differently".to_owned());
        }
    }
    let query = PageQuery::first(1).with(filter.expression().clone());
    hint::black_box(Plan::of(&query));
    Ok(true)
}

fn fuzz(executions: u64, seed: u64) -> Result<String, String> {
    let (users, mut random, mut accepted) = (users(), Random(seed | 1), 0_u64);
    if users.len() != 2 {
        return Err("the sample users are rejected".to_owned());
    }
    for number in 0..executions {
        let text = mutated(&mut random);
        accepted += u64::from(
            check(&text, &users)
                .map_err(|fault| format!("execution {number}: {text:?}: {fault}"))?,
        );
    }
    Ok(format!("{executions} executions, {accepted} of them filters, no fault"))
}

fn measure() -> String {
    let mut lines = Vec::new();
    for text in SEEDS.into_iter().take(10) {
        // The best of many batches, because other work of the machine only adds time.
        let batch = || {
            let began = Instant::now();
            for _ in 0..BATCH {
                drop(hint::black_box(Filter::parse(hint::black_box(text))));
            }
            (began.elapsed() / BATCH).as_nanos()
        };
        let best = (0..BATCHES).map(|_| batch()).min().unwrap_or_default();
        lines.push(format!("{best:>6} ns  {text}"));
    }
    lines.join("\n")
}

fn main() -> ExitCode {
    let mut words = env::args().skip(1);
    let first = words.next().unwrap_or_else(|| "100000".to_owned());
    let seed = words.next().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let result = match (first.as_str(), first.parse()) {
        ("measure", _) => Ok(measure()),
        (_, Ok(executions)) => fuzz(executions, seed),
        _ => Err("give a number of executions, or measure".to_owned()),
    };
    let is_ok = result.is_ok();
    let text = result.unwrap_or_else(|fault| fault);
    let is_written = writeln!(io::stdout(), "{text}").is_ok();
    if is_ok && is_written { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
