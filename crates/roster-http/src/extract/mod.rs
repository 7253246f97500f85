//! Extractors, one file for each kind of value.
//!
//! An extractor that cannot parse its part of the request fails with a problem.

mod accept;
mod authorized;
mod body;
mod collection;
mod fields;
mod idempotency;
mod parse;
mod path;
mod precondition;
mod prefer;
mod query;
mod read_options;
mod write_options;

pub(crate) use accept::{
    CSV, EVENT_STREAM, HTML, JSON, Media, NDJSON, OPENMETRICS, PROMETHEUS_TEXT, SCIM_JSON,
    negotiate,
};
pub(crate) use authorized::{Authorized, AuthorizedBody, Mergeable};
pub(crate) use body::{BROKEN_OFF, BodyKind, check_lines, lines_type, read_bytes, read_nothing};
pub(crate) use collection::{
    ParameterFault, boolean, duplicate, invalid, limit, read_all, read_each, read_lists,
    refuse_parameters, refused, target, text, unknown,
};
pub(crate) use fields::Fields;
pub(crate) use idempotency::{Fingerprint, IDEMPOTENCY_KEY, idempotency, idempotency_key};
pub(crate) use parse::JsonParser;
pub(crate) use path::{
    DeletedUserIdPath, GroupIdPath, KeyIdPath, MemberPath, UserIdPath, deleted_user_not_found,
    parse_group_id, parse_user_id,
};
pub(crate) use precondition::{
    EntityTags, preconditions, refuse_if_match, tags, weak_preconditions,
};
pub(crate) use prefer::{ReturnPreference, preferred_return, preferred_wait};
pub(crate) use query::{Parameter, parameters};
pub(crate) use read_options::{AcceptsJson, NoParameters, PlainJson, ReadOptions, ReadRecord};
pub(crate) use write_options::{
    NOT_FOR_UPSERTS, WriteOptions, check_upsert, dry_run, read_upsert, refuse_idempotency_key,
    refuse_preconditions,
};
