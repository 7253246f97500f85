//! Writing: what is answered is kept, and what is refused changes nothing.

use super::support::{apply, create, id, open};
use roster_core::Store;

#[tokio::test]
async fn a_created_user_is_there_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let created = apply(&store, create(1, r#"{"email":"ada@example.com"}"#)).await.unwrap();
    assert_eq!(created.position, 1);
    assert_eq!(store.get(id(1)).await.unwrap().as_ref(), Some(&created.stored));
    drop(store);
    let store = open(directory.path());
    assert_eq!(store.get(id(1)).await.unwrap(), Some(created.stored));
    assert_eq!(store.get(id(2)).await.unwrap(), None);
}
