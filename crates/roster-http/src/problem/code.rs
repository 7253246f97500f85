//! The codes of the registry that the service itself gives, as a type: a code that does not exist
//! cannot be written.

use super::registry::{ProblemKind, find};

macro_rules! problem_codes {
    ($($variant:ident $code:literal,)*) => {
        /// A problem code that this service gives.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum ProblemCode {
            $($variant,)*
        }

        impl ProblemCode {
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The code as it stands on the wire.
            pub(crate) const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $code,)*
                }
            }
        }
    };
}

problem_codes! {
    InvalidRequest "invalid-request",
    InvalidQuery "invalid-query",
    InvalidCursor "invalid-cursor",
    InvalidFilter "invalid-filter",
    InvalidIdempotencyKey "invalid-idempotency-key",
    MalformedJson "malformed-json",
    Unauthenticated "unauthenticated",
    InsufficientScope "insufficient-scope",
    ForeignOrigin "foreign-origin",
    ForwardedRequest "forwarded-request",
    NotFound "not-found",
    UserNotFound "user-not-found",
    GroupNotFound "group-not-found",
    MemberNotFound "member-not-found",
    KeyNotFound "key-not-found",
    ProblemNotFound "problem-not-found",
    MethodNotAllowed "method-not-allowed",
    NotAcceptable "not-acceptable",
    BodyTooSlow "body-too-slow",
    UsernameTaken "username-taken",
    EmailTaken "email-taken",
    ExternalIdTaken "external-id-taken",
    GroupNameTaken "group-name-taken",
    GroupCycle "group-cycle",
    GroupTooDeep "group-too-deep",
    GroupFull "group-full",
    PositionOutlived "position-outlived",
    KeyEnded "key-ended",
    TooManyKeys "too-many-keys",
    VersionMismatch "version-mismatch",
    BodyTooLarge "body-too-large",
    UriTooLong "uri-too-long",
    UnsupportedMediaType "unsupported-media-type",
    ExpectationFailed "expectation-failed",
    MisdirectedRequest "misdirected-request",
    InvalidUser "invalid-user",
    InvalidGroup "invalid-group",
    InvalidKey "invalid-key",
    IdempotencyKeyReused "idempotency-key-reused",
    PreconditionRequired "precondition-required",
    RateLimited "rate-limited",
    Internal "internal",
    MethodNotImplemented "method-not-implemented",
    Unavailable "unavailable",
    Draining "draining",
    Overloaded "overloaded",
    StorageFull "storage-full",
}

/// What stands in for a code that the registry lacks; a test rules that out.
const UNKNOWN: ProblemKind = ProblemKind {
    code: "internal",
    status: 500,
    title: "The service failed",
    meaning: "",
    remedy: "",
    detail: "",
};

impl ProblemCode {
    /// The registry's row.
    pub(crate) fn kind(self) -> &'static ProblemKind {
        find(self.as_str()).unwrap_or(&UNKNOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_stands_in_the_registry() {
        for code in ProblemCode::ALL {
            assert_eq!(code.kind().code, code.as_str());
        }
    }
}
