//! Extractors of SCIM requests, and their query parameters.

use std::{borrow::Cow, mem::take};

use axum::extract::{FromRequest, FromRequestParts, Request};
use http::{header::IF_NONE_MATCH, request::Parts};
use roster_core::{
    Draft, GroupId, Preconditions, Tags, Terms, UserId, UserSchema,
    access::{Permit, ReadUsers, Scope, WriteUsers},
    json::{self, JsonFault},
    limits::GROUP_BODY_BYTES_MAX,
};
use roster_scim::{
    ListRequest, Projection, ResourceType, ScimError, ScimType, Strictness,
    group::{self, GroupBody},
    list::{self, PARAMETERS},
    patch::{self, group::GroupOperations},
    schema::{GROUP, USER},
    user::{self, Sent, UserBody, UserPatch},
};
use roster_server::HeldBytes;

use super::ScimProblem;
use crate::{
    extract::{
        BodyKind, EntityTags, JSON, Media, Parameter, ReturnPreference, SCIM_JSON, WriteOptions,
        negotiate, parameters, tags, weak_preconditions,
    },
    operation::Operation,
    problem::Problem,
    request::{BodyFacts, Call, RequestContext, UnreadCall},
    state::AppState,
};

/// `{id}`: the id of a user.
pub(crate) struct ScimUserId(pub(super) UserId);

/// `{id}`: the id of a group.
pub(crate) struct ScimGroupId(pub(super) GroupId);

/// The form of a resource in the response: the media type, and the attributes (RFC 7644 section
/// 3.9).
pub(crate) struct Presentation {
    pub(super) media: Media,
    pub(super) projection: Projection,
}

/// The preconditions of a read. SCIM's entity tags are weak.
pub(crate) struct ScimPreconditions {
    /// The versions of `If-Match`.
    pub(super) if_match: Option<Tags>,
    pub(super) if_none_match: Option<EntityTags>,
}

/// The options of a write.
pub(crate) struct ScimWrite {
    pub(super) presentation: Presentation,
    pub(super) strictness: Strictness,
    pub(super) options: WriteOptions,
}

/// A request body, and the permits of its caller, who is authorized again after the last byte.
///
/// Fails as [`crate::extract::AuthorizedBody`] does, then with 400 for JSON that is not of SCIM's
/// form. The extractor [`Presentation`] runs before and fails with 406.
pub(crate) struct ScimBody<T> {
    pub(super) permit: Permit<WriteUsers>,
    /// The response shows the resource.
    pub(super) read_permit: Permit<ReadUsers>,
    pub(super) value: T,
    call: Call,
    facts: BodyFacts,
    _held: HeldBytes,
}

/// The memory of the id of a member in a set, in bytes.
const MEMBER_MEMORY: usize = 2 * size_of::<UserId>();

/// What a request body is parsed to.
pub(crate) trait FromScim: Sized + Send + 'static {
    fn from_scim(text: &[u8], strictness: Strictness, schema: &UserSchema) -> Parsed<Self>;

    /// The names of the attributes that no schema has.
    fn dropped(&self) -> &[String] {
        &[]
    }

    /// About the number of bytes of memory that it takes.
    fn memory(&self) -> usize {
        0
    }
}

/// A parsed body, or the error of one that is valid JSON.
pub(super) type Parsed<T> = Result<Result<T, ScimError>, JsonFault>;

/// A user to create, and the names of the attributes that no schema has.
pub(crate) struct NewUser(pub(super) Draft, Vec<String>);

impl FromScim for NewUser {
    fn from_scim(text: &[u8], strictness: Strictness, schema: &UserSchema) -> Parsed<Self> {
        let body = user::read(json::read(text)?, strictness, Sent::Created, schema);
        Ok(body.map(|mut body| {
            let dropped = take(&mut body.dropped);
            Self(body.created(), dropped)
        }))
    }

    fn dropped(&self) -> &[String] {
        &self.1
    }
}

/// A user to replace another one with.
impl FromScim for UserBody {
    fn from_scim(text: &[u8], strictness: Strictness, schema: &UserSchema) -> Parsed<Self> {
        Ok(user::read(json::read(text)?, strictness, Sent::Replaced, schema))
    }

    fn dropped(&self) -> &[String] {
        &self.dropped
    }
}

impl FromScim for UserPatch {
    fn from_scim(text: &[u8], strictness: Strictness, schema: &UserSchema) -> Parsed<Self> {
        Ok(Self::read(json::read(text)?, strictness, schema))
    }

    fn dropped(&self) -> &[String] {
        &self.dropped
    }

    fn memory(&self) -> usize {
        self.memory()
    }
}

impl FromScim for GroupBody {
    fn from_scim(text: &[u8], strictness: Strictness, _: &UserSchema) -> Parsed<Self> {
        group::read(text, strictness)
    }

    fn dropped(&self) -> &[String] {
        &self.dropped
    }

    fn memory(&self) -> usize {
        self.members.len() * MEMBER_MEMORY
    }
}

impl FromScim for GroupOperations {
    fn from_scim(text: &[u8], strictness: Strictness, _: &UserSchema) -> Parsed<Self> {
        patch::group::read(text, strictness)
    }

    fn dropped(&self) -> &[String] {
        &self.dropped
    }

    fn memory(&self) -> usize {
        self.members_named() * MEMBER_MEMORY
    }
}

impl FromRequestParts<AppState> for ScimUserId {
    type Rejection = ScimProblem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ScimProblem> {
        let [id, _] = RequestContext::of(parts)?.segments(parts.uri.path());
        Ok(Self(user_id(id)?))
    }
}

impl FromRequestParts<AppState> for ScimGroupId {
    type Rejection = ScimProblem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ScimProblem> {
        let [id, _] = RequestContext::of(parts)?.segments(parts.uri.path());
        Ok(Self(group_id(id)?))
    }
}

impl FromRequestParts<AppState> for Presentation {
    type Rejection = ScimProblem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ScimProblem> {
        let media = media(parts)?;
        let given = parameters(parts.uri.query())?;
        let resource_type = resource_type(RequestContext::of(parts)?.operation);
        Ok(Self { media, projection: list::projection(resource_type, pairs(&given))? })
    }
}

impl FromRequestParts<AppState> for ScimPreconditions {
    type Rejection = ScimProblem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ScimProblem> {
        Ok(Self {
            if_match: weak_preconditions(&parts.headers)?.if_match,
            if_none_match: tags(&parts.headers, &IF_NONE_MATCH)?,
        })
    }
}

impl FromRequestParts<AppState> for ScimWrite {
    type Rejection = ScimProblem;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self, ScimProblem> {
        let presentation = Presentation::from_request_parts(parts, app).await?;
        refuse_dry_run(parts)?;
        let context = RequestContext::of(parts)?;
        let strictness = strictness(context.authority.may(Scope::ScimStrict));
        // A resource that does not exist yet has no version.
        let creates = matches!(
            context.operation,
            Some(Operation::ScimCreateUser | Operation::ScimCreateGroup)
        );
        let mut options = WriteOptions::of_scim(app, parts)?;
        if creates {
            options.preconditions = Preconditions::default();
        }
        // A caller that names attributes gets them (RFC 7644 section 3.5.2).
        if options.preferred_return == Some(ReturnPreference::Minimal)
            && !presentation.projection.is_all()
        {
            options.preferred_return = None;
        }
        Ok(Self { presentation, strictness, options })
    }
}

impl ScimWrite {
    /// Whether the caller wants the resource in the response.
    pub(super) fn asks_for_resource(&self) -> bool {
        self.options.preferred_return == Some(ReturnPreference::Representation)
            || !self.presentation.projection.is_all()
    }

    /// Runs the write once it is admitted. Fails if the write has not begun when the preferred wait
    /// is over.
    pub(super) async fn execute<T, E: Into<ScimProblem>>(
        &self,
        app: &AppState,
        write: impl Future<Output = Result<T, E>>,
    ) -> Result<T, ScimProblem> {
        let write = async { Ok::<_, Problem>(write.await) };
        self.options.execute(app, write).await?.map_err(Into::into)
    }
}

impl<T: FromScim> FromRequest<AppState> for ScimBody<T> {
    type Rejection = ScimProblem;

    async fn from_request(request: Request, app: &AppState) -> Result<Self, ScimProblem> {
        let call = UnreadCall::from_request(request, app).await?;
        let strictness = call.strictness();
        // That of the last byte: the body may have taken longer than a change of the schema.
        let directory = app.directory.clone();
        let parse = move |text: &[u8]| T::from_scim(text, strictness, &directory.schema());
        let (call, value, facts) = read_body(app, call, parse).await?;
        let value = value?;
        app.dropped_attributes.add(value.dropped());
        let held = call.peer().memory().hold(value.memory());
        let (permit, read_permit) = (call.permit()?, call.permit()?);
        Ok(Self { permit, read_permit, value, call, facts, _held: held })
    }
}

impl<T> ScimBody<T> {
    /// What the directory checks and stores with the write.
    pub(super) fn terms(&self, write: &ScimWrite) -> Terms {
        write.options.terms_with(&self.call, self.facts)
    }
}

impl Call {
    /// How strictly the caller's requests are read.
    pub(super) fn strictness(&self) -> Strictness {
        strictness(self.authority().may(Scope::ScimStrict))
    }
}

impl UnreadCall {
    /// How strictly the caller's requests are read.
    pub(super) fn strictness(&self) -> Strictness {
        strictness(self.context().authority.may(Scope::ScimStrict))
    }
}

const fn strictness(is_strict: bool) -> Strictness {
    if is_strict { Strictness::Strict } else { Strictness::Tolerant }
}

/// The id of a user. Any other text belongs to no user.
pub(super) fn user_id(text: &str) -> Result<UserId, ScimError> {
    UserId::parse(text).ok_or_else(no_such_user)
}

pub(super) fn no_such_user() -> ScimError {
    ScimError::of_status(404, "no user has this id")
}

/// The id of a group. Any other text belongs to no group.
pub(super) fn group_id(text: &str) -> Result<GroupId, ScimError> {
    GroupId::parse(text).ok_or_else(no_such_group)
}

pub(super) fn no_such_group() -> ScimError {
    ScimError::of_status(404, "no group has this id")
}

/// The resource type that an operation is about.
pub(super) fn resource_type(operation: Option<Operation>) -> &'static ResourceType {
    let is_group = operation.is_some_and(|operation| operation.path().contains("/Groups"));
    if is_group { &GROUP } else { &USER }
}

/// The media type of the response.
pub(super) fn media(parts: &Parts) -> Result<Media, Problem> {
    negotiate(&parts.headers, &[SCIM_JSON, JSON])
}

/// The parameters of the query, decoded.
pub(super) fn pairs<'a>(
    given: &'a [Parameter<'a>],
) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> {
    given.iter().map(|parameter| (parameter.name.clone(), parameter.value()))
}

/// SCIM has no dry runs, and ignores unknown parameters. A write with this one would be executed
/// although it asks not to be.
pub(super) fn refuse_dry_run(parts: &Parts) -> Result<(), ScimProblem> {
    if parameters(parts.uri.query())?.iter().any(|parameter| parameter.name == "dry_run") {
        let detail = "dry_run: SCIM has no dry runs; nothing was executed";
        return Err(ScimError::new(ScimType::InvalidValue, detail).into());
    }
    Ok(())
}

/// Why no `If-Match` of a list matches.
pub(super) const NO_TAG: &str = "a list has no tag, so no If-Match matches";

/// Rejects parameters of a search beside its body: without its filter it would return everything.
pub(super) fn refuse_parameters(parts: &Parts) -> Result<(), ScimProblem> {
    let given = parameters(parts.uri.query())?;
    let names = |name: &&str| given.iter().any(|one| one.name.eq_ignore_ascii_case(name));
    match PARAMETERS.iter().find(|name| names(name)) {
        Some(name) => {
            let detail = format!("{name}: send it in the body of the search, not in the URL");
            Err(ScimError::new(ScimType::InvalidValue, detail).into())
        }
        None => Ok(()),
    }
}

/// Rejects a filter in a URL if `scim_filter_guard` is set, because URLs are logged and a filter
/// may contain an address (RFC 7644 section 7.5.2).
pub(super) fn guard_filter(app: &AppState, request: &ListRequest) -> Result<(), ScimError> {
    if !app.settings.scim_filter_guard || request.filter.is_none() {
        return Ok(());
    }
    let detail = "filter: not in a URL, which logs keep; send it by POST to .search";
    Err(ScimError::new(ScimType::Sensitive, detail))
}

/// Reads the body as one JSON text with the given function.
pub(super) async fn read_body<T: Send + 'static>(
    app: &AppState,
    call: UnreadCall,
    parse: impl FnOnce(&[u8]) -> Result<T, JsonFault> + Send + 'static,
) -> Result<(Call, T, BodyFacts), Problem> {
    let kind = match call.strictness() {
        Strictness::Tolerant => BodyKind::Scim,
        Strictness::Strict => BodyKind::ScimStrict,
    };
    // A client may send back a group as it read it, with all its members.
    let is_group = resource_type(call.context().operation).name == GROUP.name;
    let most = app.settings.body_bytes_max;
    let most = if is_group { most.max(GROUP_BODY_BYTES_MAX) } else { most };
    call.read_and_authorize(app, kind, most, parse).await
}
