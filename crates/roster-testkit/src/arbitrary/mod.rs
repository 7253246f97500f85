//! Random bodies, questions and turns, for comparing stores.
//!
//! What is drawn here is plain: whom a step is about, or where a page begins, is an index into
//! users that only the run will know, since a strategy cannot know what a store will answer.

mod bodies;
mod filters;
mod groups;
mod questions;
mod steps;

pub use bodies::{body, newcomer, person, tree};
pub(crate) use filters::{GROUP_IDS, GROUP_NAMES};
pub use filters::{filter, search};
pub use groups::{GroupEdited, GroupQuestion, GroupStep, MembersEdited};
pub use questions::{
    DeletedQuestion, EventsQuestion, Question, deleted_question, events_question, question,
};
pub use steps::{Held, Mark, Step, Turn, Whom, Write, step, turns, write};
