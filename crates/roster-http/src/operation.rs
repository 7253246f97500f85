//! The table of all operations of both interfaces: method, path, operation id, scopes and handler.
//!
//! A path is compared byte for byte, except for the case of an id. There is no decoding. An
//! additional slash makes another path, except at the end of SCIM paths. The
//! routes, `Allow`, the scopes, the labels of metrics and the check of the description all come
//! from this table.

use http::Method;
use roster_core::access::Scope;

/// What a caller needs for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing. The operation needs no credential.
    Nothing,
    /// A credential with any scope or none, unless the service is open.
    Caller,
    /// A credential with all of these scopes, unless the service is open.
    Scopes(&'static [Scope]),
}

macro_rules! need {
    (Nothing) => {
        Need::Nothing
    };
    (Caller) => {
        Need::Caller
    };
    (DeletedUsersRead) => {
        Need::Scopes(&[Scope::UsersRead, Scope::UsersWrite])
    };
    ($scope:ident) => {
        Need::Scopes(&[Scope::$scope])
    };
}

macro_rules! define {
    ($($name:ident $method:ident $path:literal $id:literal $need:ident $handler:path;)*) => {
        /// An operation of one of the interfaces.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Operation {
            $(
                #[doc = concat!("`", stringify!($method), " ", $path, "`")]
                $name,
            )*
        }

        impl Operation {
            /// All operations.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The method. A path with GET also has HEAD, and every path has OPTIONS.
            pub const fn method(self) -> Method {
                match self {
                    $(Self::$name => Method::$method,)*
                }
            }

            /// The path below the base path. A segment in braces matches any segment.
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

/// Passes the table to a macro. Its last column is the handler, which only the routes use.
macro_rules! operations {
    ($macro:ident) => {
        $macro! {
            ListUsers GET "/users" "listUsers" UsersRead rest::users::list;
            CreateUser POST "/users" "createUser" UsersWrite rest::users::create;
            GetUser GET "/users/{user_id}" "getUser" UsersRead rest::users::get;
            ReplaceUser PUT "/users/{user_id}" "replaceUser" UsersWrite rest::users::replace;
            PatchUser PATCH "/users/{user_id}" "patchUser" UsersWrite rest::users::patch;
            DeleteUser DELETE "/users/{user_id}" "deleteUser" UsersWrite rest::users::delete;
            ListUserEvents GET "/users/{user_id}/events" "listUserEvents" EventsRead
                rest::events::list_of_user;
            ListUserGroups GET "/users/{user_id}/groups" "listUserGroups" UsersRead
                rest::groups::list_of_user;
            ListDeletedUsers GET "/deleted-users" "listDeletedUsers" DeletedUsersRead
                rest::deleted_users::list;
            GetDeletedUser GET "/deleted-users/{user_id}" "getDeletedUser" DeletedUsersRead
                rest::deleted_users::get;
            PurgeUser DELETE "/deleted-users/{user_id}" "purgeUser" UsersPurge
                rest::deleted_users::purge;
            RestoreUser POST "/deleted-users/{user_id}/restore" "restoreUser" UsersWrite
                rest::deleted_users::restore;
            ListGroups GET "/groups" "listGroups" UsersRead rest::groups::list;
            CreateGroup POST "/groups" "createGroup" UsersWrite rest::groups::create;
            GetGroup GET "/groups/{group_id}" "getGroup" UsersRead rest::groups::get;
            ReplaceGroup PUT "/groups/{group_id}" "replaceGroup" UsersWrite rest::groups::replace;
            PatchGroup PATCH "/groups/{group_id}" "patchGroup" UsersWrite rest::groups::patch;
            DeleteGroup DELETE "/groups/{group_id}" "deleteGroup" UsersWrite rest::groups::delete;
            ListMembers GET "/groups/{group_id}/members" "listMembers" UsersRead
                rest::groups::list_members;
            PutMember PUT "/groups/{group_id}/members/{member_id}" "putMember" UsersWrite
                rest::groups::put_member;
            DeleteMember DELETE "/groups/{group_id}/members/{member_id}" "deleteMember" UsersWrite
                rest::groups::delete_member;
            ListEvents GET "/events" "listEvents" EventsRead rest::events::list;
            ListKeys GET "/keys" "listKeys" KeysAdmin rest::keys::list;
            CreateKey POST "/keys" "createKey" KeysAdmin rest::keys::create;
            GetKey GET "/keys/{key_id}" "getKey" KeysAdmin rest::keys::get;
            RevokeKey DELETE "/keys/{key_id}" "revokeKey" KeysAdmin rest::keys::revoke;
            RotateKey POST "/keys/{key_id}/rotate" "rotateKey" KeysAdmin rest::keys::rotate;
            ListWebhooks GET "/webhooks" "listWebhooks" WebhooksAdmin rest::webhooks::list;
            CreateWebhook POST "/webhooks" "createWebhook" WebhooksAdmin rest::webhooks::create;
            GetWebhook GET "/webhooks/{webhook_id}" "getWebhook" WebhooksAdmin rest::webhooks::get;
            ReplaceWebhook PUT "/webhooks/{webhook_id}" "replaceWebhook" WebhooksAdmin
                rest::webhooks::replace;
            PatchWebhook PATCH "/webhooks/{webhook_id}" "patchWebhook" WebhooksAdmin
                rest::webhooks::patch;
            DeleteWebhook DELETE "/webhooks/{webhook_id}" "deleteWebhook" WebhooksAdmin
                rest::webhooks::delete;
            ListWebhookDeliveries GET "/webhooks/{webhook_id}/deliveries" "listWebhookDeliveries"
                WebhooksAdmin rest::webhooks::list_deliveries;
            TestWebhook POST "/webhooks/{webhook_id}/test" "testWebhook" WebhooksAdmin
                rest::webhooks::test;
            ReplayWebhook POST "/webhooks/{webhook_id}/replay" "replayWebhook" WebhooksAdmin
                rest::webhooks::replay;
            RotateWebhook POST "/webhooks/{webhook_id}/rotate" "rotateWebhook" WebhooksAdmin
                rest::webhooks::rotate;
            ExportUsers GET "/bulk/users" "exportUsers" UsersRead bulk::users::export;
            ImportUsers POST "/bulk/users" "importUsers" UsersWrite bulk::users::import;
            PatchUsers PATCH "/bulk/users" "patchUsers" UsersWrite bulk::users::patch;
            DeleteUsers DELETE "/bulk/users" "deleteUsers" UsersWrite bulk::users::delete;
            ExportGroups GET "/bulk/groups" "exportGroups" UsersRead bulk::groups::export;
            ImportGroups POST "/bulk/groups" "importGroups" UsersWrite bulk::groups::import;
            ExportDeletedUsers GET "/bulk/deleted-users" "exportDeletedUsers" DeletedUsersRead
                bulk::deleted_users::export;
            ListTenants GET "/tenants" "listTenants" TenantsAdmin rest::tenants::list;
            CreateTenant POST "/tenants" "createTenant" TenantsAdmin rest::tenants::create;
            GetTenant GET "/tenants/{tenant}" "getTenant" TenantsAdmin rest::tenants::get;
            ReplaceTenant PUT "/tenants/{tenant}" "replaceTenant" TenantsAdmin
                rest::tenants::replace;
            PatchTenant PATCH "/tenants/{tenant}" "patchTenant" TenantsAdmin rest::tenants::patch;
            DeleteTenant DELETE "/tenants/{tenant}" "deleteTenant" TenantsAdmin
                rest::tenants::delete;
            ListDeletedTenants GET "/deleted-tenants" "listDeletedTenants" TenantsAdmin
                rest::tenants::list_deleted;
            GetDeletedTenant GET "/deleted-tenants/{tenant}" "getDeletedTenant" TenantsAdmin
                rest::tenants::get_deleted;
            PurgeTenant DELETE "/deleted-tenants/{tenant}" "purgeTenant" TenantsAdmin
                rest::tenants::purge;
            RestoreTenant POST "/deleted-tenants/{tenant}/restore" "restoreTenant" TenantsAdmin
                rest::tenants::restore;
            GetSchema GET "/schema" "getSchema" UsersRead rest::schema::get;
            ReplaceSchema PUT "/schema" "replaceSchema" SchemaWrite rest::schema::replace;
            GetCaller GET "/caller" "getCaller" Caller rest::caller::get;
            GetService GET "/" "getService" Nothing rest::service::get_service;
            GetConsole GET "/console" "getConsole" Nothing rest::console::get_page;
            GetConsoleFile GET "/console/{digest}/{file}" "getConsoleFile" Nothing
                rest::console::get_file;
            CreateSession POST "/console/session" "createSession" Caller
                rest::console::create_session;
            RenewSession PUT "/console/session" "renewSession" Caller rest::console::renew_session;
            DeleteSession DELETE "/console/session" "deleteSession" Nothing
                rest::console::delete_session;
            GetDescription GET "/openapi.json" "getDescription" Nothing
                rest::service::get_description;
            GetOlderDescription GET "/openapi-3.0.json" "getOlderDescription" Nothing
                rest::service::get_older_description;
            GetDocs GET "/docs" "getDocs" Nothing rest::service::get_docs;
            ListProblems GET "/problems" "listProblems" Nothing rest::service::list_problems;
            GetProblem GET "/problems/{code}" "getProblem" Nothing rest::service::get_problem;
            GetLiveness GET "/livez" "getLiveness" Nothing rest::health::get_liveness;
            GetReadiness GET "/readyz" "getReadiness" Nothing rest::health::get_readiness;
            GetMetrics GET "/metrics" "getMetrics" MetricsRead rest::health::get_metrics;
            ScimList GET "/scim/v2" "scimList" Scim scim::search::list;
            ScimListUsers GET "/scim/v2/Users" "scimListUsers" Scim scim::list::list;
            ScimCreateUser POST "/scim/v2/Users" "scimCreateUser" Scim scim::users::create;
            ScimSearchUsers POST "/scim/v2/Users/.search" "scimSearchUsers" Scim scim::list::search;
            ScimSearch POST "/scim/v2/.search" "scimSearch" Scim scim::search::search;
            ScimGetUser GET "/scim/v2/Users/{id}" "scimGetUser" Scim scim::users::get;
            ScimReplaceUser PUT "/scim/v2/Users/{id}" "scimReplaceUser" Scim scim::users::replace;
            ScimPatchUser PATCH "/scim/v2/Users/{id}" "scimPatchUser" Scim scim::users::patch;
            ScimDeleteUser DELETE "/scim/v2/Users/{id}" "scimDeleteUser" Scim scim::users::delete;
            ScimListGroups GET "/scim/v2/Groups" "scimListGroups" Scim scim::list::list;
            ScimCreateGroup POST "/scim/v2/Groups" "scimCreateGroup" Scim scim::groups::create;
            ScimSearchGroups POST "/scim/v2/Groups/.search" "scimSearchGroups" Scim
                scim::list::search;
            ScimGetGroup GET "/scim/v2/Groups/{id}" "scimGetGroup" Scim scim::groups::get;
            ScimReplaceGroup PUT "/scim/v2/Groups/{id}" "scimReplaceGroup" Scim
                scim::groups::replace;
            ScimPatchGroup PATCH "/scim/v2/Groups/{id}" "scimPatchGroup" Scim scim::groups::patch;
            ScimDeleteGroup DELETE "/scim/v2/Groups/{id}" "scimDeleteGroup" Scim
                scim::groups::delete;
            ScimBulk POST "/scim/v2/Bulk" "scimBulk" Scim scim::bulk::bulk;
            ScimGetMe GET "/scim/v2/Me" "scimGetMe" Scim discovery::get_me;
            ScimGetServiceProviderConfig GET "/scim/v2/ServiceProviderConfig"
                "scimGetServiceProviderConfig" Scim discovery::get_config;
            ScimListResourceTypes GET "/scim/v2/ResourceTypes" "scimListResourceTypes" Scim
                discovery::list_resource_types;
            ScimGetResourceType GET "/scim/v2/ResourceTypes/{name}" "scimGetResourceType" Scim
                discovery::get_resource_type;
            ScimListSchemas GET "/scim/v2/Schemas" "scimListSchemas" Scim discovery::list_schemas;
            ScimGetSchema GET "/scim/v2/Schemas/{urn}" "scimGetSchema" Scim discovery::get_schema;
        }
    };
}

pub(crate) use operations;

operations!(define);

impl Operation {
    /// Whether this is a health check. The guards do not apply to it, because monitoring systems
    /// may not know the host name of the service.
    pub const fn is_health(self) -> bool {
        matches!(self, Self::GetLiveness | Self::GetReadiness)
    }

    /// Whether monitoring systems call this operation. It responds in every state of the store, has
    /// no time limit here, and is available at the root of the host too.
    pub const fn is_probe(self) -> bool {
        matches!(self, Self::GetLiveness | Self::GetReadiness | Self::GetMetrics)
    }

    /// Whether it concerns the whole service, so it is not below the base URL of a tenant.
    pub const fn is_of_service(self) -> bool {
        self.is_probe()
            || self.is_of_operator()
            || matches!(
                self,
                Self::GetDocs
                    | Self::ListProblems
                    | Self::GetProblem
                    | Self::GetConsole
                    | Self::GetConsoleFile
            )
    }

    /// Whether it needs a credential for all tenants.
    pub const fn is_of_operator(self) -> bool {
        matches!(
            self,
            Self::ListTenants
                | Self::CreateTenant
                | Self::GetTenant
                | Self::ReplaceTenant
                | Self::PatchTenant
                | Self::DeleteTenant
                | Self::ListDeletedTenants
                | Self::GetDeletedTenant
                | Self::PurgeTenant
                | Self::RestoreTenant
        )
    }

    /// Whether this is a page that a browser may open from a link on another site.
    pub const fn is_page(self) -> bool {
        matches!(
            self,
            Self::GetService
                | Self::GetConsole
                | Self::GetDocs
                | Self::ListProblems
                | Self::GetProblem
        )
    }

    /// Whether its response may be long and is compressed for callers that accept that. None of
    /// these responses contains a secret.
    pub const fn is_compressible(self) -> bool {
        matches!(
            self,
            Self::ListUsers
                | Self::ExportUsers
                | Self::ExportGroups
                | Self::ExportDeletedUsers
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

    /// Whether it changes something and takes no body.
    pub const fn takes_no_body(self) -> bool {
        matches!(
            self,
            Self::DeleteUser
                | Self::PurgeUser
                | Self::RestoreUser
                | Self::DeleteGroup
                | Self::ScimDeleteUser
                | Self::ScimDeleteGroup
                | Self::PutMember
                | Self::DeleteMember
                | Self::RevokeKey
                | Self::RotateKey
                | Self::DeleteWebhook
                | Self::TestWebhook
                | Self::RotateWebhook
                | Self::DeleteTenant
                | Self::PurgeTenant
                | Self::RestoreTenant
                | Self::CreateSession
                | Self::RenewSession
        )
    }

    /// Whether it may wait for events.
    pub(crate) const fn may_wait(self) -> bool {
        matches!(self, Self::ListEvents | Self::ListUserEvents)
    }

    /// Whether its outcome shows whether the store can be used.
    pub fn uses_store(self) -> bool {
        matches!(self.needs(), Need::Scopes(_)) && !self.is_probe()
    }

    /// Whether it is a SCIM search by `POST`, which reads.
    pub fn is_search(self) -> bool {
        self.path().ends_with("/.search")
    }

    /// Whether it belongs to SCIM.
    pub fn is_scim(self) -> bool {
        self.path().starts_with("/scim/")
    }
}

/// A path and its operations.
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
