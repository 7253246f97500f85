//! One service that is measured, and what is known of its users.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::sitting::Act;
use crate::bench::{
    load::{self, Load, Outcome, Work},
    people::Random,
    process::Server,
    work::{self, Creates, Deletes, Fixed, Idempotency, Known, Reads, Replaces},
};

/// The longest that the users of a round may take to come or to leave.
const SETTLED_WITHIN: Duration = Duration::from_mins(10);
/// Connections for what is not measured.
const UNMEASURED: usize = 64;

/// A running service.
pub(super) struct Side {
    /// Its process.
    pub(super) server: Server,
    users: Vec<Known>,
    fresh: Vec<Known>,
    next_number: u64,
    revision: u64,
}

impl Side {
    /// A service that holds these users.
    pub(super) fn new(server: Server, users: Vec<Known>, next_number: u64) -> Self {
        Self { server, users, fresh: Vec::new(), next_number, revision: 0 }
    }

    /// Makes sure that there are so many users who may leave.
    pub(super) fn stock(&mut self, users: usize) -> Result<()> {
        let missing = users.saturating_sub(self.fresh.len());
        if missing > 0 {
            let end = self.next_number + u64::try_from(missing)?;
            self.create(self.unmeasured(), end)?;
        }
        Ok(())
    }

    /// Deletes the users that a round made, so that the next one finds as many as this one did.
    pub(super) fn settle(&mut self) -> Result<()> {
        if self.fresh.is_empty() {
            return Ok(());
        }
        let (load, random) = (self.unmeasured(), Random::new(0));
        let host = load.address;
        load::run(load, &mut Deletes { host, users: &mut self.fresh, random })?;
        ensure!(self.fresh.is_empty(), "the users of a round took too long to leave");
        Ok(())
    }

    /// Does one thing over and over, in an order that the seed tells.
    pub(super) fn run(&mut self, act: Act, load: Load, seed: u64) -> Result<Outcome> {
        let (host, users, random) = (load.address, self.users.as_slice(), Random::new(seed));
        let mut work: Box<dyn Work + '_> = match act {
            Act::Get => Box::new(Reads { host, users, path: work::one, key: None, random }),
            Act::List => Box::new(Fixed { host, path: "/users".to_owned() }),
            Act::Filter => {
                Box::new(Reads { host, users, path: work::filter_username, key: None, random })
            }
            Act::Post => return self.create(load, u64::MAX),
            Act::Put => Box::new(Replaces { host, users, random, revision: &mut self.revision }),
            Act::Delete => Box::new(Deletes { host, users: &mut self.fresh, random }),
        };
        load::run(load, work.as_mut())
    }

    fn create(&mut self, load: Load, end: u64) -> Result<Outcome> {
        let (host, next, idempotency) = (load.address, self.next_number, Idempotency::Unkeyed);
        let mut creates = Creates { host, next, end, idempotency, created: &mut self.fresh };
        let outcome = load::run(load, &mut creates);
        self.next_number = creates.next;
        outcome
    }

    fn unmeasured(&self) -> Load {
        Load {
            address: self.server.address,
            process: None,
            connections: UNMEASURED,
            warm_up: Duration::ZERO,
            measure: SETTLED_WITHIN,
        }
    }
}
