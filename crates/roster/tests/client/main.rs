//! The commands that ask a service, run as processes against a service over each engine.
#![expect(clippy::unwrap_used, reason = "what a test cannot do fails that test")]
#![expect(clippy::indexing_slicing, reason = "a member that is missing is `null`")]
#![expect(clippy::panic, reason = "this is how a test fails")]

mod broken_imports;
mod deleted_users;
mod events;
mod export;
mod groups;
mod import;
mod keys;
mod library;
mod login;
mod matching;
mod schema;
mod tenants;
mod users;
mod webhooks;
mod wrong_input;

use std::{
    cell::RefCell,
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use jiff::Timestamp;
use roster_testkit::process::{Engine, Place, Process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Every scope that `roster keys create --scope all` gives.
const ALL: &str = "users:read,users:write,users:purge,events:read,metrics:read,keys:admin,scim,\
                   schema:write,users:restore-ids,tenants:admin,audit:read,webhooks:admin";

/// A service, and the home directory of somebody who asks it.
struct Shell {
    service: Process,
    home: TempDir,
    place: Place,
    /// The key of the operator, once there is one: the first key closes the service.
    operator: RefCell<Option<String>>,
    /// A file with a key of all scopes that has expired, once there is one.
    expired: RefCell<Option<PathBuf>>,
}

/// What a command did.
#[derive(Debug)]
struct Ran {
    status: i32,
    out: String,
    err: String,
}

impl Shell {
    /// An open service.
    fn new(engine: Engine) -> Self {
        Self::serving(engine, &[])
    }

    /// An open service with further flags.
    fn serving(engine: Engine, flags: &[&str]) -> Self {
        let place = Place::new(engine);
        let service = Process::start(place.serve(env!("CARGO_BIN_EXE_roster")).args(flags));
        let home = tempfile::tempdir().unwrap();
        Self { service, home, place, operator: RefCell::default(), expired: RefCell::default() }
    }

    fn url(&self) -> String {
        format!("http://{}", self.service.address())
    }

    /// A file in the home directory.
    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// A command, in an environment that names no service.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roster"));
        command.args(arguments).env_clear().env("HOME", self.home.path());
        command.current_dir(self.home.path());
        command
    }

    /// Runs a command that asks the service without a key.
    fn run(&self, arguments: &[&str]) -> Ran {
        run(self.command(arguments).env("ROSTER_URL", self.url()), "")
    }

    /// Runs a command that must succeed, and returns its output.
    #[track_caller]
    fn ok(&self, arguments: &[&str]) -> String {
        self.run(arguments).succeeded()
    }

    /// Runs a command with a new key of these scopes, which are separated by commas.
    fn with(&self, scopes: &str, arguments: &[&str]) -> Ran {
        let key = self.key_file(scopes);
        let mut command = self.command(arguments);
        command.env("ROSTER_URL", self.url()).env("ROSTER_KEY_FILE", key);
        run(&mut command, "")
    }

    /// Runs a command with the key of the operator, which has all scopes in all tenants.
    fn operate(&self, arguments: &[&str]) -> Ran {
        let key = self.file("operator", &self.operator());
        let mut command = self.command(arguments);
        command.env("ROSTER_URL", self.url()).env("ROSTER_KEY_FILE", key);
        run(&mut command, "")
    }

    /// The key of the operator.
    fn operator(&self) -> String {
        let mut operator = self.operator.borrow_mut();
        let key = operator.get_or_insert_with(|| {
            let scopes: Vec<&str> = ALL.split(',').collect();
            let body = json!({"name": "operator", "scopes": scopes, "tenants": "all"});
            created_key(&self.service.ask("POST", "/keys", &body.to_string()).body)
        });
        key.clone()
    }

    /// A file with a new key of these scopes.
    fn key_file(&self, scopes: &str) -> PathBuf {
        let operator = format!("Authorization: Bearer {}\r\n", self.operator());
        let scopes: Vec<&str> = scopes.split(',').filter(|scope| !scope.is_empty()).collect();
        let body = json!({"name": "test", "scopes": scopes}).to_string();
        let answer = self.service.ask_with(&operator, "POST", "/keys", &body);
        self.file("key", &created_key(&answer.body))
    }

    /// A file with a key of all scopes that has expired.
    fn expired_key(&self) -> PathBuf {
        let operator = format!("Authorization: Bearer {}\r\n", self.operator());
        let mut expired = self.expired.borrow_mut();
        let file = expired.get_or_insert_with(|| {
            let scopes: Vec<&str> = ALL.split(',').collect();
            let end = Timestamp::now() + Duration::from_millis(500);
            let body = json!({"name": "old", "scopes": scopes, "expires_at": end.to_string()});
            let answer = self.service.ask_with(&operator, "POST", "/keys", &body.to_string());
            thread::sleep(Duration::from_secs(1));
            self.file("expired", &created_key(&answer.body))
        });
        file.clone()
    }

    /// Checks that a command works with the scopes that it needs, and that it says why it does not
    /// without one of them, without a key, with a wrong or an expired one, and without a service.
    #[track_caller]
    fn needs(&self, scopes: &str, arguments: &[&str]) -> String {
        let operator = self.operator();
        for needed in scopes.split(',') {
            let others: Vec<&str> = ALL.split(',').filter(|scope| *scope != needed).collect();
            let ran = self.with(&others.join(","), arguments);
            assert_eq!(ran.status, 4, "without {needed}: {ran:?}");
        }
        let ran = self.run(arguments);
        assert_eq!((ran.status, ran.err.contains("roster login")), (3, true), "{ran:?}");
        let wrong = self.file("wrong", "rst_4sJ0bYq7Zd_Jd8sPq0xTn3vWc5yKf7mRb2hGt9aLe41_Xy12Zq");
        for key in [wrong, self.expired_key()] {
            let mut command = self.command(arguments);
            command.env("ROSTER_URL", self.url()).env("ROSTER_KEY_FILE", key);
            let ran = run(&mut command, "");
            assert_eq!(ran.status, 3, "{ran:?}");
        }
        let unreachable = run(self.command(arguments).env("ROSTER_URL", "127.0.0.1:1"), "");
        assert_eq!(unreachable.status, 8, "{unreachable:?}");
        assert!(unreachable.err.contains("roster serve"), "{unreachable:?}");
        let ran = self.with(scopes, arguments);
        assert!(!format!("{ran:?}").contains(&operator));
        ran.succeeded()
    }
}

impl Ran {
    #[track_caller]
    fn succeeded(self) -> String {
        assert_eq!(self.status, 0, "{self:?}");
        self.out
    }

    /// Checks the status, and that stderr has these words.
    #[track_caller]
    fn failed(&self, status: i32, words: &[&str]) {
        assert_eq!((self.status, &*self.out), (status, ""), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "{word}: {}", self.err);
        }
    }

    /// The output as JSON.
    #[track_caller]
    fn json(self) -> Value {
        let text = self.succeeded();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

/// The words of each line.
fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

/// Runs a command with this text on stdin.
fn run(command: &mut Command, stdin: &str) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The command may not read it.
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap_or_default();
    let output = child.wait_with_output().unwrap();
    Ran {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[track_caller]
fn created_key(body: &Value) -> String {
    body["key"].as_str().unwrap_or_else(|| panic!("{body}")).to_owned()
}
