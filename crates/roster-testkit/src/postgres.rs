//! A private PostgreSQL for tests.
//!
//! The first test of a process that needs it starts a cluster in a temporary directory, on a free
//! loopback port. The cluster ends with the process, however the process ends.
//! `ROSTER_TEST_POSTGRES` may name a running cluster instead, which saves the start. Without
//! PostgreSQL the test fails, because skipping it would leave the engine untested.
#![expect(clippy::expect_used, clippy::panic, reason = "this is how a test fails")]
#![expect(clippy::missing_panics_doc, reason = "a test without its database fails")]

use std::{
    env,
    fs::{self, Permissions},
    hash::{BuildHasher, RandomState},
    io::{BufRead, BufReader},
    net::TcpListener,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    sync::{
        Once, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// The variable that names a running cluster: the URL of a database in which schemas may be
/// created, with a role that may create databases and roles.
pub const VARIABLE: &str = "ROSTER_TEST_POSTGRES";

/// The password of the cluster's role.
const PASSWORD: &str = "of-the-tests";

/// A role that owns nothing, for services whose schema another role owns.
pub const SERVICE_ROLE: &str = "roster_service";

/// How often dropping a test's database or schema is tried.
const CLEAN_UP_TRIES: u32 = 40;

/// How long a cluster may take to start.
const START: Duration = Duration::from_mins(1);

/// A running cluster.
#[derive(Debug)]
pub struct Cluster {
    url: String,
    programs: PathBuf,
    made: AtomicU32,
    service_role: Once,
    own: Option<Own>,
}

/// A cluster that this process has started.
#[derive(Debug)]
struct Own {
    directory: PathBuf,
    owner: Option<(u32, u32)>,
    /// Ends the cluster when this process is gone.
    _child: Child,
}

/// A new, empty database, dropped with this value.
#[derive(Debug)]
pub struct Database {
    cluster: &'static Cluster,
    name: String,
}

/// A new, empty schema in a shared database, which is faster to create than a database.
#[derive(Debug)]
pub struct Schema {
    cluster: &'static Cluster,
    name: String,
}

impl Cluster {
    /// The cluster of this process.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| {
            let Some(url) = running() else {
                return Self::with(&[], &[]);
            };
            Self::of(url, programs(), None)
        })
    }

    /// A cluster for one test, with more files in its data directory and more settings.
    pub fn with(files: &[(&str, &str)], settings: &[&str]) -> Self {
        let programs = programs();
        let (url, own) = start(&programs, files, settings);
        Self::of(url, programs, Some(own))
    }

    fn of(url: String, programs: PathBuf, own: Option<Own>) -> Self {
        Self { url, programs, made: AtomicU32::new(0), service_role: Once::new(), own }
    }

    /// Writes a file to the data directory of a cluster that this process started.
    pub fn put(&self, name: &str, text: &str) {
        self.own.as_ref().expect("a cluster of our own").put(name, text);
    }

    /// Makes an empty database.
    pub fn database(&'static self) -> Database {
        let database = Database { cluster: self, name: self.name("roster_test") };
        self.administer(&format!("CREATE DATABASE {}", database.name));
        database
    }

    /// Makes an empty schema.
    pub fn schema(&'static self) -> Schema {
        let schema = Schema { cluster: self, name: self.name("test") };
        self.administer(&format!("CREATE SCHEMA {}", schema.name));
        schema
    }

    /// The URL of a database of the cluster.
    pub fn url(&self, database: &str) -> String {
        let (before, parameters) = self.url.split_once('?').unwrap_or((&self.url, ""));
        let authority = before.strip_prefix("postgres://").expect("a URL of PostgreSQL");
        let authority = authority.split_once('/').map_or(authority, |(authority, _)| authority);
        let question = if parameters.is_empty() { "" } else { "?" };
        format!("postgres://{authority}/{database}{question}{parameters}")
    }

    /// Executes SQL in a database, with the tables of the store on the search path, and returns the
    /// output.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        self.query(&with_option(&self.url(database), "search_path", "roster,public"), sql)
    }

    /// The URL with [`SERVICE_ROLE`] as its role.
    pub fn as_service(&self, url: &str) -> String {
        self.service_role.call_once(|| {
            self.administer(&format!(
                "DO $$ BEGIN CREATE ROLE {SERVICE_ROLE} LOGIN PASSWORD '{PASSWORD}'; \
                 EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
            ));
        });
        let (_, host) = url.split_once('@').expect("a URL with a role");
        format!("postgres://{SERVICE_ROLE}:{PASSWORD}@{host}")
    }

    /// Executes SQL in the database of the cluster's URL.
    fn administer(&self, sql: &str) {
        self.query(&self.url, sql);
    }

    /// Drops a test's database or schema. If the test has failed, an error here is not reported.
    fn clean_up(&self, sql: &str) {
        // Background work of the server may still use it, which no client can end.
        for _ in 0..CLEAN_UP_TRIES {
            if thread::panicking() || self.ask(&self.url, sql).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(250));
        }
        self.administer(sql);
    }

    /// Executes SQL with `psql`. Returns its output, or the errors.
    pub fn ask(&self, url: &str, sql: &str) -> Result<String, String> {
        let arguments = ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql];
        let done = Command::new(self.programs.join("psql")).args(arguments).output();
        let done = done.expect("psql runs");
        let printed = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if done.status.success() { Ok(printed(&done.stdout)) } else { Err(printed(&done.stderr)) }
    }

    fn query(&self, url: &str, sql: &str) -> String {
        self.ask(url, sql).unwrap_or_else(|errors| panic!("{sql}: {errors}"))
    }

    fn name(&self, what: &str) -> String {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        // Process ids repeat, and a failed test leaves its database.
        let random = RandomState::new().hash_one(number);
        format!("{what}_{}_{random:08x}_{number}", process::id())
    }
}

impl Own {
    /// Writes a file that only its owner can read, because it may be a key.
    fn put(&self, name: &str, text: &str) {
        put(&self.directory.join("data").join(name), text, self.owner);
    }
}

impl Database {
    /// The database's URL.
    pub fn url(&self) -> String {
        self.cluster.url(&self.name)
    }

    /// Executes SQL in it, and returns the output.
    pub fn sql(&self, sql: &str) -> String {
        self.cluster.sql(&self.name, sql)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.cluster.clean_up(&format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

impl Schema {
    /// The URL of the database, with the schema's search path.
    pub fn url(&self) -> String {
        with_option(&self.cluster.url, "search_path", &self.name)
    }

    /// The same for [`SERVICE_ROLE`].
    pub fn service_url(&self) -> String {
        self.cluster.as_service(&self.url())
    }
}

/// A URL whose sessions begin with a setting.
fn with_option(url: &str, name: &str, value: &str) -> String {
    let sign = if url.contains('?') { '&' } else { '?' };
    format!("{url}{sign}options=-c{name}%3D{value}")
}

impl Drop for Schema {
    fn drop(&mut self) {
        self.cluster.clean_up(&format!("DROP SCHEMA {} CASCADE", self.name));
    }
}

#[expect(clippy::disallowed_methods, reason = "it configures the test run, not the service")]
fn running() -> Option<String> {
    env::var(VARIABLE).ok()
}

/// The directory of PostgreSQL's programs. Debian has one per version.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .filter(|(_, programs)| programs.join("postgres").exists())
        .collect();
    found.sort();
    if let Some((_, programs)) = found.pop() {
        return programs;
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
        .expect("PostgreSQL is not installed: apt-get install postgresql")
}

fn start(programs: &Path, files: &[(&str, &str)], settings: &[&str]) -> (String, Own) {
    let directory = tempfile::Builder::new().prefix("roster-postgres").tempdir();
    // The shell that runs the server removes it, because this process runs no code at its end.
    let directory = directory.expect("a temporary folder").keep();
    let owner = owner();
    if let Some((user, group)) = owner {
        let given = std::os::unix::fs::chown(&directory, Some(user), Some(group));
        given.expect("the directory gets its owner");
    }
    let password = directory.join("password");
    fs::write(&password, PASSWORD).expect("the folder takes a file");
    let mut initdb = as_owner(&programs.join("initdb"), owner);
    initdb.args(["-U", "roster", "--auth=scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync"]);
    initdb.arg("--pwfile").arg(&password).arg("-D").arg(directory.join("data"));
    let made = initdb.current_dir("/").output().expect("initdb runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for (name, text) in files {
        put(&directory.join("data").join(name), text, owner);
    }
    let port = free_port();
    let child = serve(programs, &directory, port, owner, settings);
    let url = format!("postgres://roster:{PASSWORD}@127.0.0.1:{port}/postgres");
    await_answer(programs, &url);
    (url, Own { directory, owner, _child: child })
}

fn put(path: &Path, text: &str, owner: Option<(u32, u32)>) {
    fs::write(path, text).expect("the folder takes a file");
    fs::set_permissions(path, Permissions::from_mode(0o600)).expect("the file is ours");
    if let Some((user, group)) = owner {
        std::os::unix::fs::chown(path, Some(user), Some(group)).expect("the file gets its owner");
    }
}

/// Runs the server until standard input ends, which happens when this process ends.
fn serve(
    programs: &Path,
    directory: &Path,
    port: u16,
    owner: Option<(u32, u32)>,
    settings: &[&str],
) -> Child {
    let script = r#""$0" "$@" -D "$DIRECTORY/data" 2>"$DIRECTORY/log" & server=$!
        echo started
        read -r _
        kill -INT "$server"
        wait "$server"
        rm -rf "$DIRECTORY""#;
    let mut shell = as_owner(Path::new("/bin/sh"), owner);
    shell.args(["-c", script]).arg(programs.join("postgres")).env("DIRECTORY", directory);
    let port = format!("port={port}");
    // Tests do not crash the machine. Durability after a crash is tested elsewhere.
    let ordinary = [
        "listen_addresses=127.0.0.1",
        &port,
        "unix_socket_directories=",
        "fsync=off",
        "full_page_writes=off",
        "max_connections=300",
        "shared_buffers=64MB",
    ];
    for setting in ordinary.iter().chain(settings) {
        shell.args(["-c", setting]);
    }
    shell.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = shell.spawn().expect("a shell starts");
    let printed = child.stdout.as_mut().expect("its output");
    BufReader::new(printed).read_line(&mut String::new()).expect("it says that it started");
    child
}

fn await_answer(programs: &Path, url: &str) {
    let began = Instant::now();
    while began.elapsed() < START {
        let mut asked = Command::new(programs.join("psql"));
        asked.args(["-X", "-q", "-d", url, "-c", "SELECT 1"]);
        let asked = asked.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if asked.is_ok_and(|status| status.success()) {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("PostgreSQL does not answer at {url}");
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    listener.local_addr().expect("its address").port()
}

/// PostgreSQL refuses to run as root. Returns the user and group to run it as then.
fn owner() -> Option<(u32, u32)> {
    let id = |flags: &[&str]| {
        let printed = Command::new("id").args(flags).output().ok()?.stdout;
        String::from_utf8(printed).ok()?.trim().parse().ok()
    };
    if id(&["-u"]) != Some(0) {
        return None;
    }
    let of = |user: &'static str| Some((id(&["-u", user])?, id(&["-g", user])?));
    Some(of("postgres").or_else(|| of("nobody")).expect("a user who is not root"))
}

fn as_owner(program: &Path, owner: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    if let Some((user, group)) = owner {
        command.uid(user).gid(group);
    }
    command
}
