//! The entry point of `roster`. It runs the command line in `roster::cli` and returns its exit
//! status, after everything that was opened is closed.

use std::process::ExitCode;

/// With glibc's allocator, threads wait for each other: a request waits up to 12 ms while another
/// thread frees a large JSON text.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    roster::cli::run()
}
