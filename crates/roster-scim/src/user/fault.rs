//! What core refuses, in SCIM's words.
//!
//! Matched without a wildcard: a new refusal has no answer until it gets one here.

use roster_core::{Attribute, Refusal, Taken, UsernameOrigin, Violations};

use crate::{
    error::{ScimError, ScimType},
    group_refusal::of_group,
    schema::scim_path,
};

use super::value::scim_name;

/// Most faults that one detail tells.
const TOLD_MAX: usize = 8;

/// The answer to a refusal.
pub fn refused(refusal: &Refusal) -> ScimError {
    match refusal {
        Refusal::NotFound => ScimError::of_status(404, "there is no user of this id"),
        Refusal::VersionMismatch { current } => ScimError::of_status(
            412,
            format!(
                "the user is at version W/\"{current}\"; fetch it and apply your change to that"
            ),
        ),
        Refusal::PreconditionRequired { .. } => {
            ScimError::of_status(428, "send If-Match with the version that you mean")
        }
        Refusal::Invalid(violations) => invalid(violations),
        Refusal::Taken(taken) => is_taken(*taken),
        Refusal::KeyReused => {
            ScimError::of_status(422, "this Idempotency-Key came with another request before")
        }
        Refusal::EditRefused => ScimError::of_status(400, "the change cannot be applied"),
        Refusal::Group(refusal) => of_group(refusal),
    }
}

fn is_taken(taken: Taken) -> ScimError {
    let detail = if taken.username == Some(UsernameOrigin::Given) {
        "userName: another user has it; choose another"
    } else if taken.email {
        "emails: another user has this primary address"
    } else if taken.external_id {
        "externalId: another user has it"
    } else {
        "userName: the address is somebody's userName already; send another"
    };
    ScimError::new(ScimType::Uniqueness, detail)
}

/// The answer to a user that breaks rules.
pub fn invalid(violations: &Violations) -> ScimError {
    let mut told: Vec<String> = violations
        .items()
        .iter()
        .take(TOLD_MAX)
        .map(|violation| format!("{}: {}", place(&violation.pointer), violation.detail))
        .collect();
    if violations.total() > TOLD_MAX {
        told.push(format!("and {} more", violations.total() - TOLD_MAX));
    }
    ScimError::new(ScimType::InvalidValue, told.join("; "))
}

/// Where a pointer into the record leads in SCIM.
fn place(pointer: &str) -> String {
    let mut segments = pointer.split('/').skip(1);
    let Some(first) = segments.next() else { return "the user".to_owned() };
    let Some(attribute) = Attribute::from_name(first) else { return first.to_owned() };
    let Some(path) = scim_path(attribute) else { return first.to_owned() };
    let mut place = path.attribute.to_owned();
    if let Some(part) = path.sub_attribute {
        place = format!("{place}.{part}");
    }
    for segment in segments {
        place = if segment.bytes().all(|b| b.is_ascii_digit()) {
            format!("{place}[{segment}]")
        } else {
            format!("{place}.{}", scim_name(attribute, segment).unwrap_or(segment))
        };
    }
    place
}

#[cfg(test)]
mod tests {
    use roster_core::{Violation, ViolationCode};

    use super::*;

    #[test]
    fn a_fault_is_told_at_its_place_in_scim() {
        for (pointer, expected) in [
            ("/given_name", "name.givenName"),
            ("/emails/1/value", "emails[1].value"),
            ("/addresses/0/street_address", "addresses[0].streetAddress"),
            ("/manager/id", "manager.value"),
            ("/attributes/a/0", "attributes.a[0]"),
            ("/username", "userName"),
            ("", "the user"),
        ] {
            assert_eq!(place(pointer), expected, "{pointer}");
        }
    }

    #[test]
    fn many_faults_are_counted() {
        let fault = || Violation::new("/title", ViolationCode::TooLong, "shorten it");
        let faults: Violations = std::iter::repeat_with(fault).take(10).collect();
        let error = invalid(&faults);
        assert_eq!(error.status, 400);
        assert!(error.detail.starts_with("title: shorten it; title"), "{}", error.detail);
        assert!(error.detail.ends_with("; and 2 more"), "{}", error.detail);
        let faults: Violations = std::iter::repeat_with(fault).take(1000).collect();
        let error = invalid(&faults);
        assert!(error.detail.ends_with("; and 992 more"), "{}", error.detail);
    }
}
