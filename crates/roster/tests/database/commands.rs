//! Commands that work on the data directory, for a service whose users are in a database.

use std::fs;

use roster_testkit::postgres::Cluster;

use super::ask::{failure, roster};

#[test]
fn commands_on_the_data_directory_say_so_where_a_database_is_set() {
    let place = tempfile::tempdir().unwrap();
    let url = Cluster::shared().url("postgres");
    for words in [["backup", "b"], ["restore", "b"]] {
        let mut command = roster(place.path(), &words);
        command.env("ROSTER_DATABASE", &url);
        let said = failure(command, 1);
        assert!(said.starts_with("error: ") && said.lines().count() == 1, "{said}");
        assert!(said.contains("`database`") && said.contains("PostgreSQL"), "{said}");
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "nothing was made");
}
