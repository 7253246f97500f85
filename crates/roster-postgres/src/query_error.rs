//! Why a query has no result.

use roster_core::StoreError;

use crate::failure::store_error;

/// Why a query has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QueryError {
    /// The database reports an error, or the connection is lost.
    #[error(transparent)]
    Database(#[from] tokio_postgres::Error),
    /// The rows cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The query belongs to an era that has ended.
    #[error("the policy of the store changed meanwhile: send the request again")]
    EraEnded,
}

/// The result of a query.
pub(crate) type QueryResult<T> = Result<T, QueryError>;

impl From<QueryError> for StoreError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Database(error) => store_error(error),
            QueryError::Store(error) => error,
            QueryError::EraEnded => Self::Unavailable(error.to_string().into()),
        }
    }
}
