//! The tables of words and further keys contain exactly the rows of the live users.

use std::path::Path;

use super::support::{apply, column, create, delete, open, patch, purge, replace, restore};

const WORDS: &str = "SELECT word FROM words ORDER BY word";
const KEYS: &str = "SELECT kind || ' ' || key FROM further_keys ORDER BY kind, key";

fn words(directory: &Path) -> String {
    column(directory, WORDS).join(" ")
}

#[tokio::test]
async fn words_follow_every_write() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    apply(&store, create(1, r#"{"username":"ada","name":"Ada King"}"#)).await.unwrap();
    assert_eq!(words(directory.path()), "ada king");
    apply(&store, patch(2, 1, r#"{"name":"Ada Lovelace","title":"Dr"}"#)).await.unwrap();
    assert_eq!(words(directory.path()), "ada lovelace");
    apply(&store, replace(3, 1, r#"{"username":"countess"}"#)).await.unwrap();
    assert_eq!(words(directory.path()), "countess");
    apply(&store, patch(4, 1, r#"{"status":"suspended"}"#)).await.unwrap();
    assert_eq!(words(directory.path()), "countess");
    apply(&store, delete(5, 1)).await.unwrap();
    assert_eq!(words(directory.path()), "");
    apply(&store, restore(6, 1)).await.unwrap();
    assert_eq!(words(directory.path()), "countess");
    apply(&store, delete(7, 1)).await.unwrap();
    apply(&store, purge(8, 1)).await.unwrap();
    assert_eq!(words(directory.path()), "");
}

#[tokio::test]
async fn filter_keys_follow_every_write() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let keys = || column(directory.path(), KEYS);
    let nobody: [String; 0] = [];
    let whole = r#"{"username":"a","emails":[{"value":"a@x.example"},{"value":"B@X.example"}],
        "phone_numbers":[{"value":"+11"},{"value":"+44 (20) 5"}]}"#;
    apply(&store, create(1, whole)).await.unwrap();
    assert_eq!(keys(), ["0 b@x.example", "1 +44205"]);
    apply(&store, patch(2, 1, r#"{"email":"B@X.example"}"#)).await.unwrap();
    assert_eq!(keys(), ["0 a@x.example", "1 +44205"], "the other one is further now");
    apply(&store, patch(3, 1, r#"{"phone_numbers":[{"value":"+44205"}]}"#)).await.unwrap();
    assert_eq!(keys(), ["0 a@x.example"]);
    apply(&store, delete(4, 1)).await.unwrap();
    assert_eq!(keys(), nobody);
    apply(&store, restore(5, 1)).await.unwrap();
    assert_eq!(keys(), ["0 a@x.example"]);
}

#[tokio::test]
async fn a_rejected_write_changes_no_words_or_filter_keys() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    apply(&store, create(1, r#"{"username":"ada"}"#)).await.unwrap();
    apply(&store, create(2, r#"{"username":"grace"}"#)).await.unwrap();
    apply(&store, patch(3, 2, r#"{"username":"ADA","name":"Hopper"}"#)).await.unwrap_err();
    apply(&store, create(4, r#"{"username":"Grace","name":"x"}"#)).await.unwrap_err();
    assert_eq!(words(directory.path()), "ada grace");
}
