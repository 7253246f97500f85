//! A service in a process of its own, for tests of the built binary over each engine.
//!
//! It listens once it is here, and it ends with the test. What it keeps its users in is made for
//! the test and goes with it too. It must not know what is asked of it.

#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "this is how a test fails")]

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

use crate::postgres::{Cluster, Database};

/// Makes a test of each function for each engine, so that a failure names both:
/// `over_each_engine! { case, other_case }` with `fn case(engine: Engine)` beside it.
#[macro_export]
macro_rules! over_each_engine {
    ($($case:ident),* $(,)?) => {
        mod sqlite {
            $(
                #[test]
                fn $case() {
                    super::$case($crate::process::Engine::Sqlite);
                }
            )*
        }
    };
}

/// What the built binary keeps its users with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A file in the data directory.
    Sqlite,
    /// A database of the tests' PostgreSQL.
    Postgres,
}

/// An empty directory and, where users are kept with PostgreSQL, an empty database.
#[derive(Debug)]
pub struct Place {
    directory: TempDir,
    database: Option<Database>,
}

/// A running service.
#[derive(Debug)]
pub struct Process {
    child: Child,
    address: String,
}

impl Place {
    /// A place for users that are kept with this engine.
    pub fn new(engine: Engine) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let database = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => Some(Cluster::shared().database()),
        };
        Self { directory, database }
    }

    /// The directory, in which services of this place run.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The command that serves this place at a free port of loopback, without anything of this
    /// process's environment.
    pub fn serve(&self, binary: &str) -> Command {
        let mut command = Command::new(binary);
        command.args(["serve", "--listen", "127.0.0.1:0", "--log", "error"]);
        if let Some(database) = &self.database {
            command.args(["--database", &database.url()]);
        }
        command.current_dir(&self.directory).env_clear();
        command
    }
}

impl Process {
    /// Starts the command and waits until it says where it listens.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
        let mut banner = String::new();
        let mut out = BufReader::new(child.stdout.as_mut().expect("it is piped"));
        while !banner.contains("Try:") {
            let read = out.read_line(&mut banner).expect("the banner is text");
            assert_ne!(read, 0, "ended early: {banner}");
        }
        let (_, rest) = banner.split_once("listens on http://").expect("it listens");
        let address = rest.lines().next().expect("an address").to_owned();
        Self { child, address }
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Ends it without warning.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it is ours");
    }

    /// Ends it as an operator does; it must end with success.
    pub fn stop(mut self) {
        let kill = format!("kill -TERM {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &kill]).status().expect("a shell");
        assert!(sent.success(), "it runs");
        assert_eq!(self.child.wait().expect("it is ours").code(), Some(0));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
