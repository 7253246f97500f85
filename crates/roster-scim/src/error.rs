//! SCIM errors (RFC 7644 section 3.12).
//!
//! A detail is one sentence that says what to do. It never repeats a value, which may be personal
//! data.

use std::borrow::Cow;

use roster_core::{Json, TooMuchWork};

macro_rules! scim_types {
    ($($(#[$doc:meta])* $variant:ident $text:literal $status:literal,)*) => {
        /// The `scimType` of an error (RFC 7644 table 9, RFC 9865 section 2.1).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ScimType {
            $($(#[$doc])* $variant,)*
        }

        impl ScimType {
            /// All types.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in JSON.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// The HTTP status.
            pub const fn status(self) -> u16 {
                match self {
                    $(Self::$variant => $status,)*
                }
            }
        }
    };
}

scim_types! {
    /// The filter does not parse, or compares an attribute in a way that is not supported.
    InvalidFilter "invalidFilter" 400,
    /// More resources match than the service is willing to count, or a PATCH needs more comparisons
    /// than one request may cause.
    TooMany "tooMany" 400,
    /// Another resource holds a value that must be unique (RFC 7644 section 3.3).
    Uniqueness "uniqueness" 409,
    /// The request changes an attribute that cannot change.
    Mutability "mutability" 400,
    /// The body is not valid for this request.
    InvalidSyntax "invalidSyntax" 400,
    /// The path of a PATCH operation does not parse, or names no attribute.
    InvalidPath "invalidPath" 400,
    /// The path of a PATCH operation matches nothing.
    NoTarget "noTarget" 400,
    /// A required value is missing, or a value is not valid.
    InvalidValue "invalidValue" 400,
    /// The protocol version is not supported.
    InvalidVers "invalidVers" 400,
    /// The query contains data that must not be in a URL.
    Sensitive "sensitive" 403,
    /// The cursor does not belong to this list.
    InvalidCursor "invalidCursor" 400,
    /// The cursor has expired.
    ExpiredCursor "expiredCursor" 400,
    /// The count differs from the first page's.
    InvalidCount "invalidCount" 400,
}

/// The URN of an error's body.
pub const ERROR_URN: &str = "urn:ietf:params:scim:api:messages:2.0:Error";

/// A SCIM error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScimError {
    /// The HTTP status.
    pub status: u16,
    /// The type, if the RFC defines one.
    pub scim_type: Option<ScimType>,
    /// One sentence that says what to do.
    pub detail: Cow<'static, str>,
}

impl ScimError {
    /// An error of this type, with its status.
    pub fn new(scim_type: ScimType, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { status: scim_type.status(), scim_type: Some(scim_type), detail: detail.into() }
    }

    /// An error with a status and no type.
    pub fn of_status(status: u16, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { status, scim_type: None, detail: detail.into() }
    }

    /// The same error, of the operation with this number.
    pub(crate) fn of_operation(self, number: usize) -> Self {
        Self { detail: format!("operation {number}: {}", self.detail).into(), ..self }
    }

    /// The body. The status is a string (RFC 7644 section 3.12).
    pub fn to_json(&self) -> Json {
        let text = |text: &str| Json::Text(text.to_owned());
        let mut members = vec![
            ("schemas".to_owned(), Json::Array(vec![text(ERROR_URN)])),
            ("status".to_owned(), Json::Text(self.status.to_string())),
        ];
        let kind = self.scim_type.map(|kind| ("scimType".to_owned(), text(kind.as_str())));
        members.extend(kind);
        members.push(("detail".to_owned(), text(&self.detail)));
        Json::Object(members)
    }
}

impl From<TooMuchWork> for ScimError {
    fn from(_: TooMuchWork) -> Self {
        let detail = "this compares too many values: send fewer operations, or shorter conditions";
        Self::new(ScimType::TooMany, detail)
    }
}

#[cfg(test)]
mod tests {
    use roster_core::json::write_json;

    use super::*;

    #[test]
    fn a_status_is_a_string_and_a_duplicate_is_a_conflict() {
        let mut out = Vec::new();
        let error = ScimError::new(ScimType::Uniqueness, "choose another userName");
        write_json(&mut out, &error.to_json());
        let expected = concat!(
            r#"{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"409","#,
            r#""scimType":"uniqueness","detail":"choose another userName"}"#
        );
        assert_eq!(String::from_utf8(out).expect("UTF-8"), expected);
        assert_eq!(ScimError::of_status(404, "no such user").to_json().member("scimType"), None);
    }
}
