//! Holds what the service says against what its description promises.
//!
//! A test client hands every exchange to [`Description::check`]: the operation must exist, the
//! status must be documented, and headers and body must be as described. What was seen goes into
//! a [`Ledger`], so that a documented answer which no test ever got fails the suite. Nothing here
//! knows the service's code: the document's bytes are all it is given.

mod answer;
mod document;
mod ledger;
mod outside;
mod request;
#[cfg(test)]
mod tests;

pub use document::Description;
pub use ledger::Ledger;

/// One request and its answer, as they went over the wire.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// The method.
    pub method: String,
    /// The path as it was sent, percent-encoding and the service's base path included.
    pub path: String,
    /// The query as it was sent, without the question mark.
    pub query: Option<String>,
    /// The headers of the request.
    pub request_headers: Vec<(String, String)>,
    /// The body of the request.
    pub request_body: Vec<u8>,
    /// The status of the answer.
    pub status: u16,
    /// The headers of the answer.
    pub response_headers: Vec<(String, String)>,
    /// The body of the answer.
    pub response_body: Vec<u8>,
}

/// What an exchange was, once it was found to be as described.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Observed {
    /// The operation; `None` for an answer outside of all: an unknown path, another method.
    pub operation_id: Option<String>,
    /// The status of the answer.
    pub status: u16,
}

impl Description {
    /// Holds an exchange against the document; the error says what is not as described.
    pub fn check(&self, exchange: &Exchange) -> Result<Observed, String> {
        let checked = match self.operation(exchange) {
            Some((operation, captured)) => {
                let seen = Some(operation.id.clone());
                answer::check(operation, exchange)
                    .and_then(|()| request::check(operation, &captured, exchange))
                    .map(|()| seen)
            }
            None => outside::check(self, exchange).map(|()| None),
        };
        let operation_id = checked.map_err(|fault| {
            format!("{} {} -> {}: {fault}", exchange.method, exchange.path, exchange.status)
        })?;
        Ok(Observed { operation_id, status: exchange.status })
    }
}

impl Exchange {
    /// The one value of a header of the answer; `None` where it is absent.
    fn response_header(&self, name: &str) -> Option<&str> {
        header(&self.response_headers, name)
    }

    /// The media type of the answer, without its parameters.
    fn media_type(&self) -> Option<&str> {
        self.response_header("content-type").map(essence)
    }

    /// Whether hyper refused the request while its head was being parsed: the bare status.
    fn is_bare_refusal(&self) -> bool {
        matches!(self.status, 400 | 414 | 431)
            && self.response_body.is_empty()
            && self.response_header("x-request-id").is_none()
    }
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

/// A media type without its parameters.
fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}
