//! Maps errors of SQLite to errors of the store.

use roster_core::StoreError;
use rusqlite::{Error, ErrorCode, ffi};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// SQLite failed.
    #[error(transparent)]
    Sqlite(#[from] Error),
    /// A stored value is damaged, or the store refuses the read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub(crate) type ReadResult<T> = Result<T, ReadError>;

impl From<ReadError> for StoreError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Sqlite(error) => store_error(error),
            ReadError::Store(error) => error,
        }
    }
}

/// A failed read, or a failed statement of a single command.
pub(crate) fn store_error(error: Error) -> StoreError {
    if is_full(&error) {
        return StoreError::Full(Box::new(error));
    }
    if is_corrupt(&error) {
        return StoreError::Corrupt { place: "the database file".to_owned() };
    }
    // A long read was interrupted so that the write-ahead log can be reset.
    if is_busy(&error) || error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) {
        return StoreError::Unavailable(Box::new(error));
    }
    StoreError::Internal(Box::new(error))
}

/// Whether there was no room: on the disk, for the index of the write-ahead log, or within the
/// configured maximum of pages.
pub(crate) fn is_full(error: &Error) -> bool {
    let extended = error.sqlite_error().map(|error| error.extended_code);
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
        || extended == Some(ffi::SQLITE_IOERR_SHMSIZE)
}

pub(crate) fn is_io(error: &Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}

/// Whether written bytes may not be on disk. The system has already dropped them from its cache, so
/// a second sync would succeed although they are lost.
pub(crate) fn is_failed_sync(error: &Error) -> bool {
    let extended = error.sqlite_error().map(|error| error.extended_code);
    matches!(extended, Some(ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC))
}

/// Whether a read failed, because of the disk or of damaged bytes. SQLite reports many errors of
/// the disk as damage.
pub(crate) fn is_read(error: &Error) -> bool {
    let extended = error.sqlite_error().map(|error| error.extended_code);
    let codes = [ffi::SQLITE_IOERR_READ, ffi::SQLITE_IOERR_SHORT_READ, ffi::SQLITE_IOERR_CORRUPTFS];
    is_corrupt(error) || extended.is_some_and(|code| codes.contains(&code))
}

pub(crate) fn is_corrupt(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Whether another program has locked the file, such as a tool of an operator.
pub(crate) fn is_busy(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: i32) -> Error {
        Error::SqliteFailure(ffi::Error::new(code), None)
    }

    #[test]
    fn no_room_is_told_from_a_failing_disk() {
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_SHMSIZE] {
            assert!(is_full(&error(code)) && !is_failed_sync(&error(code)), "{code}");
            assert!(matches!(store_error(error(code)), StoreError::Full(_)), "{code}");
        }
        for code in [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_READ] {
            assert!(is_io(&error(code)) && !is_full(&error(code)), "{code}");
        }
    }

    #[test]
    fn a_failed_sync_is_told_from_other_errors_of_the_disk() {
        for code in [ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_DIR_FSYNC] {
            assert!(is_failed_sync(&error(code)) && is_io(&error(code)), "{code}");
        }
        assert!(!is_failed_sync(&error(ffi::SQLITE_IOERR_READ)));
    }

    #[test]
    fn damage_and_waiting_have_their_own_answers() {
        for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB] {
            assert!(matches!(store_error(error(code)), StoreError::Corrupt { .. }), "{code}");
        }
        for code in [ffi::SQLITE_BUSY, ffi::SQLITE_INTERRUPT] {
            assert!(matches!(store_error(error(code)), StoreError::Unavailable(_)), "{code}");
        }
        assert!(matches!(store_error(error(ffi::SQLITE_ERROR)), StoreError::Internal(_)));
    }
}
