//! Requests that were refused and come again: which they were, and the whole of their answer.
//!
//! What the front keeps of such a request is a number and the id it brought, if any. Only reads are
//! here: a write that comes again is for its handler.

use std::io::Write as _;

use http::{HeaderMap, request::Parts};
use prometheus_client::metrics::counter::Counter;

use super::{class::Class, shed::Shed};
use crate::{
    front::Refused,
    metrics::Metrics,
    request_id::{RequestIds, X_REQUEST_ID},
    router::Operation,
};

const LISTS: [Operation; 4] = [
    Operation::ListUsers,
    Operation::ListDeletedUsers,
    Operation::ListEvents,
    Operation::ListUserEvents,
];
const READS: [Operation; 2] = [Operation::GetUser, Operation::GetDeletedUser];

/// All kinds of such requests, with the count of their refusals.
pub(crate) struct Repeats(Vec<Kind>);

struct Kind {
    operation: Operation,
    class: Class,
    refused: Counter,
}

impl Repeats {
    pub(crate) fn new(metrics: &Metrics) -> Self {
        let kind = |operation, class| {
            let refused = metrics.counter(operation, 503);
            Kind { operation, class, refused }
        };
        let lists = LISTS.into_iter().flat_map(|operation| {
            [Class::Lists, Class::LongLists].map(|class| kind(operation, class))
        });
        let reads = READS.into_iter().map(|operation| kind(operation, Class::Reads));
        Self(lists.chain(reads).collect())
    }

    /// The mark of a request that was refused for its class, as far as that can be seen from
    /// outside.
    pub(crate) fn mark(&self, operation: Operation, parts: &Parts, id: &str) -> Option<Refused> {
        let class = if READS.contains(&operation) {
            Class::Reads
        } else {
            Class::of_list(parts.uri.query())
        };
        let same = |kind: &Kind| kind.operation == operation && kind.class == class;
        let kind = u8::try_from(self.0.iter().position(same)?).ok()?;
        let request_id = is_own(&parts.headers, id).then(|| id.into());
        Some(Refused { kind, request_id })
    }

    /// The class of a request that was marked.
    pub(crate) fn class(&self, refused: &Refused) -> Option<Class> {
        Some(self.0.get(usize::from(refused.kind))?.class)
    }

    /// Writes the whole answer.
    pub(crate) fn answer(
        &self,
        refused: &Refused,
        shed: &Shed,
        ids: &RequestIds,
        answer: &mut Vec<u8>,
    ) {
        if let Some(kind) = self.0.get(usize::from(refused.kind)) {
            kind.refused.inc();
        }
        match &refused.request_id {
            Some(id) => shed.write(id, answer),
            None => shed.write(&ids.make(), answer),
        }
    }
}

/// Whether the id is the one that the request brought.
fn is_own(headers: &HeaderMap, id: &str) -> bool {
    headers.get(X_REQUEST_ID).is_some_and(|sent| sent.as_bytes() == id.as_bytes())
}

impl Shed {
    /// The whole answer as HTTP/1.1 has it. It has no date, which a 5xx need not have (RFC 9110
    /// section 6.6.1).
    fn write(&self, request_id: &str, answer: &mut Vec<u8>) {
        let (before, after) = self.parts();
        let length = before.len() + request_id.len() + after.len();
        // To memory: it cannot fail.
        let _written = write!(
            answer,
            "HTTP/1.1 503 Service Unavailable\r\n\
             content-type: application/problem+json\r\n\
             cache-control: no-store\r\n\
             x-content-type-options: nosniff\r\n\
             retry-after: {}\r\n\
             content-length: {length}\r\n\
             x-request-id: {request_id}\r\n\r\n\
             {before}{request_id}{after}",
            self.wait_s()
        );
    }
}
