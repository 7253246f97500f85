//! A queue of bytes in a file that has no name.
//!
//! The file is created in the configured directory and unlinked at once, so that no file remains
//! after the service has ended. It is truncated whenever all its bytes have been read. The
//! functions block. This module does not know what the bytes are.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
};

use bytes::Bytes;
use roster_server::{ConnectionMemory, SpilledBytes};

/// The maximum number of bytes that are read at a time.
const CHUNK_BYTES_MAX: u64 = 256 * 1024;

/// The bytes in the file that have not been taken yet.
#[derive(Debug)]
pub(super) struct Spill {
    file: File,
    read: u64,
    written: u64,
    /// Counts the size of the file for the limits of the caller and of all imports.
    spilled: SpilledBytes,
}

impl Spill {
    /// Creates an empty queue in a directory, for the caller of this connection.
    pub(super) fn create(directory: &Path, memory: &ConnectionMemory) -> io::Result<Self> {
        let file = tempfile::tempfile_in(directory)?;
        Ok(Self { file, read: 0, written: 0, spilled: memory.spill() })
    }

    /// Whether all bytes have been taken.
    pub(super) const fn is_empty(&self) -> bool {
        self.read == self.written
    }

    /// Appends all of the bytes or none. Fails if the spill files of the caller or of all imports
    /// would exceed their maximum size.
    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if !self.spilled.try_grow(length) {
            return Err(no_room());
        }
        self.file.seek(SeekFrom::Start(self.written))?;
        self.file.write_all(bytes)?;
        self.written += length;
        Ok(())
    }

    /// Takes bytes from the front. Returns no bytes if the queue is empty.
    pub(super) fn take(&mut self) -> io::Result<Bytes> {
        let count = (self.written - self.read).min(CHUNK_BYTES_MAX);
        let mut chunk = vec![0; usize::try_from(count).unwrap_or_default()];
        self.file.seek(SeekFrom::Start(self.read))?;
        self.file.read_exact(&mut chunk)?;
        self.read += count;
        if self.is_empty() {
            self.file.set_len(0)?;
            (self.read, self.written) = (0, 0);
            self.spilled.clear();
        }
        Ok(Bytes::from(chunk))
    }
}

/// The error for a lack of disk space for results.
pub(super) fn no_room() -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, "no room for unread results")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_in_their_order_and_the_room_is_given_back() {
        let directory = tempfile::tempdir().expect("a directory");
        let memory = ConnectionMemory::default();
        let mut spill = Spill::create(directory.path(), &memory).expect("a file");
        assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 0);
        let mut expected = Vec::new();
        let mut taken = Vec::new();
        for round in 0..50_u8 {
            let bytes = vec![round; 20_000];
            spill.put(&bytes).expect("room");
            expected.extend(bytes);
            if round % 7 == 6 {
                taken.extend_from_slice(&spill.take().expect("bytes"));
            }
        }
        while !spill.is_empty() {
            taken.extend_from_slice(&spill.take().expect("bytes"));
        }
        assert_eq!(taken, expected);
        assert_eq!((spill.written, spill.file.metadata().expect("a file").len()), (0, 0));
        spill.put(b"more").expect("room");
        assert_eq!(spill.take().expect("bytes"), "more");
    }
}
