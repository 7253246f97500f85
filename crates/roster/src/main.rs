//! The entry point of `roster`. All it does is hand over to the command line and give its exit
//! status to the system, after everything that was opened has been closed again.
//! What each command does stands in `roster::cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    roster::cli::run()
}
