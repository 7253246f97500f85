//! Databases that the service does not start with.

use std::{
    io::Write as _,
    net::TcpListener,
    thread,
    time::{Duration, Instant},
};

use roster_testkit::{
    postgres::Cluster,
    process::{Engine, Place, Process},
};

use super::ask::{failure, roster};

/// A password that no message may contain.
const PASSWORD: &str = "kept-to-itself";

/// The output of a service that is started with this database.
#[track_caller]
fn told(url: &str, status: i32) -> String {
    let place = tempfile::tempdir().unwrap();
    let words = ["serve", "--listen", "127.0.0.1:0", "--log", "error", "--database", url];
    let said = failure(roster(place.path(), &words), status);
    assert!(said.starts_with("error: "), "{said}");
    assert!(!said.contains(PASSWORD), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    said
}

/// The one-line error, with exit status 1.
#[track_caller]
fn refused(url: &str) -> String {
    let said = told(url, 1);
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

/// The URL with another password.
fn with_password(url: &str) -> String {
    let (before, after) = url.split_once('@').unwrap();
    let (scheme, role) = before.split_once("://").unwrap();
    let role = role.split(':').next().unwrap();
    format!("{scheme}://{role}:{PASSWORD}@{after}")
}

/// The number of tables.
const TABLES: &str = "SELECT count(*) FROM pg_tables WHERE schemaname IN ('roster', 'public')";

/// Starts and stops a service, which creates its tables.
fn serve_once(place: &Place) {
    Process::start(&mut place.serve(env!("CARGO_BIN_EXE_roster"))).stop();
}

#[test]
fn a_url_that_is_none_of_postgresql_is_a_wrong_setting() {
    for url in [
        "nonsense",
        "postgres:",
        "postgres://",
        "mysql://roster:kept-to-itself@localhost/roster",
        "postgres://roster:kept-to-itself@localhost:port/roster",
        "postgres://roster:kept-to-itself@localhost:70000/roster",
        "postgres://roster:kept-to-itself@localhost/roster?sslmode=maybe",
        "postgres://roster:kept-to-itself@localhost/roster?nonsense=1",
        "postgres://roster:kept-to-itself@localhost,/roster",
        "postgres://roster:kept-to-itself@localhost/roster?hostaddr=127.0.0.1",
    ] {
        let said = told(url, 78);
        assert!(said.contains("flag --database: "), "{url}: {said}");
    }
}

#[test]
fn a_password_with_any_sign_in_it_is_kept_to_itself() {
    for password in ["kept-to-itself?", "?kept-to-itself", "a:kept-to-itself", "/kept-to-itself/"] {
        refused(&format!("postgres://roster:{password}@127.0.0.1:1/roster"));
    }
    refused("postgres://127.0.0.1:1/roster?user=roster&password=kept-to-itself");
    refused("postgres://127.0.0.1:1/roster?user=roster&%70assword=kept-to-itself");
}

#[test]
fn a_host_that_nobody_knows_is_named() {
    let said = refused("postgres://roster:kept-to-itself@nobody.invalid:5433/roster");
    assert!(said.contains("nobody.invalid:5433"), "{said}");
}

#[test]
fn a_port_that_nobody_listens_at_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let said = refused(&format!("postgres://roster:kept-to-itself@{address}/roster"));
    assert!(said.contains(&address.to_string()), "{said}");
    assert!(said.contains("refused"), "{said}");
}

#[test]
fn a_server_that_accepts_and_says_nothing_is_given_up_soon() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let begin = Instant::now();
    let said = refused(&format!("postgres://roster:kept-to-itself@{address}/roster"));
    assert!(said.contains(&format!("{address} does not respond")), "{said}");
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[test]
fn a_server_that_is_none_of_postgresql_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for caller in listener.incoming() {
            drop(caller.unwrap().write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
        }
    });
    let said = refused(&format!("postgres://roster:kept-to-itself@{address}/roster"));
    assert!(said.contains(&address.to_string()), "{said}");
}

#[test]
fn a_wrong_password_is_told_and_not_repeated() {
    let database = Cluster::shared().database();
    let url = with_password(&database.url());
    let said = refused(&url);
    assert!(said.contains("password authentication failed"), "{said}");
}

#[test]
fn a_database_that_is_not_there_is_named() {
    let said = refused(&Cluster::shared().url("no_such_database"));
    assert!(said.contains("\"no_such_database\" does not exist"), "{said}");
}

#[test]
fn a_database_that_keeps_no_utf8_is_refused_with_the_remedy() {
    let cluster = Cluster::shared();
    let database = cluster.database();
    let (name, url) = (database.sql("SELECT current_database()"), database.url());
    cluster.sql("postgres", &format!("DROP DATABASE {name}"));
    let locale = "LC_COLLATE 'C' LC_CTYPE 'C'";
    let made = format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' {locale}");
    cluster.sql("postgres", &made);
    let said = refused(&url);
    assert!(said.contains("LATIN1") && said.contains("ENCODING 'UTF8'"), "{said}");
    assert_eq!(database.sql(TABLES), "0", "nothing was made");
}

#[test]
fn a_database_that_only_reads_is_refused() {
    let database = Cluster::shared().database();
    let name = database.sql("SELECT current_database()");
    database.sql(&format!("ALTER DATABASE {name} SET default_transaction_read_only TO on"));
    let said = refused(&database.url());
    assert!(said.contains("takes no writes"), "{said}");
}

#[test]
fn a_database_into_which_a_migration_is_unfinished_is_refused() {
    let place = Place::new(Engine::Postgres);
    serve_once(&place);
    let database = place.database().unwrap();
    database.sql("INSERT INTO settings (tenant, name, value) VALUES (0, 'migration', 'begun')");
    let said = refused(&database.url());
    assert!(said.contains("is not finished") && said.contains("`roster migrate`"), "{said}");
}

#[test]
fn a_schema_of_a_newer_release_is_refused_and_left_alone() {
    let place = Place::new(Engine::Postgres);
    serve_once(&place);
    let database = place.database().unwrap();
    let next = "INSERT INTO schema_steps SELECT max(number) + 1, 'a later step' FROM schema_steps";
    database.sql(next);
    let before = database.sql("SELECT count(*) FROM schema_steps");
    let said = refused(&database.url());
    assert!(said.contains("newer release"), "{said}");
    assert_eq!(database.sql("SELECT count(*) FROM schema_steps"), before);
}

#[test]
fn a_schema_of_unknown_steps_is_refused_and_left_alone() {
    let place = Place::new(Engine::Postgres);
    serve_once(&place);
    let database = place.database().unwrap();
    database.sql("UPDATE schema_steps SET statement = 'another' WHERE number = 3");
    let said = refused(&database.url());
    assert!(said.contains("not those of any release up to this one"), "{said}");
}

#[test]
fn a_search_path_without_a_schema_is_refused() {
    let database = Cluster::shared().database();
    let said = refused(&format!("{}?options=-csearch_path%3Dmissing", database.url()));
    assert!(said.contains("no schema of the search path exists: missing"), "{said}");
    assert_eq!(database.sql(TABLES), "0", "nothing was made");
}

#[test]
fn a_schema_that_holds_tables_of_something_else_is_refused_and_left_alone() {
    let database = Cluster::shared().database();
    database.sql("CREATE SCHEMA roster; CREATE TABLE roster.users (name text)");
    let said = refused(&database.url());
    assert!(said.contains("the schema \"roster\" holds tables that are not Roster's"), "{said}");
    assert_eq!(database.sql(TABLES), "1", "nothing was made");
}

#[test]
fn tables_of_something_else_in_another_schema_are_no_obstacle() {
    let place = Place::new(Engine::Postgres);
    let database = place.database().unwrap();
    database.sql("CREATE TABLE public.users (name text)");
    serve_once(&place);
    let found = "SELECT count(*) FROM information_schema.columns \
         WHERE table_schema = 'public' AND table_name = 'users'";
    assert_eq!(database.sql(found), "1");
}
