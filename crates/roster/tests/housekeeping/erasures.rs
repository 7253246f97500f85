//! Housekeeping erases the data that purges of long histories leave.

use roster::housekeeping::Erasures;
use roster_core::{Erasure, EventsQuery, TenantId, json};
use roster_http::{Duty, HousekeepingMetrics};
use roster_testkit::process::Engine;

use super::store::{Place, block_on, may, terms};

roster_testkit::over_each_engine! {
    a_long_history_is_erased_by_the_next_round,
}

fn a_long_history_is_erased_by_the_next_round(engine: Engine) {
    block_on(async {
        let (place, metrics) = (Place::new(engine).await, HousekeepingMetrics::default());
        let id = place.create("ada").await;
        for n in 0..1200 {
            let patch = json::read(format!(r#"{{"title":"T{n}"}}"#).as_bytes()).unwrap();
            place.directory.patch(may(), id, patch, terms()).await.unwrap();
        }
        place.delete(id).await;
        place.directory.purge(may(), id, terms()).await.unwrap();
        assert_eq!(place.directory.pending_erasures().await.unwrap(), [(TenantId::DEFAULT, id)]);
        let mut erasures = Erasures::new(place.directory.clone(), metrics.clone());
        erasures.round().await;
        assert_eq!(place.directory.pending_erasures().await.unwrap(), []);
        assert_ne!(place.directory.erase((TenantId::DEFAULT, id)).await.unwrap(), Erasure::Pending);
        assert_eq!(metrics.failures(Duty::Erasures), 0);
        let page = place.directory.events(may(), EventsQuery::after(0, 2000)).await.unwrap();
        assert_eq!(page.events.len(), 1203);
        assert!(page.events.iter().all(|(_, event)| event.record.is_empty()));
    });
}
