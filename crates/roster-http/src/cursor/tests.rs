//! Tests of cursors: which list, caller and conditions decrypt them, and their bytes.

use std::{collections::BTreeSet, sync::Arc};

use roster_core::{
    Attribute, Status,
    filter::{Expression, Filter},
    list::{Sort, SortBy},
};

use super::*;

fn store() -> Cursors {
    Cursors::new(&Secret([1; 32]))
}

fn keys() -> [PageKey; 4] {
    let keys = [
        SortKey::Id,
        SortKey::Time(Timestamp::from_millis(-7)),
        SortKey::Text(None),
        SortKey::Text(Some("ada@example.com".to_owned())),
    ];
    keys.map(|key| PageKey { key, id: UserId::from_bytes([7; 16]) })
}

/// A query with every order and condition that a cursor is bound to.
fn query() -> PageQuery {
    let filter = Filter::parse("name sw \"Ada\" and not (family_name pr)").expect("a filter");
    PageQuery {
        sort: Sort { by: SortBy::UpdatedAt, direction: Direction::Descending },
        filter: Some(Arc::new(filter)),
        words: vec!["ada".to_owned(), "love".to_owned()],
        ..PageQuery::first(10)
    }
    .with(Expression::ids(vec![UserId::from_bytes([1; 16]), UserId::from_bytes([2; 16])]))
    .with(Expression::equal(Attribute::ExternalId, "a \"b\"\nstatus".to_owned()))
    .with(Expression::status(Status::Suspended))
}

#[test]
fn the_context_of_a_list_of_users_has_this_form() {
    let store = store();
    let cursors = store.of(List::Users, &Actor::Anonymous).with_query(&query());
    let expected = concat!(
        "\u{2}\u{1}caller \"anonymous\"\n",
        "sort \"-updated_at\"\n",
        "filter \"name sw \\\"Ada\\\" and not (family_name pr) and ",
        "id eq [\\\"01010101-0101-0101-0101-010101010101\\\",",
        "\\\"02020202-0202-0202-0202-020202020202\\\"] and ",
        "external_id eq \\\"a \\\\\\\"b\\\\\\\"\\\\nstatus\\\" and status eq \\\"suspended\\\"\"\n",
        "word \"ada\"\n",
        "word \"love\"\n",
    );
    assert_eq!(String::from_utf8(cursors.bound).expect("UTF-8"), expected);
}

#[test]
fn each_order_and_list_has_its_own_written_name() {
    let names: Vec<_> = SortBy::ALL.iter().map(|by| by.name()).collect();
    assert_eq!(
        names,
        ["id", "updated_at", "username", "email", "family_name", "name", "expires_at"]
    );
    let codes = [
        List::Users,
        List::DeletedUsers,
        List::Groups,
        List::Members,
        List::ScimUsers,
        List::ScimGroups,
        List::ScimUsersByIndex,
        List::ScimGroupsByIndex,
    ];
    assert_eq!(codes.map(List::code), [1, 2, 3, 4, 5, 6, 7, 8]);
}

/// Cursors of an earlier build. They must decrypt as long as the version does not change.
const VERSION_2: [&str; 6] = [
    "AgEJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQn06riRWcE_ZVQq9yQQSe5-myaD_JtMSd3C0ZbNT_cUSEs",
    "AgEJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQn06riRWcE_ZVQq9yQQSe5-hgNodi6fcIJJVZdHTNIrkkGZIn0ivlgr3Q",
    "AgEJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQn06riRWcE_ZVQq9yQQSe5-nAgwZPHGP1r1AQ5efxGGReY",
    "AgEJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQn06riRWcE_ZVQq9yQQSe5-gZ3z6JEF9xzd6YURYyQDTzZ_\
     uLqzrX6ido4wELJxvxA",
    "AgUJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQnz7b-WXsY4UFMt8ajYq4F59fuQjtZniHq3nu5zSkBrJQUE\
     KIvW6Rv1gIpF87CeswlCPpQbv0cW472KfS7VMq7D",
    "AgcOzrBxY1O65bea_fKYIflG5eEP5U8Ap5T7xZRrRvU-t8ab9jDI08hPjAA7_hyzkzbDy2XhQluQbOAM\
     7K0WZaDQrysfJaaJTXo",
];

#[test]
fn cursors_of_version_2_have_this_form_and_open() {
    let store = store();
    let nonce = [9; NONCE_BYTES];
    let users = store.of(List::Users, &Actor::Anonymous).with_query(&query());
    let [id, time, absent, text] = keys();
    let mut sealed = Vec::new();
    for after in [&id, &time, &absent, &text] {
        sealed.push(users.seal_with(nonce, &key_to_bytes(after)).expect("sealed"));
    }
    let scim = store.of(List::ScimUsers, &Actor::System).with_query(&PageQuery::first(10));
    let contents = [
        b"\0\0\0\0\0\0\0\x32".as_slice(), // 50
        b"\0\0\x01\x8b\xcf\xe5\x68\0",    // 1,700,000,000,000
        &[7; 16],
        b"sada@example.com",
    ];
    sealed.push(scim.seal_with(nonce, &contents.concat()).expect("sealed"));
    let by_index = store.of(List::ScimUsersByIndex, &Actor::System);
    sealed.push(by_index.seal_stored(&text).expect("sealed"));
    assert_eq!(sealed, VERSION_2);

    let [of_users @ .., of_scim, stored] = VERSION_2;
    assert_eq!(of_users.map(|cursor| users.open(cursor)), keys().map(Some));
    let issued = Timestamp::from_millis(1_700_000_000_000);
    assert_eq!(scim.open_scim(of_scim), Some((text.clone(), 50, issued)));
    assert_eq!(by_index.open(stored), Some(text));
}

#[test]
fn a_cursor_of_an_unknown_version_or_another_list_does_not_open() {
    let store = store();
    let cursors = store.of(List::Users, &Actor::Anonymous);
    let cursor = cursors.seal(&keys()[0]).expect("sealed");
    for list in [List::DeletedUsers, List::Groups, List::ScimUsers] {
        assert_eq!(store.of(list, &Actor::Anonymous).open(&cursor), None);
    }
    for (at, value) in [(0, 0), (0, 1), (0, 3), (1, 2)] {
        let mut bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).expect("base64");
        bytes[at] = value;
        assert_eq!(cursors.open(&BASE64URL_NOPAD.encode(&bytes)), None);
    }
}

#[test]
fn a_key_comes_back_for_the_same_conditions_and_is_not_readable() {
    let store = store();
    let cursors = store.of(List::Users, &Actor::Anonymous).with("status", Some("active"));
    for after in keys() {
        let cursor = cursors.seal(&after).expect("sealed");
        let bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).expect("base64");
        assert!(!bytes.windows(8).any(|window| window == b"ada@exam"));
        assert_ne!(cursors.seal(&after).expect("sealed"), cursor);
        assert_eq!(cursors.open(&cursor), Some(after.clone()));

        let issued = Timestamp::from_millis(5);
        let cursor = cursors.seal_scim(&after, 50, issued).expect("sealed");
        assert_eq!(cursors.open_scim(&cursor), Some((after, 50, issued)));
    }
}

#[test]
fn a_stored_key_has_the_same_text_each_time_and_another_one_does_not() {
    let store = store();
    let mut texts = BTreeSet::new();
    for after in keys() {
        for status in ["active", "suspended"] {
            let of = |status| store.of(List::Users, &Actor::Anonymous).with("status", Some(status));
            let cursors = of(status);
            let text = cursors.seal_stored(&after).expect("sealed");
            assert_eq!(cursors.seal_stored(&after).expect("sealed"), text);
            assert_eq!(cursors.open(&text), Some(after.clone()));
            assert_eq!(of("gone").open(&text), None);
            texts.insert(text[..20].to_owned());
        }
    }
    assert_eq!(texts.len(), 2 * keys().len(), "each has a nonce of its own");
}

#[test]
fn other_conditions_another_caller_another_store_and_altered_text_do_not_open() {
    let store = store();
    let of = |actor| store.of(List::Users, actor).with("status", Some("active"));
    let cursors = of(&Actor::Anonymous);
    for after in keys() {
        let cursor = cursors.seal(&after).expect("sealed");
        assert_eq!(store.of(List::Users, &Actor::Anonymous).open(&cursor), None);
        assert_eq!(of(&Actor::System).open(&cursor), None);
        let other = Cursors::new(&Secret([2; 32]));
        let other = other.of(List::Users, &Actor::Anonymous).with("status", Some("active"));
        assert_eq!(other.open(&cursor), None);
        for at in 0..cursor.len() {
            let mut altered = cursor.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).expect("ASCII");
            assert_eq!(cursors.open(&altered), None, "{at}");
        }
    }
    for text in ["", "x", "====", "AAAA", "AQEA"] {
        assert_eq!(cursors.open(text), None);
        assert_eq!(cursors.open_scim(text), None);
    }
}
