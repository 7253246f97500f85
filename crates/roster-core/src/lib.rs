//! The heart of Roster: the record of a user, the rules it obeys, the change log, and the store
//! that both are kept in.
//!
//! All of it is pure. This crate knows nothing of HTTP, SQL, SCIM, an async runtime, the
//! environment or the wall clock: time and ids are handed in through [`Clock`], storage through
//! [`Store`]. A change of a rule is a change here and nowhere else; engines and faces only
//! translate.

pub mod access;
pub mod attribute;
pub mod capped;
pub mod clock;
pub mod clock_mark;
pub mod command;
pub mod decide;
pub mod directory;
pub mod draft;
pub mod erasure;
pub mod event;
pub mod failure;
pub mod filter;
pub mod group;
pub mod id;
pub mod json;
pub mod keys;
pub mod limits;
pub mod list;
pub mod outcome;
pub mod page;
pub mod part;
pub mod plan;
pub mod policy;
pub mod profile;
pub mod project;
pub mod search_keys;
pub mod short_form;
pub mod start;
pub mod store;
pub mod text;
pub mod timestamp;
pub mod user;
pub mod violation;
pub mod walk;
pub mod words;

pub use attribute::Attribute;
pub use capped::Capped;
pub use clock::Clock;
pub use clock_mark::{ClockMark, ClockReading};
pub use command::{
    Act, Actor, Caller, Command, Edit, Guard, Idempotency, Mode, OnConflict, Preconditions, Rules,
    Sharing, Tags, Target, Terms,
};
pub use decide::{Change, Claims, Decision, decide};
pub use directory::Directory;
pub use draft::Draft;
pub use erasure::Erasure;
pub use event::{Event, EventKind, EventsPage, EventsQuery, MembersChanged};
pub use failure::{Failure, GroupRefusal, Refusal, StoreError, Taken, UsernameOrigin};
pub use group::{Group, GroupCommand, GroupDesk, GroupId, GroupStore, Member, MemberKind};
pub use id::UserId;
pub use json::Json;
pub use keys::Keys;
pub use outcome::{Answer, Effect, Outcome};
pub use part::Part;
pub use policy::{PolicyKey, PolicyMismatch, SharedKeys};
pub use profile::{Entry, Profile, Scalar, Value};
pub use search_keys::{IndexDelta, SearchKeys};
pub use start::Start;
pub use store::{Head, LogId, Outlived, Position, Store};
pub use timestamp::Timestamp;
pub use user::{Deleted, Status, Stored, User};
pub use violation::{Violation, ViolationCode, Violations};
