//! The users of the bench: each a function of its number, with keys in random order.
//!
//! Keys that count upwards would land on one page of every index and flatter inserts twofold.

/// A number that looks random, the same for the same input (SplitMix64).
pub(super) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Random numbers in a row, the same for the same seed.
pub(super) struct Random(u64);

impl Random {
    /// A row of its own for each seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// An index below `length`, or `None` if that is zero.
    pub(super) fn index(&mut self, length: usize) -> Option<usize> {
        self.0 = self.0.wrapping_add(1);
        let length = u64::try_from(length).ok().filter(|length| *length > 0)?;
        usize::try_from(mix(self.0) % length).ok()
    }

    /// An element of `from`, or `None` if there is none.
    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.index(from.len())?)
    }
}

const GIVEN: [&str; 8] =
    ["Ada", "Alan", "Grace", "Edsger", "Barbara", "Donald", "Frances", "Katherine"];
const FAMILY: [&str; 8] =
    ["Lovelace", "Turing", "Hopper", "Dijkstra", "Liskov", "Knuth", "Allen", "Johnson"];

/// The username of user `number`.
pub(super) fn username(number: u64) -> String {
    format!("u{:08x}{number}", mix(number) >> 32)
}

/// The e-mail address of user `number`.
pub(super) fn email(number: u64) -> String {
    format!("m{:08x}{number}@example.com", mix(number ^ 0xE) >> 32)
}

/// The further address of user `number`, if it is the one of four that has one.
pub(super) fn further_email(number: u64) -> Option<String> {
    mix(number ^ 0xF)
        .is_multiple_of(4)
        .then(|| format!("f{:08x}{number}@example.org", mix(number) >> 32))
}

/// The full name of user `number`; many share one.
pub(super) fn name(number: u64) -> String {
    let given = Random::new(number).pick(&GIVEN).copied().unwrap_or_default();
    format!("{given} {}", family(number))
}

/// The family name of user `number` in one of its revisions.
pub(super) fn family_name(number: u64, revision: u64) -> String {
    format!("{}{revision:03}", family(number))
}

/// The words by which user `number` is found, each once.
pub(super) fn words(number: u64) -> Vec<String> {
    let (name, family_name) = (name(number), family_name(number, 0));
    let further = further_email(number).unwrap_or_default();
    let all = [name, family_name, username(number), email(number), further];
    let all = all.join(" ").to_lowercase();
    let mut words: Vec<_> = all.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect();
    words.retain(|word| !word.is_empty());
    words.sort();
    words.dedup();
    words
}

fn family(number: u64) -> &'static str {
    Random::new(number ^ 0xFA).pick(&FAMILY).copied().unwrap_or_default()
}

/// The body that creates user `number`, or replaces it in its `revision`: every revision differs
/// from the one before, also in members that are indexed.
pub(super) fn body(number: u64, revision: u64) -> String {
    let (name, family_name) = (name(number), family_name(number, revision));
    let given_name = name.split(' ').next().unwrap_or_default();
    let (username, email) = (username(number), email(number));
    let emails = match further_email(number) {
        None => format!(r#""email":"{email}""#),
        Some(further) => {
            format!(r#""emails":[{{"value":"{email}","primary":true}},{{"value":"{further}"}}]"#)
        }
    };
    let team = mix(number ^ 0x7EA) % 100;
    let names =
        format!(r#""name":"{name}","given_name":"{given_name}","family_name":"{family_name}""#);
    let work =
        format!(r#""title":"Engineer","employee_number":"{number:07}","department":"dept-{team}""#);
    let own = format!(r#""locale":"en-GB","attributes":{{"team":"core-{team}"}}"#);
    format!(r#"{{"username":"{username}",{emails},{names},{work},{own}}}"#)
}

#[cfg(test)]
mod tests {
    use super::{Random, body, email, further_email, username};

    #[test]
    fn a_user_is_a_function_of_its_number_and_keys_do_not_count_upwards() {
        assert_eq!(body(7, 0), body(7, 0));
        assert_ne!(body(7, 0), body(7, 1));
        let names: Vec<_> = (0..100).map(username).collect();
        assert!(!names.is_sorted());
        assert!((0..1000).all(|n| email(n) != email(n + 1)));
        let further = (0..1000).filter(|n| further_email(*n).is_some()).count();
        assert!((200..300).contains(&further));
    }

    #[test]
    fn picks_reach_every_element() {
        let mut random = Random::new(1);
        let mut seen: Vec<_> = (0..1000).filter_map(|_| random.pick(&[1, 2, 3, 4])).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 4);
        assert_eq!(random.pick::<u8>(&[]), None);
    }
}
