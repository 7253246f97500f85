//! Housekeeping erases the data that purges of long histories leave.

use std::time::Duration;

use roster::housekeeping::{Erasures, Retention};
use roster_core::{
    Draft, Erasure, EventsQuery, Mode, Preconditions, Purged, TenantId, TenantName,
    access::AuditView,
    audit::tenant_subject,
    json,
    tenant::{TenantAct, TenantDraft},
};
use roster_http::{Duty, HousekeepingMetrics};
use roster_testkit::{process::Engine, runtime::block_on};

use super::store::{Place, caller, may, terms};

roster_testkit::over_each_engine! {
    a_long_history_is_erased_by_the_next_round,
    a_deleted_tenant_is_purged_and_erased_after_its_time,
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
        assert_eq!(
            place.directory.pending_erasures().await.unwrap(),
            [Purged { tenant: TenantId::DEFAULT, user: Some(id) }]
        );
        let mut erasures = Erasures::new(place.directory.clone(), metrics.clone());
        erasures.round().await;
        assert_eq!(place.directory.pending_erasures().await.unwrap(), []);
        assert_ne!(
            place
                .directory
                .erase(Purged { tenant: TenantId::DEFAULT, user: Some(id) })
                .await
                .unwrap(),
            Erasure::Pending
        );
        assert_eq!(metrics.failures(Duty::Erasures), 0);
        let page = place
            .directory
            .events(may(), AuditView::Nothing, EventsQuery::after(0, 2000))
            .await
            .unwrap();
        assert_eq!(page.events.len(), 1203);
        assert!(page.events.iter().all(|(_, event)| event.record.is_empty()));
    });
}

fn a_deleted_tenant_is_purged_and_erased_after_its_time(engine: Engine) {
    block_on(async {
        let (place, metrics) = (Place::new(engine).await, HousekeepingMetrics::default());
        let day = Duration::from_hours(24);
        let keep = Retention { deleted: Some(30 * day), events: None };
        let mut housekeeping = place.start(keep, &metrics);
        housekeeping.round().await;
        let name = || TenantName::parse("acme").unwrap();
        let change = async |act| {
            let preconditions = Preconditions::default();
            place
                .directory
                .change_tenant(may(), act, preconditions, Mode::Write, caller())
                .await
                .unwrap()
        };
        let draft = TenantDraft::parse(&json::read(br#"{"name":"acme"}"#).unwrap()).unwrap();
        let tenant = change(TenantAct::Create(draft)).await.tenant;
        let of_acme = place.directory.of_tenant(tenant.id).await.unwrap();
        let draft = Draft::parse(json::read(br#"{"username":"ada"}"#).unwrap());
        let id = of_acme.create(may(), draft, terms()).await.unwrap().stored.id;
        change(TenantAct::Delete(name())).await;

        for (days, is_kept) in [(29, true), (2, false)] {
            for _ in 0..days {
                place.clock.elapse(day);
                housekeeping.round().await;
            }
            let found = place.directory.tenant(name()).await.unwrap();
            assert_eq!(found.is_some(), is_kept, "after {days} more days");
        }
        let whole = Purged { tenant: tenant.id, user: None };
        let about = Purged { tenant: TenantId::DEFAULT, user: Some(tenant_subject(tenant.id)) };
        assert_eq!(place.directory.pending_erasures().await.unwrap(), [about, whole]);
        assert!(of_acme.get(may(), id).await.unwrap().is_some());
        let mut erasures = Erasures::new(place.directory.clone(), metrics.clone());
        while !place.directory.pending_erasures().await.unwrap().is_empty() {
            erasures.round().await;
        }
        assert_eq!(of_acme.get(may(), id).await.unwrap(), None);
        for duty in [Duty::Erasures, Duty::DeletedUsers] {
            assert_eq!(metrics.failures(duty), 0);
        }
    });
}
