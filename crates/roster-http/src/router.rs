//! Every route of the service, on one page.
//!
//! A path is compared exactly, byte for byte: no case folding, no decoding, no forgiven slash, so
//! that one resource has one URL. What a path offers, `Allow` and the description all come from
//! this table.

use http::Method;
use roster_core::access::Scope;

pub use crate::scim::{SCIM_ROUTES, ScimOperation};

/// What a request asks for. The names are those of the API description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `GET /users`
    ListUsers,
    /// `POST /users`
    CreateUser,
    /// `GET /users/{user_id}`
    GetUser,
    /// `PUT /users/{user_id}`
    ReplaceUser,
    /// `PATCH /users/{user_id}`
    PatchUser,
    /// `DELETE /users/{user_id}`
    DeleteUser,
    /// `GET /users/{user_id}/events`
    ListUserEvents,
    /// `GET /deleted-users`
    ListDeletedUsers,
    /// `GET /deleted-users/{user_id}`
    GetDeletedUser,
    /// `DELETE /deleted-users/{user_id}`
    PurgeUser,
    /// `POST /deleted-users/{user_id}/restore`
    RestoreUser,
    /// `GET /groups`
    ListGroups,
    /// `POST /groups`
    CreateGroup,
    /// `GET /groups/{group_id}`
    GetGroup,
    /// `PUT /groups/{group_id}`
    ReplaceGroup,
    /// `PATCH /groups/{group_id}`
    PatchGroup,
    /// `DELETE /groups/{group_id}`
    DeleteGroup,
    /// `GET /groups/{group_id}/members`
    ListMembers,
    /// `PUT /groups/{group_id}/members/{member_id}`
    PutMember,
    /// `DELETE /groups/{group_id}/members/{member_id}`
    DeleteMember,
    /// `GET /events`
    ListEvents,
    /// `GET /keys`
    ListKeys,
    /// `POST /keys`
    CreateKey,
    /// `GET /keys/{key_id}`
    GetKey,
    /// `DELETE /keys/{key_id}`
    RevokeKey,
    /// `POST /keys/{key_id}/rotate`
    RotateKey,
    /// `GET /`
    GetService,
    /// `GET /openapi.json`
    GetDescription,
    /// `GET /docs`
    GetDocs,
    /// `GET /problems`
    ListProblems,
    /// `GET /problems/{code}`
    GetProblem,
    /// `GET /livez`
    GetLiveness,
    /// `GET /readyz`
    GetReadiness,
    /// `GET /metrics`
    GetMetrics,
    /// What is below `/scim/v2`
    Scim(ScimOperation),
}

impl Operation {
    /// The operation id of the description, which the metrics use too.
    pub const fn id(self) -> &'static str {
        match self {
            Self::ListUsers => "listUsers",
            Self::CreateUser => "createUser",
            Self::GetUser => "getUser",
            Self::ReplaceUser => "replaceUser",
            Self::PatchUser => "patchUser",
            Self::DeleteUser => "deleteUser",
            Self::ListUserEvents => "listUserEvents",
            Self::ListDeletedUsers => "listDeletedUsers",
            Self::GetDeletedUser => "getDeletedUser",
            Self::PurgeUser => "purgeUser",
            Self::RestoreUser => "restoreUser",
            Self::ListGroups => "listGroups",
            Self::CreateGroup => "createGroup",
            Self::GetGroup => "getGroup",
            Self::ReplaceGroup => "replaceGroup",
            Self::PatchGroup => "patchGroup",
            Self::DeleteGroup => "deleteGroup",
            Self::ListMembers => "listMembers",
            Self::PutMember => "putMember",
            Self::DeleteMember => "deleteMember",
            Self::ListEvents => "listEvents",
            Self::ListKeys => "listKeys",
            Self::CreateKey => "createKey",
            Self::GetKey => "getKey",
            Self::RevokeKey => "revokeKey",
            Self::RotateKey => "rotateKey",
            Self::GetService => "getService",
            Self::GetDescription => "getDescription",
            Self::GetDocs => "getDocs",
            Self::ListProblems => "listProblems",
            Self::GetProblem => "getProblem",
            Self::GetLiveness => "getLiveness",
            Self::GetReadiness => "getReadiness",
            Self::GetMetrics => "getMetrics",
            Self::Scim(operation) => operation.id(),
        }
    }

    /// What a caller needs for it. One row for each operation: a new one has no answer until it
    /// gets one here.
    pub const fn needs(self) -> Need {
        match self {
            Self::ListUsers
            | Self::GetUser
            | Self::ListGroups
            | Self::GetGroup
            | Self::ListMembers => Need::Scope(Scope::UsersRead),
            Self::CreateGroup
            | Self::ReplaceGroup
            | Self::PatchGroup
            | Self::DeleteGroup
            | Self::PutMember
            | Self::DeleteMember
            | Self::CreateUser
            | Self::ReplaceUser
            | Self::PatchUser
            | Self::DeleteUser
            | Self::ListDeletedUsers
            | Self::GetDeletedUser
            | Self::RestoreUser => Need::Scope(Scope::UsersWrite),
            Self::PurgeUser => Need::Scope(Scope::UsersPurge),
            Self::ListUserEvents | Self::ListEvents => Need::Scope(Scope::EventsRead),
            Self::ListKeys | Self::CreateKey | Self::GetKey | Self::RotateKey | Self::RevokeKey => {
                Need::Scope(Scope::KeysAdmin)
            }
            Self::GetMetrics => Need::Scope(Scope::MetricsRead),
            Self::Scim(_) => Need::Scope(Scope::Scim),
            Self::GetService
            | Self::GetDescription
            | Self::GetDocs
            | Self::ListProblems
            | Self::GetProblem
            | Self::GetLiveness
            | Self::GetReadiness => Need::Nothing,
        }
    }

    /// Health is asked by machines that know neither our name nor our guards.
    pub const fn is_health(self) -> bool {
        matches!(self, Self::GetLiveness | Self::GetReadiness)
    }

    /// Machines watch the service by these: they are answered whatever the store does.
    pub const fn answers_always(self) -> bool {
        matches!(self, Self::GetLiveness | Self::GetReadiness | Self::GetMetrics)
    }

    /// Pages that a person may come to from a link elsewhere.
    pub const fn is_page(self) -> bool {
        matches!(self, Self::GetService | Self::GetDocs | Self::ListProblems | Self::GetProblem)
    }
}

/// What a caller needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing: anybody may ask.
    Nothing,
    /// A credential with that scope, once the service is not open any more.
    Scope(Scope),
}

/// One path and what it offers. `HEAD` goes with `GET`, `OPTIONS` with every path.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The path below the base path; one segment may be a `{name}`, or two.
    pub path: &'static str,
    /// The methods and their operations.
    pub offers: &'static [(Method, Operation)],
    /// The value of `Allow`.
    pub allow: &'static str,
    /// Whether the path also answers at the root of the host, beside the base path.
    pub at_root: bool,
}

/// Every route but those of SCIM.
pub const ROUTES: &[Route] = &[
    route(
        "/users",
        &[(Method::GET, Operation::ListUsers), (Method::POST, Operation::CreateUser)],
        "GET, HEAD, POST, OPTIONS",
    ),
    route(
        "/users/{user_id}",
        &[
            (Method::GET, Operation::GetUser),
            (Method::PUT, Operation::ReplaceUser),
            (Method::PATCH, Operation::PatchUser),
            (Method::DELETE, Operation::DeleteUser),
        ],
        "GET, HEAD, PUT, PATCH, DELETE, OPTIONS",
    ),
    route("/users/{user_id}/events", &[(Method::GET, Operation::ListUserEvents)], READS),
    route("/deleted-users", &[(Method::GET, Operation::ListDeletedUsers)], READS),
    route(
        "/deleted-users/{user_id}",
        &[(Method::GET, Operation::GetDeletedUser), (Method::DELETE, Operation::PurgeUser)],
        "GET, HEAD, DELETE, OPTIONS",
    ),
    route(
        "/deleted-users/{user_id}/restore",
        &[(Method::POST, Operation::RestoreUser)],
        "POST, OPTIONS",
    ),
    route(
        "/groups",
        &[(Method::GET, Operation::ListGroups), (Method::POST, Operation::CreateGroup)],
        "GET, HEAD, POST, OPTIONS",
    ),
    route(
        "/groups/{group_id}",
        &[
            (Method::GET, Operation::GetGroup),
            (Method::PUT, Operation::ReplaceGroup),
            (Method::PATCH, Operation::PatchGroup),
            (Method::DELETE, Operation::DeleteGroup),
        ],
        "GET, HEAD, PUT, PATCH, DELETE, OPTIONS",
    ),
    route("/groups/{group_id}/members", &[(Method::GET, Operation::ListMembers)], READS),
    route(
        "/groups/{group_id}/members/{member_id}",
        &[(Method::PUT, Operation::PutMember), (Method::DELETE, Operation::DeleteMember)],
        "PUT, DELETE, OPTIONS",
    ),
    route("/events", &[(Method::GET, Operation::ListEvents)], READS),
    route(
        "/keys",
        &[(Method::GET, Operation::ListKeys), (Method::POST, Operation::CreateKey)],
        "GET, HEAD, POST, OPTIONS",
    ),
    route(
        "/keys/{key_id}",
        &[(Method::GET, Operation::GetKey), (Method::DELETE, Operation::RevokeKey)],
        "GET, HEAD, DELETE, OPTIONS",
    ),
    route("/keys/{key_id}/rotate", &[(Method::POST, Operation::RotateKey)], "POST, OPTIONS"),
    route("/", &[(Method::GET, Operation::GetService)], READS),
    route("/openapi.json", &[(Method::GET, Operation::GetDescription)], READS),
    route("/docs", &[(Method::GET, Operation::GetDocs)], READS),
    route("/problems", &[(Method::GET, Operation::ListProblems)], READS),
    route("/problems/{code}", &[(Method::GET, Operation::GetProblem)], READS),
    at_root(route("/livez", &[(Method::GET, Operation::GetLiveness)], READS)),
    at_root(route("/readyz", &[(Method::GET, Operation::GetReadiness)], READS)),
    at_root(route("/metrics", &[(Method::GET, Operation::GetMetrics)], READS)),
];

const READS: &str = "GET, HEAD, OPTIONS";

const fn route(
    path: &'static str,
    offers: &'static [(Method, Operation)],
    allow: &'static str,
) -> Route {
    Route { path, offers, allow, at_root: false }
}

const fn at_root(route: Route) -> Route {
    Route { at_root: true, ..route }
}

impl Route {
    /// What the path offers for a method.
    pub fn offer(&self, method: &Method) -> Option<Operation> {
        let asked = if method == Method::HEAD { &Method::GET } else { method };
        self.offers.iter().find(|(offered, _)| offered == asked).map(|(_, operation)| *operation)
    }
}

/// Every route of every face.
pub fn routes() -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().chain(SCIM_ROUTES)
}

/// The route of a path below the base path, with the segment that the route names; of two, all
/// from the first to the second.
pub fn find<'p>(base_path: &str, path: &'p str) -> Option<(&'static Route, &'p str)> {
    let below = path.strip_prefix(base_path).filter(|below| below.starts_with('/'));
    // The base path itself, without a slash, is the service document too.
    let below = below.or_else(|| (!base_path.is_empty() && path == base_path).then_some("/"));
    let mounted = below.and_then(|below| routes().find_map(|route| matched(route, below)));
    mounted.or_else(|| {
        ROUTES.iter().filter(|route| route.at_root).find_map(|route| matched(route, path))
    })
}

fn matched<'p>(route: &'static Route, path: &'p str) -> Option<(&'static Route, &'p str)> {
    let Some((stem, rest)) = route.path.split_once('{') else {
        return (route.path == path).then_some((route, ""));
    };
    let tail = rest.split_once('}').map_or("", |(_, tail)| tail);
    let is_segment = |text: &str| !text.is_empty() && !text.contains('/');
    let Some((between, second)) = tail.split_once('{') else {
        let segment = path.strip_prefix(stem)?.strip_suffix(tail)?;
        return is_segment(segment).then_some((route, segment));
    };
    let tail = second.split_once('}').map_or("", |(_, tail)| tail);
    let segments = path.strip_prefix(stem)?.strip_suffix(tail)?;
    let (one, other) = segments.split_once(between)?;
    (is_segment(one) && is_segment(other)).then_some((route, segments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_compared_exactly() {
        let found = |path| find("", path).map(|(route, segment)| (route.path, segment));
        assert_eq!(found("/users"), Some(("/users", "")));
        assert_eq!(found("/users/x%2Fy"), Some(("/users/{user_id}", "x%2Fy")));
        assert_eq!(found("/"), Some(("/", "")));
        assert_eq!(found("/users/x/events"), Some(("/users/{user_id}/events", "x")));
        let restore = "/deleted-users/{user_id}/restore";
        assert_eq!(found("/deleted-users/x/restore"), Some((restore, "x")));
        let member = "/groups/{group_id}/members/{member_id}";
        assert_eq!(found("/groups/x/members/y"), Some((member, "x/members/y")));
        assert_eq!(found("/groups/x/members"), Some(("/groups/{group_id}/members", "x")));
        for path in ["/groups/x/members/", "/groups//members/y", "/groups/x/members/y/z"] {
            assert_eq!(found(path), None, "{path}");
        }
        for path in ["/users//events", "/users/events/", "/deleted-users/restore/x"] {
            assert_eq!(found(path), None, "{path}");
        }
        for path in ["/users/", "//users", "/Users", "/users/a/b", "/users/../users", "", "x"] {
            assert_eq!(found(path), None, "{path}");
        }
    }

    #[test]
    fn a_base_path_carries_the_routes_but_health_answers_at_the_root_too() {
        let found = |path| find("/v1", path).map(|(route, _)| route.path);
        assert_eq!(found("/v1/users"), Some("/users"));
        assert_eq!(found("/v1/"), Some("/"));
        assert_eq!(found("/v1"), Some("/"));
        assert_eq!(found("/v1/livez"), Some("/livez"));
        assert_eq!(found("/livez"), Some("/livez"));
        for path in ["/users", "/v1users", "/v2/users", "/"] {
            assert_eq!(found(path), None, "{path}");
        }
    }

    #[test]
    fn allow_says_what_the_route_offers() {
        for route in routes() {
            let mut allow: Vec<&str> = Vec::new();
            for (method, _) in route.offers {
                allow.push(method.as_str());
                if method == Method::GET {
                    allow.push("HEAD");
                }
            }
            allow.push("OPTIONS");
            assert_eq!(route.allow, allow.join(", "), "{}", route.path);
        }
    }

    #[test]
    fn the_description_and_the_routes_are_equal() {
        let mut routed: Vec<_> = routes()
            .flat_map(|route| {
                route.offers.iter().map(|(method, operation)| {
                    (method.to_string(), route.path.to_owned(), operation.id().to_owned())
                })
            })
            .collect();
        let mut described = crate::description::operations();
        routed.sort();
        described.sort();
        assert_eq!(routed, described);
    }
}
