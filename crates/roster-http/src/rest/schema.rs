//! The schema of users: `/schema`.
//!
//! The document has the members that every user may have, and the declared members of `attributes`.
//! The former are the same in every store: a body may contain them, and they are ignored.

use axum::{extract::State, response::Response};
use roster_core::{
    Attribute, Failure, Json, Mode, Outcome, Refusal, SchemaDraft, Stored, UserId, UserSchema,
    access::{ReadUsers, WriteSchema},
    attribute::{Kind, PartKind, Shape, TextRule},
    json,
    schema::{IndexStatus, MemberIndex},
};

use super::respond::{read_response, write_response};
use crate::{
    description::{self, object, string},
    extract::{Authorized, AuthorizedBody, ReadOptions, WriteOptions},
    problem::{Fault, Problem, ProblemCode},
    state::AppState,
};

/// `GET /schema`: returns the schema.
pub(crate) async fn get(
    State(app): State<AppState>,
    ReadOptions(mut preconditions): ReadOptions,
    _: Authorized<ReadUsers>,
) -> Result<Response, Problem> {
    let schema = app.directory.schema();
    let has_indexes = schema.indexes.iter().any(MemberIndex::is_live);
    if has_indexes {
        // Their statuses change without a new version.
        preconditions.if_none_match = None;
    }
    read_response(document(&schema.stored(), has_indexes.then_some(&schema))?, preconditions)
}

/// `PUT /schema`: replaces the declared members.
pub(crate) async fn replace(
    State(app): State<AppState>,
    options: WriteOptions,
    body: AuthorizedBody<SchemaDraft, WriteSchema>,
) -> Result<Response, Problem> {
    let terms = body.terms(&options);
    let write = app.directory.replace_schema(body.permit, body.value, terms);
    let write = async { write.await.map_err(problem_of) };
    let outcome = options.execute(&app, write).await?;
    if options.mode == Mode::Write && app.directory.schema().has_index_work() {
        app.directory.begin_indexes().await;
    }
    // A repeated request gets the same response, so it has no statuses.
    let stored = document(&outcome.stored, None)?;
    Ok(write_response(&options, Outcome { stored, ..outcome }))
}

/// The record with the members that every user may have, and the statuses of the indexes.
fn document(stored: &Stored, current: Option<&UserSchema>) -> Result<Stored, Problem> {
    let Ok(Json::Object(mut members)) = json::read(&stored.record) else {
        return Err(Problem::new(ProblemCode::Internal));
    };
    let built_in = Attribute::ALL.iter().copied().map(built_in).collect();
    members.insert(1, ("members".to_owned(), Json::Array(built_in)));
    if let Some(schema) = current {
        let live = schema.indexes.iter().filter(|index| index.is_live());
        members.push(("indexes".to_owned(), Json::Array(live.map(status).collect())));
    }
    let (id, version) = (stored.id, stored.version);
    Ok(Stored { id, version, record: description::json(&Json::Object(members)) })
}

/// The status of an index.
fn status(index: &MemberIndex) -> Json {
    let mut members = vec![
        ("member".to_owned(), string(&*index.member.name())),
        ("status".to_owned(), string(index.status.name())),
    ];
    match &index.status {
        IndexStatus::Building { users, .. } => {
            let users = i64::try_from(*users).unwrap_or(i64::MAX);
            members.push(("users".to_owned(), Json::Int(users)));
        }
        IndexStatus::Failed { shared } => {
            let ids = |ids: &Vec<UserId>| {
                Json::Array(ids.iter().map(|id| string(id.to_string())).collect())
            };
            members.push(("shared".to_owned(), Json::Array(shared.iter().map(ids).collect())));
        }
        IndexStatus::Checking | IndexStatus::Ready | IndexStatus::Dropped => {}
    }
    Json::Object(members)
}

/// The description of a member of the record.
fn built_in(attribute: Attribute) -> Json {
    let is_server_made = matches!(attribute.kind(), Kind::ServerMade | Kind::Mark);
    let (value_type, shape): (_, Option<&Shape>) = match attribute.kind() {
        Kind::ServerMade if attribute == Attribute::Id => ("string", None),
        Kind::ServerMade if attribute == Attribute::Version => ("integer", None),
        Kind::ServerMade | Kind::Text(TextRule::Time) => ("date_time", None),
        Kind::Status | Kind::Text(_) | Kind::ShortForm { .. } => ("string", None),
        Kind::Flag { .. } | Kind::Mark => ("boolean", None),
        Kind::One(shape) | Kind::Many(shape) => ("object", Some(shape)),
        Kind::Object => ("object", None),
    };
    let mut members = vec![
        ("name".to_owned(), string(attribute.name())),
        ("type".to_owned(), string(value_type)),
        ("multi_valued".to_owned(), Json::Bool(matches!(attribute.kind(), Kind::Many(_)))),
        ("read_only".to_owned(), Json::Bool(is_server_made)),
    ];
    if let Some(shape) = shape {
        let parts = shape.parts.iter().map(|(part, kind)| {
            let value_type = if matches!(kind, PartKind::Flag) { "boolean" } else { "string" };
            object([("name", string(part.name())), ("type", string(value_type))])
        });
        members.push(("parts".to_owned(), Json::Array(parts.collect())));
    }
    Json::Object(members)
}

/// The problem of a rejected schema. Its texts are about the schema, not about a user.
fn problem_of(failure: Failure) -> Problem {
    match failure {
        Failure::Refused(Refusal::VersionMismatch { current }) => Problem::saying(
            ProblemCode::VersionMismatch,
            format!("the schema is at version {current}; fetch it and apply your change to that"),
        ),
        Failure::Refused(Refusal::Invalid(violations)) => {
            Problem::listing(ProblemCode::InvalidSchema, "member", violations.map(Fault::from))
        }
        other @ (Failure::Refused(_) | Failure::Store(_)) => other.into(),
    }
}
