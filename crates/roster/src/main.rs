//! The entry point of `roster`. All it does is hand over to the command line and give its exit
//! status to the system, after everything that was opened has been closed again.
//! What each command does stands in `roster::cli`.

use std::process::ExitCode;

/// Its threads do not wait for each other: with glibc's allocator a request waits up to 12 ms while
/// another thread frees a large JSON text.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    roster::cli::run()
}
