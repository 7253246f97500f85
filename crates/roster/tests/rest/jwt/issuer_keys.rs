//! The keys of an issuer: how they change, and what is rejected while it is unreachable.

use std::time::Duration;

use serde_json::{Value, json};

use super::{HOUR, MINUTE, Trusting, futures, issuer::Signer};
use crate::service::Backend;

pub(crate) async fn rotated_issuer_keys_are_fetched(backend: Backend) {
    let (one, two) = (Signer::p256(), Signer::p256());
    let trusting = Trusting::new(&backend, vec![one.jwk("one")]).await;
    trusting.ask(&trusting.token(&one, "one")).await.expect(200);
    trusting.issuer.set(|answers| answers.keys.push(two.jwk("two")));
    // At most one fetch every 30 seconds.
    for _ in 0..5 {
        trusting.ask(&trusting.token(&two, "two")).await.refused(401, "unauthenticated");
    }
    assert_eq!(trusting.issuer.fetches(), 1);
    trusting.service.clock.step(MINUTE / 2);
    trusting.ask(&trusting.token(&two, "two")).await.expect(200);
    assert_eq!(trusting.issuer.fetches(), 2);
    trusting.ask(&trusting.token(&one, "one")).await.expect(200);
}

pub(crate) async fn a_key_that_is_replaced_under_its_id_is_fetched(backend: Backend) {
    let (one, two) = (Signer::p256(), Signer::p256());
    let trusting = Trusting::new(&backend, vec![one.jwk("one")]).await;
    trusting.ask(&trusting.token(&one, "one")).await.expect(200);
    trusting.issuer.set(|answers| answers.keys = vec![two.jwk("one")]);
    trusting.ask(&trusting.token(&two, "one")).await.refused(401, "unauthenticated");
    trusting.service.clock.step(MINUTE / 2);
    trusting.ask(&trusting.token(&two, "one")).await.expect(200);
    // The former key is not fetched for: at most one fetch every 30 seconds.
    for _ in 0..3 {
        trusting.ask(&trusting.token(&one, "one")).await.refused(401, "unauthenticated");
    }
    assert_eq!(trusting.issuer.fetches(), 2);
}

pub(crate) async fn a_set_without_a_key_is_fetched_again_after_a_second(backend: Backend) {
    let signer = Signer::p256();
    let trusting = Trusting::new(&backend, vec![]).await;
    let token = trusting.token(&signer, "one");
    for _ in 0..3 {
        trusting.ask(&token).await.refused(401, "unauthenticated");
    }
    assert_eq!(trusting.issuer.fetches(), 1);
    trusting.issuer.set(|answers| answers.keys.push(signer.jwk("one")));
    trusting.service.clock.step(1000);
    trusting.ask(&token).await.expect(200);
}

pub(crate) async fn keys_are_fetched_again_after_the_clock_was_set_back(backend: Backend) {
    let signer = Signer::p256();
    let trusting = Trusting::new(&backend, vec![signer.jwk("one")]).await;
    trusting.ask(&trusting.token(&signer, "one")).await.expect(200);
    trusting.service.clock.step(-24 * HOUR);
    trusting.issuer.set(|answers| answers.keys.clear());
    trusting.wait_for_status(&trusting.token(&signer, "one"), 401).await;
}

pub(crate) async fn a_token_is_rejected_once_its_key_leaves_the_set(backend: Backend) {
    let (one, two) = (Signer::p256(), Signer::p256());
    let trusting = Trusting::new(&backend, vec![one.jwk("one"), two.jwk("two")]).await;
    let clock = &trusting.service.clock;
    trusting.ask(&trusting.token(&one, "one")).await.expect(200);
    clock.step(10 * MINUTE - 1000);
    let token = trusting.token(&one, "one");
    trusting.ask(&token).await.expect(200);
    trusting.issuer.set(|answers| drop(answers.keys.remove(0)));
    // The token is cached. The key set is now ten minutes old and is fetched in the background.
    clock.step(1000);
    trusting.wait_for_status(&token, 401).await;
    trusting.ask(&trusting.token(&two, "two")).await.expect(200);
    // Keys that were not used for a long time are fetched before they are used.
    trusting.issuer.set(|answers| answers.keys.clear());
    clock.step(HOUR);
    trusting.ask(&trusting.token(&two, "two")).await.refused(401, "unauthenticated");
}

pub(crate) async fn an_unreachable_issuer_is_503_until_it_responds(backend: Backend) {
    let signer = Signer::p256();
    let trusting = Trusting::new(&backend, vec![signer.jwk("one")]).await;
    trusting.issuer.set(|answers| answers.away = true);
    let token = trusting.token(&signer, "one");
    let reply = trusting.ask(&token).await.refused(503, "unavailable");
    assert_eq!(reply.header("retry-after"), "1");
    trusting.issuer.set(|answers| answers.away = false);
    trusting.service.clock.step(1000);
    trusting.ask(&token).await.expect(200);
}

pub(crate) async fn keys_of_an_unreachable_issuer_are_used_for_a_day(backend: Backend) {
    let signer = Signer::p256();
    let trusting = Trusting::new(&backend, vec![signer.jwk("one")]).await;
    let clock = &trusting.service.clock;
    let ask = async || trusting.status(&trusting.token(&signer, "one")).await;
    assert_eq!(ask().await, 200);
    trusting.issuer.set(|answers| answers.away = true);
    for _ in 0..23 {
        clock.step(HOUR);
        assert_eq!(ask().await, 200);
    }
    // An unknown key may be a new key of the issuer.
    trusting.ask(&trusting.token(&signer, "two")).await.refused(503, "unavailable");
    clock.step(HOUR);
    assert_eq!(ask().await, 503);
    trusting.issuer.set(|answers| answers.away = false);
    clock.step(1000);
    assert_eq!(ask().await, 200);
}

pub(crate) async fn a_known_key_waits_for_no_fetch_and_many_requests_cause_one(backend: Backend) {
    let (one, two) = (Signer::p256(), Signer::p256());
    let trusting = Trusting::new(&backend, vec![one.jwk("one")]).await;
    trusting.issuer.set(|answers| answers.slow = Duration::from_millis(300));
    let first = trusting.token(&one, "one");
    let asked = (0..20).map(|_| trusting.status(&first));
    assert_eq!(futures(asked).await, [200; 20]);
    assert_eq!(trusting.issuer.fetches(), 1);
    // A slow fetch of a new key delays no request with a known key.
    trusting.issuer.set(|answers| {
        answers.keys.push(two.jwk("two"));
        answers.slow = Duration::from_secs(1);
    });
    trusting.service.clock.step(MINUTE);
    let new = trusting.token(&two, "two");
    let known = trusting.token(&one, "one");
    let waiting = futures((0..20).map(|_| trusting.status(&new)));
    let passing = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let statuses = futures((0..20).map(|_| trusting.status(&known))).await;
        (statuses, trusting.issuer.fetches())
    };
    let (waited, (passed, fetches)) = tokio::join!(waiting, passing);
    assert_eq!((waited, passed), (vec![200; 20], vec![200; 20]));
    assert_eq!(
        (fetches, trusting.issuer.fetches()),
        (1, 2),
        "they were served before the fetch ended"
    );
}

pub(crate) async fn invalid_documents_of_an_issuer_are_rejected(backend: Backend) {
    let signer = Signer::p256();
    let trusting = Trusting::new(&backend, vec![signer.jwk("one")]).await;
    let url = trusting.issuer.url.clone();
    let jwks = format!("{url}/jwks");
    let large = vec![json!({"kty": "x", "pad": "x".repeat(3000)}); 100];
    let document = |document: Value| (Some(document), vec![signer.jwk("one")], "200 OK");
    for (document, keys, status) in [
        document(json!({"issuer": format!("{url}/"), "jwks_uri": jwks})),
        document(json!({"issuer": "https://other.example", "jwks_uri": jwks})),
        document(json!({"jwks_uri": jwks})),
        document(json!({"issuer": url})),
        document(json!({"issuer": url, "jwks_uri": "http://issuer.example.com/jwks"})),
        document(json!({"issuer": url, "jwks_uri": "file:///etc/passwd"})),
        document(json!([])),
        (None, vec![signer.jwk("one")], "302 Found"),
        (None, vec![signer.jwk("one")], "500 Oops"),
        (None, [large, vec![signer.jwk("one")]].concat(), "200 OK"),
    ] {
        let place = format!("{document:?} {status}");
        trusting.issuer.set(|answers| {
            (answers.document, answers.keys, answers.status) = (document, keys, status);
        });
        trusting.service.clock.step(1000);
        assert_eq!(trusting.status(&trusting.token(&signer, "one")).await, 503, "{place}");
    }
    trusting.issuer.set(|answers| {
        (answers.document, answers.keys) = (None, vec![signer.jwk("one")]);
        answers.status = "200 OK";
    });
    trusting.service.clock.step(1000);
    trusting.ask(&trusting.token(&signer, "one")).await.expect(200);
}

pub(crate) async fn keys_that_cannot_be_used_do_not_refuse_the_others(backend: Backend) {
    let signer = Signer::p256();
    let trusting = Trusting::new(&backend, Vec::new()).await;
    let unusable = vec![json!({"kty": "x"}); 101];
    let usable = (0..100).map(|number| signer.jwk(&number.to_string()));
    let keys = unusable.into_iter().chain(usable).chain([signer.jwk("one too many")]).collect();
    trusting.issuer.set(|answers| answers.keys = keys);
    trusting.service.clock.step(1000);
    trusting.ask(&trusting.token(&signer, "99")).await.expect(200);
    let beyond = trusting.ask(&trusting.token(&signer, "one too many")).await;
    beyond.refused(401, "unauthenticated");
}
