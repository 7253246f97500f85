//! A problem as a response: an RFC 9457 body, its status and its headers.
//!
//! It contains only text that is safe to send. An internal error is attached as the cause for the
//! log, which the endpoint writes once; it is never part of the body.

use std::{borrow::Cow, error::Error, iter::successors, mem, sync::Arc};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use roster_core::{Capped, Json, StoreError, Violation, json::write_json, text::nearest};

use super::registry::ProblemCode;

const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");
pub(crate) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// A rejection or failure of a request.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) code: ProblemCode,
    detail: Option<Cow<'static, str>>,
    errors: Capped<Fault>,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// The internal error, for the log.
    pub(crate) cause: Option<StoreError>,
}

/// One of several errors.
#[derive(Debug)]
pub(crate) struct Fault {
    place: Place,
    code: Cow<'static, str>,
    detail: Cow<'static, str>,
    /// The position in the value, in bytes.
    position: Option<usize>,
    /// The column of the cell, if the record was a row of CSV.
    column: Option<String>,
}

/// The maximum length of a pointer, in characters. Only names that no record has are cut.
const POINTER_LENGTH_MAX: usize = 4096;

#[derive(Debug)]
enum Place {
    Pointer(String),
    Parameter(String),
    /// A column of CSV that has no member.
    Column(String),
}

impl Fault {
    /// An error at a location in the body.
    pub(crate) fn at(
        pointer: impl Into<String>,
        code: &'static str,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        let mut pointer = pointer.into();
        if let Some((end, _)) = pointer.char_indices().nth(POINTER_LENGTH_MAX) {
            pointer.truncate(end);
        }
        Self::new(Place::Pointer(pointer), code, detail.into())
    }

    /// An error of a query parameter.
    pub(crate) fn of_parameter(
        name: impl Into<String>,
        code: &'static str,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(Place::Parameter(name.into()), code, detail.into())
    }

    fn new(place: Place, code: &'static str, detail: Cow<'static, str>) -> Self {
        Self { place, code: code.into(), detail, position: None, column: None }
    }

    /// An error of a column of CSV.
    pub(crate) fn in_column(
        header: String,
        code: &'static str,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(Place::Column(header), code, detail.into())
    }

    /// Adds the column of the cell.
    pub(crate) fn with_column(mut self, header: String) -> Self {
        self.column = Some(header);
        self
    }

    /// Adds the position in the value, in bytes.
    pub(crate) fn with_position(mut self, position: usize) -> Self {
        self.position = Some(position);
        self
    }
}

impl From<Violation> for Fault {
    fn from(violation: Violation) -> Self {
        Self::at(violation.pointer, violation.code.as_str(), violation.detail)
    }
}

impl Problem {
    /// A problem with the text of the registry.
    pub(crate) fn new(code: ProblemCode) -> Self {
        Self { code, detail: None, errors: Capped::default(), headers: Vec::new(), cause: None }
    }

    /// A problem with a specific detail instead of that of the registry.
    pub(crate) fn saying(code: ProblemCode, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { detail: Some(detail.into()), ..Self::new(code) }
    }

    /// A problem with these errors. The detail counts all of them, including those that are not
    /// listed.
    pub(crate) fn listing(code: ProblemCode, what: &str, faults: Capped<Fault>) -> Self {
        let listed = faults.items().len();
        let detail = match faults.total() {
            1 => format!("1 {what} needs attention"),
            total if faults.omitted() > 0 => {
                format!("{total} {what}s need attention; the first {listed} are listed")
            }
            total => format!("{total} {what}s need attention"),
        };
        Self::saying(code, detail).with_faults(faults)
    }

    /// The same problem for a caller that may or may not read the record that it is about. The
    /// details of these codes state the version of the record or name its members.
    pub(crate) fn for_caller(self, may_read: bool) -> Self {
        if may_read {
            self
        } else if self.code == ProblemCode::VersionMismatch {
            Self::saying(self.code, "it has another version")
        } else if self.code == ProblemCode::PreconditionRequired {
            Self::new(self.code)
        } else {
            self
        }
    }

    /// Adds errors.
    pub(crate) fn with_faults(mut self, faults: Capped<Fault>) -> Self {
        self.errors = faults;
        self
    }

    /// Adds to each unknown query parameter the known one that it most likely means.
    pub(crate) fn suggest_parameters(&mut self, known: &[String]) {
        let errors = mem::take(&mut self.errors);
        self.errors = errors.map(|mut fault| {
            if let (Place::Parameter(name), "unknown-parameter") = (&fault.place, &*fault.code)
                // A parameter can be known, and unknown for this media type alone.
                && !known.contains(name)
                && let Some(meant) = nearest(name, known.iter().map(String::as_str))
            {
                fault.detail = format!("{}; did you mean {meant}?", fault.detail).into();
            }
            fault
        });
    }

    /// Adds the column of each member.
    pub(crate) fn name_columns<'c>(&mut self, column: impl Fn(&str) -> Option<&'c str>) {
        let errors = mem::take(&mut self.errors);
        self.errors = errors.map(|mut fault| {
            if let (Place::Pointer(pointer), None) = (&fault.place, &fault.column) {
                fault.column = column(pointer).map(str::to_owned);
            }
            fault
        });
    }

    /// Whether a row of CSV, or the text of one of its cells, could not be read.
    pub(crate) fn is_about_cells(&self) -> bool {
        let is_text = |fault: &Fault| matches!(&*fault.code, "invalid-encoding" | "formula");
        self.code == ProblemCode::MalformedCsv || self.errors.items().iter().any(is_text)
    }

    /// The code, the column and the detail for one row of CSV. The detail has that of every error.
    pub(crate) fn in_one_row(&self) -> (String, String, String) {
        let items = self.errors.items();
        let code = items.first().map_or(self.code.as_str(), |first| &first.code);
        let column_of = |fault: &Fault| match &fault.place {
            Place::Column(header) => Some(header.clone()),
            Place::Pointer(_) | Place::Parameter(_) => fault.column.clone(),
        };
        let column = items.iter().find_map(column_of).unwrap_or_default();
        let of_fault = |fault: &Fault| match column_of(fault) {
            Some(column) => format!("{column}: {}", fault.detail),
            None => fault.detail.clone().into_owned(),
        };
        let own = self.detail.as_deref().unwrap_or(self.code.kind().detail).to_owned();
        let details: Vec<String> = items.iter().map(of_fault).collect();
        let detail = if details.is_empty() { own } else { details.join("; ") };
        (code.to_owned(), column, detail)
    }

    /// Adds a header.
    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Adds the internal error.
    pub(crate) fn because(mut self, cause: StoreError) -> Self {
        self.cause = Some(cause);
        self
    }

    /// The response. `type` is the URL of the code's page on this service.
    pub(crate) fn write(mut self, base_url: &str, request_id: &str) -> Response {
        let kind = self.code.kind();
        let sent = mem::take(&mut self.headers);
        let mut body = Vec::with_capacity(256);
        write_json(&mut body, &Json::Object(self.into_members(base_url, Some(request_id))));
        let mut response = Response::new(Body::from(body));
        *response.status_mut() =
            StatusCode::from_u16(kind.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, PROBLEM_JSON);
        headers.insert(CACHE_CONTROL, NO_STORE);
        for (name, value) in sent {
            headers.append(name, value);
        }
        response
    }

    /// Logs the internal error, with its causes.
    pub(crate) fn log(&self, request_id: &str) {
        let Some(cause) = &self.cause else { return };
        let first: &(dyn Error + 'static) = cause;
        let causes =
            successors(Some(first), |error: &&(dyn Error + 'static)| Error::source(*error));
        let causes: Vec<String> = causes.map(ToString::to_string).collect();
        let (code, cause) = (self.code.as_str(), causes.join(": "));
        tracing::error!(request_id, code, cause, "a request failed");
    }

    /// The status, the text and the headers of the problem, for SCIM's form.
    pub(crate) fn into_parts(self) -> (u16, String, Vec<(HeaderName, HeaderValue)>) {
        let kind = self.code.kind();
        let mut words = self.detail.as_deref().unwrap_or(kind.detail).to_owned();
        for fault in self.errors.items() {
            let (Place::Pointer(place) | Place::Parameter(place) | Place::Column(place)) =
                &fault.place;
            words.extend(["; ", place, ": ", &fault.detail]);
        }
        if self.errors.omitted() > 0 {
            words.extend(["; and ", &self.errors.omitted().to_string(), " more"]);
        }
        (kind.status, words, self.headers)
    }

    /// The members of the body. If a response has several problems, they need no request id.
    pub(crate) fn into_members(
        self,
        base_url: &str,
        request_id: Option<&str>,
    ) -> Vec<(String, Json)> {
        let kind = self.code.kind();
        let text = |text: &str| Json::Text(text.to_owned());
        let mut members = vec![
            ("type".to_owned(), Json::Text(format!("{base_url}/problems/{}", kind.code))),
            ("title".to_owned(), text(kind.title)),
            ("status".to_owned(), Json::Int(kind.status.into())),
            ("code".to_owned(), text(kind.code)),
            ("detail".to_owned(), text(self.detail.as_deref().unwrap_or(kind.detail))),
        ];
        members.extend(request_id.map(|id| ("request_id".to_owned(), text(id))));
        let more = i64::try_from(self.errors.omitted()).unwrap_or(i64::MAX);
        if !self.errors.is_empty() {
            let errors = self.errors.into_iter().map(Fault::into_json).collect();
            members.push(("errors".to_owned(), Json::Array(errors)));
        }
        if more > 0 {
            members.push(("more".to_owned(), Json::Int(more)));
        }
        members
    }
}

impl Fault {
    fn into_json(self) -> Json {
        let (name, place) = match self.place {
            Place::Pointer(pointer) => ("pointer", pointer),
            Place::Parameter(parameter) => ("parameter", parameter),
            Place::Column(header) => ("column", header),
        };
        let mut members = vec![
            (name.to_owned(), Json::Text(place)),
            ("code".to_owned(), Json::Text(self.code.into_owned())),
            ("detail".to_owned(), Json::Text(self.detail.into_owned())),
        ];
        members.extend(self.column.map(|header| ("column".to_owned(), Json::Text(header))));
        let position = self.position.and_then(|position| i64::try_from(position).ok());
        members.extend(position.map(|position| ("position".to_owned(), Json::Int(position))));
        Json::Object(members)
    }
}

/// A problem among the extensions of a response. The endpoint writes it, since it knows the base
/// URL, the request id and the interface.
#[derive(Clone)]
pub(crate) struct ProblemExtension(pub(crate) Arc<Problem>);

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::default();
        response.extensions_mut().insert(ProblemExtension(Arc::new(self)));
        response
    }
}
