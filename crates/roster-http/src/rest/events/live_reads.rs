//! What streams at the end of the log read, which they share: all wake when the log grows, and want
//! the same events. One of them reads, and the others take what it has read.

use std::{
    sync::{Arc, LazyLock, OnceLock},
    time::{Duration, Instant},
};

use bytes::Bytes;
use roster_core::{EventsPage, TenantId, access::AuditView};
use tokio::{sync::Mutex, time::sleep};

use super::list_query::Selection;
use crate::problem::Problem;

/// How long a page is shared. A purge hides records from pages that are read after it.
const AGE_MAX: Duration = Duration::from_millis(10);

/// The milliseconds between two reads of a growing log.
const GATHER_MS: u64 = 15;

/// From when these milliseconds are counted.
static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The number of pages that are kept, so that few tenants and views wait for each other.
const PAGES: usize = 16;

/// Waits before the log is read again after it has grown, because more commits may follow at once.
/// All who wait go on at the same moment, so that they want the same page.
pub(super) async fn gather() {
    let since_ms = u64::try_from(BEGUN.elapsed().as_millis()).unwrap_or_default();
    sleep(Duration::from_millis(pause_ms(since_ms))).await;
}

/// The milliseconds until the next moment at which the log is read.
const fn pause_ms(since_ms: u64) -> u64 {
    GATHER_MS - since_ms % GATHER_MS
}

/// The pages that were read last.
#[derive(Default)]
pub(crate) struct LiveReads([Mutex<Option<LivePage>>; PAGES]);

struct LivePage {
    tenant: TenantId,
    all_tenants: bool,
    audit: AuditView,
    read_at: Instant,
    page: Arc<FramedPage>,
}

/// A page for streams, and its frames, which are written once for all streams that were where it
/// begins.
pub(super) struct FramedPage {
    pub(super) events: EventsPage,
    /// The position after which it was read.
    after: i64,
    frames: OnceLock<Bytes>,
}

impl FramedPage {
    pub(super) fn new(events: EventsPage, selection: &Selection) -> Self {
        Self { events, after: selection.page.after, frames: OnceLock::new() }
    }

    /// The frames of its events after a position, which `write` writes unless another stream did.
    pub(super) fn frames_after(&self, after: i64, write: impl FnOnce() -> Bytes) -> Bytes {
        if after == self.after { self.frames.get_or_init(write).clone() } else { write() }
    }
}

impl LivePage {
    /// Whether it has all events that were there after the position of a selection.
    fn continues(&self, tenant: TenantId, selection: &Selection) -> bool {
        self.tenant == tenant
            && self.all_tenants == selection.page.all_tenants
            && self.audit == selection.audit
            && (self.page.after..self.page.events.reached).contains(&selection.page.after)
            && self.read_at.elapsed() < AGE_MAX
    }
}

impl LiveReads {
    /// The page after a position that was the end of the log when it was read last: what another
    /// stream of the tenant has just read, otherwise what `read` reads. It may begin with events
    /// before the position.
    pub(super) async fn share(
        &self,
        tenant: TenantId,
        selection: &Selection,
        read: impl Future<Output = Result<EventsPage, Problem>>,
    ) -> Result<Arc<FramedPage>, Problem> {
        let of_view = match selection.audit {
            AuditView::Nothing => 0,
            AuditView::Own => PAGES / 3,
            AuditView::Everything => 2 * PAGES / 3,
        };
        let number = usize::try_from(tenant.number()).unwrap_or_default();
        let nth = number.wrapping_add(of_view) % PAGES;
        let Some(kept) = self.0.get(nth).filter(|_| selection.has_all_events()) else {
            return Ok(Arc::new(FramedPage::new(read.await?, selection)));
        };
        let mut kept = kept.lock().await;
        if let Some(live) = kept.as_ref().filter(|live| live.continues(tenant, selection)) {
            return Ok(Arc::clone(&live.page));
        }
        let page = Arc::new(FramedPage::new(read.await?, selection));
        *kept = Some(LivePage {
            tenant,
            all_tenants: selection.page.all_tenants,
            audit: selection.audit,
            read_at: Instant::now(),
            page: Arc::clone(&page),
        });
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use roster_core::LogId;

    use super::{super::list_query::EventListQuery, *};

    #[test]
    fn a_page_is_shared_while_it_is_new_by_those_who_want_its_events() {
        let after = |position| {
            let mut selection = EventListQuery::read(None, None).expect("no parameters").selection;
            selection.page.after = position;
            selection
        };
        let page = |read_at| LivePage {
            tenant: TenantId::DEFAULT,
            all_tenants: false,
            audit: AuditView::Nothing,
            read_at,
            page: Arc::new(FramedPage::new(
                EventsPage {
                    log: LogId([1; 8]),
                    events: Vec::new(),
                    tenants: Vec::new(),
                    reached: 9,
                    head: 9,
                    oldest: 1,
                },
                &after(5),
            )),
        };
        let now = Instant::now();
        // Its age is zero for the whole test.
        let new = page(now + Duration::from_hours(1));
        for position in 0..12 {
            let is_wanted = new.continues(TenantId::DEFAULT, &after(position));
            assert_eq!(is_wanted, (5..9).contains(&position), "after {position}");
        }
        let mut of_all = after(5);
        of_all.page.all_tenants = true;
        assert!(!new.continues(TenantId::DEFAULT, &of_all), "all tenants");
        let mut audited = after(5);
        audited.audit = AuditView::Own;
        assert!(!new.continues(TenantId::DEFAULT, &audited), "another view");
        let other = TenantId::new(1).expect("a tenant");
        assert!(!new.continues(other, &after(5)), "another tenant");
        let old = page(now.checked_sub(Duration::from_millis(10)).expect("an earlier moment"));
        assert!(!old.continues(TenantId::DEFAULT, &after(5)), "before a purge, perhaps");
    }

    #[test]
    fn all_who_wait_go_on_at_the_same_moment() {
        for begun_ms in 0..4 * GATHER_MS {
            let moment_ms = (begun_ms / GATHER_MS + 1) * GATHER_MS;
            assert_eq!(begun_ms + pause_ms(begun_ms), moment_ms);
        }
    }
}
