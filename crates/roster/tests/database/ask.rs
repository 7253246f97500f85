//! The built binary with a database setting, and its errors.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The maximum wait for a start that must fail.
const PATIENCE: Duration = Duration::from_secs(30);

/// The binary in a directory, without the machine's environment.
pub(crate) fn roster(place: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roster"));
    command.args(words).current_dir(place).env_clear();
    command
}

/// The error of a command that must fail. It prints it on stderr, and nothing else.
#[track_caller]
pub(crate) fn failure(mut command: Command, status: i32) -> String {
    let output = tempfile::tempdir().unwrap();
    let (out, err) = (output.path().join("out"), output.path().join("err"));
    command.stdin(Stdio::null()).stdout(fs::File::create(&out).unwrap());
    let mut child = command.stderr(fs::File::create(&err).unwrap()).spawn().unwrap();
    let begin = Instant::now();
    let ended = loop {
        if let Some(ended) = child.try_wait().unwrap() {
            break Some(ended);
        }
        if begin.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        thread::sleep(Duration::from_millis(10));
    };
    let text = |path: &Path| fs::read_to_string(path).unwrap();
    let (out, err) = (text(&out), text(&err));
    let Some(ended) = ended else { unreachable!("it did not end: {out}{err}") };
    assert_eq!((ended.code(), out.as_str()), (Some(status), ""), "{err}");
    err
}
