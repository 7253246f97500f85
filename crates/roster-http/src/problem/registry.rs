//! The registry of problem codes: one row for each.
//!
//! The pages at `/problems`, the API description and the tests all use this table. Codes are
//! permanent: rows are added, never renamed or removed. No text here has a value of a request.

pub use super::kind::ProblemKind;
use super::kind::problems;

/// The problem with this code.
pub fn find(code: &str) -> Option<&'static ProblemKind> {
    PROBLEMS.iter().find(|kind| kind.code == code)
}

problems! {
    InvalidRequest {
        code: "invalid-request",
        status: 400,
        title: "The request is not well formed",
        meaning: "A header is malformed, repeated, or contradicts another header: for example \
            `Host`, or the headers of the body's length.",
        remedy: "Correct the request as the detail says. Ordinary HTTP clients do not cause this.",
        detail: "send exactly one Host header",
    }
    InvalidQuery {
        code: "invalid-query",
        status: 400,
        title: "The query is not valid",
        meaning: "A query parameter is unknown, repeated or invalid, or conflicts with another \
            one. `errors` names each by its `parameter`.",
        remedy: "Correct these parameters. Unknown parameters are not ignored.",
        detail: "1 parameter needs attention",
    }
    InvalidFilter {
        code: "invalid-filter",
        status: 400,
        title: "The filter is not valid",
        meaning: "The `filter` does not follow the grammar (RFC 7644 section 3.4.2.2), or uses \
            an unknown member or operator. The detail says what was expected, and `position` \
            where: in bytes from the start of the decoded filter.",
        remedy: "Correct the filter at that position.",
        detail: "at byte 9: an operator was expected, like eq, co or sw",
    }
    InvalidIdempotencyKey {
        code: "invalid-idempotency-key",
        status: 400,
        title: "The idempotency key is not valid",
        meaning: "`Idempotency-Key` is repeated, empty or too long, has a character that is not \
            allowed, or came with a request that does not support it.",
        remedy: "Send one key of 1 to 255 visible ASCII characters, in quotes or bare, with a \
            request that supports it.",
        detail: "send one key of 1 to 255 visible ASCII characters",
    }
    InvalidCursor {
        code: "invalid-cursor",
        status: 400,
        title: "The cursor is not valid",
        meaning: "The cursor was not made by this service, was altered, belongs to another \
            caller, or to a list with another order or other conditions.",
        remedy: "Send `next_cursor` unchanged with the same other parameters, or start again \
            without a cursor.",
        detail: "start the list again without a cursor",
    }
    MalformedJson {
        code: "malformed-json",
        status: 400,
        title: "The body is not JSON",
        meaning: "The body is not one JSON text in UTF-8: it is empty, truncated or nested too \
            deep, repeats a member, has text after its end, or is not valid Unicode.",
        remedy: "Send one JSON object, written by a JSON library.",
        detail: "trailing comma at line 1 column 27",
    }
    MalformedCsv {
        code: "malformed-csv",
        status: 400,
        title: "The text is not CSV",
        meaning: "A quotation mark, the number of cells of a row, or the encoding is wrong.",
        remedy: "Write the file with a CSV library, or save it as CSV UTF-8.",
        detail: "the row has 3 cells, and the header 5",
    }
    Unauthenticated {
        code: "unauthenticated",
        status: 401,
        title: "The caller is not authenticated",
        meaning: "The request has no credential, or an invalid one: mistyped, unknown, expired, \
            revoked, or a token for another service. Without a credential the service accepts \
            only callers on the same machine, and only while it has no key and no issuer.",
        remedy: "Send `Authorization: Bearer` with a key or token of this service. `roster keys \
            create` creates a key; the configured issuer creates tokens.",
        detail: "send Authorization: Bearer with a key or a token",
    }
    InsufficientScope {
        code: "insufficient-scope",
        status: 403,
        title: "The caller may not do this",
        meaning: "The credential lacks the scope that the detail and `WWW-Authenticate` name.",
        remedy: "Use a credential that has the scope, or ask the operator for one.",
        detail: "this takes a credential of scope users:write",
    }
    ForeignOrigin {
        code: "foreign-origin",
        status: 403,
        title: "The request comes from a page of another origin",
        meaning: "The browser reports that another site sent this request. Other sites may not \
            call the service from its users' browsers.",
        remedy: "Call the service from a program, or from its own pages.",
        detail: "call this service from a program, not from a web page of another origin",
    }
    ForwardedRequest {
        code: "forwarded-request",
        status: 403,
        title: "The request came through a proxy",
        meaning: "The request has a header that proxies add, such as `Forwarded` or `Via`, uses \
            HTTP/1.0 or comes from another machine. Until a key exists, the service accepts \
            only direct requests of the same machine.",
        remedy: "Call the service directly with HTTP/1.1 or HTTP/2, or make a key first.",
        detail: "call this service directly, without a proxy in between",
    }
    NotFound {
        code: "not-found",
        status: 404,
        title: "There is no such path",
        meaning: "The service has no such path. Paths are compared exactly, with case and slashes.",
        remedy: "Start at the service document, which has the path of every part.",
        detail: "nothing is at this path; the service document is at /",
    }
    UserNotFound {
        code: "user-not-found",
        status: 404,
        title: "There is no such user",
        meaning: "No user has the id in the path; below `/deleted-users`, no deleted user that is \
            still kept. The user may have been deleted. The id may also be malformed.",
        remedy: "Find the user in the list, for example by `username` or `email`, or in the list \
            of deleted users.",
        detail: "no user has this id; look it up with GET /users",
    }
    GroupNotFound {
        code: "group-not-found",
        status: 404,
        title: "There is no such group",
        meaning: "No group has the id in the path. The id may also be malformed.",
        remedy: "Find the group in the list, for example by `display_name`.",
        detail: "no group has this id; look it up with GET /groups",
    }
    MemberNotFound {
        code: "member-not-found",
        status: 404,
        title: "There is no such member",
        meaning: "The member to add is neither an existing user nor an existing group, or the \
            member to remove is not in the group.",
        remedy: "Look at the members of the group, or look the user or group up in its list.",
        detail: "neither a user nor a group has this id",
    }
    KeyNotFound {
        code: "key-not-found",
        status: 404,
        title: "There is no such key",
        meaning: "No key has this id.",
        remedy: "See the list of keys.",
        detail: "no key has this id; the list is at /keys",
    }
    ProblemNotFound {
        code: "problem-not-found",
        status: 404,
        title: "There is no such problem code",
        meaning: "The service has no problem with this code.",
        remedy: "See the list of codes.",
        detail: "no problem has this code; the list is at /problems",
    }
    MethodNotAllowed {
        code: "method-not-allowed",
        status: 405,
        title: "The path does not support the method",
        meaning: "The path exists, but not with this method.",
        remedy: "Use one of the methods that the `Allow` header names.",
        detail: "this path offers GET, HEAD, POST, OPTIONS",
    }
    NotAcceptable {
        code: "not-acceptable",
        status: 406,
        title: "No acceptable media type is available",
        meaning: "The `Accept` header excludes every media type that the response could have.",
        remedy: "Accept `application/json`, or omit the header.",
        detail: "accept application/json, or leave Accept out",
    }
    BodyTooSlow {
        code: "body-too-slow",
        status: 408,
        title: "The body arrived too slowly",
        meaning: "The rest of the body did not arrive in time. The connection was closed and \
            nothing was changed.",
        remedy: "Send the request again, over a better connection or with a smaller body.",
        detail: "the body did not arrive in time; send the request again",
    }
    UsernameTaken {
        code: "username-taken",
        status: 409,
        title: "The username is taken",
        meaning: "Another user has this username. Case, width and the way accents are composed \
            make no difference. When no username was sent, it is the e-mail address that clashed.",
        remedy: "Choose another username.",
        detail: "choose another username",
    }
    EmailTaken {
        code: "email-taken",
        status: 409,
        title: "The e-mail address is taken",
        meaning: "Another user has this primary e-mail address. Case makes no difference.",
        remedy: "Use another address, or find the user who holds this one and change that user. \
            For shared mailboxes the service can be set to allow it.",
        detail: "another user has this primary address",
    }
    ExternalIdTaken {
        code: "external-id-taken",
        status: 409,
        title: "The external id is taken",
        meaning: "Another user has this `external_id`, and this service is set to keep it unique.",
        remedy: "Use another external id, or find the user who holds this one and change that \
            user.",
        detail: "another user has this external id",
    }
    IdTaken {
        code: "id-taken",
        status: 409,
        title: "The id is taken",
        meaning: "With `keep_ids=true` a user should be created with the id of the body, but a \
            user, a deleted user or a group has this id, or the history of a purged user with \
            this id is still being erased.",
        remedy: "If the user is deleted, restore it. After a purge, try again later.",
        detail: "a user, a deleted user or a group has this id",
    }
    CountMismatch {
        code: "count-mismatch",
        status: 409,
        title: "The number of users that match is not the confirmed one",
        meaning: "The request changes all users that match, and `confirm` is not the number of \
            users that match now. Nothing was changed.",
        remedy: "Send the request with `dry_run=true`, check the users, and confirm its `count`.",
        detail: "12 users match, and not 10; nothing was changed",
    }
    GroupNameTaken {
        code: "group-name-taken",
        status: 409,
        title: "The name of the group is taken",
        meaning: "Another group has this `display_name`. Case makes no difference.",
        remedy: "Choose another name, or change the group that has this one.",
        detail: "another group has this name; choose another one",
    }
    GroupCycle {
        code: "group-cycle",
        status: 409,
        title: "A group cannot belong to itself",
        meaning: "The member to add is the group itself, or a group that contains it directly or \
            through other groups.",
        remedy: "Remove the group from the other one first.",
        detail: "the group belongs to the one that would join it",
    }
    GroupTooDeep {
        code: "group-too-deep",
        status: 409,
        title: "The groups are nested too deeply",
        meaning: "At most 8 groups may be nested. When a group is added to another, at most 10,000 \
            groups above and 10,000 below are examined.",
        remedy: "Add the users to the group directly, or use fewer levels of groups.",
        detail: "at most 8 groups may stand within one another",
    }
    GroupFull {
        code: "group-full",
        status: 409,
        title: "A limit on members is reached",
        meaning: "The group has the maximum number of direct members, or the member to add is in \
            the maximum number of groups.",
        remedy: "Put several groups into this one and divide the members among them, or remove the \
            member from groups that are not needed.",
        detail: "a group has at most 100000 direct members",
    }
    KeyEnded {
        code: "key-ended",
        status: 409,
        title: "The key has ended",
        meaning: "The key was revoked or has expired, so it cannot get a new secret.",
        remedy: "Make a new key.",
        detail: "this key was revoked or has expired; make a new one",
    }
    TooManyKeys {
        code: "too-many-keys",
        status: 409,
        title: "The maximum number of keys is reached",
        meaning: "The maximum number of keys exists. A new key replaces one that was revoked or \
            has expired, but all existing keys are valid.",
        remedy: "Revoke keys that are not needed.",
        detail: "there can be 1000 keys; revoke unused ones",
    }
    PositionOutlived {
        code: "position-outlived",
        status: 410,
        title: "The change log does not reach back to that position",
        meaning: "The position belongs to another log (a restored backup begins a new one), is \
            after the end of this one, or the events after it were deleted because of their age.",
        remedy: "Read the whole collection again with `GET /bulk/users`, and continue from the \
            `Roster-Position` of that response.",
        detail: "read the collection again and go on from its Roster-Position",
    }
    VersionMismatch {
        code: "version-mismatch",
        status: 412,
        title: "The precondition does not hold",
        meaning: "The user, group, key or schema does not have the version that `If-Match`, \
            `If-None-Match` or the `version` in the body requires: another client changed it. A \
            list, whose tag is weak, and events, which have no tag, match no `If-Match`. Nothing \
            was changed.",
        remedy: "Fetch it again, apply your change to it, and send it with the new version.",
        detail: "the user is at version 2; fetch it and apply your change to that",
    }
    BodyTooLarge {
        code: "body-too-large",
        status: 413,
        title: "The body is too large",
        meaning: "A request body holds at most 1 MiB.",
        remedy: "Send less. One user never needs this much.",
        detail: "send at most 1048576 bytes",
    }
    UriTooLong {
        code: "uri-too-long",
        status: 414,
        title: "The path and query are too long",
        meaning: "The path and query of the request are longer than the maximum.",
        remedy: "Split the query, for example into several lists of ids.",
        detail: "shorten path and query to at most 16384 bytes",
    }
    UnsupportedMediaType {
        code: "unsupported-media-type",
        status: 415,
        title: "The media type of the body is not supported",
        meaning: "`Content-Type` is missing or not supported by this path, its charset is not \
            UTF-8, or the body is compressed.",
        remedy: "Send `Content-Type: application/json`, with `PATCH` also \
            `application/merge-patch+json`, and no `Content-Encoding`. With curl, `--json` does \
            it.",
        detail: "send JSON; with curl, use --json in place of -d, or add -H 'Content-Type: \
            application/json'",
    }
    ExpectationFailed {
        code: "expectation-failed",
        status: 417,
        title: "The expectation cannot be met",
        meaning: "`Expect` has a value other than `100-continue`.",
        remedy: "Omit the `Expect` header.",
        detail: "leave Expect out",
    }
    MisdirectedRequest {
        code: "misdirected-request",
        status: 421,
        title: "The request is for another host",
        meaning: "`Host` does not name this service. This check also stops web pages that point a \
            domain name of their own at this machine.",
        remedy: "Call the service by its configured address. On the same machine `localhost` \
            always works.",
        detail: "this service does not serve that host",
    }
    InvalidUser {
        code: "invalid-user",
        status: 422,
        title: "The user is not valid",
        meaning: "The body is JSON, but does not describe a valid user. `errors` lists all errors, \
            each with its location in the body.",
        remedy: "Correct the named members.",
        detail: "1 member needs attention",
    }
    InvalidColumns {
        code: "invalid-columns",
        status: 422,
        title: "The columns are not valid",
        meaning: "A column of CSV has no member, or that of another column.",
        remedy: "Correct the header row, or map its columns with `map=COLUMN:MEMBER`.",
        detail: "1 column needs attention",
    }
    InvalidGroup {
        code: "invalid-group",
        status: 422,
        title: "The group is not valid",
        meaning: "The body is JSON, but does not describe a valid group. `errors` lists all \
            errors, each with its location in the body.",
        remedy: "Correct the named members.",
        detail: "1 member needs attention",
    }
    InvalidKey {
        code: "invalid-key",
        status: 422,
        title: "The key is not valid",
        meaning: "The body is JSON, but does not describe a valid key. `errors` lists all errors, \
            each with its location in the body.",
        remedy: "Correct the named members.",
        detail: "1 member needs attention",
    }
    InvalidSchema {
        code: "invalid-schema",
        status: 422,
        title: "The schema is not valid",
        meaning: "The body is JSON, but it does not describe a valid schema of users. `errors` \
            lists all errors, each with its place in the body.",
        remedy: "Correct the listed members.",
        detail: "1 member needs attention",
    }
    IdempotencyKeyReused {
        code: "idempotency-key-reused",
        status: 422,
        title: "The idempotency key belongs to another request",
        meaning: "This `Idempotency-Key` was used within the last 24 hours by a request that \
            differs from this one in its method, path, query, media type, `If-Match` or body.",
        remedy: "Make a new key for each new request. Send the same key only to repeat the same \
            request.",
        detail: "make a new key for a new request",
    }
    PreconditionRequired {
        code: "precondition-required",
        status: 428,
        title: "The write must name a version",
        meaning: "This service is configured to reject a write that could overwrite changes that \
            the caller has not read.",
        remedy: "Fetch the user and send its `ETag` as `If-Match`, or leave its `version` in the \
            body.",
        detail: "send If-Match with the version that you mean",
    }
    RateLimited {
        code: "rate-limited",
        status: 429,
        title: "The caller makes too many requests",
        meaning: "The caller has reached its rate limit or its maximum of simultaneous imports or \
            exports, or its address sent too many invalid credentials. Nothing was done. The \
            detail names the quota. `RateLimit-Policy` and `RateLimit` state the limit and what is \
            left of it; the draft of those fields calls this problem `quota-exceeded`.",
        remedy: "Wait for the seconds in `Retry-After`, then send requests more slowly. If the \
            limit is too low, ask the operator.",
        detail: "the quota \"default\" is used up: 1000 requests at once, 100 a second",
    }
    Internal {
        code: "internal",
        status: 500,
        title: "The service failed",
        meaning: "The service failed. Its log has the cause under the request id; the response \
            does not.",
        remedy: "Try again later. If the error persists, give the request id to the operator.",
        detail: "the service failed; its log has the cause under this request id",
    }
    MethodNotImplemented {
        code: "method-not-implemented",
        status: 501,
        title: "The method is not known",
        meaning: "The service does not know this method. Methods are compared exactly: `get` is \
            not `GET`.",
        remedy: "Use a method of HTTP that the path offers; `OPTIONS` tells which.",
        detail: "the service does not know this method",
    }
    Unavailable {
        code: "unavailable",
        status: 503,
        title: "The service is unavailable",
        meaning: "The store does not respond in time, or not within the time in `Prefer: wait`, or \
            it accepts no writes after a disk error, or the keys of a token's issuer cannot be \
            fetched. A write that had begun may or may not have taken effect, unless the `detail` \
            says which.",
        remedy: "Try again after the time in `Retry-After`, if there is one. Repeat a write with \
            the same `Idempotency-Key`: it takes effect once. Without a key, read the user before \
            you repeat the write; `If-Match` makes that safe. If the error persists, tell the \
            operator.",
        detail: "the store does not respond; try again shortly",
    }
    Draining {
        code: "draining",
        status: 503,
        title: "The service is about to stop",
        meaning: "The process was told to stop. It finishes running requests and still serves new \
            ones; only its readiness check fails.",
        remedy: "Send no further requests to this process. Load balancers remove it because of \
            this response. Another process, or the next one at this address, continues the \
            service.",
        detail: "this process is about to stop; send requests to another one",
    }
    Overloaded {
        code: "overloaded",
        status: 503,
        title: "The service is overloaded",
        meaning: "The service received more requests than it can process, and this request would \
            have waited too long. Nothing was done.",
        remedy: "Try again after the time in `Retry-After`, and wait longer after each failure. If \
            the error persists, the operator has to find out which clients cause the load.",
        detail: "the service is busy; nothing was done, try again shortly",
    }
    StorageFull {
        code: "storage-full",
        status: 507,
        title: "The disk is full",
        meaning: "The disk has no room for the change. Nothing was changed; reads still work.",
        remedy: "The operator must free disk space. Then send the request again.",
        detail: "there is no room for the change",
    }
}

#[cfg(test)]
mod tests;
