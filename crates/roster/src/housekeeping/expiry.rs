//! Suspends users who have expired.

use std::{collections::BTreeMap, sync::Arc};

use roster_core::{
    Actor, BulkWrite, Caller, ExpiredUser, Failure, Json, Mode, Preconditions, Refusal, StoreError,
    Tags, TenantId, Timestamp,
};
use roster_http::Duty;
use tokio::time::{Instant, sleep};

use super::{Housekeeping, REQUEST_ID, Round, permit};

/// Users suspended at once, so that they share a commit. They delay other writes by little.
const AT_ONCE: usize = 50;

/// Maximum number of pages of expired users in one round.
const PAGES_MAX: usize = 20;

impl Housekeeping {
    /// Suspends the users of all tenants that have expired, earliest first. A user that fails is
    /// tried again in the next round.
    pub(super) async fn suspend_expired(&mut self, now: Timestamp, round: &mut Round) {
        let mut after = None;
        for _ in 0..PAGES_MAX {
            let users = match self.directory.expired_users(now, after).await {
                Ok(users) => users,
                Err(error) => return self.failed(Duty::Expiry, &error, round),
            };
            self.failures.succeeded(Duty::Expiry);
            let Some(last) = users.last() else { return };
            after = Some(*last);
            let mut of_tenants: BTreeMap<TenantId, Vec<ExpiredUser>> = BTreeMap::new();
            for user in users {
                of_tenants.entry(user.tenant).or_default().push(user);
            }
            for (tenant, users) in of_tenants {
                for some in users.chunks(AT_ONCE) {
                    let began = Instant::now();
                    if let Err(error) = self.suspend(tenant, some, round).await {
                        return self.failed(Duty::Expiry, &error, round);
                    }
                    // Leaves writers as much time as this took.
                    sleep(began.elapsed()).await;
                }
            }
        }
        round.is_more_due = true;
    }

    /// Suspends users of one tenant in the versions that were read.
    async fn suspend(
        &mut self,
        tenant: TenantId,
        users: &[ExpiredUser],
        round: &mut Round,
    ) -> Result<(), StoreError> {
        let directory = self.directory.of_tenant(tenant).await?;
        let caller = Caller { actor: Actor::Expiry, request_id: REQUEST_ID.to_owned() };
        let status = Json::Text("suspended".to_owned());
        let patch = Arc::new(Json::Object(vec![("status".to_owned(), status)]));
        let write = |user: &ExpiredUser| {
            let seen = Tags::Versions(vec![user.version]);
            let preconditions = Preconditions { if_match: Some(seen), if_none_match: None };
            BulkWrite::Patch(user.id, preconditions, Arc::clone(&patch)).into()
        };
        let writes = users.iter().map(write).collect();
        let results = directory.write_many(permit(), writes, Mode::Write, &caller).await;
        for (user, result) in users.iter().zip(results) {
            match result {
                Ok(_) => round.suspended += 1,
                // Another write changed or deleted the user, or deleted its tenant, meanwhile.
                Err(Failure::Refused(
                    Refusal::VersionMismatch { .. } | Refusal::NotFound | Refusal::TenantNotFound,
                )) => {}
                Err(Failure::Refused(refusal)) => {
                    let error = StoreError::Internal(format!("not suspended: {refusal:?}").into());
                    round.failed += 1;
                    self.failures.failed(Duty::Expiry, Some(user.id), &error);
                }
                Err(Failure::Store(error)) => {
                    round.failed += 1;
                    self.failures.failed(Duty::Expiry, Some(user.id), &error);
                }
            }
        }
        Ok(())
    }
}
