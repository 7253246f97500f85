//! Random bodies, queries and turns, for comparing stores.
//!
//! The user of a step and the position of a page are indexes into users, because a strategy cannot
//! know the ids that a run will create.

mod bodies;
mod filters;
mod groups;
mod preconditions;
mod questions;
mod schema;
mod steps;
mod tenants;

pub use bodies::{body, newcomer, person, tree};
pub(crate) use filters::{GROUP_IDS, GROUP_NAMES};
pub use filters::{filter, search};
pub use groups::{GroupEdited, GroupQuestion, GroupStep, MembersEdited};
pub use preconditions::Held;
pub use questions::{
    DeletedQuestion, EventsQuestion, Question, deleted_question, events_question, question,
};
pub use schema::schema;
pub use steps::{Mark, Step, Turn, Whom, Write, step, turns, write};
pub use tenants::{TenantTurn, TurnOfFive, Whose, turns_of_five};
