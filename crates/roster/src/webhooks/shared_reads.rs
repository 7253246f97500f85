//! What webhooks at the end of the log send. They read it at the same moments, and mostly want the
//! same, so one of them reads, and the others take what it has read.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use roster_core::{EventsQuery, StoreError, TenantId, access::AuditView, webhook::Payload};
use tokio::sync::Mutex;

/// How long a page is shared. A purge hides records from pages that are read after it.
const AGE_MAX: Duration = Duration::from_millis(100);

/// The number of pages that are kept, so that few tenants wait for each other.
const PAGES: usize = 16;

/// Larger pages are not kept.
const BYTES_MAX: usize = 256 * 1024;

/// What a webhook sends next.
#[derive(PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) tenant: TenantId,
    pub(super) audit: AuditView,
    pub(super) query: EventsQuery,
    pub(super) payload: Payload,
}

struct Kept<T> {
    wanted: Wanted,
    read_at: Instant,
    content: Arc<T>,
}

/// What was read last.
pub(super) struct SharedReads<T>([Mutex<Option<Kept<T>>>; PAGES]);

impl<T> Default for SharedReads<T> {
    fn default() -> Self {
        Self([(); PAGES].map(|()| Mutex::new(None)))
    }
}

impl<T> SharedReads<T> {
    /// What another webhook of the tenant has just read, otherwise what `read` reads. `bytes` is
    /// the size of that, 0 without events.
    pub(super) async fn share(
        &self,
        wanted: Wanted,
        bytes: impl Fn(&T) -> usize,
        read: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<Arc<T>, StoreError> {
        let nth = usize::try_from(wanted.tenant.number()).unwrap_or_default() % PAGES;
        let Some(kept) = self.0.get(nth) else { return Ok(Arc::new(read.await?)) };
        let mut kept = kept.lock().await;
        if let Some(one) = &*kept
            && one.wanted == wanted
            && one.read_at.elapsed() < AGE_MAX
        {
            return Ok(Arc::clone(&one.content));
        }
        let content = Arc::new(read.await?);
        // Without events, it may lack those that have come since.
        let is_kept = (1..=BYTES_MAX).contains(&bytes(&content));
        let read_at = Instant::now();
        *kept = is_kept.then(|| Kept { wanted, read_at, content: Arc::clone(&content) });
        Ok(content)
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;

    fn after(position: i64) -> Wanted {
        let (tenant, audit) = (TenantId::DEFAULT, AuditView::Nothing);
        Wanted { tenant, audit, query: EventsQuery::after(position, 100), payload: Payload::Full }
    }

    async fn read(reads: &SharedReads<&'static str>, wanted: Wanted, text: &'static str) -> String {
        let read = reads.share(wanted, |text| text.len(), ready(Ok(text))).await;
        (*read.expect("a text")).to_owned()
    }

    #[tokio::test]
    async fn what_another_has_just_read_is_not_read_again() {
        let reads = SharedReads::default();
        assert_eq!(read(&reads, after(5), "first").await, "first");
        assert_eq!(read(&reads, after(5), "second").await, "first");
        assert_eq!(read(&reads, after(6), "third").await, "third");
        let thin = Wanted { payload: Payload::Thin, ..after(6) };
        assert_eq!(read(&reads, thin, "fourth").await, "fourth");
        tokio::time::sleep(AGE_MAX * 2).await;
        let thin = Wanted { payload: Payload::Thin, ..after(6) };
        assert_eq!(read(&reads, thin, "fifth").await, "fifth");
    }

    #[tokio::test]
    async fn a_page_without_events_is_not_kept() {
        let reads = SharedReads::default();
        assert_eq!(read(&reads, after(5), "").await, "");
        assert_eq!(read(&reads, after(5), "new").await, "new");
    }
}
