//! The rows, by topic.

mod answers;
mod browser;
mod chunks;
mod conditions;
mod connection;
mod deleted;
mod framing;
mod head;
mod host;
mod json;
mod limits;
mod media;
mod methods;
mod negotiation;
mod session;
mod target;
mod time;

use crate::row::Row;

/// Every row that does not depend on a time limit.
pub(crate) fn all() -> Vec<Row> {
    [
        json::rows(),
        media::rows(),
        media::expectations(),
        framing::rows(),
        chunks::rows(),
        head::rows(),
        head::versions(),
        host::rows(),
        host::absolute(),
        methods::rows(),
        methods::allowed(),
        target::rows(),
        target::queries(),
        negotiation::rows(),
        conditions::rows(),
        limits::rows(),
        connection::rows(),
        browser::rows(),
        session::rows(),
        answers::rows(),
        deleted::rows(),
        deleted::events(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The rows that wait for a time limit, which is short for them.
pub(crate) fn timed() -> Vec<Row> {
    time::rows()
}
