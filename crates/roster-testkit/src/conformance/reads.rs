//! Short methods for the reads of a case, and the complete contents of a store.

use std::sync::Arc;

use roster_core::{
    Deleted, Event, EventsPage, EventsQuery, Head, Stored, UserId, Work,
    filter::{Filter, Memberships},
    list::{DeletedPage, DeletedQuery, Page, PageQuery},
    words::Search,
};

use super::harness::{Harness, view};

/// The complete contents of a store, which a rejected command must not change.
#[derive(Debug, PartialEq, Eq)]
pub struct Image {
    /// Position and counters.
    pub head: Head,
    /// The whole log.
    pub events: Vec<(i64, Event)>,
    /// All live users, in order of id.
    pub users: Vec<Stored>,
    /// All stored deleted users, the first deleted first.
    pub deleted: Vec<Deleted>,
}

impl Harness {
    /// The live user of an id.
    pub async fn get(&self, id: UserId) -> Option<Stored> {
        self.store().get(id).await.expect("the store answers")
    }

    /// One page.
    pub async fn page(&self, query: PageQuery) -> Page {
        self.store().page(query).await.expect("the store answers")
    }

    /// All pages from the query's position on, to the end.
    pub async fn walk(&self, mut query: PageQuery) -> Vec<Stored> {
        let mut users = Vec::new();
        loop {
            let page = self.page(query.clone()).await;
            assert!(page.items.len() <= query.limit, "a page keeps within its limit");
            users.extend(page.items);
            assert!(page.next.is_none() || page.next != query.after, "a walk goes forward");
            match page.next {
                Some(next) => query.after = Some(next),
                None => return users,
            }
        }
    }

    /// Position and counters.
    pub async fn head(&self) -> Head {
        self.store().head().await.expect("the store answers")
    }

    /// At most so many events after a position.
    pub async fn events_after(&self, position: i64, limit: usize) -> Vec<(i64, Event)> {
        let query = EventsQuery::after(position, limit);
        self.store().events(query).await.expect("the store answers").events
    }

    /// The whole log, read in short steps.
    pub async fn events(&self) -> Vec<(i64, Event)> {
        let (mut events, mut position) = (Vec::new(), 0);
        loop {
            let step = self.events_after(position, 100).await;
            let Some((last, _)) = step.last() else { return events };
            assert!(*last > position, "the log goes forward");
            position = *last;
            events.extend(step);
        }
    }

    /// One page of events.
    pub async fn events_page(&self, query: EventsQuery) -> EventsPage {
        self.store().events(query).await.expect("the store answers")
    }

    /// The deleted user of an id.
    pub async fn get_deleted(&self, id: UserId) -> Option<Deleted> {
        self.store().get_deleted(id).await.expect("the store answers")
    }

    /// One page of the deleted users.
    pub async fn deleted_page(&self, query: DeletedQuery) -> DeletedPage {
        self.store().deleted_page(query).await.expect("the store answers")
    }

    /// All pages of the deleted users from the query's position on, to the end.
    pub async fn walk_deleted(&self, mut query: DeletedQuery) -> Vec<Deleted> {
        let mut users = Vec::new();
        loop {
            let page = self.deleted_page(query.clone()).await;
            assert!(page.items.len() <= query.limit, "a page keeps within its limit");
            users.extend(page.items);
            assert!(page.next.is_none() || page.next != query.after, "a walk goes forward");
            match page.next {
                Some(next) => query.after = Some(next),
                None => return users,
            }
        }
    }

    /// The usernames that a filter matches, in creation order.
    pub async fn filtered(&self, text: &str) -> Vec<String> {
        let query = PageQuery { filter: Some(filter(text)), ..PageQuery::first(100) };
        names(&self.walk(query).await)
    }

    /// The usernames that a search finds, in creation order.
    pub async fn found(&self, typed: &str) -> Vec<String> {
        names(&self.walk(PageQuery { words: words(typed), ..PageQuery::first(100) }).await)
    }

    /// The complete contents of the store.
    pub async fn image(&self) -> Image {
        Image {
            head: self.head().await,
            events: self.events().await,
            users: self.walk(PageQuery::first(100)).await,
            deleted: self.walk_deleted(oldest_first(100)).await,
        }
    }
}

/// The deleted users, the first deleted first.
pub fn oldest_first(limit: usize) -> DeletedQuery {
    DeletedQuery {
        direction: roster_core::list::Direction::Ascending,
        ..DeletedQuery::first(limit)
    }
}

/// Parses a filter, which must be valid.
pub fn filter(text: &str) -> Arc<Filter> {
    Arc::new(Filter::parse(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}")))
}

/// Whether a record of a user without groups matches a filter.
pub fn matches_record(filter: &Filter, record: &[u8]) -> bool {
    let work = Work::new(u64::MAX);
    filter.matches_record(record, &Memberships::default(), &work).expect("a record")
}

/// The words of a search text.
pub fn words(typed: &str) -> Vec<String> {
    Search::parse(typed).map_or_else(Vec::new, |search| search.words)
}

/// The usernames of users.
pub fn names(users: &[Stored]) -> Vec<String> {
    let name = |user: &Stored| view(user)["username"].as_str().unwrap_or_default().to_owned();
    users.iter().map(name).collect()
}
