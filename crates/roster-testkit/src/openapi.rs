//! Checks exchanges against the API description.
//!
//! A test client passes every exchange to [`Description::check`]: the operation must exist, the
//! status must be documented, and headers and body must match the description. A [`Ledger`] records
//! what occurred, so that the suite fails if no test got a documented response. This module uses
//! only the bytes of the document, none of the service's code.

mod answer;
mod document;
mod ledger;
mod outside;
mod request;

pub use document::Description;
pub use ledger::Ledger;

/// One request and its response, as sent over the network.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// The method.
    pub method: String,
    /// The path as sent, with percent-encoding and the service's base path.
    pub path: String,
    /// The query as sent, without the question mark.
    pub query: Option<String>,
    /// The headers of the request.
    pub request_headers: Vec<(String, String)>,
    /// The body of the request.
    pub request_body: Vec<u8>,
    /// The status of the response.
    pub status: u16,
    /// The headers of the response.
    pub response_headers: Vec<(String, String)>,
    /// The body of the response.
    pub response_body: Vec<u8>,
}

/// The operation and status of an exchange that matches the description.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Observed {
    /// The operation; `None` for a response outside of all: an unknown path, another method.
    pub operation_id: Option<String>,
    /// The status of the response.
    pub status: u16,
}

impl Description {
    /// Checks an exchange. The error says what does not match.
    pub fn check(&self, exchange: &Exchange) -> Result<Observed, String> {
        let checked = match self.operation(exchange) {
            Some(_) if outside::is_refusal_of_tenant(self, exchange) => {
                outside::check_shared_problem(self, exchange).map(|()| None)
            }
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
    /// The single value of a response header; `None` if it is absent.
    fn response_header(&self, name: &str) -> Option<&str> {
        header(&self.response_headers, name)
    }

    /// The media type of the response, without its parameters.
    fn media_type(&self) -> Option<&str> {
        self.response_header("content-type").map(essence)
    }

    /// Whether hyper rejected the request during parsing of its head, with only a status.
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
