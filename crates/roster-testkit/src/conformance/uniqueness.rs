//! Uniqueness among live users (promise "Unique names"): the username by its PRECIS key, the
//! primary e-mail address by its own key, and when both become free again.

use roster_core::{Clock as _, Refusal, Rules, Taken, UserAct, UsernameOrigin};
use serde_json::{Value, json};

use super::harness::{Harness, deleting, replacing, view};

pub const RULES: Rules = super::DEFAULT;

const NAME_TAKEN: Refusal = Refusal::Taken(Taken {
    username: Some(UsernameOrigin::Given),
    email: false,
    external_id: false,
    indexed: Vec::new(),
});
const EMAIL_TAKEN: Refusal =
    Refusal::Taken(Taken { username: None, email: true, external_id: false, indexed: Vec::new() });

pub async fn a_username_is_unique_by_its_key(harness: Harness) {
    for (held, wanted) in [
        ("ada", "ADA"),
        ("Grace Hopper", "grace hopper"),
        ("zo\u{eb}", "ZOE\u{308}"),
        ("\u{ff42}ob", "bob"),
        ("\u{439}\u{43e}\u{433}", "\u{418}\u{306}\u{41e}\u{413}"),
        ("\u{d55c}\u{ae00}", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}"),
        ("50%_off", "50%_OFF"),
        ("o'brien", "O'BRIEN"),
    ] {
        harness.user(json!({"username": held})).await;
        let result = harness.create(json!({"username": wanted})).await;
        assert_eq!(result, Err(NAME_TAKEN), "{held} {wanted}");
    }
}

pub async fn usernames_with_different_keys_do_not_conflict(harness: Harness) {
    let names = [
        "ada",
        "ad",
        "adaa",
        "a.da",
        "a+da",
        "ada ada",
        "\u{e0}da",
        "a_da",
        "a%da",
        "axda",
        "a'da",
        "a\"da",
        "a\\da",
        "a*da",
        "a?da",
        "[ada]",
        "stra\u{df}e",
        "strasse",
        "\u{131}da",
        "ida",
        "\u{10428}da",
        "-",
        "null",
        "0",
        "00",
        "1e0",
        "1",
    ];
    for name in names {
        let user = harness.user(json!({"username": name})).await;
        assert_eq!(view(&user)["username"], name);
    }
    assert_eq!(harness.head().await.active, i64::try_from(names.len()).expect("few"));
}

pub async fn an_email_is_unique_by_its_key(harness: Harness) {
    for (number, (held, wanted)) in [
        ("ada@example.com", "ADA@EXAMPLE.COM"),
        ("zo\u{eb}@example.com", "ZOE\u{308}@example.com"),
        ("a@b\u{fc}cher.example", "a@xn--bcher-kva.example"),
        ("b@BU\u{308}CHER.example", "B@b\u{fc}cher.example"),
        ("c@example.\u{4f8b}\u{5b50}", "c@example.xn--fsqu00a"),
        ("stra\u{df}e@example.com", "STRASSE@example.com"),
        ("\"quoted\"@example.com", "quoted@example.com"),
    ]
    .into_iter()
    .enumerate()
    {
        let named = |name: &str, email: &str| json!({"username": name, "email": email});
        harness.user(named(&format!("held{number}"), held)).await;
        let result = harness.create(named(&format!("wanted{number}"), wanted)).await;
        assert_eq!(result, Err(EMAIL_TAKEN), "{held} {wanted}");
    }
}

pub async fn dots_and_tags_of_an_email_are_not_folded(harness: Harness) {
    for email in ["ada@example.com", "a.da@example.com", "ada+x@example.com", "ada@example.org"] {
        harness.user(json!({"email": email})).await;
    }
}

pub async fn only_the_primary_email_is_unique(harness: Harness) {
    let list = |values: [(&str, bool); 2]| -> Value {
        values.iter().map(|(value, primary)| json!({"value": value, "primary": primary})).collect()
    };
    let shared = list([("ada@example.com", true), ("team@example.com", false)]);
    harness.user(json!({"username": "ada", "emails": shared})).await;
    let second = list([("grace@example.com", true), ("ada@example.com", false)]);
    let grace = harness.user(json!({"username": "grace", "emails": second})).await;
    harness.user(json!({"username": "team", "email": "team@example.com"})).await;
    // The flag moves to an address that is another user's primary one.
    let moved = list([("grace@example.com", false), ("ada@example.com", true)]);
    let result = harness.patch(grace.id, json!({"emails": moved})).await;
    assert_eq!(result, Err(EMAIL_TAKEN));
    // Without a flag the first entry is the primary one.
    let unflagged = json!([{"value": "ADA@example.com"}, {"value": "grace@example.com"}]);
    assert_eq!(harness.patch(grace.id, json!({"emails": unflagged})).await, Err(EMAIL_TAKEN));
}

pub async fn all_taken_values_are_reported_together(harness: Harness) {
    harness.user(json!({"username": "ada", "email": "ada@example.com"})).await;
    harness.user(json!({"username": "grace", "email": "grace@example.com"})).await;
    let result = harness.create(json!({"username": "Ada", "email": "Grace@example.com"})).await;
    let taken = Taken {
        username: Some(UsernameOrigin::Given),
        email: true,
        external_id: false,
        ..Taken::default()
    };
    assert_eq!(result, Err(Refusal::Taken(taken)));
}

pub async fn a_later_write_cannot_claim_a_taken_value(harness: Harness) {
    harness.user(json!({"username": "ada", "email": "ada@example.com"})).await;
    let grace = harness.user(json!({"username": "grace", "email": "grace@example.com"})).await;
    let before = harness.image().await;
    for (body, refusal) in [
        (json!({"username": "ADA"}), NAME_TAKEN),
        (json!({"email": "ADA@example.com"}), EMAIL_TAKEN),
    ] {
        assert_eq!(harness.patch(grace.id, body.clone()).await, Err(refusal.clone()));
        assert_eq!(harness.replace(grace.id, body).await, Err(refusal));
    }
    assert_eq!(harness.image().await, before);
}

pub async fn a_user_may_respell_its_own_name_and_address(harness: Harness) {
    let user = harness.user(json!({"username": "ada", "email": "ada@example.com"})).await;
    let body = json!({"username": "ADA", "email": "Ada@Example.com"});
    let after = harness.replace(user.id, body).await.expect("its own").stored;
    assert_eq!(after.version, 2);
    assert_eq!(view(&after)["username"], "ADA");
    assert_eq!(harness.create(json!({"username": "ada"})).await, Err(NAME_TAKEN));
}

pub async fn a_deleted_user_frees_its_name_and_address(harness: Harness) {
    let body = json!({"username": "ada", "email": "ada@example.com"});
    for round in 1..=3 {
        let user = harness.user(body.clone()).await;
        harness.delete(user.id).await.expect("there");
        assert_eq!(harness.head().await.deleted, round);
    }
    harness.user(body).await;
}

pub async fn a_changed_name_and_address_are_free_at_once(harness: Harness) {
    let user = harness.user(json!({"username": "ada", "email": "ada@example.com"})).await;
    let body = json!({"username": "countess", "email": "countess@example.com"});
    harness.replace(user.id, body).await.expect("valid");
    harness.user(json!({"username": "ada", "email": "ada@example.com"})).await;
}

pub async fn a_cleared_address_is_free_at_once(harness: Harness) {
    let user = harness.user(json!({"username": "ada", "email": "ada@example.com"})).await;
    harness.replace(user.id, json!({"username": "ada"})).await.expect("valid");
    harness.user(json!({"username": "grace", "email": "ada@example.com"})).await;
}

pub async fn names_are_taken_and_freed_within_one_batch(harness: Harness) {
    let ada = || harness.creating(&json!({"username": "ada", "email": "ada@example.com"}));
    let id = harness.clock.new_id();
    let mut first = ada();
    if let UserAct::Create { id: made, .. } = &mut first {
        *made = id;
    }
    let renamed = replacing(id, &json!({"username": "grace"}));
    let acts = vec![first, ada(), renamed, ada(), ada(), deleting(id)];
    let taken = Err(Refusal::Taken(Taken {
        username: Some(UsernameOrigin::Given),
        email: true,
        external_id: false,
        ..Taken::default()
    }));
    let results = harness.apply(acts).await;
    let [Ok(_), second, Ok(_), Ok(fourth), fifth, Ok(_)] = &results[..] else {
        panic!("{results:?}")
    };
    assert_eq!((second, fifth), (&taken, &taken));
    assert_eq!((fourth.position, harness.head().await.position), (3, 4));
    let image = harness.image().await;
    assert_eq!(image.users, std::slice::from_ref(&fourth.stored));
}

pub async fn two_users_swap_names_by_way_of_a_third_name(harness: Harness) {
    let (ada, grace) = (
        harness.user(json!({"username": "ada"})).await.id,
        harness.user(json!({"username": "grace"})).await.id,
    );
    let name = |id, name: &str| replacing(id, &json!({"username": name}));
    let direct = harness.apply(vec![name(ada, "grace"), name(grace, "ada")]).await;
    assert_eq!(direct, [Err(NAME_TAKEN), Err(NAME_TAKEN)]);
    let around = harness.apply(vec![name(ada, "x"), name(grace, "ada"), name(ada, "grace")]).await;
    assert!(around.iter().all(Result::is_ok), "{around:?}");
}

pub async fn the_external_id_may_be_shared_by_default(harness: Harness) {
    harness.user(json!({"username": "ada", "external_id": "7"})).await;
    harness.user(json!({"username": "grace", "external_id": "7"})).await;
}
