//! Lists: from the request for a page to its response.
//!
//! Every list has the parameters `limit`, `count` and `cursor`, an envelope, a link to the next
//! page and a weak tag. The tag is computed from the position of the log, the query, the media type
//! and the caller. A caller that polls an unchanged collection gets 304 before any page is read.

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderValue, Method, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LINK},
};
use roster_core::{
    Actor, Capped, Stored, UserSchema,
    filter::FilterFault,
    json::{separate, write_text},
    limits::PAGE_SIZE_DEFAULT,
    list::{PageKey, Total},
    words::Search,
};
use roster_server::limits::AdmissionGuard;
use sha2::{Digest, Sha256};

use super::respond::{PRIVATE, position, write_record};
use crate::{
    cursor::ListCursors,
    extract::{
        Fields, JSON, Parameter, ParameterFault, boolean, limit, negotiate, read_each,
        refuse_if_match, refused, tags, target,
    },
    limits::admission::Class,
    operation::Operation,
    problem::{Fault, Problem, ProblemCode},
    request::Call,
    state::AppState,
};

/// The parameters that every list has.
#[derive(Debug)]
pub(super) struct ListQuery<'a> {
    pub(super) limit: usize,
    /// Whether the response says how many items there are.
    pub(super) count: bool,
    cursor: Option<String>,
    /// Whether the end of the search text was ignored.
    search_is_cut: bool,
    /// All parameters of the list, as they were sent.
    pub(super) given: Vec<Parameter<'a>>,
}

impl Default for ListQuery<'_> {
    fn default() -> Self {
        let limit = PAGE_SIZE_DEFAULT;
        Self { limit, count: false, cursor: None, search_is_cut: false, given: Vec::new() }
    }
}

impl<'a> ListQuery<'a> {
    /// Reads a query. `take` reads the other parameters of the list.
    pub(super) fn read(
        query: Option<&'a str>,
        mut take: impl FnMut(&Parameter<'a>) -> Result<(), ParameterFault>,
    ) -> Result<Self, Problem> {
        let mut read = Self::default();
        let given = read_each(
            query,
            |parameter| {
                if read.take(parameter)? { Ok(()) } else { take(parameter) }
            },
        )?;
        Ok(Self { given, ..read })
    }

    /// The parameters that cannot be used with an export, each with the reason.
    pub(super) fn out_of_place_in_exports(
        &self,
        has_one_order: bool,
    ) -> Vec<(&'static str, &'static str)> {
        let conflicts = [
            (
                has_one_order && self.has("sort"),
                "sort",
                "an export has the order of ids; leave sort out",
            ),
            (self.has("cursor"), "cursor", "an export has no pages; leave cursor out"),
        ];
        let found = conflicts.into_iter().filter(|(is_found, ..)| *is_found);
        found.map(|(_, name, detail)| (name, detail)).collect()
    }

    /// Rejects parameters that cannot be used with an export.
    pub(super) fn refuse_in_exports(&self, has_one_order: bool) -> Result<(), Problem> {
        let mut faults = Capped::default();
        for (name, detail) in self.out_of_place_in_exports(has_one_order) {
            faults.push(|| Fault::of_parameter(name, "conflicting-parameter", detail));
        }
        if faults.is_empty() { Ok(()) } else { Err(refused(faults)) }
    }

    /// Whether the client sent this parameter.
    pub(super) fn has(&self, name: &str) -> bool {
        self.given.iter().any(|given| given.name == name)
    }

    /// Reads a parameter, if it is one that every list has.
    pub(super) fn take(&mut self, parameter: &Parameter<'a>) -> Result<bool, ParameterFault> {
        match parameter.name.as_ref() {
            "limit" => self.limit = limit(&parameter.value())?,
            "count" => self.count = boolean(&parameter.value())?,
            "cursor" => self.cursor = Some(parameter.value().into_owned()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The words of the search of this list; none without a search.
    pub(super) fn search(&mut self, search: Option<Search>) -> Vec<String> {
        let Some(Search { words, is_cut }) = search else { return Vec::new() };
        self.search_is_cut = is_cut;
        words
    }

    /// The position where the page begins. `read` returns `None` for a key of another order.
    pub(super) fn after<K>(
        &self,
        cursors: &ListCursors<'_>,
        read: impl FnOnce(&PageKey) -> Option<K>,
    ) -> Result<Option<K>, Problem> {
        let Some(cursor) = &self.cursor else { return Ok(None) };
        let after = cursors.open(cursor).and_then(|after| read(&after));
        after.map(Some).ok_or_else(|| Problem::new(ProblemCode::InvalidCursor))
    }
}

/// A request for a page, once it is admitted.
pub(super) struct ListRequest<'a> {
    app: &'a AppState,
    call: &'a Call,
    pub(super) class: Class,
    /// The version of the schema of users under which the query is read.
    schema_version: i64,
    _admitted: AdmissionGuard<'a>,
}

/// The values for the envelope and the headers of a page.
pub(super) struct PageFacts {
    pub(super) position: i64,
    /// The key after which the next page begins.
    pub(super) next: Option<PageKey>,
    pub(super) total: Option<Total>,
    pub(super) examined: Option<usize>,
}

impl<'a> ListRequest<'a> {
    /// Admits the request. Fails with 406 if `Accept` excludes JSON, and with 503 if the request is
    /// not admitted: this comes before any 400 of the query.
    pub(super) async fn admit(app: &'a AppState, call: &'a Call) -> Result<Self, Problem> {
        negotiate(&call.parts.headers, &[JSON]).map_err(|problem| match export_of(call) {
            Some(path) => {
                let base = app.base_path();
                let detail =
                    format!("accept application/json; {base}{path} returns all in one response");
                Problem::saying(ProblemCode::NotAcceptable, detail)
            }
            None => problem,
        })?;
        let class = Class::of_list(call.parts.uri.query());
        let admitted = app.admission.admit(class).await?;
        let schema_version = app.directory.schema().version;
        Ok(Self { app, call, class, schema_version, _admitted: admitted })
    }

    /// The response without a page, if the client has the page already or wants only headers. Fails
    /// with 412 for any `If-Match` and with 400 for a malformed `If-None-Match`.
    pub(super) async fn without_page(&self) -> Result<Option<Response>, Problem> {
        let headers = &self.call.parts.headers;
        refuse_if_match(&self.call.parts.headers, "lists have weak tags, which match no If-Match")?;
        let known = tags(headers, &IF_NONE_MATCH)?;
        let head_only = self.call.parts.method == Method::HEAD;
        if known.is_none() && !head_only {
            return Ok(None);
        }
        let number = self.app.directory.head().await?.position;
        if known.is_some_and(|known| known.hold_weakly(&self.tag(number))) {
            let mut response = StatusCode::NOT_MODIFIED.into_response();
            self.describe(&mut response, number);
            return Ok(Some(response));
        }
        if !head_only {
            return Ok(None);
        }
        let mut response = Response::new(Body::empty());
        self.describe(&mut response, number);
        response.headers_mut().insert(CONTENT_TYPE, JSON.header());
        Ok(Some(response))
    }

    /// The response with a page. `write` appends an item, and `bytes` is the approximate size of
    /// all items.
    pub(super) fn respond<T>(
        &self,
        (query, cursors): (&ListQuery<'_>, &ListCursors<'_>),
        page: PageFacts,
        (items, bytes): (&[T], usize),
        write: impl FnMut(&T, &mut Vec<u8>) -> Option<()>,
    ) -> Result<Response, Problem> {
        let PageFacts { position, next, total, examined } = page;
        let next = next.map(|after| cursors.seal(&after)).transpose()?;
        let next_cursor = next.as_deref();
        let envelope = Envelope { next_cursor, examined, total, q_truncated: query.search_is_cut };
        let mut response = Response::new(Body::from(envelope.write(items, bytes, write)?));
        self.describe(&mut response, position);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, JSON.header());
        let target = next.map(|cursor| {
            let path = self.app.external_path(self.call.parts.uri.path());
            target(&path, &query.given, &cursor)
        });
        if let Some(link) = target.as_deref().and_then(link) {
            headers.insert(LINK, link);
        }
        Ok(response)
    }

    /// The response with a page of records with their selected members.
    pub(super) fn respond_records(
        &self,
        query: (&ListQuery<'_>, &ListCursors<'_>),
        page: PageFacts,
        items: &[Stored],
        fields: &Fields,
    ) -> Result<Response, Problem> {
        let members = fields.members();
        let whole = members.is_none().then(|| items.iter().map(|item| item.record.len()).sum());
        let items = (items, whole.unwrap_or_default());
        self.respond(query, page, items, |item, out| write_record(item, members.as_ref(), out))
    }

    /// Adds the headers of a page, whether or not it is sent.
    fn describe(&self, response: &mut Response, number: i64) {
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, PRIVATE);
        position(headers, self.call.position(number));
        if let Ok(value) = HeaderValue::try_from(format!("W/\"{}\"", self.tag(number))) {
            headers.insert(ETAG, value);
        }
    }

    /// The tag without its quotation marks.
    fn tag(&self, number: i64) -> String {
        let query = self.call.parts.uri.query().unwrap_or_default();
        let mut hash = Sha256::new_with_prefix(query);
        // The same query may find others under another schema, also at the same position.
        if self.schema_version != UserSchema::default().version {
            hash.update([2]);
            hash.update(self.schema_version.to_be_bytes());
        }
        if self.app.tenant.is_some() {
            // The name may belong to another tenant later.
            hash.update([1]);
            hash.update(self.app.directory.tenant_id().number().to_be_bytes());
        }
        // The page may contain a cursor, which only its caller can use.
        let actor = self.call.caller().actor;
        if actor != Actor::Anonymous {
            hash.update([0]);
            hash.update(actor.to_string());
        }
        let hash = hash.finalize();
        let digest = data_encoding::HEXLOWER.encode(hash.first_chunk::<8>().unwrap_or(&[0; 8]));
        format!("{}-{digest}", self.call.position(number))
    }
}

/// The path that exports the records of a list.
fn export_of(call: &Call) -> Option<&'static str> {
    let exports = [
        (Operation::ListUsers, Operation::ExportUsers),
        (Operation::ListGroups, Operation::ExportGroups),
        (Operation::ListDeletedUsers, Operation::ExportDeletedUsers),
    ];
    let own = call.context().operation?;
    exports.into_iter().find(|(list, _)| *list == own).map(|(_, export)| export.path())
}

/// The problem of a filter that cannot be parsed.
pub(super) fn unparsed(fault: FilterFault) -> Problem {
    let detail = format!("at byte {}: {}", fault.position, fault.detail);
    let fault =
        Fault::of_parameter("filter", "invalid-filter", fault.detail).with_position(fault.position);
    Problem::saying(ProblemCode::InvalidFilter, detail).with_faults(fault.into())
}

/// The link to the next page (RFC 8288).
pub(super) fn link(target: &str) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("<{target}>; rel=\"next\"")).ok()
}

/// The envelope of a page: the members after its items.
#[derive(Default)]
pub(super) struct Envelope<'a> {
    pub(super) next_cursor: Option<&'a str>,
    pub(super) examined: Option<usize>,
    pub(super) total: Option<Total>,
    /// Whether the end of `q` was ignored.
    pub(super) q_truncated: bool,
}

impl Envelope<'_> {
    /// The page as JSON. `write` appends an item, and `bytes` is the approximate size of all items.
    pub(super) fn write<T>(
        &self,
        items: &[T],
        bytes: usize,
        mut write: impl FnMut(&T, &mut Vec<u8>) -> Option<()>,
    ) -> Result<Vec<u8>, Problem> {
        let mut out = Vec::with_capacity(bytes + items.len() + 256);
        out.extend_from_slice(b"{\"items\":[");
        for (index, item) in items.iter().enumerate() {
            separate(index, &mut out);
            write(item, &mut out).ok_or_else(|| Problem::new(ProblemCode::Internal))?;
        }
        out.extend_from_slice(b"],\"next_cursor\":");
        match self.next_cursor {
            Some(cursor) => write_text(&mut out, cursor),
            None => out.extend_from_slice(b"null"),
        }
        if let Some(examined) = self.examined {
            // Such a page may be empty although users match.
            out.extend_from_slice(
                format!(",\"examined\":{examined},\"complete\":false").as_bytes(),
            );
        }
        if let Some(Total::Exactly(total) | Total::AtLeast(total)) = self.total {
            out.extend_from_slice(format!(",\"total\":{total}").as_bytes());
        }
        if let Some(Total::AtLeast(_)) = self.total {
            out.extend_from_slice(b",\"total_relation\":\"at_least\"");
        }
        if self.q_truncated {
            out.extend_from_slice(b",\"q_truncated\":true");
        }
        out.push(b'}');
        Ok(out)
    }
}
