//! A connection that fails at the commit. The caller never gets a success that did not happen, and
//! the writer repeats nothing that may have happened.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    time::Duration,
};

use roster_core::{
    Actor, Caller, EventKind, EventsQuery, Outcome, Preconditions, Rules, Store, StoreError,
    TenantStore as _, Timestamp, WebhookStore as _,
    access::AuditView,
    tenant::{TenantAct, TenantChange, TenantDraft, TenantFailure},
    webhook::{WebhookAct, WebhookChange, WebhookDraft, WebhookFailure, WebhookId, WebhookSecret},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::sleep,
};

use super::support::{
    apply, assert_sound, create, id, is_unavailable, once, open, patch, schema, tree,
};

/// The next commit is forwarded normally.
const NOWHERE: u8 = 0;
/// The next commit does not reach the server, and the connection is closed.
const BEFORE: u8 = 1;
/// The next commit reaches the server, but the response is dropped and the connection is closed.
const BEHIND: u8 = 2;
/// Like `BEHIND`, but the connection stays open.
const SILENT: u8 = 3;

/// A simple query that ends a transaction, in the format of the PostgreSQL protocol.
const COMMIT: &[u8] = b"COMMIT\0";

/// Longer than a commit takes.
const A_WHILE: Duration = Duration::from_millis(300);

/// Longer than the writer waits for a response.
const SILENCE: Duration = Duration::from_secs(10);

/// Starts a proxy before the server of a URL, which can cut connections. Returns the URL of the
/// proxy.
async fn wire(url: &str, place: Arc<AtomicU8>) -> String {
    let (before, rest) = url.split_once('@').unwrap();
    let (server, rest) = rest.split_once('/').unwrap();
    let server = server.to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (server, place) = (server.clone(), Arc::clone(&place));
            tokio::spawn(async move {
                let server = TcpStream::connect(server).await.unwrap();
                carry(client, server, &place).await;
            });
        }
    });
    format!("{before}@127.0.0.1:{port}/{rest}")
}

/// Forwards bytes in both directions until one end is closed, or the connection is cut.
async fn carry(client: TcpStream, server: TcpStream, place: &AtomicU8) {
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let is_cut = AtomicBool::new(false);
    tokio::select! {
        () = forth(from_client, to_server, place, &is_cut) => {}
        () = back(from_server, to_client, &is_cut) => {}
    }
}

async fn forth(
    mut client: OwnedReadHalf,
    mut server: OwnedWriteHalf,
    place: &AtomicU8,
    is_cut: &AtomicBool,
) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = client.read(&mut bytes).await {
        let sent = &bytes[..count];
        let place = if sent.windows(COMMIT.len()).any(|window| window == COMMIT) {
            place.swap(NOWHERE, Ordering::SeqCst)
        } else {
            NOWHERE
        };
        is_cut.store(place != NOWHERE, Ordering::SeqCst);
        if place == BEFORE || server.write_all(sent).await.is_err() {
            return;
        }
        match place {
            BEHIND => return sleep(A_WHILE).await,
            SILENT => return sleep(SILENCE).await,
            _ => {}
        }
    }
}

async fn back(mut server: OwnedReadHalf, mut client: OwnedWriteHalf, is_cut: &AtomicBool) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = server.read(&mut bytes).await {
        if !is_cut.load(Ordering::SeqCst) && client.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_without_a_response_is_in_doubt_and_not_repeated() {
    let schema = schema();
    let place = Arc::new(AtomicU8::new(NOWHERE));
    let store = open(&wire(&schema.url(), Arc::clone(&place)).await).await;
    apply(&store, create(1, r#"{"username":"ada"}"#)).await.unwrap();
    for n in 2..6 {
        place.store(if n == 2 { SILENT } else { BEHIND }, Ordering::SeqCst);
        let user = format!(r#"{{"username":"u{n}"}}"#);
        // If the create were executed again, it would be rejected: its name is taken by then.
        let result = apply(&store, once(n, create(n, &user))).await;
        assert!(is_unavailable(&result), "{result:?}");
        let stored = store.get(id(n)).await.unwrap().unwrap();
        let again = apply(&store, once(n, create(n, &user))).await.unwrap();
        assert_eq!((again.replayed, again.stored), (true, stored));
    }
    place.store(BEHIND, Ordering::SeqCst);
    let batch = (10..200).map(|n| create(n, &format!(r#"{{"username":"u{n}"}}"#))).collect();
    assert!(store.apply(batch).await.iter().all(is_unavailable));
    assert_eq!(assert_sound(&schema.url()).await, 5 + 190);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_webhook_or_a_tenant_that_may_be_made_is_not_made_again() {
    let schema = schema();
    let place = Arc::new(AtomicU8::new(NOWHERE));
    let store = open(&wire(&schema.url(), Arc::clone(&place)).await).await;
    let caller = || Caller { actor: Actor::System, request_id: "r".to_owned() };
    let at = Timestamp::from_millis(1);
    for (n, cut) in [(1, BEHIND), (2, SILENT)] {
        let body =
            format!(r#"{{"name":"w{n}","url":"https://h.example.com/r","types":["user.*"]}}"#);
        let draft = WebhookDraft::parse(&tree(&body)).unwrap();
        let change = WebhookChange {
            act: WebhookAct::Create { id: WebhookId(id(n)), draft, secret: WebhookSecret([7; 32]) },
            preconditions: Preconditions::default(),
            at,
            caller: caller(),
            audit: AuditView::Own,
            all_tenants: true,
            is_dry_run: false,
        };
        place.store(cut, Ordering::SeqCst);
        let made = store.change(change).await;
        let is_away = matches!(made, Err(WebhookFailure::Store(StoreError::Unavailable(_))));
        assert!(is_away, "{made:?}");
        assert!(store.webhook(WebhookId(id(n))).await.unwrap().is_some());
        let change = TenantChange {
            act: TenantAct::Create(
                TenantDraft::parse(&tree(&format!(r#"{{"name":"t{n}"}}"#))).unwrap(),
            ),
            preconditions: Preconditions::default(),
            rules: Rules::default(),
            at,
            caller: caller(),
            is_dry_run: false,
        };
        place.store(cut, Ordering::SeqCst);
        let made = store.change_tenant(change).await;
        let is_away = matches!(made, Err(TenantFailure::Store(StoreError::Unavailable(_))));
        assert!(is_away, "{made:?}");
    }
    let page = store.events(EventsQuery::after(0, 100)).await.unwrap();
    let kinds: Vec<EventKind> = page.events.iter().map(|(_, event)| event.kind).collect();
    let pair = [EventKind::WebhookCreated, EventKind::TenantCreated];
    assert_eq!(kinds, [pair, pair].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_never_reached_the_server_is_in_doubt_and_not_executed() {
    let schema = schema();
    let place = Arc::new(AtomicU8::new(NOWHERE));
    let store = open(&wire(&schema.url(), Arc::clone(&place)).await).await;
    apply(&store, create(1, r#"{"username":"ada"}"#)).await.unwrap();
    for turn in 2..6 {
        place.store(BEFORE, Ordering::SeqCst);
        let change = format!(r#"{{"title":"{turn}"}}"#);
        let result = apply(&store, once(turn, patch(turn, 1, &change))).await;
        assert!(is_unavailable(&result), "{result:?}");
        assert_eq!(store.get(id(1)).await.unwrap().unwrap().version, turn.cast_signed() - 1);
        let again = apply(&store, once(turn, patch(turn, 1, &change))).await;
        assert!(matches!(again, Ok(Outcome { replayed: false, .. })), "{again:?}");
    }
    assert_eq!(assert_sound(&schema.url()).await, 5);
}
