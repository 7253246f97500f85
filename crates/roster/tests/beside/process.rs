//! The built binary as a command and as a service.

use std::path::Path;
use std::process::Command;

use roster_testkit::process::Process;

/// Exit status, stdout and stderr of a command.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Outcome {
    /// The output of a command that must succeed.
    #[track_caller]
    pub(crate) fn success(self) -> String {
        assert_eq!((self.status, self.err.as_str()), (Some(0), ""), "{self:?}");
        self.out
    }

    /// The error of a command that must fail.
    #[track_caller]
    pub(crate) fn failure(self, status: i32) -> String {
        assert_eq!((self.status, self.out.as_str()), (Some(status), ""), "{self:?}");
        self.err
    }
}

/// Runs the binary in a directory. `words` are its arguments, separated by blanks.
pub(crate) fn roster(place: &Path, words: &str) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roster"));
    command.args(words.split(' ')).current_dir(place).env_clear();
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Outcome { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// A service on a directory of the place.
pub(crate) fn serve(place: &Path, data: &str) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roster"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--log", "error", "--data", data]);
    Process::start(command.current_dir(place).env_clear())
}
