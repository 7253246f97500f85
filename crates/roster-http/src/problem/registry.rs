//! The registry of problem codes: one row for each. The first rows are in `registry/requests.rs`.
//!
//! The pages at `/problems`, the API description and the tests all use this table. Codes are
//! permanent: rows are added, never renamed or removed. No text here has a value of a request.

#[macro_use]
mod requests;

pub use super::kind::ProblemKind;
use super::kind::problems;

/// The problem with this code.
pub fn find(code: &str) -> Option<&'static ProblemKind> {
    PROBLEMS.iter().find(|kind| kind.code == code)
}

with_problems_of_requests! {
    problems
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
    AttributeTaken {
        code: "attribute-taken",
        status: 409,
        title: "The value of an attribute is taken",
        meaning: "Another user has this value of a member of `attributes`, and the schema declares \
            the member as unique.",
        remedy: "Use another value, or find the user who holds this one and change that user.",
        detail: "another user has this value of attributes.badge",
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
    TenantNameTaken {
        code: "tenant-name-taken",
        status: 409,
        title: "The name belongs to another tenant",
        meaning: "A tenant has this name. Names of tenants never change.",
        remedy: "Choose another name.",
        detail: "a tenant has this name",
    }
    TooManyWebhooks {
        code: "too-many-webhooks",
        status: 409,
        title: "The maximum number of webhooks is reached",
        meaning: "The tenant has the maximum number of webhooks, or all tenants together have.",
        remedy: "Delete webhooks that are not needed.",
        detail: "a tenant has at most 100 webhooks",
    }
    WebhookStale {
        code: "webhook-stale",
        status: 409,
        title: "The webhook is stale",
        meaning: "The events after its position are no longer in the log, so it cannot go on \
            without a gap.",
        remedy: "Read the collection again, and send the position of that read to `/replay`.",
        detail: "its position is no longer in the log; send another one to /replay",
    }
    TooManyTenants {
        code: "too-many-tenants",
        status: 409,
        title: "The maximum number of tenants is reached",
        meaning: "The maximum number of tenants exists.",
        remedy: "Ask the operator for a second service.",
        detail: "there can be 100000 tenants",
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
    InvalidWebhook {
        code: "invalid-webhook",
        status: 422,
        title: "The webhook is not valid",
        meaning: "The body is JSON, but does not describe a valid webhook. `errors` lists all \
            errors, each with its location in the body.",
        remedy: "Correct the named members.",
        detail: "1 member needs attention",
    }
    InvalidTenant {
        code: "invalid-tenant",
        status: 422,
        title: "The tenant is not valid",
        meaning: "The body is JSON, but does not describe a valid tenant. `errors` lists all \
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
