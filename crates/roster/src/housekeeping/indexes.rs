//! Builds and deletes the indexes that the schemas of users name, a bounded step at a time.

use std::{collections::HashMap, time::Duration};

use roster_core::{Directory, IndexStep, StoreError, TenantId, schema::IndexStatus};
use roster_http::{Duty, HousekeepingMetrics};
use tokio::time::{Instant, sleep};

use super::failures::Failures;

/// Interval of the search for work.
const INTERVAL: Duration = Duration::from_secs(1);

/// How long the steps of one tenant go on before those of the next.
const TURN: Duration = Duration::from_secs(1);

/// The pause after a step while nobody else writes, as a multiple of the time that it took.
const PAUSES_ALONE: u32 = 1;

/// How long after a write others are taken to write.
const WRITES_FOR: Duration = Duration::from_secs(1);

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
    writers: Writers,
}

/// What is known of other writes.
#[derive(Default)]
struct Writers {
    position: i64,
    seen: Option<Instant>,
}

impl Writers {
    /// The pause after a step, as a multiple of its time.
    async fn pauses(&mut self, directory: &Directory) -> Result<u32, StoreError> {
        let position = directory.head().await?.position;
        if position != self.position {
            (self.position, self.seen) = (position, Some(Instant::now()));
        }
        let write = self.seen.is_some_and(|seen| seen.elapsed() < WRITES_FOR);
        Ok(if write { directory.index_pauses_beside_writes() } else { PAUSES_ALONE })
    }
}

impl Indexes {
    /// Creates the task for a directory.
    pub fn new(directory: Directory, metrics: HousekeepingMetrics) -> Self {
        Self {
            directory,
            failures: Failures::new(metrics),
            checked: HashMap::new(),
            writers: Writers::default(),
        }
    }

    /// Runs rounds forever. May be dropped at any time.
    pub(super) async fn run(mut self) {
        loop {
            self.round().await;
            sleep(INTERVAL).await;
        }
    }

    /// Completes everything that is due, in turns: neither a tenant that fails nor a large one
    /// delays the others.
    pub async fn round(&mut self) {
        let mut is_pending = true;
        while is_pending {
            is_pending = false;
            let tenants = match self.directory.tenants_with_index_work().await {
                Ok(tenants) => tenants,
                Err(error) => return self.failures.failed(Duty::Indexes, None, &error),
            };
            self.checked.retain(|tenant, _| tenants.contains(tenant));
            for tenant in tenants {
                match self.work_on(tenant).await {
                    Ok(pending) => {
                        is_pending |= pending;
                        self.failures.succeeded(Duty::Indexes);
                    }
                    Err(error) => self.failures.failed(Duty::Indexes, None, &error),
                }
            }
        }
    }

    /// Executes the steps of a tenant for one turn. Returns whether more are due.
    async fn work_on(&mut self, tenant: TenantId) -> Result<bool, StoreError> {
        let directory = self.directory.of_tenant(tenant).await?;
        let end = Instant::now() + TURN;
        while Instant::now() < end {
            let began = Instant::now();
            match directory.index_step().await? {
                IndexStep::Pending | IndexStep::Dropped => {
                    let took = began.elapsed();
                    sleep(took * self.writers.pauses(&directory).await?).await;
                }
                IndexStep::Busy => sleep(BUSY).await,
                IndexStep::Check(kind) => {
                    directory.check_index(kind, usize::MAX).await?;
                }
                IndexStep::Failed => {
                    self.check_again(tenant, &directory).await?;
                    return Ok(false);
                }
                IndexStep::Waiting | IndexStep::Done => return Ok(false),
            }
        }
        Ok(true)
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
                directory.check_index(index.kind, usize::MAX).await?;
            }
        }
        self.checked.insert(tenant, Instant::now());
        Ok(())
    }
}
