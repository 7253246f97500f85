//! The private PostgreSQL of the tests works, and its databases are independent.

use roster_testkit::postgres::Cluster;

#[test]
fn a_database_and_a_schema_are_empty_and_their_own() {
    let cluster = Cluster::shared();
    let (one, other) = (cluster.database(), cluster.database());
    one.sql("CREATE TABLE users (id uuid)");
    assert_eq!(other.sql("SELECT count(*) FROM pg_tables WHERE tablename = 'users'"), "0");
    assert_ne!(one.url(), other.url());
    assert!(cluster.schema().url().contains("search_path"));
}
