//! An owner of the schema, and a role of the service that may read and write rows.

use std::process::Command;

use roster_testkit::{
    postgres::{Cluster, Database, SERVICE_ROLE},
    process::Process,
};

use super::ask::{failure, roster};

/// The commands of two roles over one database.
struct Roles {
    place: tempfile::TempDir,
    database: Database,
    /// The URL of the role of the service.
    service: String,
}

impl Roles {
    fn new() -> Self {
        let (place, database) = (tempfile::tempdir().unwrap(), Cluster::shared().database());
        let service = Cluster::shared().as_service(&database.url());
        Self { place, database, service }
    }

    fn as_owner(&self, words: &[&str]) -> Command {
        let mut command = roster(self.place.path(), words);
        command.args(["--database", &self.database.url()]);
        command
    }

    fn as_service(&self, words: &[&str]) -> Command {
        let mut command = roster(self.place.path(), words);
        command.args(["--database", &self.service]);
        command
    }

    fn serve(&self) -> Command {
        self.as_service(&["serve", "--listen", "127.0.0.1:0", "--log", "error", "--allow-open"])
    }

    fn prepare(&self) -> String {
        printed(self.as_owner(&["prepare", "--service-role", SERVICE_ROLE]))
    }
}

#[track_caller]
fn printed(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_role_that_owns_nothing_serves_a_prepared_database() {
    let roles = Roles::new();
    let told = roles.prepare();
    assert!(told.ends_with("is ready for this release\n"), "{told}");
    assert_eq!(roles.prepare(), told, "again");
    let service = Process::start(&mut roles.serve());
    service.create(r#"{"username":"ada"}"#);
    assert_eq!(service.ask("GET", "/users?q=ada", "").body["items"][0]["username"], "ada");
    service.stop();
    printed(roles.as_service(&["keys", "create", "app", "--scope", "users:read"]));
    let privileges = format!(
        "SELECT has_schema_privilege('{SERVICE_ROLE}', 'roster', 'CREATE'), \
         has_table_privilege('{SERVICE_ROLE}', 'roster.users', 'TRUNCATE, REFERENCES, TRIGGER'), \
         has_table_privilege('{SERVICE_ROLE}', 'roster.schema_steps', 'INSERT, UPDATE, DELETE'), \
         (SELECT count(*) FROM pg_tables WHERE tableowner = '{SERVICE_ROLE}')"
    );
    assert_eq!(roles.database.sql(&privileges), "f|f|f|0");
}

#[test]
fn what_needs_the_owner_is_refused_and_names_the_command() {
    let roles = Roles::new();
    // The role may not create a schema either.
    let said = failure(roles.serve(), 1);
    assert!(said.contains("lacks a privilege") && said.contains("`roster prepare "), "{said}");
    printed(roles.as_owner(&["prepare"]));
    for words in [&["serve"][..], &["check"], &["policy", "show"]] {
        let said = failure(roles.as_service(words), 1);
        assert!(said.contains("may not use the schema of the store"), "{said}");
    }
    roles.prepare();
    let said = failure(roles.as_service(&["policy", "set", "email-uniqueness", "none"]), 1);
    assert!(said.contains("lacks a privilege") && said.contains("`roster policy set`"), "{said}");
    printed(roles.as_owner(&["policy", "set", "email-uniqueness", "none"]));
    Process::start(&mut roles.serve()).stop();
}

#[test]
fn preparing_needs_a_database_and_a_role_that_exists() {
    let roles = Roles::new();
    let said = failure(roster(roles.place.path(), &["prepare"]), 2);
    assert!(said.contains("name a PostgreSQL database"), "{said}");
    let said = failure(roles.as_owner(&["prepare", "--service-role", "nobody \"there"]), 1);
    assert!(said.contains("role \"nobody \"there\" does not exist"), "{said}");
    let owner = roles.database.sql("SELECT current_user");
    let said = failure(roles.as_owner(&["prepare", "--service-role", &owner]), 1);
    assert!(said.contains("owns the tables"), "{said}");
    roles.prepare();
    let said = failure(roles.as_service(&["prepare", "--service-role", "pg_monitor"]), 1);
    assert!(said.contains("lacks a privilege"), "{said}");
}
