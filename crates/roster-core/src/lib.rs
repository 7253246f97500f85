//! The core of Roster: records of users and groups, the rules for them, the filter language, the
//! plan of a page, access, and the traits that engines implement.
//!
//! This crate is independent of HTTP, SQL, SCIM, async runtimes, the environment and the wall
//! clock. Time, ids and random bytes come from a [`Clock`], and data from a [`Store`]. All rules
//! about users and groups are here; engines and interfaces only translate.
//!
//! # Modules
//!
//! What is stored:
//! - [`user`]: a user: the table of its members, its canonical JSON, its keys, the parsed request
//!   bodies, and [`decide()`], the rules, a pure function of a command and the stored user
//! - [`group`]: groups: record, members, operations, rules and queries
//! - [`schema`]: the attributes that an operator declares
//! - [`id`], [`timestamp`]: ids (UUIDv7) and times
//! - [`tenant`]: directories that share a store
//! - [`json`]: the strict JSON parser and the canonical writer
//! - [`text`]: the rules for single texts, such as e-mail addresses and usernames
//! - [`limits`]: all limits that callers see
//! - [`work`]: the work of a request, counted in comparisons
//!
//! Writes, in `write`:
//! - [`command`], [`Start`], [`Edit`]: a complete request, its cancellation, and a change that is
//!   computed from the stored record
//! - [`Outcome`], [`failure`]: the result of a command, or why it failed
//! - [`violation`], [`capped`]: the rules that a body breaks, and how many of them are listed
//! - [`event`]: the entries of the change log
//! - [`policy`]: which keys live users may share
//! - [`erasure`], [`clock_mark`]: erasing long histories, and the time that deletion by age uses
//!
//! Reads, in `read`:
//! - [`list`], [`filter`], [`words`]: the queries for pages, conditions on users, and searches
//! - [`plan`], [`page`]: the index that finds a page, and the page built from its rows
//! - [`project`]: the selection of members of a record
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
pub mod clock;
pub mod clock_mark;
pub mod directory;
pub mod failure;
pub mod group;
pub mod id;
pub mod json;
pub mod limits;
mod read;
pub mod schema;
pub mod store;
pub mod tenant;
pub mod text;
pub mod timestamp;
pub mod user;
pub mod webhook;
pub mod work;
mod write;

pub use read::{filter, list, page, plan, project, walk, words};
pub use user::{attribute, decide, draft, keys, profile, short_form};
pub use write::{audit, capped, command, erasure, event, policy, violation};

pub use clock::Clock;
pub use clock_mark::{ClockMark, ClockReading};
pub use directory::{BulkLine, BulkWrite, Directory};
pub use failure::{Failure, GroupRefusal, Refusal, StoreError, Taken, UsernameOrigin};
pub use group::{Group, GroupAct, GroupId, Member, MemberKind};
pub use id::UserId;
pub use json::Json;
pub use read::events::{EventKinds, EventsPage, EventsQuery};
pub use schema::{SchemaDraft, UserSchema};
pub use store::{
    ExpiredUser, GroupStore, Head, IndexStep, IndexStore, KeyStore, OfflineKeyStore, Outlived,
    Store, TenantStore, WebhookStore,
};
pub use tenant::{Tenant, TenantId, TenantName};
pub use timestamp::Timestamp;
pub use user::attribute::Attribute;
pub use user::decide::{Change, Claims, Decision, decide};
pub use user::draft::Draft;
pub use user::keys::Keys;
pub use user::part::Part;
pub use user::profile::{Entry, Profile, Scalar, Value};
pub use user::search_keys::{IndexDelta, SearchKeys};
pub use user::{Deleted, Status, Stored, User};
pub use work::{TooMuchWork, Work};
pub use write::capped::Capped;
pub use write::command::{
    Act, Actor, Caller, Command, Guard, Idempotency, MatchBy, Mode, OnConflict, Preconditions,
    Rules, Sharing, Tags, Target, Terms, Upsert, UserAct,
};
pub use write::edit::Edit;
pub use write::erasure::{Erasure, Purged};
pub use write::event::{Event, EventKind, MembersChanged, SubjectKind};
pub use write::outcome::{Answer, Effect, Outcome};
pub use write::policy::{PolicyKey, PolicyMismatch, SharedKeys};
pub use write::position::{LogId, Position};
pub use write::start::{LogAccount, Start};
pub use write::violation::{Violation, ViolationCode, Violations};
