//! Users that have left the collection and are kept for a while: they may come back, or be
//! forgotten for good.
//!
//! A refusal here speaks of deleted users: whoever looks for one is never sent to the collection.

mod get;
mod list;
mod list_query;
mod purge;
mod record;
mod restore;

pub(super) use get::get;
pub(super) use list::list;
pub(super) use purge::purge;
pub(super) use restore::restore;

use roster_core::{Failure, Refusal, Taken, UserId};

use crate::{
    extract::user_id,
    problem::{Fault, Problem, ProblemCode},
};

/// The id of the path; a text that is no id names nobody.
fn deleted_id(segment: &str) -> Result<UserId, Problem> {
    user_id(segment).map_err(|_| absent())
}

/// Nobody of that id is kept.
fn absent() -> Problem {
    let detail = "no deleted user has this id; look it up with GET /deleted-users";
    Problem::saying(ProblemCode::UserNotFound, detail)
}

/// Why a deleted user stays as it is.
fn refused(failure: Failure) -> Problem {
    match failure {
        Failure::Refused(Refusal::NotFound) => absent(),
        Failure::Refused(Refusal::Taken(by_others)) => taken(by_others),
        Failure::Refused(refusal) => refusal.into(),
        Failure::Store(error) => error.into(),
    }
}

/// While the user was away, others took what was its own.
fn taken(by_others: Taken) -> Problem {
    let Taken { username, email, external_id } = by_others;
    let held = [
        (username.is_some(), ProblemCode::UsernameTaken, "/username", "username"),
        (email, ProblemCode::EmailTaken, "/email", "primary address"),
        (external_id, ProblemCode::ExternalIdTaken, "/external_id", "external id"),
    ];
    let held: Vec<_> = held.into_iter().filter(|(taken, ..)| *taken).collect();
    let code = held.first().map_or(ProblemCode::UsernameTaken, |(_, code, ..)| *code);
    let names: Vec<&str> = held.iter().map(|(.., name)| *name).collect();
    let detail = format!(
        "another user has the {} by now; change or delete that user, then restore this one",
        names.join(" and the ")
    );
    let faults = held.into_iter().map(|(_, code, pointer, name)| {
        Fault::at(pointer, code.as_str(), format!("another user has this {name} by now"))
    });
    Problem::saying(code, detail).with_faults(faults.collect())
}
