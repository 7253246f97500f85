//! What an error of SQLite means to a caller.

use roster_core::StoreError;
use rusqlite::{Error, ErrorCode, ffi};

/// A failed read, or a failed statement of a single command.
pub(crate) fn store_error(error: Error) -> StoreError {
    if is_full(&error) {
        return StoreError::Full(Box::new(error));
    }
    if is_corrupt(&error) {
        return StoreError::Corrupt { place: "the database file".to_owned() };
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Unavailable(Box::new(error))
        }
        _ => StoreError::Internal(Box::new(error)),
    }
}

/// Whether there was no room: on the disk, for the write-ahead log's index, or below the limit of
/// pages that was set.
pub(crate) fn is_full(error: &Error) -> bool {
    let extended = error.sqlite_error().map(|error| error.extended_code);
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
        || extended == Some(ffi::SQLITE_IOERR_SHMSIZE)
}

/// Whether the disk failed.
pub(crate) fn is_io(error: &Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}

/// Whether bytes that were handed to the disk may not be there. The system has forgotten them by
/// now: a second sync would succeed and prove nothing.
pub(crate) fn is_failed_sync(error: &Error) -> bool {
    let extended = error.sqlite_error().map(|error| error.extended_code);
    matches!(extended, Some(ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC))
}

/// Whether the file is not what it must be.
pub(crate) fn is_corrupt(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}
