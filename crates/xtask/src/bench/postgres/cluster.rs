//! A PostgreSQL cluster of the bench's own, made anew in a folder and gone with it.
//!
//! It is as durable as a production one (`fsync`, `full_page_writes` and `synchronous_commit` are
//! on), listens on loopback alone, and asks for a password, for others may share the machine.
//! PostgreSQL refuses to run as root: started by root, it runs as an ordinary user.

use std::{
    fs::{self, File},
    io::Read as _,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};

use crate::bench::process;

/// The superuser of the cluster.
const USER: &str = "bench";
/// Longest wait for the first connection, and for the end.
const WITHIN: Duration = Duration::from_mins(1);
/// Where Debian keeps the programs of each version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// Ordinary users that PostgreSQL may run as when the bench is root.
const ORDINARY: [&str; 2] = ["postgres", "nobody"];

/// What is set differently from PostgreSQL's defaults, and the defaults that durability stands on.
pub(super) const SETTINGS: [&str; 8] = [
    "fsync=on",
    "full_page_writes=on",
    "synchronous_commit=on",
    "shared_buffers=256MB",
    "max_wal_size=4GB",
    "max_connections=200",
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
];

/// A running cluster; dropped, it is stopped.
pub(super) struct Cluster {
    postmaster: Child,
    port: u16,
    password: String,
}

impl Cluster {
    /// Makes a cluster in a folder that is there and empty, and starts it.
    pub(super) fn start(folder: &Path) -> Result<Self> {
        let programs = programs()?;
        let account = Account::of(folder)?;
        let (data, word_file) = (folder.join("cluster"), folder.join("password"));
        let password = random_word()?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
        fs::write(&word_file, &password)?;
        if let Some(account) = &account {
            chown(folder, Some(account.user), Some(account.group))?;
            chown(&word_file, Some(account.user), Some(account.group))?;
        }
        let log = File::create(folder.join("log"))?;
        let mut initdb = command(&programs.join("initdb"), folder, account.as_ref(), &log)?;
        initdb.arg("--pgdata").arg(&data).arg("--pwfile").arg(&word_file);
        initdb.args(["--username", USER, "--auth", "scram-sha-256"]);
        initdb.args(["--encoding", "UTF8", "--locale", "C"]);
        let made = initdb.status().context("starting initdb")?;
        ensure!(made.success(), "initdb ended with {made}: {}", read_log(folder));
        let port = process::free_address()?.port();
        let mut postgres = command(&programs.join("postgres"), folder, account.as_ref(), &log)?;
        postgres.arg("-D").arg(&data).args(["-p", &port.to_string()]);
        postgres.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        let postmaster = postgres.spawn().context("starting postgres")?;
        Ok(Self { postmaster, port, password })
    }

    /// The process that the others descend from.
    pub(super) fn id(&self) -> u32 {
        self.postmaster.id()
    }

    /// Where a database is found.
    pub(super) fn url(&self, database: &str) -> String {
        let Self { password, port, .. } = self;
        format!("postgres://{USER}:{password}@127.0.0.1:{port}/{database}?sslmode=disable")
    }

    /// Connects to a database, among the tables of a store, as soon as the cluster takes
    /// connections.
    pub(super) async fn connect(&mut self, database: &str) -> Result<tokio_postgres::Client> {
        let url = format!("{}&options=-csearch_path%3Droster,public", self.url(database));
        let began = Instant::now();
        loop {
            match tokio_postgres::connect(&url, tokio_postgres::NoTls).await {
                Ok((client, connection)) => {
                    // It ends with its client; what went wrong the client is told.
                    tokio::spawn(async move { drop(connection.await) });
                    return Ok(client);
                }
                Err(error) if began.elapsed() > WITHIN => {
                    return Err(error).context("connecting to the private cluster");
                }
                Err(_) => {
                    if let Some(status) = self.postmaster.try_wait()? {
                        bail!("postgres ended at once: {status}");
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
    }

    fn stop(&mut self) -> Result<()> {
        // At once: what is in the folder is not needed any more.
        Command::new("kill").args(["-QUIT", &self.id().to_string()]).status()?;
        let asked = Instant::now();
        while self.postmaster.try_wait()?.is_none() {
            ensure!(asked.elapsed() < WITHIN, "postgres did not end within a minute");
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // One that will not end of itself must not outlive the bench.
        if self.stop().is_err() && self.postmaster.kill().is_ok() {
            drop(self.postmaster.wait());
        }
    }
}

/// A user of the machine.
struct Account {
    user: u32,
    group: u32,
}

impl Account {
    /// Who the programs run as: `None` is whoever runs the bench.
    fn of(folder: &Path) -> Result<Option<Self>> {
        if fs::metadata(folder)?.uid() != 0 {
            return Ok(None);
        }
        let accounts = fs::read_to_string("/etc/passwd")?;
        let found = ORDINARY.iter().find_map(|name| Self::find(&accounts, name));
        Ok(Some(found.context("root has no ordinary user to run PostgreSQL as")?))
    }

    /// "name:password:user:group:..."
    fn find(accounts: &str, name: &str) -> Option<Self> {
        let mut lines = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let fields = lines.find(|fields| fields.first() == Some(&name))?;
        let number = |at: usize| fields.get(at)?.parse().ok();
        Some(Self { user: number(2)?, group: number(3)? })
    }
}

fn command(
    program: &Path,
    folder: &Path,
    account: Option<&Account>,
    log: &File,
) -> Result<Command> {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    command.stdout(log.try_clone()?).stderr(log.try_clone()?);
    // The time zone and the language of whoever runs the bench are not ours to measure.
    command.env_clear().env("LC_ALL", "C").env("TZ", "UTC");
    if let Some(account) = account {
        command.uid(account.user).gid(account.group);
    }
    Ok(command)
}

/// The folder of the newest version's programs.
fn programs() -> Result<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for version in fs::read_dir(DEBIAN).into_iter().flatten() {
        let version = version?;
        let number = version.file_name().to_str().and_then(|name| name.parse().ok());
        let folder = version.path().join("bin");
        if let Some(number) = number.filter(|_| folder.join("postgres").is_file()) {
            found.push((number, folder));
        }
    }
    if let Some((_, folder)) = found.into_iter().max() {
        return Ok(folder);
    }
    let asked = Command::new("pg_config").arg("--bindir").output();
    let asked = asked.context("PostgreSQL is not installed (Debian: apt install postgresql)")?;
    Ok(PathBuf::from(String::from_utf8(asked.stdout)?.trim()))
}

fn random_word() -> Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// What the programs said; the bench may be the only one to see it.
fn read_log(folder: &Path) -> String {
    fs::read_to_string(folder.join("log")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Account;

    #[test]
    fn an_account_is_found_by_its_whole_name() {
        let accounts = "root:x:0:0::/:/bin/sh\npostgres2:x:5:6::/:\npostgres:x:101:104::/:\n";
        let account = Account::find(accounts, "postgres").unwrap();
        assert_eq!((account.user, account.group), (101, 104));
        assert!(Account::find(accounts, "nobody").is_none());
    }
}
