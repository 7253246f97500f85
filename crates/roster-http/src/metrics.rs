//! The metrics of the service, in the Prometheus text format.
//!
//! Labels are operations, statuses, states, ids of webhooks and names of tenants. They never
//! contain a value of a user or of a request.

pub(crate) mod dropped_attributes;
mod housekeeping;
mod webhooks;

use std::sync::{Arc, atomic::Ordering};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};
use roster_core::{Head, store::StoreFaults};
use roster_server::ServerCounters;

use crate::{
    limits::{admission::Admission, transfers::Transfers},
    metrics::dropped_attributes::DroppedAttributes,
    operation::Operation,
};
pub use housekeeping::{Duty, HousekeepingMetrics};
pub use webhooks::{WebhookLag, WebhookMetrics};

/// The buckets of durations in seconds, from a cached read to a write with a slow disk.
const BUCKETS: [f64; 11] =
    [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Answered {
    operation: &'static str,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfOperation {
    operation: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfStatus {
    status: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfKind {
    kind: &'static str,
}

/// The measurements of one service.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    durations: Family<OfOperation, Histogram, fn() -> Histogram>,
    users: Family<OfStatus, Gauge>,
    transfers: Family<OfKind, Gauge>,
    position: Gauge,
    wal: Gauge,
    failed_reads: Counter,
    conflicts: Counter,
    lock_timeouts: Counter,
    commits_in_doubt: Counter,
    superseded_servers: Counter,
    held_bytes: Gauge,
    spilled_bytes: Gauge,
    server: Arc<ServerCounters>,
}

impl Metrics {
    pub(crate) fn new(
        server: Arc<ServerCounters>,
        admission: &Admission,
        housekeeping: &HousekeepingMetrics,
        webhooks: &WebhookMetrics,
        dropped: &DroppedAttributes,
    ) -> Self {
        let mut registry = Registry::with_prefix("roster");
        let requests = Family::<Answered, Counter>::default();
        registry.register("http_requests", "Responses, by operation and status", requests.clone());
        let durations =
            Family::<OfOperation, Histogram, fn() -> Histogram>::new_with_constructor(|| {
                Histogram::new(BUCKETS)
            });
        registry.register_with_unit(
            "http_request_duration",
            "Time from the head of the request to the head of the response",
            Unit::Seconds,
            durations.clone(),
        );
        let users = Family::<OfStatus, Gauge>::default();
        registry.register("users", "Users kept, by status", users.clone());
        let transfers = Family::<OfKind, Gauge>::default();
        let help = "Imports, exports, waits and streams for events, and tests of webhooks";
        registry.register("transfers_running", help, transfers.clone());
        let position = Gauge::default();
        registry.register("log_position", "Events in the change log", position.clone());
        let wal = Gauge::default();
        let help = "Size of the write-ahead log's file; 0 where the database keeps its own";
        registry.register_with_unit("wal", help, Unit::Bytes, wal.clone());
        let failed_reads = Counter::default();
        let help = "Reads of the store's files that failed, for the disk or for damage";
        registry.register("read_failures", help, failed_reads.clone());
        let [conflicts, lock_timeouts, commits_in_doubt, superseded_servers] =
            faults(&mut registry);
        housekeeping.register(&mut registry);
        webhooks.register(&mut registry);
        let help = "Attributes of SCIM requests that no schema has";
        registry.register("scim_attributes_dropped", help, dropped.count.clone());
        register_connections(&mut registry, &server);
        let held_bytes = Gauge::default();
        let spilled_bytes = Gauge::default();
        let help = "Bytes of memory that callers make the service hold";
        registry.register("held_bytes", help, held_bytes.clone());
        let help = "Bytes of import results in spill files";
        registry.register("spilled_bytes", help, spilled_bytes.clone());
        let help = "Requests refused for what they would have cost or whom they came from";
        registry.register("requests_refused", help, admission.refusals.counters.clone());
        let help = "Bytes of the change log that callers were charged for";
        let charged = admission.log_bytes_charged.clone();
        registry.register("log_bytes_charged", help, charged);
        Self {
            registry,
            requests,
            durations,
            users,
            transfers,
            position,
            wal,
            failed_reads,
            conflicts,
            lock_timeouts,
            commits_in_doubt,
            superseded_servers,
            held_bytes,
            spilled_bytes,
            server,
        }
    }

    /// The durations of an operation.
    pub(crate) fn duration_of(&self, operation: Operation) -> Histogram {
        self.durations.get_or_create(&OfOperation { operation: operation.id() }).clone()
    }

    /// Counts a response.
    pub(crate) fn answered(&self, operation: &'static str, status: u16) {
        self.requests.get_or_create(&Answered { operation, status }).inc();
    }

    /// The page, with the counters of the store and the transfers as they are now.
    pub(crate) fn page(
        &self,
        transfers: &Transfers,
        head: Option<Head>,
        wal_bytes: Option<u64>,
        failed_reads: u64,
        faults: StoreFaults,
    ) -> Option<String> {
        for (counter, count) in [
            (&self.conflicts, faults.conflicts),
            (&self.lock_timeouts, faults.lock_timeouts),
            (&self.commits_in_doubt, faults.commits_in_doubt),
            (&self.superseded_servers, faults.superseded_servers),
        ] {
            counter.inner().store(count, Ordering::Relaxed);
        }
        for (kind, count) in transfers.running() {
            let gauge = self.transfers.get_or_create(&OfKind { kind });
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        let memory = &self.server.memory;
        self.held_bytes.set(i64::try_from(memory.held()).unwrap_or(i64::MAX));
        self.spilled_bytes.set(i64::try_from(memory.spilled()).unwrap_or(i64::MAX));
        self.wal.set(wal_bytes.and_then(|bytes| i64::try_from(bytes).ok()).unwrap_or_default());
        self.failed_reads.inner().store(failed_reads, Ordering::Relaxed);
        if let Some(head) = head {
            for (status, count) in
                [("active", head.active), ("suspended", head.suspended), ("deleted", head.deleted)]
            {
                self.users.get_or_create(&OfStatus { status }).set(count);
            }
            self.position.set(head.position);
        }
        let mut page = String::new();
        encode(&mut page, &self.registry).ok()?;
        Some(page)
    }
}

/// A page of OpenMetrics in the older text format of Prometheus, in which a counter is declared
/// under the name of its sample and there are no units and no end.
pub(crate) fn as_prometheus_text(page: &str) -> String {
    let is_counter = |name: &str| page.contains(&format!("\n# TYPE {name} counter\n"));
    let mut text = String::with_capacity(page.len() + 1024);
    for line in page.lines().filter(|line| !line.starts_with("# UNIT ") && *line != "# EOF") {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some(what), Some(name), Some(rest)) if is_counter(name) => {
                text.extend(["# ", what, " ", name, "_total ", rest]);
            }
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

/// Registers the metrics of faults of the store, which has the counts.
fn faults(registry: &mut Registry) -> [Counter; 4] {
    [
        (
            "write_conflicts",
            "Transactions of writes repeated because another one changed the same data",
        ),
        ("write_lock_timeouts", "Transactions of writes that waited too long for a lock"),
        ("commits_in_doubt", "Transactions of writes whose commit may or may not have arrived"),
        (
            "superseded_servers",
            "Connections refused because a failover left the server behind, or for its other log",
        ),
    ]
    .map(|(name, help)| {
        let counter = Counter::default();
        registry.register(name, help, counter.clone());
        counter
    })
}

/// Registers the metrics of connections.
fn register_connections(registry: &mut Registry, server: &ServerCounters) {
    for (name, help, counter) in [
        ("connections_accepted", "Connections taken", &server.accepted),
        ("connections_refused", "Connections beyond the limit", &server.refused),
        (
            "connections_refused_of_address",
            "Connections beyond the limit of their address",
            &server.refused_of_address,
        ),
        ("connection_accept_failures", "Accepts that failed", &server.accept_failures),
        ("connections_slow_head", "Closed for a slow request head", &server.closed_slow_head),
        ("connections_slow_body", "Answered 408 for a slow body", &server.closed_slow_body),
        ("connections_slow_read", "Reset for a slow reader", &server.closed_slow_read),
        ("connections_idle", "Closed after resting", &server.closed_idle),
        (
            "connections_flood",
            "Closed because the client sent too much that belongs to no request",
            &server.closed_flood,
        ),
        ("tls_handshake_failures", "TLS handshakes that failed", &server.failed_handshakes),
        ("handler_panics", "Handlers that panicked", &server.panics),
        (
            "memory_refusals",
            "Requests and bodies refused because their caller holds too much memory",
            &server.memory.refusals,
        ),
        (
            "memory_resets",
            "Connections reset because all memory for callers was used and theirs hold most",
            &server.memory.resets,
        ),
    ] {
        registry.register(name, help, counter.clone());
    }
    registry.register("connections_open", "Connections open now", server.open.clone());
}
