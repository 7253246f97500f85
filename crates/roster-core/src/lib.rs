//! The core of Roster: records of users and groups, the rules for them, the filter language, the
//! plan of a page, access, and the traits that engines implement.
//!
//! This crate is independent of HTTP, SQL, SCIM, async runtimes, the environment and the wall
//! clock. Time, ids and random bytes come from a [`Clock`], and data from a [`Store`]. All rules
//! about users and groups are here; engines and interfaces only translate.
//!
//! # Modules
//!
//! Records:
//! - [`attribute`]: the table of all members of a user's record
//! - [`part`]: the names of the parts of a list entry
//! - [`profile`]: the attributes of a user that clients write
//! - [`user`]: a user and its canonical JSON
//! - [`group`]: groups: record, members, operations, rules and queries
//! - [`id`], [`timestamp`]: ids (UUIDv7) and times
//! - [`json`]: the strict JSON parser and the canonical writer
//! - [`project`]: the selection of members of a record
//! - [`keys`], [`words`], [`search_keys`]: the normalized keys by which users are found
//! - [`text`]: the rules for single texts, such as e-mail addresses and usernames
//! - [`limits`]: all limits
//! - [`work`]: the work of a request, counted in comparisons
//!
//! Writes:
//! - [`draft`]: a parsed request body
//! - [`short_form`]: `email`, `phone_number` and `picture` with their lists
//! - [`violation`], [`capped`]: the rules that a body breaks, and how many of them are listed
//! - [`command`], [`start`], [`edit`]: a complete request, its cancellation, and a change that is
//!   computed from the stored record
//! - [`decide()`]: the rules, a pure function of a command and the stored user
//! - [`outcome`], [`failure`]: the result of a command, or why it failed
//! - [`event`]: the entries of the change log
//! - [`policy`]: which keys live users may share
//! - [`erasure`], [`clock_mark`]: erasing long histories, and the time that deletion by age uses
//!
//! Reads:
//! - [`list`], [`filter`]: the queries for pages, and conditions on users
//! - [`plan`], [`page`]: the index that finds a page, and the page built from its rows
//! - [`walk`]: the ends of SCIM pages that several processes share
//!
//! Interfaces to the other crates:
//! - [`directory`]: the functions that the HTTP interfaces call
//! - [`access`]: API keys, scopes and permits
//! - [`store`]: the trait of an engine
//! - [`clock`]: the trait of a clock
//!
//! # Example
//!
//! ```
//! use roster_core::{
//!     Actor, Caller, Command, Decision, Draft, OnConflict, Rules, Timestamp, UserAct, UserId,
//!     UserSchema, decide, json,
//! };
//!
//! let body = json::read(br#"{"email": "Ada@Example.com", "name": "Ada"}"#).unwrap();
//! let act = UserAct::Create {
//!     id: UserId::parse("0190d1c2-8000-7000-8000-000000000001").unwrap(),
//!     draft: Box::new(Draft::parse(body)),
//!     upsert: OnConflict::Fail.into(),
//! };
//! let at = Timestamp::from_millis(1_800_000_000_000);
//! let caller = Caller { actor: Actor::System, request_id: "example".to_owned() };
//! let command = Command::of(act.clone(), at, caller);
//! let schema = UserSchema::default();
//! let Ok(Decision::Write(change)) = decide(Rules::default(), &schema, None, &act, &command) else {
//!     panic!("the rules allow this user");
//! };
//! assert_eq!(change.user.version, 1);
//! // No other live user may have this address.
//! assert_eq!(change.claims.email.as_deref(), Some("ada@example.com"));
//! ```

pub mod access;
pub mod attribute;
pub mod capped;
pub mod clock;
pub mod clock_mark;
pub mod command;
pub mod decide;
pub mod directory;
pub mod draft;
pub mod edit;
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
pub mod user_schema;
pub mod violation;
pub mod walk;
pub mod words;
pub mod work;

pub use attribute::Attribute;
pub use capped::Capped;
pub use clock::Clock;
pub use clock_mark::{ClockMark, ClockReading};
pub use command::{
    Act, Actor, Caller, Command, Guard, Idempotency, MatchBy, Mode, OnConflict, Preconditions,
    Rules, Sharing, Tags, Target, Terms, Upsert, UserAct,
};
pub use decide::{Change, Claims, Decision, decide};
pub use directory::{BulkWrite, Directory};
pub use draft::Draft;
pub use edit::Edit;
pub use erasure::Erasure;
pub use event::{Event, EventKind, EventsPage, EventsQuery, MembersChanged};
pub use failure::{Failure, GroupRefusal, Refusal, StoreError, Taken, UsernameOrigin};
pub use group::{Group, GroupAct, GroupId, GroupStore, Member, MemberKind};
pub use id::UserId;
pub use json::Json;
pub use keys::Keys;
pub use outcome::{Answer, Effect, Outcome};
pub use part::Part;
pub use policy::{PolicyKey, PolicyMismatch, SharedKeys};
pub use profile::{Entry, Profile, Scalar, Value};
pub use search_keys::{IndexDelta, SearchKeys};
pub use start::{LogAccount, Start};
pub use store::{Head, LogId, Outlived, Position, Store};
pub use timestamp::Timestamp;
pub use user::{Deleted, Status, Stored, User};
pub use user_schema::{SchemaDraft, UserSchema};
pub use violation::{Violation, ViolationCode, Violations};
pub use work::{TooMuchWork, Work};
