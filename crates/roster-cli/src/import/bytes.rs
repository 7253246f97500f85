//! Bytes of a file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use memchr::memchr_iter;

pub(super) fn newlines_in(bytes: &[u8]) -> u64 {
    u64::try_from(memchr_iter(b'\n', bytes).count()).unwrap_or_default()
}

/// Reads at a place, as much as there is.
pub(super) fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + u64::try_from(done).unwrap_or_default()) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
