//! Texts of the maximum length: an accepted text is stored, found and sorted unchanged. A rejected
//! text is rejected by the rules and never by the database.

use roster_core::{
    Attribute, Failure, Refusal, Store, User,
    limits::TEXT_LENGTH_MAX,
    list::{Direction, PageQuery, Sort, SortBy},
};
use roster_testkit::Conditions;

use super::support::{apply, assert_sound, create, id, open, patch, schema};
use crate::Postgres;

/// A text of this many pseudo-random code points, which an index cannot compress.
fn scattered(first: u32, range: u32, count: usize) -> String {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from_u32(first + (state >> 8) % range).unwrap()
    };
    (0..count).map(|_| next()).collect()
}

/// Reads all pages in every order, in both directions, with two users a page. Every user must
/// appear once.
async fn assert_walked(store: &Postgres, users: usize) {
    for by in SortBy::ALL.iter().copied() {
        for direction in [Direction::Ascending, Direction::Descending] {
            let mut query = PageQuery { sort: Sort { by, direction }, ..PageQuery::first(2) };
            let mut seen = Vec::new();
            loop {
                let page = store.page(query.clone()).await.unwrap();
                seen.extend(page.items.iter().map(|item| item.id));
                match page.next {
                    Some(next) => query.after = Some(next),
                    None => break,
                }
            }
            assert_eq!(seen.len(), users, "{by:?} {direction:?}");
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), users, "{by:?} {direction:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_keys_are_kept_found_and_walked() {
    let schema = schema();
    let url = schema.url();
    let store = open(&url).await;
    // Code points of four bytes; letters whose folding is longer; a symbol whose NFC has three code
    // points of four bytes.
    let ideographs = scattered(0x20000, 0xA000, TEXT_LENGTH_MAX);
    let folded = scattered(0x1F80, 0x30, TEXT_LENGTH_MAX);
    let notes = "\u{1D160}".repeat(TEXT_LENGTH_MAX / 3);
    for (n, text) in (1..).zip([&ideographs, &folded, &notes]) {
        let username = if n == 1 { text.clone() } else { format!("u{n}") };
        let keys = format!(r#""name":"{text}","family_name":"{text}","external_id":"{text}""#);
        let user = format!(r#"{{"username":"{username}",{keys}}}"#);
        let created = apply(&store, create(n, &user)).await.unwrap();
        assert_eq!(store.get(id(n)).await.unwrap().unwrap(), created.stored);
        let kept = User::from_record(&created.stored.record).unwrap();
        let external_id = kept.profile.text(Attribute::ExternalId).unwrap().to_owned();
        assert!(external_id.chars().count() >= TEXT_LENGTH_MAX - 1);
        let equals = Conditions { external_id: Some(external_id), ..Conditions::default() };
        let page = store.page(equals.of(PageQuery::first(9))).await.unwrap();
        assert_eq!(page.items, [created.stored]);
    }
    let domain = "d".repeat(60);
    let address = format!("{}@{domain}.{domain}.example", scattered(0x3041, 0x50, 21));
    let both = format!(r#"{{"value":"{address}","primary":true}},{{"value":"b{address}"}}"#);
    let user = format!(r#"{{"username":"mail","emails":[{both}]}}"#);
    apply(&store, create(9, &user)).await.unwrap();
    assert_walked(&store, 4).await;
    assert_sound(&url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_too_long_in_its_normal_form_is_refused_by_the_rules() {
    let schema = schema();
    let store = open(&schema.url()).await;
    let notes = "\u{1D160}".repeat(TEXT_LENGTH_MAX);
    for member in ["name", "family_name", "external_id", "nickname"] {
        let user = format!(r#"{{"username":"ada","{member}":"{notes}"}}"#);
        let refused = apply(&store, create(1, &user)).await;
        let Err(Failure::Refused(Refusal::Invalid(_))) = refused else { panic!("{refused:?}") };
    }
    assert_eq!(store.head().await.unwrap().position, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn nul_is_rejected_by_the_rules_and_matches_no_key() {
    let schema = schema();
    let store = open(&schema.url()).await;
    apply(&store, create(1, r#"{"username":"ada"}"#)).await.unwrap();
    for change in [r#"{"attributes":{"a":"x\u0000"}}"#, r#"{"name":"a\u0000b"}"#] {
        let refused = apply(&store, patch(2, 1, change)).await;
        let Err(Failure::Refused(Refusal::Invalid(_))) = refused else { panic!("{refused:?}") };
    }
    let nul = || Some("a\0".to_owned());
    for equals in [
        Conditions { username: nul(), ..Conditions::default() },
        Conditions { email: nul(), ..Conditions::default() },
        Conditions { external_id: nul(), ..Conditions::default() },
        Conditions { phone_number: nul(), ..Conditions::default() },
    ] {
        let query = equals.of(PageQuery { count: true, ..PageQuery::first(9) });
        assert_eq!(store.page(query).await.unwrap().items, []);
    }
    let query = PageQuery { words: vec!["a\0".to_owned()], ..PageQuery::first(9) };
    assert_eq!(store.page(query).await.unwrap().items, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_character_in_attributes_is_returned_unchanged() {
    let schema = schema();
    let store = open(&schema.url()).await;
    let signs: Vec<char> = (0x20..0x2_FFFF_u32)
        .step_by(37)
        .filter_map(char::from_u32)
        .filter(|sign| !sign.is_control() && !['"', '\\'].contains(sign))
        .collect();
    for (n, part) in (1..).zip(signs.chunks(2000)) {
        let text: String = part.iter().collect();
        let marks = r#""marks":"\t\r\n\\ ' \" $1 ? %_ \\x00""#;
        let user = format!(r#"{{"username":"u{n}","attributes":{{{marks},"text":"{text}"}}}}"#);
        let created = apply(&store, create(n, &user)).await.unwrap();
        let got = store.get(id(n)).await.unwrap().unwrap();
        assert_eq!(got, created.stored);
        let record = String::from_utf8(got.record.to_vec()).unwrap();
        assert!(record.contains(&text) && record.contains(marks), "{record}");
    }
}
