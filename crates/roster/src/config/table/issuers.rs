//! The settings of issuers of tokens, as rows of the table of settings.

use super::Setting;
use crate::config::{group::Group, issuer, kind::Kind};

/// `jwt_issuer`
pub(super) const ISSUER: Setting = Setting {
    key: "jwt_issuer",
    env: "ROSTER_JWT_ISSUER",
    flag: "jwt-issuer",
    group: Group::Access,
    kind: Kind::Text {
        placeholder: "URLS",
        what: "https URL, or NAME=URL, separated by commas",
        put: issuer::urls,
    },
    default: "",
    doc: "URL of each issuer of accepted tokens, exactly as in iss; not set: keys only.",
};

/// `jwt_audience`
pub(super) const AUDIENCE: Setting = Setting {
    key: "jwt_audience",
    env: "ROSTER_JWT_AUDIENCE",
    flag: "jwt-audience",
    group: Group::Access,
    kind: Kind::Text {
        placeholder: "TEXTS",
        what: "text, or NAME=TEXT for one issuer, separated by commas",
        put: issuer::audience,
    },
    default: "",
    doc: "Value that aud of a token must contain; required with jwt_issuer.",
};

/// `jwt_algorithms`
pub(super) const ALGORITHMS: Setting = Setting {
    key: "jwt_algorithms",
    env: "ROSTER_JWT_ALGORITHMS",
    flag: "jwt-algorithms",
    group: Group::Access,
    kind: Kind::Text { placeholder: "NAMES", what: issuer::ALGORITHMS, put: issuer::algorithms },
    default: "RS256,PS256,ES256,EdDSA",
    doc: "Accepted signature algorithms of tokens, separated by commas.",
};

/// `jwt_scope_claim`
pub(super) const SCOPE_CLAIM: Setting = Setting {
    key: "jwt_scope_claim",
    env: "ROSTER_JWT_SCOPE_CLAIM",
    flag: "jwt-scope-claim",
    group: Group::Access,
    kind: Kind::Text {
        placeholder: "NAMES",
        what: "name of a claim, or NAME=CLAIM for one issuer, separated by commas",
        put: issuer::scope_claim,
    },
    default: "scope",
    doc: "Claim with the scopes of a token: a space-separated text, or a list.",
};

/// `jwt_scope_prefix`
pub(super) const SCOPE_PREFIX: Setting = Setting {
    key: "jwt_scope_prefix",
    env: "ROSTER_JWT_SCOPE_PREFIX",
    flag: "jwt-scope-prefix",
    group: Group::Access,
    kind: Kind::Text {
        placeholder: "TEXTS",
        what: "text, or NAME=TEXT for one issuer, separated by commas",
        put: issuer::scope_prefix,
    },
    default: "",
    doc: "Prefix of Roster's scopes in the claim, as in roster:users:read; others are ignored.",
};

/// `jwt_tenant`
pub(super) const TENANT: Setting = Setting {
    key: "jwt_tenant",
    env: "ROSTER_JWT_TENANT",
    flag: "jwt-tenant",
    group: Group::Access,
    kind: Kind::Text {
        placeholder: "NAMES",
        what: "name of a tenant, or ISSUER=TENANT for one issuer, separated by commas",
        put: issuer::tenant,
    },
    default: "",
    doc: "Tenant that tokens are for; not set: the default tenant.",
};

/// `jwt_tenant_claim`
pub(super) const TENANT_CLAIM: Setting = Setting {
    key: "jwt_tenant_claim",
    env: "ROSTER_JWT_TENANT_CLAIM",
    flag: "jwt-tenant-claim",
    group: Group::Access,
    kind: Kind::Text {
        placeholder: "NAMES",
        what: "name of a claim, or NAME=CLAIM for one issuer, separated by commas",
        put: issuer::tenant_claim,
    },
    default: "",
    doc: "Claim with the tenant that a token is for: its name or its external id.",
};

/// `jwt_lifetime_max`
pub(super) const LIFETIME_MAX: Setting = Setting {
    key: "jwt_lifetime_max",
    env: "ROSTER_JWT_LIFETIME_MAX",
    flag: "jwt-lifetime-max",
    group: Group::Access,
    kind: Kind::Retention { min: 60, slot: |config| &mut config.jwt_lifetime_max },
    default: "1d",
    doc: "Longest time for which an accepted token may be valid; others are rejected.",
};
