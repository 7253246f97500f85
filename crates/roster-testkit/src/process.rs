//! A service in a process of its own, for tests of the built binary.
//!
//! It listens once it is here, and it ends with the test. It must not know what is asked of it.

#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "this is how a test fails")]

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

/// A running service.
#[derive(Debug)]
pub struct Process {
    child: Child,
    address: String,
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
