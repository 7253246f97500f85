//! Tenants: directories that share a store and its change log, and nothing else.

mod decide;
mod draft;
mod id;

use std::{fmt, sync::Arc};

pub use decide::{
    TenantAct, TenantChange, TenantDecision, TenantFailure, TenantRefusal, decide_tenant,
};
pub use draft::TenantDraft;
pub use id::TenantId;

use crate::{
    json::{Json, present},
    limits::TENANT_NAME_LENGTH_MAX,
    timestamp::Timestamp,
    user::Status,
};

/// The name of a tenant, which is a segment of its base URL and never changes: 1 to 63 lower-case
/// letters of ASCII, digits and hyphens. No tenant is called `all`, which stands for all tenants.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantName(Arc<str>);

impl TenantName {
    /// Parses a name; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let is_known =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_name = (1..=TENANT_NAME_LENGTH_MAX).contains(&text.len())
            && text.bytes().all(is_known)
            && text != "all";
        is_name.then(|| Self(text.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TenantName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A tenant other than the default one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Its number.
    pub id: TenantId,
    /// Its name.
    pub name: TenantName,
    /// The number of its changes, from 1.
    pub version: i64,
    /// Whether its own keys are served: while it is suspended, only those of the operator are.
    pub status: Status,
    /// Its name for people.
    pub display_name: Option<String>,
    /// Its id in another system.
    pub external_id: Option<String>,
    /// The maximum number of live users; `None` if there is none.
    pub users_max: Option<i64>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// When it was deleted. It is kept for some time, and nobody may call it.
    pub deleted_at: Option<Timestamp>,
}

impl Tenant {
    /// The members of its JSON form. Members without a value are left out.
    pub fn members(&self) -> Vec<(String, Json)> {
        let text = |text: &str| Some(Json::Text(text.to_owned()));
        present([
            ("name", text(self.name.as_str())),
            ("version", Some(Json::Int(self.version))),
            ("status", text(self.status.as_str())),
            ("display_name", self.display_name.as_deref().and_then(text)),
            ("external_id", self.external_id.as_deref().and_then(text)),
            ("users_max", self.users_max.map(Json::Int)),
            ("created_at", text(&self.created_at.to_string())),
            ("updated_at", text(&self.updated_at.to_string())),
            ("deleted_at", self.deleted_at.and_then(|at| text(&at.to_string()))),
        ])
    }
}

/// The numbers of a tenant's users and groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenantCounts {
    /// Live users.
    pub users: i64,
    /// Deleted users that are kept.
    pub deleted_users: i64,
    /// Groups.
    pub groups: i64,
}

/// Which tenants a query selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TenantSelection {
    /// All that are not deleted.
    #[default]
    Live,
    /// Of these, those with this external id.
    ExternalId(String),
    /// Those that are deleted and kept.
    Deleted,
}

/// A query for tenants, in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantQuery {
    /// Which tenants.
    pub selection: TenantSelection,
    /// Only names after this one.
    pub after: Option<TenantName>,
    /// The maximum number of tenants.
    pub limit: usize,
}

/// A page of tenants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantPage {
    /// The tenants, each with its counters.
    pub items: Vec<(Tenant, TenantCounts)>,
    /// Whether more tenants follow.
    pub has_more: bool,
}
