//! Builds and deletes the indexes that the schemas of users name, a bounded step at a time.

use std::{collections::HashMap, time::Duration};

use roster_core::{Directory, IndexStep, StoreError, TenantId, schema::IndexStatus};
use roster_http::{Duty, HousekeepingMetrics};
use tokio::time::{Instant, sleep};

use super::failures::Failures;

/// Interval of the search for work.
const INTERVAL: Duration = Duration::from_secs(1);

/// The wait after a step that found a lock taken.
const BUSY: Duration = Duration::from_millis(20);

/// Interval between two comparisons of an index whose values are shared: an operator changes them
/// meanwhile.
const CHECK_AGAIN: Duration = Duration::from_mins(1);

/// The task for indexes of a process.
pub struct Indexes {
    directory: Directory,
    failures: Failures,
    /// When the failed indexes of a tenant were last compared.
    checked: HashMap<TenantId, Instant>,
}

impl Indexes {
    /// Creates the task for a directory.
    pub fn new(directory: Directory, metrics: HousekeepingMetrics) -> Self {
        Self { directory, failures: Failures::new(metrics), checked: HashMap::new() }
    }

    /// Runs rounds forever. May be dropped at any time.
    pub(super) async fn run(mut self) {
        loop {
            self.round().await;
            sleep(INTERVAL).await;
        }
    }

    /// Completes everything that is due. A tenant that fails does not delay the others.
    pub async fn round(&mut self) {
        let tenants = match self.directory.tenants_with_index_work().await {
            Ok(tenants) => tenants,
            Err(error) => return self.failures.failed(Duty::Indexes, None, &error),
        };
        self.checked.retain(|tenant, _| tenants.contains(tenant));
        for tenant in tenants {
            match self.work_on(tenant).await {
                Ok(()) => self.failures.succeeded(Duty::Indexes),
                Err(error) => self.failures.failed(Duty::Indexes, None, &error),
            }
        }
    }

    async fn work_on(&mut self, tenant: TenantId) -> Result<(), StoreError> {
        let directory = self.directory.of_tenant(tenant).await?;
        loop {
            let began = Instant::now();
            match directory.index_step().await? {
                // Leaves writers as much time as the step took.
                IndexStep::Pending => sleep(began.elapsed()).await,
                IndexStep::Busy => sleep(BUSY).await,
                IndexStep::Check(kind) => directory.check_index(kind).await?,
                IndexStep::Failed => return self.check_again(tenant, &directory).await,
                IndexStep::Done => return Ok(()),
            }
        }
    }

    async fn check_again(
        &mut self,
        tenant: TenantId,
        directory: &Directory,
    ) -> Result<(), StoreError> {
        let is_due = |checked: &Instant| checked.elapsed() >= CHECK_AGAIN;
        if !self.checked.get(&tenant).is_none_or(is_due) {
            return Ok(());
        }
        for index in &directory.schema().indexes {
            if matches!(index.status, IndexStatus::Failed { .. }) {
                directory.check_index(index.kind).await?;
            }
        }
        self.checked.insert(tenant, Instant::now());
        Ok(())
    }
}
