//! Why a query has no result.

use roster_core::StoreError;

use crate::failure::{WithoutDetail, store_error};

/// Why a query has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QueryError {
    /// The database reports an error, or the connection is lost.
    #[error(transparent)]
    Database(WithoutDetail),
    /// The rows cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The query belongs to an era that has ended.
    #[error("the policy of the store changed meanwhile: send the request again")]
    EraEnded,
}

/// The result of a query.
pub(crate) type QueryResult<T> = Result<T, QueryError>;

impl From<tokio_postgres::Error> for QueryError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(WithoutDetail(error))
    }
}

impl From<QueryError> for StoreError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Database(error) => store_error(error.0),
            QueryError::Store(error) => error,
            QueryError::EraEnded => Self::Unavailable(error.to_string().into()),
        }
    }
}
