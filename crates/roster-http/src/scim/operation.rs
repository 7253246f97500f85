//! What the SCIM face is asked for.

use http::Method;

use crate::router::{Operation, Route};

/// What a request to the SCIM face asks for. The names are those of the API description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScimOperation {
    /// `GET /scim/v2/Users`
    ListUsers,
    /// `POST /scim/v2/Users`
    CreateUser,
    /// `POST /scim/v2/Users/.search`
    SearchUsers,
    /// `POST /scim/v2/.search`
    Search,
    /// `GET /scim/v2/Users/{id}`
    GetUser,
    /// `PUT /scim/v2/Users/{id}`
    ReplaceUser,
    /// `PATCH /scim/v2/Users/{id}`
    PatchUser,
    /// `DELETE /scim/v2/Users/{id}`
    DeleteUser,
    /// `GET /scim/v2/Groups`
    ListGroups,
    /// `POST /scim/v2/Groups`
    CreateGroup,
    /// `POST /scim/v2/Groups/.search`
    SearchGroups,
    /// `GET /scim/v2/Groups/{id}`
    GetGroup,
    /// `PUT /scim/v2/Groups/{id}`
    ReplaceGroup,
    /// `PATCH /scim/v2/Groups/{id}`
    PatchGroup,
    /// `DELETE /scim/v2/Groups/{id}`
    DeleteGroup,
    /// `POST /scim/v2/Bulk`
    Bulk,
    /// `GET /scim/v2/Me`
    GetMe,
    /// `GET /scim/v2/ServiceProviderConfig`
    GetServiceProviderConfig,
    /// `GET /scim/v2/ResourceTypes`
    ListResourceTypes,
    /// `GET /scim/v2/ResourceTypes/{name}`
    GetResourceType,
    /// `GET /scim/v2/Schemas`
    ListSchemas,
    /// `GET /scim/v2/Schemas/{urn}`
    GetSchema,
}

impl ScimOperation {
    /// The operation id of the description, which the metrics use too.
    pub const fn id(self) -> &'static str {
        match self {
            Self::ListUsers => "scimListUsers",
            Self::CreateUser => "scimCreateUser",
            Self::SearchUsers => "scimSearchUsers",
            Self::Search => "scimSearch",
            Self::GetUser => "scimGetUser",
            Self::ReplaceUser => "scimReplaceUser",
            Self::PatchUser => "scimPatchUser",
            Self::DeleteUser => "scimDeleteUser",
            Self::ListGroups => "scimListGroups",
            Self::CreateGroup => "scimCreateGroup",
            Self::SearchGroups => "scimSearchGroups",
            Self::GetGroup => "scimGetGroup",
            Self::ReplaceGroup => "scimReplaceGroup",
            Self::PatchGroup => "scimPatchGroup",
            Self::DeleteGroup => "scimDeleteGroup",
            Self::Bulk => "scimBulk",
            Self::GetMe => "scimGetMe",
            Self::GetServiceProviderConfig => "scimGetServiceProviderConfig",
            Self::ListResourceTypes => "scimListResourceTypes",
            Self::GetResourceType => "scimGetResourceType",
            Self::ListSchemas => "scimListSchemas",
            Self::GetSchema => "scimGetSchema",
        }
    }
}

const READS: &str = "GET, HEAD, OPTIONS";

const fn scim(operation: ScimOperation) -> Operation {
    Operation::Scim(operation)
}

const fn read(path: &'static str, offers: &'static [(Method, Operation)]) -> Route {
    Route { path, offers, allow: READS, at_root: false }
}

/// The routes of the face. What is sought is told before what is named.
pub const SCIM_ROUTES: &[Route] = &[
    Route {
        path: "/scim/v2/Users",
        offers: &[
            (Method::GET, scim(ScimOperation::ListUsers)),
            (Method::POST, scim(ScimOperation::CreateUser)),
        ],
        allow: "GET, HEAD, POST, OPTIONS",
        at_root: false,
    },
    Route {
        path: "/scim/v2/Users/.search",
        offers: &[(Method::POST, scim(ScimOperation::SearchUsers))],
        allow: "POST, OPTIONS",
        at_root: false,
    },
    Route {
        path: "/scim/v2/.search",
        offers: &[(Method::POST, scim(ScimOperation::Search))],
        allow: "POST, OPTIONS",
        at_root: false,
    },
    Route {
        path: "/scim/v2/Users/{id}",
        offers: &[
            (Method::GET, scim(ScimOperation::GetUser)),
            (Method::PUT, scim(ScimOperation::ReplaceUser)),
            (Method::PATCH, scim(ScimOperation::PatchUser)),
            (Method::DELETE, scim(ScimOperation::DeleteUser)),
        ],
        allow: "GET, HEAD, PUT, PATCH, DELETE, OPTIONS",
        at_root: false,
    },
    Route {
        path: "/scim/v2/Groups",
        offers: &[
            (Method::GET, scim(ScimOperation::ListGroups)),
            (Method::POST, scim(ScimOperation::CreateGroup)),
        ],
        allow: "GET, HEAD, POST, OPTIONS",
        at_root: false,
    },
    Route {
        path: "/scim/v2/Groups/.search",
        offers: &[(Method::POST, scim(ScimOperation::SearchGroups))],
        allow: "POST, OPTIONS",
        at_root: false,
    },
    Route {
        path: "/scim/v2/Groups/{id}",
        offers: &[
            (Method::GET, scim(ScimOperation::GetGroup)),
            (Method::PUT, scim(ScimOperation::ReplaceGroup)),
            (Method::PATCH, scim(ScimOperation::PatchGroup)),
            (Method::DELETE, scim(ScimOperation::DeleteGroup)),
        ],
        allow: "GET, HEAD, PUT, PATCH, DELETE, OPTIONS",
        at_root: false,
    },
    Route {
        path: "/scim/v2/Bulk",
        offers: &[(Method::POST, scim(ScimOperation::Bulk))],
        allow: "POST, OPTIONS",
        at_root: false,
    },
    read("/scim/v2/Me", &[(Method::GET, scim(ScimOperation::GetMe))]),
    read(
        "/scim/v2/ServiceProviderConfig",
        &[(Method::GET, scim(ScimOperation::GetServiceProviderConfig))],
    ),
    read("/scim/v2/ResourceTypes", &[(Method::GET, scim(ScimOperation::ListResourceTypes))]),
    read("/scim/v2/ResourceTypes/{name}", &[(Method::GET, scim(ScimOperation::GetResourceType))]),
    read("/scim/v2/Schemas", &[(Method::GET, scim(ScimOperation::ListSchemas))]),
    read("/scim/v2/Schemas/{urn}", &[(Method::GET, scim(ScimOperation::GetSchema))]),
];
