//! Paging by index over a collection that changes: no user that exists throughout is missed.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    service::{Backend, Service},
    support::{USER_URN, ask, at, create, get, named, names, put, read, refused},
};

const CROWD: usize = 60;

async fn crowd(service: &Service) -> Vec<Value> {
    let mut users = Vec::new();
    for number in 1..=CROWD {
        users.push(create(service, named(&format!("u{number:02}"))).await);
    }
    users
}

async fn leave(service: &Service, user: &Value) {
    ask(service, "DELETE", &at(user)).send().await.expect(204);
}

/// The names of the users that exist at the end.
async fn living(service: &Service) -> BTreeSet<String> {
    let page = read(service, "/Users?count=1000").await;
    names(&page).into_iter().map(str::to_owned).collect()
}

/// Pages as clients do: each index follows from the size of the page before, up to the total of the
/// last page.
struct Walk {
    order: &'static str,
    index: u64,
    total: u64,
    count: u64,
    seen: Vec<String>,
}

impl Walk {
    fn new(count: u64) -> Self {
        Self { order: "", index: 1, total: u64::MAX, count, seen: Vec::new() }
    }

    /// Reads one page, and returns whether there is another.
    async fn step(&mut self, service: &Service) -> bool {
        let Self { index, count, order, .. } = self;
        let query = format!("/Users?startIndex={index}&count={count}{order}");
        let page = read(service, &query).await;
        self.total = page["totalResults"].as_u64().expect("a total");
        self.index += page["itemsPerPage"].as_u64().expect("a number");
        self.seen.extend(names(&page).into_iter().map(str::to_owned));
        self.index <= self.total
    }
}

pub(crate) async fn paging_by_index_misses_no_user_when_others_are_deleted(backend: Backend) {
    let service = backend.open().await;
    let users = crowd(&service).await;
    let mut walk = Walk::new(7);
    let mut pages = 0;
    while walk.step(&service).await {
        // The deleted users were seen already, so all later ones move up.
        for gone in 0..4 {
            if let Some(user) = users.get(pages * 7 + gone).filter(|_| pages < 7) {
                leave(&service, user).await;
            }
        }
        pages += 1;
    }
    let seen: BTreeSet<String> = walk.seen.iter().cloned().collect();
    assert_eq!(walk.seen.len(), CROWD, "each was seen once");
    assert!(living(&service).await.is_subset(&seen));
    // In a collection that does not change the total is exact.
    let page = read(&service, "/Users?count=1").await;
    assert_eq!(page["totalResults"], CROWD - 28);
}

/// A client may read as many pages as the first one announces, and no total after that.
pub(crate) async fn a_list_after_deletions_has_each_user_once(backend: Backend) {
    let services = backend.open_processes(2).await;
    let mut users = crowd(&services[0]).await;
    for (round, gone) in [0, 20, 13, 6].into_iter().enumerate() {
        for user in users.drain(..gone) {
            leave(&services[0], &user).await;
        }
        let mut walk = Walk::new(10);
        assert!(walk.step(&services[round % 2]).await);
        let (total, pages) = (walk.total, walk.total.div_ceil(10));
        for page in 1..pages {
            let nth = usize::try_from(page).expect("few pages");
            walk.step(&services[(round + nth) % 2]).await;
            assert_eq!(walk.total, total, "in round {round}");
        }
        assert_eq!(walk.seen.len(), users.len(), "in round {round}");
        let seen: BTreeSet<String> = walk.seen.into_iter().collect();
        assert_eq!(seen, living(&services[0]).await, "in round {round}");
    }
}

/// Every page comes from another process, and after each page another process deletes two users.
pub(crate) async fn a_walk_by_index_through_three_processes_loses_nobody(backend: Backend) {
    let services = backend.open_processes(3).await;
    let users = crowd(&services[0]).await;
    let mut left = users.iter();
    for order in ["", "&sortBy=userName", "&filter=userName%20sw%20%22u%22"] {
        let mut walk = Walk { order, ..Walk::new(7) };
        let mut pages = 0;
        while walk.step(&services[pages % 3]).await {
            // The deleted users were seen already, except by the last reader, so all later ones
            // move up.
            for user in left.by_ref().take(2) {
                leave(&services[(pages + 1) % 3], user).await;
            }
            pages += 1;
        }
        let seen: BTreeSet<String> = walk.seen.into_iter().collect();
        let living = living(&services[0]).await;
        assert!(living.is_subset(&seen), "{order} lost {:?}", living.difference(&seen));
    }
    let page = read(&services[1], "/Users?count=1").await;
    assert_eq!(page["totalResults"], living(&services[2]).await.len());
}

/// As many readers as processes, each using all of them, over a collection that shrinks.
pub(crate) async fn walks_that_cross_between_processes_lose_nobody(backend: Backend) {
    let services = backend.open_processes(3).await;
    let users = crowd(&services[0]).await;
    let mut left = users.iter();
    let mut walks = [Walk::new(5), Walk::new(5), Walk::new(5)];
    let mut goes_on = [true; 3];
    for round in 0.. {
        for (number, walk) in walks.iter_mut().enumerate() {
            // They begin one after the other.
            goes_on[number] = goes_on[number]
                && (round < number || walk.step(&services[(round + number) % 3]).await);
        }
        if let Some(user) = left.next().filter(|_| round < 12) {
            leave(&services[round % 3], user).await;
        }
        if goes_on == [false; 3] {
            break;
        }
    }
    let living = living(&services[0]).await;
    for walk in walks {
        let seen: BTreeSet<String> = walk.seen.into_iter().collect();
        assert!(living.is_subset(&seen), "{:?}", living.difference(&seen));
    }
}

pub(crate) async fn paging_by_cursor_misses_no_user_when_others_are_deleted(backend: Backend) {
    let service = backend.open().await;
    let users = crowd(&service).await;
    let mut seen = Vec::new();
    let mut target = "/Users?cursor&count=7".to_owned();
    let mut left = users.iter();
    loop {
        let page = read(&service, &target).await;
        seen.extend(names(&page).into_iter().map(str::to_owned));
        let Some(next) = page["nextCursor"].as_str() else { break };
        target = format!("/Users?cursor={next}&count=7");
        for user in left.by_ref().take(4) {
            leave(&service, user).await;
        }
    }
    let once: BTreeSet<String> = seen.iter().cloned().collect();
    assert_eq!(once.len(), seen.len(), "each was seen once");
    assert!(living(&service).await.is_subset(&once));
}

pub(crate) async fn two_simultaneous_readers_miss_no_user(backend: Backend) {
    let service = backend.open().await;
    let users = crowd(&service).await;
    let (mut first, mut second) = (Walk::new(5), Walk::new(5));
    first.step(&service).await;
    first.step(&service).await;
    for user in &users[..8] {
        leave(&service, user).await;
    }
    // The second reader begins while the first is reading, and both continue in turn.
    let (mut one, mut other) = (true, true);
    while one || other {
        one = one && first.step(&service).await;
        other = other && second.step(&service).await;
    }
    let living = living(&service).await;
    for walk in [first, second] {
        let seen: BTreeSet<String> = walk.seen.into_iter().collect();
        assert!(living.is_subset(&seen), "{:?}", living.difference(&seen));
    }
}

pub(crate) async fn an_index_without_a_stored_position_is_found(backend: Backend) {
    let service = backend.open().await;
    crowd(&service).await;
    let page = read(&service, "/Users?startIndex=41&count=3").await;
    assert_eq!(names(&page), ["u41", "u42", "u43"]);
    let page = read(&service, "/Users?startIndex=50&count=2").await;
    assert_eq!(names(&page), ["u50", "u51"]);
    let page =
        read(&service, "/Users?startIndex=10&count=2&sortBy=userName&sortOrder=descending").await;
    assert_eq!(names(&page), ["u51", "u50"]);
}

pub(crate) async fn walks_of_two_questions_do_not_meet(backend: Backend) {
    let service = backend.open().await;
    crowd(&service).await;
    for name in ["u41", "u51"] {
        let page = read(&service, &format!("/Users?filter=userName%20eq%20%22{name}%22")).await;
        let body = json!({"schemas": [USER_URN], "userName": name, "active": false});
        put(&service, &page["Resources"][0], body).await.expect(200);
    }
    let suspended = "/Users?filter=active%20eq%20false&count=1";
    assert_eq!(names(&read(&service, suspended).await), ["u41"]);
    // Each of these has a page that ended before index 2.
    assert_eq!(names(&read(&service, "/Users?count=2&startIndex=2").await), ["u02", "u03"]);
    assert_eq!(names(&read(&service, "/Users?count=1").await), ["u01"]);
    let active = "/Users?filter=active%20eq%20true&count=1";
    assert_eq!(names(&read(&service, active).await), ["u01"]);
    assert_eq!(names(&read(&service, &format!("{suspended}&startIndex=2")).await), ["u51"]);
    assert_eq!(names(&read(&service, &format!("{active}&startIndex=2")).await), ["u02"]);
    // A cursor of one query is not valid for the other.
    let page = read(&service, "/Users?cursor&count=1&filter=active%20eq%20true").await;
    let next = page["nextCursor"].as_str().expect("more");
    for filter in ["active%20eq%20false", "userName%20eq%20%22u01%22", "id%20pr"] {
        let other = format!("/Users?cursor={next}&count=1&filter={filter}");
        refused(get(&service, &other).await, 400, Some("invalidCursor"));
    }
    refused(
        get(&service, &format!("/Users?cursor={next}&count=1")).await,
        400,
        Some("invalidCursor"),
    );
    let same = format!("/Users?cursor={next}&count=1&filter=active%20eq%20true");
    assert_eq!(names(&read(&service, &same).await), ["u02"]);
}

/// The store stops after 20,000 users or groups, before it knows that no other matches.
pub(crate) async fn a_page_that_the_last_match_fills_has_the_exact_total(backend: Backend) {
    let service = backend.open().await;
    let import = async |target: &str, line: &dyn Fn(usize) -> Value| {
        let lines: Vec<String> = (0..20_002).map(|number| line(number).to_string()).collect();
        let lines = lines.join("\n");
        let request = service.request("POST", target).body("application/x-ndjson", lines);
        request.send().await.expect(200);
    };
    let title = |number| if number < 3 { "Countess" } else { "none" };
    import("/bulk/users", &|n| json!({"username": format!("u{n}"), "title": title(n)})).await;
    import("/bulk/groups", &|n| json!({"display_name": format!("{n}"), "external_id": title(n)}))
        .await;
    let users = "/Users?filter=title%20eq%20%22Countess%22";
    let groups = "/Groups?filter=externalId%20sw%20%22Countess%22";
    for (start, count, shown) in [(1, 3, 3), (1, 2, 2), (3, 1, 1), (3, 2, 1), (4, 2, 0)] {
        // A page of groups examines as many groups and no more, so it must be full.
        let lists = if shown == count { vec![users, groups] } else { vec![users] };
        for list in lists {
            let target = format!("{list}&startIndex={start}&count={count}");
            let page = read(&service, &target).await;
            let found = (&page["totalResults"], &page["itemsPerPage"]);
            assert_eq!(found, (&json!(3), &json!(shown)), "{target}");
        }
    }
    // Two of those that were shown leave, and the third is at the same index as before.
    let first = read(&service, &format!("{users}&count=2")).await;
    for user in first["Resources"].as_array().expect("users") {
        leave(&service, user).await;
    }
    let last = read(&service, &format!("{users}&startIndex=3&count=1")).await;
    assert_eq!((&last["totalResults"], &last["itemsPerPage"]), (&json!(3), &json!(1)));
}
