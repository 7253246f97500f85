//! The rows of the registry for requests that are malformed or not allowed, or that name nothing
//! that exists: statuses below 405.

/// Calls the macro that makes the registry with these rows and the others.
macro_rules! with_problems_of_requests {
    ($callback:ident $($others:tt)*) => {
        $callback! {
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
        remedy: "Send one key of 1 to 255 visible ASCII characters, with a request that supports \
            it. Without quotation marks it has no space, comma or semicolon.",
        detail: "send one key of 1 to 255 visible ASCII characters; one with a space, comma or \
            semicolon needs quotation marks",
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
    OperatorKeyRequired {
        code: "operator-key-required",
        status: 403,
        title: "This takes a key for all tenants",
        meaning: "Tenants, and keys for all tenants, are in the hands of the operator. The \
            credential is for one tenant.",
        remedy: "Use a key that was created with `\"tenants\":\"all\"`, or with `roster keys \
            create --all-tenants`.",
        detail: "this takes a key for all tenants",
    }
    WrongTenant {
        code: "wrong-tenant",
        status: 403,
        title: "The credential is for a tenant",
        meaning: "A key of a tenant works below the base URL of that tenant alone.",
        remedy: "Use the base URL of the tenant: it ends in `/tenants/` and the tenant's name.",
        detail: "this key works below the base URL of its tenant alone",
    }
    TenantSuspended {
        code: "tenant-suspended",
        status: 403,
        title: "The tenant is suspended",
        meaning: "The operator has suspended this tenant. Nothing of it is lost.",
        remedy: "Ask the operator of the service.",
        detail: "this tenant is suspended",
    }
    QuotaExceeded {
        code: "quota-exceeded",
        status: 403,
        title: "The tenant has its maximum number of users",
        meaning: "The operator has set a maximum number of live users for this tenant, and it is \
            reached.",
        remedy: "Delete users that are not needed, or ask the operator for a larger maximum.",
        detail: "the maximum number of users is reached",
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
    TenantNotFound {
        code: "tenant-not-found",
        status: 404,
        title: "There is no such tenant",
        meaning: "No tenant has this name, or the credential is for another tenant.",
        remedy: "Use a credential of this tenant, and the base URL that belongs to it.",
        detail: "no tenant of this credential has this name",
    }
    WebhookNotFound {
        code: "webhook-not-found",
        status: 404,
        title: "There is no such webhook",
        meaning: "The tenant has no webhook with this id, or only a key for all tenants may see \
            it.",
        remedy: "Look it up with `GET /webhooks`.",
        detail: "no webhook has this id",
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
            $($others)*
        }
    };
}
