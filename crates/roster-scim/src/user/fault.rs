//! Converts refusals of core to SCIM errors.
//!
//! The match has no wildcard: a new refusal does not compile until it has an error here.

use roster_core::{Attribute, Refusal, Taken, UsernameOrigin, Violations};

use crate::{
    error::{ScimError, ScimType},
    group_refusal::of_group,
    schema::scim_path,
};

use super::value::scim_name;

/// Maximum number of faults in one detail.
const FAULTS_MAX: usize = 8;

/// The error for a refusal.
pub fn refused(refusal: &Refusal) -> ScimError {
    match refusal {
        Refusal::NotFound => ScimError::of_status(404, "no user has this id"),
        Refusal::VersionMismatch { current } => ScimError::of_status(
            412,
            format!(
                "the user is at version W/\"{current}\"; fetch it and apply your change to that"
            ),
        ),
        Refusal::PreconditionRequired { .. } => ScimError::of_status(
            428,
            "send If-Match, in a Bulk operation version, with the version that you want to change",
        ),
        Refusal::Invalid(violations) => invalid(violations),
        Refusal::Taken(taken) => is_taken(taken),
        // SCIM creates no user with the id of a client.
        Refusal::IdTaken => ScimError::new(ScimType::Uniqueness, "id: it is taken"),
        Refusal::QuotaExceeded => {
            ScimError::of_status(403, "the maximum number of users is reached")
        }
        Refusal::TenantNotFound => ScimError::of_status(404, "there is no such tenant"),
        Refusal::KeyReused => {
            ScimError::of_status(422, "this Idempotency-Key was used with a different request")
        }
        Refusal::EditRefused => ScimError::of_status(400, "the change cannot be applied"),
        Refusal::Group(refusal) => of_group(refusal),
    }
}

fn is_taken(taken: &Taken) -> ScimError {
    let detail = if taken.username == Some(UsernameOrigin::Given) {
        "userName: another user has it; choose another"
    } else if taken.email {
        "emails: another user has this primary address; users may share addresses after \
         `roster policy set email-uniqueness none`"
    } else if taken.external_id {
        "externalId: another user has it; send another"
    } else if let (None, Some(member)) = (taken.username, taken.indexed.first()) {
        let detail = format!("{member}: another user has this value; send another");
        return ScimError::new(ScimType::Uniqueness, detail);
    } else {
        "userName: another user has this address as userName; send a userName"
    };
    ScimError::new(ScimType::Uniqueness, detail)
}

/// The error for a user that breaks rules.
pub fn invalid(violations: &Violations) -> ScimError {
    let mut faults: Vec<String> = violations
        .items()
        .iter()
        .take(FAULTS_MAX)
        .map(|violation| format!("{}: {}", path_of(&violation.pointer), violation.detail))
        .collect();
    if violations.total() > FAULTS_MAX {
        faults.push(format!("and {} more", violations.total() - FAULTS_MAX));
    }
    ScimError::new(ScimType::InvalidValue, faults.join("; "))
}

/// The SCIM path of a pointer into the record.
fn path_of(pointer: &str) -> String {
    let mut segments = pointer.split('/').skip(1);
    let Some(first) = segments.next() else { return "the user".to_owned() };
    let Some(attribute) = Attribute::from_name(first) else { return first.to_owned() };
    let Some(path) = scim_path(attribute) else { return first.to_owned() };
    let mut name = path.attribute.to_owned();
    if let Some(part) = path.sub_attribute {
        name = format!("{name}.{part}");
    }
    for segment in segments {
        name = if segment.bytes().all(|b| b.is_ascii_digit()) {
            format!("{name}[{segment}]")
        } else {
            format!("{name}.{}", scim_name(attribute, segment).unwrap_or(segment))
        };
    }
    name
}

#[cfg(test)]
mod tests {
    use roster_core::{Violation, ViolationCode};

    use super::*;

    #[test]
    fn a_fault_names_its_scim_path() {
        for (pointer, expected) in [
            ("/given_name", "name.givenName"),
            ("/emails/1/value", "emails[1].value"),
            ("/addresses/0/street_address", "addresses[0].streetAddress"),
            ("/manager/id", "manager.value"),
            ("/attributes/a/0", "attributes.a[0]"),
            ("/username", "userName"),
            ("", "the user"),
        ] {
            assert_eq!(path_of(pointer), expected, "{pointer}");
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
