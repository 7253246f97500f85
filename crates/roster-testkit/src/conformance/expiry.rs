//! Users that expire: `expires_at`, and how housekeeping finds those whose time has passed.

use roster_core::{
    ExpiredUser, Rules, Stored, Timestamp, UserId, ViolationCode,
    list::{Direction, SortBy},
    store::EXPIRED_USERS_MAX,
    tenant::TenantAct,
};
use serde_json::{Value, json};

use super::{
    harness::{Harness, faults, view},
    order::listed,
    tenants::{change, create, name, of},
};

pub const RULES: Rules = super::DEFAULT;

fn expiring(username: &str, at: &str) -> Value {
    json!({"username": username, "expires_at": at})
}

fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).expect("a time")
}

pub async fn a_time_of_expiry_is_stored_in_utc_with_milliseconds(harness: Harness) {
    let user = harness.user(expiring("ada", "2027-01-31T12:00:00+01:00")).await;
    assert_eq!(view(&user)["expires_at"], "2027-01-31T11:00:00.000Z");
    for (text, stored) in [
        ("2027-01-31t11:00:00.0019z", "2027-01-31T11:00:00.001Z"),
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.9999-00:00", "9999-12-31T23:59:59.999Z"),
    ] {
        let after = harness.patch(user.id, json!({"expires_at": text})).await.expect("a time");
        assert_eq!(view(&after.stored)["expires_at"], stored, "{text}");
        let again = harness.replace(user.id, expiring("ada", text)).await.expect("the same");
        assert_eq!(again.stored.version, after.stored.version, "{text} changes nothing");
    }
    for none in [json!(null), json!("")] {
        harness.patch(user.id, json!({"expires_at": "2027-01-31T11:00:00Z"})).await.expect("it");
        let after = harness.patch(user.id, json!({"expires_at": none})).await.expect("no value");
        assert_eq!(view(&after.stored).get("expires_at"), None);
    }
}

pub async fn what_is_no_time_is_rejected(harness: Harness) {
    let user = harness.user(json!({"username": "ada"})).await;
    let before = harness.image().await;
    for (value, code) in [
        (json!("tomorrow"), ViolationCode::InvalidValue),
        (json!("2027-01-31"), ViolationCode::InvalidValue),
        (json!("2027-01-31T12:00:00"), ViolationCode::InvalidValue),
        (json!("2027-02-29T12:00:00Z"), ViolationCode::InvalidValue),
        (json!("0000-01-01T00:00:00+01:00"), ViolationCode::InvalidValue),
        (json!("9999-12-31T23:59:59-01:00"), ViolationCode::InvalidValue),
        (json!(1_800_000_000), ViolationCode::WrongType),
        (json!(true), ViolationCode::WrongType),
        (json!(["2027-01-31T12:00:00Z"]), ViolationCode::WrongType),
    ] {
        let expected = [("/expires_at".to_owned(), code)];
        let body = json!({"username": "eve", "expires_at": value});
        assert_eq!(faults(harness.create(body).await), expected, "{value}");
        let patch = json!({"expires_at": value});
        assert_eq!(faults(harness.patch(user.id, patch).await), expected, "{value}");
    }
    assert_eq!(harness.image().await, before);
}

pub async fn filters_compare_times_of_expiry(harness: Harness) {
    for body in [
        expiring("ada", "2027-01-31T12:00:00Z"),
        expiring("bob", "2027-01-31T12:00:00.001Z"),
        expiring("cyd", "2026-12-31T23:59:59.999Z"),
        json!({"username": "dan"}),
    ] {
        harness.user(body).await;
    }
    let rows: [(&str, &[&str]); 14] = [
        ("expires_at pr", &["ada", "bob", "cyd"]),
        ("not (expires_at pr)", &["dan"]),
        ("expires_at eq null", &["dan"]),
        (r#"expires_at eq "2027-01-31T13:00:00+01:00""#, &["ada"]),
        (r#"expires_at eq "2027-01-31T12:00:00.0005Z""#, &[]),
        (r#"expires_at ne "2027-01-31T12:00:00Z""#, &["bob", "cyd", "dan"]),
        (r#"expires_at gt "2027-01-31T12:00:00Z""#, &["bob"]),
        (r#"expires_at gt "2027-01-31T11:59:59.9999Z""#, &["ada", "bob"]),
        (r#"expires_at ge "2027-01-31T12:00:00.0001Z""#, &["bob"]),
        (r#"expires_at lt "2027-01-31T12:00:00.0001Z""#, &["ada", "cyd"]),
        (
            r#"expires_at le "2027-01-31T12:00:00Z" and expires_at ge "2027-01-01T00:00:00Z""#,
            &["ada"],
        ),
        (r#"expires_at lt "9999-12-31T23:59:59.9999Z""#, &["ada", "bob", "cyd"]),
        (r#"expires_at gt "0000-01-01T00:00:00+23:00""#, &["ada", "bob", "cyd"]),
        (r#"expires_at lt "0000-01-01T00:00:00+23:00""#, &[]),
    ];
    for (filter, expected) in rows {
        assert_eq!(harness.filtered(filter).await, expected, "{filter}");
    }
    let seen = listed(&harness, SortBy::ExpiresAt, Direction::Ascending, "username").await;
    assert_eq!(seen, ["cyd", "ada", "bob", "dan"]);
    let seen = listed(&harness, SortBy::ExpiresAt, Direction::Descending, "username").await;
    assert_eq!(seen, ["dan", "bob", "ada", "cyd"]);
}

async fn expired(harness: &Harness, now: &str, after: Option<ExpiredUser>) -> Vec<ExpiredUser> {
    harness.store().expired_users(time(now), after).await.expect("the store answers")
}

fn ids(expired: &[ExpiredUser]) -> Vec<UserId> {
    expired.iter().map(|user| user.id).collect()
}

pub async fn expired_users_are_found_earliest_first(harness: Harness) {
    let late = harness.user(expiring("late", "2026-02-01T00:00:00Z")).await;
    let early = harness.user(expiring("early", "2026-01-01T00:00:00.001Z")).await;
    harness.user(json!({"username": "never"})).await;
    assert_eq!(expired(&harness, "2026-01-01T00:00:00Z", None).await, []);
    let found = expired(&harness, "2026-01-01T00:00:00.001Z", None).await;
    let of = |user: &Stored, at| ExpiredUser {
        tenant: found[0].tenant,
        id: user.id,
        version: user.version,
        expires_at: time(at),
    };
    assert_eq!(found, [of(&early, "2026-01-01T00:00:00.001Z")]);
    let all = expired(&harness, "2026-02-01T00:00:00Z", None).await;
    assert_eq!(all, [found[0], of(&late, "2026-02-01T00:00:00Z")]);
    assert_eq!(expired(&harness, "2026-03-01T00:00:00Z", Some(all[0])).await, all[1..]);
    assert_eq!(expired(&harness, "2026-03-01T00:00:00Z", Some(all[1])).await, []);

    let body = |number: usize| expiring(&format!("u{number}"), "2026-01-15T00:00:00Z");
    let acts: Vec<_> =
        (0..EXPIRED_USERS_MAX).map(|number| harness.creating(&body(number))).collect();
    harness.apply(acts).await;
    let first = expired(&harness, "2026-03-01T00:00:00Z", None).await;
    assert_eq!(first.len(), EXPIRED_USERS_MAX);
    let rest = expired(&harness, "2026-03-01T00:00:00Z", first.last().copied()).await;
    assert_eq!(rest.len(), 2);
    let whole = [ids(&first), ids(&rest)].concat();
    assert_eq!((whole[0], whole[whole.len() - 1]), (early.id, late.id));
    assert!(whole[1..whole.len() - 1].is_sorted(), "ties are in the order of their ids");
}

pub async fn only_active_users_of_tenants_that_are_not_deleted_expire(harness: Harness) {
    const LATER: &str = "2026-03-01T00:00:00Z";
    let acme = create(&harness, json!({"name": "acme"})).await;
    let of_acme = of(&harness, &acme).await;
    let ada = harness.user(expiring("ada", "2026-01-02T00:00:00Z")).await.id;
    let ida = of_acme.user(expiring("ada", "2026-01-01T00:00:00Z")).await.id;
    let found = expired(&harness, LATER, None).await;
    assert_eq!(ids(&found), [ida, ada]);
    assert_eq!(found[0].tenant, acme.id);
    assert_eq!(expired(&of_acme, LATER, None).await, found, "any tenant's store finds them");

    harness.patch(ada, json!({"status": "suspended"})).await.expect("there");
    assert_eq!(ids(&expired(&harness, LATER, None).await), [ida]);
    harness.patch(ada, json!({"status": "active"})).await.expect("there");
    assert_eq!(ids(&expired(&harness, LATER, None).await), [ida, ada]);
    harness.patch(ada, json!({"expires_at": "2026-04-01T00:00:00Z"})).await.expect("there");
    assert_eq!(ids(&expired(&harness, LATER, None).await), [ida]);
    harness.patch(ada, json!({"expires_at": null})).await.expect("there");
    assert_eq!(ids(&expired(&harness, "2027-01-01T00:00:00Z", None).await), [ida]);

    of_acme.delete(ida).await.expect("there");
    assert_eq!(expired(&harness, LATER, None).await, []);
    of_acme.restore(ida).await.expect("deleted");
    assert_eq!(ids(&expired(&harness, LATER, None).await), [ida]);
    change(&harness, TenantAct::Delete(name("acme"))).await.expect("there");
    assert_eq!(expired(&harness, LATER, None).await, []);
    change(&harness, TenantAct::Restore(name("acme"))).await.expect("deleted");
    assert_eq!(ids(&expired(&harness, LATER, None).await), [ida]);
}
