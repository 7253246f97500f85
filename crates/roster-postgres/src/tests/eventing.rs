//! Pages of the change log: the size of what the server sends for a page is bounded.

use roster_core::{EventKind, EventKinds, EventsQuery, TenantId, limits::PAGE_BYTES_MAX};

use super::support::{beside, id, open, schema};
use crate::{Connector, reads::events};

const RECORD_BYTES: usize = 60_000;

/// A log of updates of one user, with large records.
const FILL: &str = "INSERT INTO events SELECT n, 0, 'user.updated', n, 'anonymous', 'request', \
     $1, n, 'name', repeat('x', 60000) FROM generate_series(1, 3000) AS n";

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_events_transfers_no_more_than_its_byte_limit() {
    let schema = schema();
    let url = schema.url();
    open(&url).await.close().await;
    let client = beside(&url).await;
    client.execute(FILL, &[&crate::columns::uuid(id(1))]).await.unwrap();
    client.batch_execute("UPDATE log_head SET position = 3000").await.unwrap();
    let connection = Connector::parse(&url).unwrap().connect().await.unwrap();
    let most = PAGE_BYTES_MAX / RECORD_BYTES + 2;
    for user_id in [None, Some(id(1))] {
        let (updated, purged) =
            (EventKinds::only(EventKind::Updated), EventKinds::only(EventKind::Purged));
        for (kinds, rows) in [(EventKinds::ALL, most), (updated, most), (purged, 0)] {
            for begin in [EventsQuery::after(0, 1000), EventsQuery::before(i64::MAX, 1000)] {
                let query = EventsQuery { user_id, kinds, ..begin };
                let events = events::fetch(&connection, TenantId::DEFAULT, &query).await;
                let events = events.unwrap().len() - 1;
                assert!(events <= rows, "{events} rows for {query:?}");
            }
        }
    }
}
