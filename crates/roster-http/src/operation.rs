//! Every operation of both interfaces, on one page: method, path, operation id and scope.
//!
//! A path is compared exactly, byte for byte: no case folding, no decoding, no forgiven slash, so
//! that one resource has one URL. The routes, `Allow`, the scopes, the labels of metrics and the
//! check of the description all come from this table.

use http::Method;
use roster_core::access::Scope;

/// What a caller needs for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing: anybody may call it.
    Nothing,
    /// A credential with any scope or none, unless the service is open.
    Caller,
    /// A credential with that scope, once the service is not open any more.
    Scope(Scope),
}

macro_rules! need {
    (Nothing) => {
        Need::Nothing
    };
    (Caller) => {
        Need::Caller
    };
    ($scope:ident) => {
        Need::Scope(Scope::$scope)
    };
}

macro_rules! operations {
    ($($name:ident $method:ident $path:literal $id:literal $need:ident;)*) => {
        /// What a request asks for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Operation {
            $(
                #[doc = concat!("`", stringify!($method), " ", $path, "`")]
                $name,
            )*
        }

        impl Operation {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The method. HEAD goes with GET, and OPTIONS with every path.
            pub const fn method(self) -> Method {
                match self {
                    $(Self::$name => Method::$method,)*
                }
            }

            /// The path below the base path. A segment in braces may be anything.
            pub const fn path(self) -> &'static str {
                match self {
                    $(Self::$name => $path,)*
                }
            }

            /// The operation id of the description.
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$name => $id,)*
                }
            }

            /// What a caller needs for it.
            pub const fn needs(self) -> Need {
                match self {
                    $(Self::$name => need!($need),)*
                }
            }
        }
    };
}

operations! {
    ListUsers GET "/users" "listUsers" UsersRead;
    CreateUser POST "/users" "createUser" UsersWrite;
    PatchUsers PATCH "/users" "patchUsers" UsersWrite;
    DeleteUsers DELETE "/users" "deleteUsers" UsersWrite;
    GetUser GET "/users/{user_id}" "getUser" UsersRead;
    ReplaceUser PUT "/users/{user_id}" "replaceUser" UsersWrite;
    PatchUser PATCH "/users/{user_id}" "patchUser" UsersWrite;
    DeleteUser DELETE "/users/{user_id}" "deleteUser" UsersWrite;
    ListUserEvents GET "/users/{user_id}/events" "listUserEvents" EventsRead;
    ListUserGroups GET "/users/{user_id}/groups" "listUserGroups" UsersRead;
    ListDeletedUsers GET "/deleted-users" "listDeletedUsers" UsersWrite;
    GetDeletedUser GET "/deleted-users/{user_id}" "getDeletedUser" UsersWrite;
    PurgeUser DELETE "/deleted-users/{user_id}" "purgeUser" UsersPurge;
    RestoreUser POST "/deleted-users/{user_id}/restore" "restoreUser" UsersWrite;
    ListGroups GET "/groups" "listGroups" UsersRead;
    CreateGroup POST "/groups" "createGroup" UsersWrite;
    GetGroup GET "/groups/{group_id}" "getGroup" UsersRead;
    ReplaceGroup PUT "/groups/{group_id}" "replaceGroup" UsersWrite;
    PatchGroup PATCH "/groups/{group_id}" "patchGroup" UsersWrite;
    DeleteGroup DELETE "/groups/{group_id}" "deleteGroup" UsersWrite;
    ListMembers GET "/groups/{group_id}/members" "listMembers" UsersRead;
    PutMember PUT "/groups/{group_id}/members/{member_id}" "putMember" UsersWrite;
    DeleteMember DELETE "/groups/{group_id}/members/{member_id}" "deleteMember" UsersWrite;
    ListEvents GET "/events" "listEvents" EventsRead;
    ListKeys GET "/keys" "listKeys" KeysAdmin;
    CreateKey POST "/keys" "createKey" KeysAdmin;
    GetKey GET "/keys/{key_id}" "getKey" KeysAdmin;
    RevokeKey DELETE "/keys/{key_id}" "revokeKey" KeysAdmin;
    RotateKey POST "/keys/{key_id}/rotate" "rotateKey" KeysAdmin;
    GetSchema GET "/schema" "getSchema" UsersRead;
    ReplaceSchema PUT "/schema" "replaceSchema" SchemaWrite;
    GetCaller GET "/caller" "getCaller" Caller;
    GetService GET "/" "getService" Nothing;
    GetDescription GET "/openapi.json" "getDescription" Nothing;
    GetDocs GET "/docs" "getDocs" Nothing;
    ListProblems GET "/problems" "listProblems" Nothing;
    GetProblem GET "/problems/{code}" "getProblem" Nothing;
    GetLiveness GET "/livez" "getLiveness" Nothing;
    GetReadiness GET "/readyz" "getReadiness" Nothing;
    GetMetrics GET "/metrics" "getMetrics" MetricsRead;
    ScimListUsers GET "/scim/v2/Users" "scimListUsers" Scim;
    ScimCreateUser POST "/scim/v2/Users" "scimCreateUser" Scim;
    ScimSearchUsers POST "/scim/v2/Users/.search" "scimSearchUsers" Scim;
    ScimSearch POST "/scim/v2/.search" "scimSearch" Scim;
    ScimGetUser GET "/scim/v2/Users/{id}" "scimGetUser" Scim;
    ScimReplaceUser PUT "/scim/v2/Users/{id}" "scimReplaceUser" Scim;
    ScimPatchUser PATCH "/scim/v2/Users/{id}" "scimPatchUser" Scim;
    ScimDeleteUser DELETE "/scim/v2/Users/{id}" "scimDeleteUser" Scim;
    ScimListGroups GET "/scim/v2/Groups" "scimListGroups" Scim;
    ScimCreateGroup POST "/scim/v2/Groups" "scimCreateGroup" Scim;
    ScimSearchGroups POST "/scim/v2/Groups/.search" "scimSearchGroups" Scim;
    ScimGetGroup GET "/scim/v2/Groups/{id}" "scimGetGroup" Scim;
    ScimReplaceGroup PUT "/scim/v2/Groups/{id}" "scimReplaceGroup" Scim;
    ScimPatchGroup PATCH "/scim/v2/Groups/{id}" "scimPatchGroup" Scim;
    ScimDeleteGroup DELETE "/scim/v2/Groups/{id}" "scimDeleteGroup" Scim;
    ScimBulk POST "/scim/v2/Bulk" "scimBulk" Scim;
    ScimGetMe GET "/scim/v2/Me" "scimGetMe" Scim;
    ScimGetServiceProviderConfig GET "/scim/v2/ServiceProviderConfig"
        "scimGetServiceProviderConfig" Scim;
    ScimListResourceTypes GET "/scim/v2/ResourceTypes" "scimListResourceTypes" Scim;
    ScimGetResourceType GET "/scim/v2/ResourceTypes/{name}" "scimGetResourceType" Scim;
    ScimListSchemas GET "/scim/v2/Schemas" "scimListSchemas" Scim;
    ScimGetSchema GET "/scim/v2/Schemas/{urn}" "scimGetSchema" Scim;
}

impl Operation {
    /// Health is asked by machines that know neither the name of the service nor its guards.
    pub const fn is_health(self) -> bool {
        matches!(self, Self::GetLiveness | Self::GetReadiness)
    }

    /// Machines watch the service by these. They are answered whatever the store does, and at the
    /// root of the host too.
    pub const fn is_probe(self) -> bool {
        matches!(self, Self::GetLiveness | Self::GetReadiness | Self::GetMetrics)
    }

    /// Pages that a person may come to from a link elsewhere.
    pub const fn is_page(self) -> bool {
        matches!(self, Self::GetService | Self::GetDocs | Self::ListProblems | Self::GetProblem)
    }

    /// Whether its response may be long and is compressed for callers that accept that. None of
    /// these responses contains a secret.
    pub const fn is_compressible(self) -> bool {
        matches!(
            self,
            Self::ListUsers
                | Self::ListUserEvents
                | Self::ListUserGroups
                | Self::ListDeletedUsers
                | Self::ListGroups
                | Self::ListMembers
                | Self::ListEvents
                | Self::ScimListUsers
                | Self::ScimSearchUsers
                | Self::ScimSearch
                | Self::ScimListGroups
                | Self::ScimSearchGroups
                | Self::ScimGetUser
                | Self::ScimGetGroup
                | Self::ScimListSchemas
        )
    }

    /// Whether its body is a JSON Merge Patch.
    pub const fn is_merge_patch(self) -> bool {
        matches!(self, Self::PatchUser | Self::PatchUsers | Self::PatchGroup)
    }

    /// Whether it belongs to SCIM.
    pub fn is_scim(self) -> bool {
        self.path().starts_with("/scim/")
    }
}

/// A path and what it offers.
#[derive(Clone, Debug)]
pub struct Route {
    /// The path below the base path.
    pub path: &'static str,
    /// The operations, one for each method.
    pub operations: Vec<Operation>,
    /// The value of `Allow`.
    pub allow: String,
}

/// Every route, in the order of the table.
pub fn routes() -> Vec<Route> {
    let mut routes: Vec<Route> = Vec::new();
    for operation in Operation::ALL.iter().copied() {
        let path = operation.path();
        if let Some(route) = routes.iter_mut().find(|route| route.path == path) {
            route.operations.push(operation);
        } else {
            routes.push(Route { path, operations: vec![operation], allow: String::new() });
        }
    }
    for route in &mut routes {
        for method in route.operations.iter().map(|operation| operation.method()) {
            route.allow.push_str(if method == Method::GET { "GET, HEAD" } else { method.as_str() });
            route.allow.push_str(", ");
        }
        route.allow.push_str("OPTIONS");
    }
    routes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_and_the_routes_are_equal() {
        let named = |operation: &Operation| {
            let (path, id) = (operation.path().to_owned(), operation.id().to_owned());
            (operation.method().to_string(), path, id)
        };
        let mut routed: Vec<_> = Operation::ALL.iter().map(named).collect();
        let mut described = crate::description::operations();
        routed.sort();
        described.sort();
        assert_eq!(routed, described);
    }
}
