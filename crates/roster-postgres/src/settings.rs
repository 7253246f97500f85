//! The settings of the engine.

use std::{num::NonZero, thread::available_parallelism, time::Duration};

use roster_core::{PolicyKey, Rules};

use crate::connect::Connector;

/// The settings of a store over PostgreSQL.
#[derive(Clone)]
pub struct Settings {
    /// The database.
    pub connector: Connector,
    /// The rules that users must follow. The policy is that of a new store.
    pub rules: Rules,
    /// The keys whose policy the configuration states: another one in the store is refused. Of
    /// other keys, the policy of the store applies.
    pub stated: Vec<PolicyKey>,
    /// The maximum number of waiting commands.
    pub write_queue_max: usize,
    /// How long a single command may wait to be written; afterwards it is refused and not begun.
    pub write_wait_max: Duration,
    /// Connections shared by short queries.
    pub shared_connections: usize,
    /// Connections for queries of several statements.
    pub own_connections: usize,
    /// Connections that write.
    pub write_connections: usize,
    /// How long a process may use the schema of users after it read it. The replacement of a schema
    /// is acknowledged only after this time, when no process uses the one before.
    pub schema_lease: Duration,
}

impl Settings {
    /// The default settings.
    pub fn new(connector: Connector, rules: Rules) -> Self {
        // More connections than cores would only wait for each other.
        let cores = available_parallelism().map_or(2, NonZero::get);
        Self {
            connector,
            rules,
            stated: PolicyKey::ALL.to_vec(),
            write_queue_max: 10_000,
            write_wait_max: Duration::from_secs(5),
            shared_connections: cores.clamp(2, 4),
            own_connections: 4,
            write_connections: 2,
            schema_lease: Duration::from_millis(500),
        }
    }
}
