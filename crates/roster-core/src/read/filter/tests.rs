//! Tables of cases for the grammar and each kind of comparison.

use super::*;
use crate::{Draft, Timestamp, UserId, json, user::Status};

fn user(body: &str) -> User {
    let tree = json::read(body.as_bytes()).expect("JSON");
    let draft = Draft::parse(tree);
    let caller = crate::Caller { actor: crate::Actor::System, request_id: "r".to_owned() };
    let id = UserId::parse("0190d1c2-8000-7000-8000-000000000001").expect("an id");
    let draft = Box::new(draft);
    let act = crate::UserAct::Create { id, draft, upsert: crate::Upsert::default() };
    let at = Timestamp::from_millis(0);
    let command = crate::Command::of(act.clone(), at, caller);
    let (rules, schema) = (crate::Rules::default(), crate::UserSchema::default());
    let decision = crate::decide(rules, &schema, None, &act, &command).expect("valid");
    let crate::Decision::Write(change) = decision else { panic!("a write") };
    User::clone(&change.user)
}

fn ada() -> User {
    user(
        r#"{"username":"Ada.King","family_name":"Lovelace","name":"Ada Straße",
        "emails":[{"value":"Ada@Bücher.example","type":"work","primary":true},
                  {"value":"ada@home.example"}],
        "email_verified":true,"phone_number":"+44 (20) 7946-0123","external_id":"X-1",
        "manager":{"id":"m1"},"profile":"https://example.com/Ada",
        "addresses":[{"locality":"London","country":"GB"}],
        "attributes":{"team":"Core","big":9007199254740993,"ratio":1.5,"on":true,
            "tags":["a",["b"]],"deep":{"er":[{"x":1},{"x":"y"}]},"empty":[]}}"#,
    )
}

fn matches(user: &User, filter: &str) -> bool {
    let parsed = Filter::parse(filter).unwrap_or_else(|fault| panic!("{filter}: {fault:?}"));
    let printed = parsed.to_string();
    assert_eq!(Filter::parse(&printed).as_ref(), Ok(&parsed), "{filter} prints as {printed}");
    let (record, work) = (user.to_record(), Work::new(u64::MAX));
    let by_record =
        parsed.matches_record(&record, &Memberships::default(), &work).expect("a record");
    assert_eq!(parsed.matches(user, &Memberships::default()), by_record, "{filter}");
    by_record
}

#[test]
fn filters_that_match_a_user() {
    let ada = ada();
    for filter in [
        r#"username eq "ADA.king""#,
        r#"userNAME EQ "ada.king""#,
        r#"username sw "ada.""#,
        r#"username co "A.K""#,
        r#"family_name sw "Love" and not (status eq "suspended")"#,
        r#"name ew "STRASSE""#,
        r#"name gt "ada s" and name le "ADA STRASSE""#,
        r#"email eq "ada@xn--bcher-kva.example""#,
        r#"email co "büch""#,
        r#"email sw "ADA@b""#,
        r#"emails eq "ADA@home.example""#,
        r#"emails.value ew ".example""#,
        r#"emails.type eq "WORK""#,
        r#"emails.type ne "work""#,
        r#"emails[type eq "work" and value ew "@bücher.example"]"#,
        r#"emails[not (type pr) and value sw "ada@home"]"#,
        "emails[type eq null]",
        "emails.primary eq true",
        "email_verified eq true",
        "phone_number_verified ne true",
        "phone_number_verified eq null",
        r#"phone_number eq "+442079460123""#,
        r#"phone_number ew "01 23""#,
        r#"phone_numbers co "7946""#,
        r#"external_id eq "X-1""#,
        r#"profile eq "https://example.com/Ada""#,
        r#"manager.id eq "M1""#,
        r#"manager[id eq "m1"]"#,
        "manager pr and addresses pr and attributes pr",
        r#"addresses[locality eq "london" and country eq "gb"]"#,
        r#"title ne "Boss""#,
        "title eq null",
        "not (title pr)",
        "version eq 1 and version ge 1 and version lt 2",
        r#"id eq "0190d1c2-8000-7000-8000-000000000001""#,
        r#"created_at eq "2024-07-20T20:08:23.296+00:00""#,
        r#"created_at gt "2024-07-20T21:08:23.2+01:00""#,
        r#"status eq "ACTIVE""#,
        "status pr",
        r#"attributes.team eq "Core""#,
        r#"attributes.team gt "Cor" and attributes.team co "or""#,
        "attributes.big eq 9007199254740993",
        "attributes.big gt 9007199254740992.0",
        "attributes.ratio ge 1.5 and attributes.ratio lt 2",
        "attributes.on eq true",
        r#"attributes.tags eq "a" and attributes.tags eq "b""#,
        r#"attributes.tags ne "a""#,
        r#"attributes.deep.er.x eq 1 and attributes.deep.er.x eq "y""#,
        "attributes.deep pr",
        "attributes.nothing eq null",
        "attributes.empty eq null",
        "attributes.team.deeper eq null",
        "nickname pr or (title pr or family_name pr)",
        r#"family_name sw """#,
        r#"family_name eq "Love\u006cace""#,
        r#" ( ( family_name  eq  "lovelace" ) ) "#,
    ] {
        assert!(matches(&ada, filter), "{filter}");
    }
}

#[test]
fn filters_that_do_not_match_a_user() {
    let ada = ada();
    for filter in [
        r#"username ne "ADA.king""#,
        r#"external_id eq "x-1""#,
        r#"profile eq "https://example.com/ada""#,
        r#"emails[type eq "work" and value ew "@home.example"]"#,
        r#"title eq "Boss""#,
        r#"title co "" or title gt "" or title lt "z""#,
        "title pr or nickname pr",
        "title ne null",
        r#"phone_number co "words""#,
        r#"attributes.team eq "core""#,
        "attributes.big eq 9007199254740992.0",
        r#"attributes.big eq "9007199254740993""#,
        "attributes.Team pr",
        "attributes.empty pr",
        "attributes.deep eq 1",
        "family_name pr and (title pr or nickname pr)",
        "phone_number_verified eq false",
        r#"id eq "0190d1c2800070008000000000000001""#,
    ] {
        assert!(!matches(&ada, filter), "{filter}");
    }
}

#[test]
fn and_has_precedence_over_or() {
    let ada = ada();
    assert!(matches(&ada, "family_name pr or title pr and title pr"));
    assert!(!matches(&ada, "(family_name pr or title pr) and title pr"));
    assert!(!matches(&ada, "not (family_name pr) or title pr"));
}

#[test]
fn status_matches_a_suspended_user() {
    let mut ada = ada();
    ada.status = Status::Suspended;
    assert!(matches(&ada, r#"status eq "suspended" and status ne "active""#));
}

#[test]
fn every_fault_has_a_position_and_says_what_was_expected() {
    for (text, position, detail) in [
        ("", 0, "name of a member"),
        ("   ", 3, "name of a member"),
        ("nmae eq \"x\"", 0, "did you mean name?"),
        ("password eq \"x\"", 0, "no member password"),
        ("username", 8, "operator was expected"),
        ("username is \"x\"", 9, "no operator is"),
        ("username eq", 11, "value was expected"),
        ("username eq x", 12, "value was expected"),
        ("username eq 'x'", 12, "double quotation"),
        ("username eq \"x", 12, "not closed"),
        ("username eq \"\\x\"", 12, "JSON"),
        ("username eq \"\\ud800\"", 12, "JSON"),
        ("username eq 7", 12, "text in quotation"),
        ("username eq true", 12, "text in quotation"),
        ("username gt null", 12, "null goes with eq"),
        ("version eq \"1\"", 11, "whole number"),
        ("version co 1", 8, "a number takes"),
        ("created_at sw \"2026\"", 11, "a time takes"),
        ("created_at gt \"yesterday\"", 14, "RFC 3339"),
        ("email_verified gt true", 15, "boolean takes"),
        ("email_verified eq 1", 18, "true or false"),
        ("status eq \"gone\"", 10, "active"),
        ("status co \"act\"", 7, "status takes"),
        ("manager eq \"m1\"", 8, "manager.id"),
        ("addresses co \"x\"", 10, "addresses.formatted"),
        ("attributes eq 1", 11, "attributes.team"),
        ("attributes.1x eq 1", 0, "begins with a letter"),
        ("attributes.on gt true", 17, "true and false"),
        ("attributes.n co 1", 16, "take a text"),
        ("username.x pr", 0, "no parts"),
        ("emails.colour pr", 0, "has the parts value"),
        ("emails[colour pr]", 7, "has the parts value"),
        ("emails[type eq \"work\"", 21, "] for byte 6"),
        ("emails[emails[type pr]]", 7, "has the parts"),
        ("emails[type pr].value pr", 15, "into the brackets"),
        ("username[x pr]", 0, "only a list"),
        ("(username pr", 12, ") for byte 0"),
        ("username pr)", 11, "no ( for this )"),
        ("username pr]", 11, "no [ for this ]"),
        ("username pr title pr", 12, "and, or, or the end"),
        ("username pr and", 15, "name of a member"),
        ("not username pr", 4, "( was expected"),
        ("username\tpr", 8, "operator was expected"),
        ("username eq \"a\"and title pr", 15, "and, or, or the end"),
        ("username eq\"a\"", 11, "a space was expected"),
    ] {
        let fault = Filter::parse(text).expect_err(text);
        assert_eq!(fault.position, position, "{text}: {}", fault.detail);
        assert!(fault.detail.contains(detail), "{text}: {}", fault.detail);
    }
}

#[test]
fn length_depth_and_terms_are_capped() {
    let deep = |levels: usize| format!("{}title pr{}", "(".repeat(levels), ")".repeat(levels));
    assert!(Filter::parse(&deep(31)).is_ok());
    assert!(Filter::parse(&deep(32)).is_err_and(|f| f.detail.contains("32 deep")));
    let terms = |count: usize| vec!["title pr"; count].join(" or ");
    assert!(Filter::parse(&terms(64)).is_ok());
    assert!(Filter::parse(&terms(65)).is_err_and(|f| f.detail.contains("64 tests")));
    let long = format!("title eq \"{}\"", "x".repeat(5000));
    assert!(Filter::parse(&long).is_err_and(|f| f.detail.contains("4096 bytes")));
    let word = "x".repeat(300);
    for text in [word.clone(), format!("{word} eq 1"), format!("title {word} 1")] {
        assert!(Filter::parse(&text).is_err_and(|f| f.detail.len() < 100), "{text}");
    }
}

/// A user with this number of roles, and the comparisons of a filter on it.
fn comparisons(roles: &[String], filter: &str) -> u64 {
    let roles: Vec<String> = roles.iter().map(|role| format!(r#"{{"value":"{role}"}}"#)).collect();
    let user = user(&format!(r#"{{"username":"u","roles":[{}]}}"#, roles.join(",")));
    let (filter, work) = (Filter::parse(filter).expect(filter), Work::new(1_000_000));
    let matched = filter.matches_record(&user.to_record(), &Memberships::default(), &work);
    assert_eq!(matched, Ok(false));
    let made = 1_000_000 - work.left();
    assert!(made <= u64::try_from(filter.comparisons_max()).expect("a bound"), "{made}");
    made
}

#[test]
fn each_test_of_each_value_is_counted_and_long_texts_count_more() {
    let short: Vec<String> = (0..100).map(|number| format!("role-{number}")).collect();
    let one = comparisons(&short, r#"roles.value co "x""#);
    let many = comparisons(&short, &[r#"roles.value co "x""#; 64].join(" or "));
    assert!((100..600).contains(&one), "{one}");
    assert_eq!(many, one + 63 * 100, "the record is read once");
    let in_brackets = [r#"roles[value co "x" and value co "y"]"#; 10].join(" or ");
    assert!(comparisons(&short, &in_brackets) >= 10 * 100);
    let long: Vec<String> = (0..50).map(|number| format!("{number}{}", "a".repeat(990))).collect();
    assert!(comparisons(&long, &[r#"roles.value co "x""#; 10].join(" or ")) > 10 * 50 * 15);
}

#[test]
fn a_text_is_normalized_once_for_each_record() {
    let greek: Vec<String> =
        (0..20).map(|number| format!("{number}{}", "\u{386}".repeat(90))).collect();
    let one = comparisons(&greek, r#"roles.value co "x""#);
    let many = comparisons(&greek, &[r#"roles.value co "x""#; 64].join(" or "));
    assert!(one > 20 * 180 * 2, "{one}");
    assert!(many < 2 * one, "{many} for 64 tests, {one} for one");
}

#[test]
fn a_filter_of_groups_has_no_bound_and_counts_each_group() {
    let filter = Filter::parse(r#"groups.display co "x" or groups.display co "y""#).expect("valid");
    assert_eq!(filter.comparisons_max(), usize::MAX);
    let work = Work::new(1_000);
    let id = UserId::parse("0190d1c2-8000-7000-8000-000000000001").expect("an id");
    let group = GroupRef { id, display_name: "Engines".to_owned() };
    let mut memberships = Memberships::default();
    for _ in 0..10 {
        filter.add_group(&mut memberships, &group, &work);
    }
    assert!(work.left() <= 1_000 - 10 * 2);
}
