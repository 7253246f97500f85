//! The records, with the names of the OpenAPI description. A test compares them with it.
//!
//! Members that a newer service adds are kept in `other`, so a record that is read and written back
//! loses nothing.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Declares a record: required members, then optional ones.
macro_rules! record {
    (
        $(#[$doc:meta])* $name:ident;
        $($(#[$required_doc:meta])* $required:ident: $type:ty,)*;
        $($(#[$optional_doc:meta])* $optional:ident: $optional_type:ty,)*
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub struct $name {
            $($(#[$required_doc])* pub $required: $type,)*
            $(
                $(#[$optional_doc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $optional: Option<$optional_type>,
            )*
            /// Members of a newer service.
            #[serde(flatten)]
            pub other: Map<String, Value>,
        }
    };
}

record! {
    /// A user. `docs/api.md` describes its members.
    User;
    /// A UUID that never changes.
    id: String,
    /// Rises by 1 with each change.
    version: u64,;
    /// `active` or `suspended`.
    status: String,
    /// When it is suspended (RFC 3339).
    expires_at: String,
    /// Its unique name.
    username: String,
    /// Whether its name is its address.
    username_from_email: bool,
    /// Full name.
    name: String,
    /// Given name.
    given_name: String,
    /// Middle name.
    middle_name: String,
    /// Family name.
    family_name: String,
    /// Title before the name.
    honorific_prefix: String,
    /// Title after the name.
    honorific_suffix: String,
    /// The name that applications show.
    display_name: String,
    /// Casual name.
    nickname: String,
    /// Job title.
    title: String,
    /// Relation to the organization.
    user_type: String,
    /// The primary address.
    email: String,
    /// Whether it is known to be the user's.
    email_verified: bool,
    /// All addresses.
    emails: Vec<Entry>,
    /// The primary telephone number.
    phone_number: String,
    /// Whether it is known to be the user's.
    phone_number_verified: bool,
    /// All telephone numbers.
    phone_numbers: Vec<Entry>,
    /// URL of the primary picture.
    picture: String,
    /// All pictures.
    photos: Vec<Entry>,
    /// URL of a page.
    profile: String,
    /// Postal addresses.
    addresses: Vec<Address>,
    /// Language tag of the locale.
    locale: String,
    /// IANA time zone.
    zoneinfo: String,
    /// Language tag of the preferred language.
    preferred_language: String,
    /// Its id in another system.
    external_id: String,
    /// Number of the employee.
    employee_number: String,
    /// Cost center.
    cost_center: String,
    /// Organization.
    organization: String,
    /// Division.
    division: String,
    /// Department.
    department: String,
    /// Its manager.
    manager: Manager,
    /// Roles.
    roles: Vec<Entry>,
    /// Entitlements.
    entitlements: Vec<Entry>,
    /// Addresses of instant messengers.
    ims: Vec<Entry>,
    /// Certificates in base64.
    x509_certificates: Vec<Entry>,
    /// Members that the application defines.
    attributes: Map<String, Value>,
    /// When it was created (RFC 3339).
    created_at: String,
    /// When it was changed (RFC 3339).
    updated_at: String,
    /// When it was deleted (RFC 3339); only of a deleted user.
    deleted_at: String,
    /// When it is purged (RFC 3339); only of a deleted user.
    purge_at: String,
}

record! {
    /// An entry of a list, such as an e-mail address.
    Entry;
    /// The address or other value.
    value: String,;
    /// What it is for, such as `work`.
    r#type: String,
    /// Whether it is the primary one.
    primary: bool,
    /// A text for people.
    display: String,
}

record! {
    /// A postal address.
    Address;;
    /// The whole address.
    formatted: String,
    /// Street and number.
    street_address: String,
    /// City.
    locality: String,
    /// State.
    region: String,
    /// Postal code.
    postal_code: String,
    /// Country, as two letters.
    country: String,
    /// What it is for, such as `home`.
    r#type: String,
    /// Whether it is the primary one.
    primary: bool,
}

record! {
    /// The manager of a user.
    Manager;;
    /// The id of the manager.
    id: String,
    /// A URL of the manager.
    r#ref: String,
    /// The name of the manager.
    display_name: String,
}

record! {
    /// A group.
    Group;
    /// A UUID that never changes.
    id: String,
    /// Rises by 1 with each change.
    version: u64,
    /// Its unique name.
    display_name: String,;
    /// Its id in another system.
    external_id: String,
    /// How many direct members it has.
    member_count: u64,
    /// When it was created (RFC 3339).
    created_at: String,
    /// When it was changed (RFC 3339).
    updated_at: String,
}

record! {
    /// A member of a group.
    Member;
    /// The id of the user or group.
    id: String,
    /// `user` or `group`.
    r#type: String,;
    /// Members of the user that `fields` names.
    user: Map<String, Value>,
    /// Members of the group that `fields` names.
    group: Map<String, Value>,
}

record! {
    /// An API key.
    Key;
    /// Its id.
    id: String,
    /// Its name.
    name: String,
    /// `active`, `expired` or `revoked`.
    status: String,
    /// What it permits.
    scopes: Vec<String>,
    /// When it was created (RFC 3339).
    created_at: String,
    /// Who created it.
    created_by: String,;
    /// The same as `status`.
    state: String,
    /// `all` for a key of the operator.
    tenants: String,
    /// When it expires (RFC 3339).
    expires_at: String,
    /// When it got its secret (RFC 3339).
    rotated_at: String,
    /// Until when the former secret is valid (RFC 3339).
    former_secret_until: String,
    /// When it was revoked (RFC 3339).
    revoked_at: String,
    /// When it was used, about a minute behind (RFC 3339).
    last_used_at: String,
    /// The key itself, in the response that creates or rotates it.
    key: String,
}

record! {
    /// A tenant: the directory of a customer.
    Tenant;
    /// Its name, a part of its URL.
    name: String,
    /// Rises by 1 with each change.
    version: u64,
    /// `active`, `suspended` or `deleted`.
    status: String,
    /// Its base URL.
    base_url: String,
    /// When it was created (RFC 3339).
    created_at: String,
    /// When it was changed (RFC 3339).
    updated_at: String,;
    /// The name that people see.
    display_name: String,
    /// Its id in another system.
    external_id: String,
    /// How many users it may have.
    users_max: u64,
    /// How many users it has.
    users: u64,
    /// How many deleted users it has.
    deleted_users: u64,
    /// How many groups it has.
    groups: u64,
    /// When it was deleted (RFC 3339).
    deleted_at: String,
    /// When it is purged (RFC 3339).
    purge_at: String,
}

record! {
    /// A webhook.
    Webhook;
    /// Its id.
    id: String,
    /// Rises by 1 with each change.
    version: u64,
    /// Its name.
    name: String,
    /// Where events are sent.
    url: String,
    /// Which events are sent.
    types: Vec<String>,
    /// `full` or `thin`.
    payload: String,
    /// How many events a request has at most.
    batch_max: u64,
    /// `active`, `paused`, `parked` or `stale`.
    status: String,
    /// Who created it.
    created_by: String,
    /// When it was created (RFC 3339).
    created_at: String,
    /// When it was changed (RFC 3339).
    updated_at: String,
    /// The position of the last event that was received.
    position: String,
    /// How many events of the log are after it.
    lag: u64,;
    /// `all` if it gets the events of all tenants.
    tenants: String,
    /// Since when its requests fail (RFC 3339).
    failing_since: String,
    /// How often the next request was sent.
    attempts: u64,
    /// When it is sent again (RFC 3339).
    next_attempt_at: String,
    /// Until when the former secret signs too (RFC 3339).
    former_secret_until: String,
    /// The secret, in the response that creates or rotates it.
    secret: String,
}

record! {
    /// An event of the change log, a `CloudEvent`.
    Event;
    /// Its position in the log.
    id: String,
    /// Such as `user.updated`.
    r#type: String,
    /// Such as `users/` and an id.
    subject: String,
    /// When it happened (RFC 3339).
    time: String,
    /// Who did it.
    actor: String,
    /// The id of the request.
    requestid: String,
    /// The change. `docs/events.md` describes its members.
    data: Map<String, Value>,;
    /// Version of `CloudEvents`.
    specversion: String,
    /// The base URL of the service or tenant.
    source: String,
    /// Media type of `data`.
    datacontenttype: String,
    /// The tenant; absent for the default one.
    tenant: String,
}

record! {
    /// Who calls.
    Caller;
    /// `key`, `subject` or `anonymous`.
    kind: String,
    /// How the change log names the caller.
    actor: String,
    /// What the credential permits.
    scopes: Vec<String>,
    /// Whether the service needs no credential.
    open: bool,;
    /// Name of the key, or subject of the token.
    name: String,
    /// The tenant of the base URL; absent for the default one.
    tenant: String,
    /// `all` if the credential works in all tenants.
    tenants: String,
    /// When the credential expires (RFC 3339).
    expires_at: String,
}
