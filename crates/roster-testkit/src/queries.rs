//! Random filters and searches over random users. A store must return the same as the oracle.
//!
//! Users are created, changed, deleted and restored between the queries. The seed alone determines
//! all random values, so a difference can be reproduced.
#![expect(clippy::expect_used, reason = "this is how a difference is told")]

use std::{fmt, sync::Arc};

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use roster_core::{Guard, OnConflict, Rules, Sharing, Store, list::PageQuery};

use crate::{
    arbitrary::{Question, Step, Write, person, question, schema, write},
    sequences::Pair,
};

/// The rules of the compared store: many users share few mailboxes.
pub const RULES: Rules = Rules {
    email: Sharing::Shared,
    external_id: Sharing::Shared,
    put: Guard::Off,
    delete: Guard::Off,
};

/// The number of users before the first query.
const PEOPLE: usize = 200;
/// The number of writes before each hundred queries.
const WRITES: usize = 40;

/// Counts of the queries and their results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Queries with a filter.
    pub filters: u64,
    /// Queries with words.
    pub searches: u64,
    /// Queries with both.
    pub both: u64,
    /// Queries without a result.
    pub empty: u64,
    /// Queries with results.
    pub found: u64,
    /// The users in all results.
    pub users: u64,
}

/// The seed and the number of queries from a command line, `--seed 1 --queries 10000` by default.
pub fn parse(arguments: impl Iterator<Item = String>) -> Result<(u64, u64), String> {
    let (mut seed, mut questions) = (1, 10_000);
    let mut arguments = arguments;
    while let Some(flag) = arguments.next() {
        let value = arguments.next().and_then(|value| value.parse().ok());
        let value = value.ok_or_else(|| format!("{flag} needs a number"))?;
        match flag.as_str() {
            "--seed" => seed = value,
            "--queries" => questions = value,
            _ => return Err(format!("unknown flag {flag}: use --queries and --seed")),
        }
    }
    Ok((seed, questions))
}

/// Executes this number of random queries on an empty store with these [`RULES`] and on the oracle,
/// and compares the results.
pub async fn compare(subject: Arc<dyn Store>, seed: u64, questions: u64) -> Tally {
    let mut draw = Draw::new(seed);
    let mut pair = Pair::new(subject, RULES);
    let mut tally = Tally::default();
    for start in (0..PEOPLE).step_by(50) {
        let people = (start..start + 50).map(|number| draw.from(&person(number)));
        let create = |body| Write { step: Step::Create(body, OnConflict::Fail.into()), mark: None };
        pair.write(people.map(create).collect()).await;
    }
    pair.create_groups().await;
    for number in 0..questions {
        if number.is_multiple_of(100) {
            let is_complete = !number.is_multiple_of(400);
            pair.declare(&draw.from(&schema()), is_complete).await;
            let writes = (0..WRITES).map(|_| draw.from(&write())).collect();
            pair.write(writes).await;
        }
        let query = conditional(&mut draw, &pair);
        tally.count(&query, pair.walk(query.clone()).await);
    }
    pair.compare_contents().await;
    tally
}

/// A query of users with a filter or words.
fn conditional(draw: &mut Draw, pair: &Pair) -> PageQuery {
    loop {
        let drawn: Question = draw.from(&question());
        let mut query = drawn.query(pair.known(), &pair.schema());
        if query.filter.is_none() && query.words.is_empty() {
            continue;
        }
        query.limit = 40 * query.limit + 5;
        return query;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { filters, searches, both, empty, found, users } = self;
        let all = empty + found;
        write!(f, "{all} questions ({filters} filters, {searches} searches, {both} of both): ")?;
        write!(f, "{found} met somebody, {empty} nobody, {users} users shown, no difference")
    }
}

impl Tally {
    fn count(&mut self, query: &PageQuery, shown: usize) {
        match (query.filter.is_some(), query.words.is_empty()) {
            (true, false) => self.both += 1,
            (true, true) => self.filters += 1,
            (false, _) => self.searches += 1,
        }
        if shown == 0 {
            self.empty += 1;
        } else {
            self.found += 1;
        }
        self.users += u64::try_from(shown).unwrap_or(u64::MAX);
    }
}

/// Generates values from strategies, the same from the same seed.
struct Draw(TestRunner);

impl Draw {
    fn new(seed: u64) -> Self {
        let mut bytes = [0; 32];
        for (byte, of_seed) in bytes.iter_mut().zip(seed.to_be_bytes()) {
            *byte = of_seed;
        }
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        Self(TestRunner::new_with_rng(Config::default(), rng))
    }

    fn from<S: Strategy>(&mut self, strategy: &S) -> S::Value {
        strategy.new_tree(&mut self.0).expect("no strategy rejects much").current()
    }
}
