//! The problem for each refusal and failure of the directory.
//!
//! The matches have no wildcard, so the compiler rejects a new refusal without a problem here.

use http::{HeaderValue, header::RETRY_AFTER};
use roster_core::{
    Attribute, Failure, GroupRefusal, Refusal, StoreError, Taken, UsernameOrigin,
    limits::GROUPS_OF_MEMBER_MAX,
};

use super::{Fault, Problem, ProblemCode};

/// What a caller and `/readyz` learn of [`StoreError::Superseded`].
pub(crate) const SUPERSEDED: &str = "the database server that accepts writes was left behind by a \
     failover, or its log is not the one that was read before; if the database was restored, \
     restart this process";

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => refusal.into(),
            Failure::Store(error) => error.into(),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotFound => Self::new(ProblemCode::UserNotFound),
            Refusal::VersionMismatch { current } => Self::saying(
                ProblemCode::VersionMismatch,
                format!("the user is at version {current}; fetch it and apply your change to that"),
            ),
            Refusal::PreconditionRequired { cleared } => precondition_required(&cleared),
            Refusal::Invalid(violations) => {
                Self::listing(ProblemCode::InvalidUser, "member", violations.map(Fault::from))
            }
            Refusal::Taken(taken) => taken.into(),
            Refusal::IdTaken => {
                let code = ProblemCode::IdTaken;
                let fault = Fault::at("/id", code.as_str(), code.kind().detail);
                Self::new(code).with_faults(fault.into())
            }
            Refusal::QuotaExceeded => Self::new(ProblemCode::QuotaExceeded),
            Refusal::TenantNotFound => Self::new(ProblemCode::TenantNotFound),
            Refusal::KeyReused => Self::new(ProblemCode::IdempotencyKeyReused),
            // The handler that made the edit returns the reason instead.
            Refusal::EditRefused => Self::new(ProblemCode::Internal),
            Refusal::Group(refusal) => refusal.into(),
        }
    }
}

impl From<GroupRefusal> for Problem {
    fn from(refusal: GroupRefusal) -> Self {
        match refusal {
            GroupRefusal::NotFound => Self::new(ProblemCode::GroupNotFound),
            GroupRefusal::NameTaken => {
                let detail = "another group has this name";
                let code = ProblemCode::GroupNameTaken;
                let fault = Fault::at("/display_name", code.as_str(), detail);
                Self::new(code).with_faults(fault.into())
            }
            GroupRefusal::UnknownMembers(ids) => {
                let code = ProblemCode::MemberNotFound;
                let fault = |id| {
                    let detail = format!("neither a user nor a group has the id {id}");
                    Fault::at("/members", code.as_str(), detail)
                };
                Self::new(code).with_faults(ids.into_iter().map(fault).collect())
            }
            GroupRefusal::NotMember => {
                Self::saying(ProblemCode::MemberNotFound, "no member of the group has this id")
            }
            GroupRefusal::Cycle => Self::new(ProblemCode::GroupCycle),
            GroupRefusal::TooDeep => Self::new(ProblemCode::GroupTooDeep),
            GroupRefusal::TooWide => {
                let detail = "too many groups are above or below; nest fewer groups";
                Self::saying(ProblemCode::GroupTooDeep, detail)
            }
            GroupRefusal::TooManyMembers => Self::new(ProblemCode::GroupFull),
            GroupRefusal::TooManyGroups(_) => {
                let detail = format!("a user or group is in at most {GROUPS_OF_MEMBER_MAX} groups");
                Self::saying(ProblemCode::GroupFull, detail)
            }
        }
    }
}

impl Problem {
    /// The problem of a failed command on a group. Its texts are about groups.
    pub(crate) fn of_group(failure: Failure) -> Self {
        match failure {
            Failure::Refused(Refusal::VersionMismatch { current }) => Self::saying(
                ProblemCode::VersionMismatch,
                format!(
                    "the group is at version {current}; fetch it and apply your change to that"
                ),
            ),
            Failure::Refused(Refusal::Invalid(violations)) => {
                Self::listing(ProblemCode::InvalidGroup, "member", violations.map(Fault::from))
            }
            other @ (Failure::Refused(_) | Failure::Store(_)) => other.into(),
        }
    }
}

fn precondition_required(cleared: &[Attribute]) -> Problem {
    let names: Vec<&str> = cleared.iter().map(|attribute| attribute.name()).collect();
    let detail = if names.is_empty() {
        "name the version that you mean: in If-Match, or in a line as version".to_owned()
    } else {
        let names = names.join(", ");
        format!(
            "this would clear {names}; name the version in If-Match or in the body of a PUT, or \
             use PATCH or on_conflict=merge"
        )
    };
    Problem::saying(ProblemCode::PreconditionRequired, detail)
}

/// The pointer to a member with the name that filters have for it.
pub(crate) fn pointer_of(member: &str) -> String {
    format!("/{}", member.replace('.', "/"))
}

impl From<Taken> for Problem {
    fn from(taken: Taken) -> Self {
        let mut faults = Vec::new();
        let mut add = |code: ProblemCode, pointer: &str, detail: &str| {
            faults.push((code, pointer.to_owned(), detail.to_owned()));
        };
        // An error of a username in the request comes before that of the address. A username that
        // was derived from the address comes after it.
        if taken.username == Some(UsernameOrigin::Given) {
            add(ProblemCode::UsernameTaken, "/username", "choose another username");
        }
        if taken.email {
            add(ProblemCode::EmailTaken, "/email", "another user has this primary address");
        }
        if taken.username == Some(UsernameOrigin::Email) {
            let detail = "the e-mail address is the username of another user; give a username";
            add(ProblemCode::UsernameTaken, "/username", detail);
        }
        if taken.external_id {
            let detail = "another user has this external id";
            add(ProblemCode::ExternalIdTaken, "/external_id", detail);
        }
        for member in &taken.indexed {
            let detail = format!("another user has this value of {member}");
            add(ProblemCode::AttributeTaken, &pointer_of(member), &detail);
        }
        let first = faults.first().map(|(code, _, detail)| (*code, detail.clone()));
        let fault = |(code, pointer, detail): (ProblemCode, String, String)| {
            Fault::at(pointer, code.as_str(), detail)
        };
        let faults = faults.into_iter().map(fault).collect();
        let something = || (ProblemCode::UsernameTaken, "something is taken".to_owned());
        let (code, detail) = first.unwrap_or_else(something);
        Self::saying(code, detail).with_faults(faults)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let code = match error {
            StoreError::Unavailable(_)
            | StoreError::Superseded(_)
            | StoreError::WritesStopped
            | StoreError::TimedOut => ProblemCode::Unavailable,
            StoreError::Full(_) => ProblemCode::StorageFull,
            StoreError::Corrupt { .. } | StoreError::Internal(_) => ProblemCode::Internal,
        };
        // Stopped writes resume only after a restart, so they get no `Retry-After`.
        let soon = code == ProblemCode::Unavailable && error.is_transient();
        let problem = match error {
            StoreError::WritesStopped => Self::saying(
                code,
                "writes have stopped after a fault of the disk; call the operator",
            ),
            StoreError::Superseded(_) => Self::saying(code, SUPERSEDED),
            StoreError::Unavailable(_)
            | StoreError::TimedOut
            | StoreError::Full(_)
            | StoreError::Corrupt { .. }
            | StoreError::Internal(_) => Self::new(code),
        };
        let problem = problem.because(error);
        if soon { problem.with_header(RETRY_AFTER, HeaderValue::from_static("1")) } else { problem }
    }
}
