//! The service document, made from the settings.

use std::time::Duration;

use bytes::Bytes;
use roster_core::{Guard, Json, Rules, Sharing, limits};
use roster_server::limits::{
    LOCKED_TOKEN_CHECKS_PER_S, LOCKED_TOKEN_CHECKS_TOTAL_PER_S, QUEUE_WAIT_MAX,
};

use crate::{
    description::{self, object, string},
    limits::{
        admission::PAGE_WAIT_MAX,
        scim,
        transfers::{
            EXPORTS_MAX, EXPORTS_PER_CALLER_MAX, IMPORTS_MAX, IMPORTS_PER_CALLER_MAX,
            SUBSCRIBERS_MAX, SUBSCRIBERS_PER_CALLER_MAX, WEBHOOK_TESTS_MAX,
            WEBHOOK_TESTS_PER_CALLER_MAX,
        },
    },
    session::{SESSION_CREDENTIAL_BYTES_MAX, SESSION_IDLE, SESSION_MAX},
    settings::HttpSettings,
    state::AppState,
};

fn members<const N: usize>(all: [(&str, Json); N]) -> Vec<(String, Json)> {
    all.map(|(name, value)| (name.to_owned(), value)).into()
}

fn texts(all: &[&str]) -> Json {
    Json::Array(all.iter().map(|one| string(*one)).collect())
}

fn number(value: impl TryInto<i64>) -> Json {
    value.try_into().map_or(Json::Null, Json::Int)
}

/// A time in seconds; `null` means forever.
fn seconds(keep: Option<Duration>) -> Json {
    keep.map_or(Json::Null, |keep| number(keep.as_secs()))
}

/// The service document with the current rules of uniqueness.
pub(crate) fn service_document(app: &AppState, rules: Rules) -> Bytes {
    let link = |path: &str| string(format!("{}{path}", app.base_url));
    let of_tenant = members([
        ("users", link("/users")),
        ("deleted_users", link("/deleted-users")),
        ("groups", link("/groups")),
        ("bulk_users", link("/bulk/users")),
        ("bulk_groups", link("/bulk/groups")),
        ("bulk_deleted_users", link("/bulk/deleted-users")),
        ("events", link("/events")),
        ("webhooks", link("/webhooks")),
        ("keys", link("/keys")),
        ("caller", link("/caller")),
        ("schema", link("/schema")),
        ("scim", link("/scim/v2")),
        ("description", link("/openapi.json")),
    ]);
    // These are of the whole service.
    let of_service = members([
        ("tenants", link("/tenants")),
        ("deleted_tenants", link("/deleted-tenants")),
        ("console", link("/console")),
        ("docs", link("/docs")),
        ("interface", link("/docs#interface")),
        ("problems", link("/problems")),
        ("liveness", link("/livez")),
        ("readiness", link("/readyz")),
        ("metrics", link("/metrics")),
    ]);
    let is_served = |name: &str| name != "console" || app.settings.console;
    let of_service =
        of_service.into_iter().filter(|(name, _)| app.tenant.is_none() && is_served(name));
    let links = Json::Object(of_tenant.into_iter().chain(of_service).collect());
    let by = ["username", "email", "family_name", "name", "expires_at"];
    let sorts = [&["id", "created_at", "updated_at"][..], &by].concat();
    let filters = ["id", "username", "email", "external_id", "status", "phone_number"];
    let unique_email = if rules.email == Sharing::Unique { "primary" } else { "none" };
    let capabilities = object([
        ("sorts", texts(&sorts)),
        ("filters", texts(&filters)),
        ("patch_formats", texts(&["application/merge-patch+json"])),
        ("unique_email", string(unique_email)),
        ("unique_external_id", Json::Bool(rules.external_id == Sharing::Unique)),
        ("precondition_required", Json::Bool(rules.put == Guard::On || rules.delete == Guard::On)),
    ]);
    let document = object([
        ("service", string("roster")),
        ("version", string(env!("CARGO_PKG_VERSION"))),
        ("links", links),
        ("capabilities", capabilities),
        // Last, because the list is long: nothing below it is overlooked.
        ("limits", limits_of(&app.settings)),
    ]);
    description::json(&document)
}

/// The limits that concern callers.
fn limits_of(settings: &HttpSettings) -> Json {
    let mut all = members([
        ("body_bytes_max", number(settings.body_bytes_max)),
        ("admin_body_bytes_max", number(limits::ADMIN_BODY_BYTES_MAX)),
        ("uri_bytes_max", number(settings.uri_bytes_max)),
        ("json_depth_max", number(limits::JSON_DEPTH_MAX)),
        ("json_values_max", number(limits::JSON_VALUES_MAX)),
        ("errors_max", number(limits::ERRORS_MAX)),
        ("query_parameters_max", number(limits::QUERY_PARAMETERS_MAX)),
        ("user_bytes_max", number(limits::USER_BYTES_MAX)),
        ("text_length_max", number(limits::TEXT_LENGTH_MAX)),
        ("address_text_length_max", number(limits::ADDRESS_TEXT_LENGTH_MAX)),
        ("entry_text_length_max", number(limits::ENTRY_TEXT_LENGTH_MAX)),
        ("email_length_max", number(limits::EMAIL_LENGTH_MAX)),
        ("phone_number_length_max", number(limits::PHONE_NUMBER_LENGTH_MAX)),
        ("url_length_max", number(limits::URL_LENGTH_MAX)),
        ("certificate_length_max", number(limits::CERTIFICATE_LENGTH_MAX)),
        ("addresses_max", number(limits::ADDRESSES_MAX)),
        ("entries_max", number(limits::ENTRIES_MAX)),
        ("attributes_bytes_max", number(limits::ATTRIBUTES_BYTES_MAX)),
        ("attributes_depth_max", number(limits::ATTRIBUTES_DEPTH_MAX)),
        ("declared_members_max", number(limits::DECLARED_MEMBERS_MAX)),
        ("indexed_members_max", number(limits::INDEXED_MEMBERS_MAX)),
        ("index_key_length_max", number(limits::INDEX_KEY_LENGTH_MAX)),
        ("page_size_default", number(limits::PAGE_SIZE_DEFAULT)),
        ("page_size_max", number(limits::PAGE_SIZE_MAX)),
        ("page_bytes_max", number(limits::PAGE_BYTES_MAX)),
        ("page_examined_max", number(limits::PAGE_EXAMINED_MAX)),
        ("event_values_max", number(limits::EVENT_VALUES_MAX)),
        ("page_comparisons_max", number(limits::PAGE_COMPARISONS_MAX)),
        ("tenants_max", number(limits::TENANTS_MAX)),
        ("id_parameters_max", number(limits::ID_PARAMETERS_MAX)),
        ("fields_max", number(limits::FIELDS_MAX)),
        ("csv_columns_max", number(limits::CSV_COLUMNS_MAX)),
        ("csv_row_bytes_max", number(limits::CSV_ROW_BYTES_MAX)),
        ("filter_length_max", number(limits::FILTER_LENGTH_MAX)),
        ("filter_depth_max", number(limits::FILTER_DEPTH_MAX)),
        ("filter_terms_max", number(limits::FILTER_TERMS_MAX)),
        ("search_length_max", number(limits::SEARCH_LENGTH_MAX)),
        ("search_words_max", number(limits::SEARCH_WORDS_MAX)),
        ("idempotency_key_length_max", number(limits::IDEMPOTENCY_KEY_LENGTH_MAX)),
        ("idempotency_keep_seconds", number(limits::IDEMPOTENCY_KEEP_MS / 1000)),
        ("deleted_keep_seconds", seconds(settings.deleted_keep)),
        ("events_keep_seconds", seconds(settings.events_keep)),
        ("rate_limit_per_s", number(settings.admission.rate_limit_per_s)),
        ("rate_limit_burst", number(settings.admission.rate_limit_burst)),
        ("log_bytes_per_hour", number(settings.admission.log_bytes_per_hour)),
        ("failed_auth_per_minute", number(settings.admission.failed_auth_per_minute)),
        ("locked_token_checks_per_s", number(LOCKED_TOKEN_CHECKS_PER_S)),
        ("locked_token_checks_total_per_s", number(LOCKED_TOKEN_CHECKS_TOTAL_PER_S)),
        ("keys_max", number(limits::KEYS_MAX)),
        ("key_name_length_max", number(limits::KEY_NAME_LENGTH_MAX)),
        ("key_lifetime_default_seconds", number(limits::KEY_LIFETIME_DEFAULT_MS / 1000)),
        ("key_overlap_max_seconds", number(limits::KEY_OVERLAP_MAX_MS / 1000)),
        ("token_bytes_max", number(roster_jwt::limits::TOKEN_BYTES_MAX)),
        ("token_subject_length_max", number(roster_jwt::limits::SUBJECT_LENGTH_MAX)),
        ("token_clock_skew_seconds", number(roster_jwt::limits::LEEWAY_MS / 1000)),
        ("issuers_max", number(roster_jwt::limits::ISSUERS_MAX)),
        ("issuer_keys_max", number(roster_jwt::limits::SET_KEYS_MAX)),
        ("issuer_answer_bytes_max", number(roster_jwt::limits::ANSWER_BYTES_MAX)),
        ("issuer_answer_wait_max_ms", number(roster_jwt::limits::ANSWER_WAIT_MAX.as_millis())),
        ("issuer_keys_refresh_seconds", number(roster_jwt::limits::TTL_MS / 1000)),
        ("issuer_keys_retry_seconds", number(roster_jwt::limits::COOLDOWN_MS / 1000)),
        ("issuer_keys_stale_seconds", number(roster_jwt::limits::STALE_MS / 1000)),
        ("queue_wait_max_ms", number(QUEUE_WAIT_MAX.as_millis())),
        ("page_wait_max_ms", number(PAGE_WAIT_MAX.as_millis())),
        ("read_wait_max_ms", number(settings.read_wait_max.as_millis())),
    ]);
    let more = [limits_of_streams(), limits_of_groups(), limits_of_the_store()];
    all.extend(more.into_iter().flatten().chain(limits_of_scim(settings)));
    Json::Object(all)
}

/// The limits of groups and their members.
fn limits_of_groups() -> Vec<(String, Json)> {
    members([
        ("group_members_max", number(limits::GROUP_MEMBERS_MAX)),
        ("group_members_change_max", number(limits::GROUP_MEMBERS_CHANGE_MAX)),
        ("group_members_named_max", number(limits::GROUP_MEMBERS_NAMED_MAX)),
        ("group_body_bytes_max", number(limits::GROUP_BODY_BYTES_MAX)),
        ("groups_of_member_max", number(limits::GROUPS_OF_MEMBER_MAX)),
        ("group_depth_max", number(limits::GROUP_DEPTH_MAX)),
        ("group_nesting_max", number(limits::GROUP_NESTING_MAX)),
        ("nested_memberships_max", number(limits::NESTED_MEMBERSHIPS_MAX)),
    ])
}

/// The limits of imports, exports, subscribers, sessions, and of the memory that callers use.
fn limits_of_streams() -> Vec<(String, Json)> {
    members([
        ("imports_max", number(IMPORTS_MAX)),
        ("imports_per_caller_max", number(IMPORTS_PER_CALLER_MAX)),
        ("exports_max", number(EXPORTS_MAX)),
        ("exports_per_caller_max", number(EXPORTS_PER_CALLER_MAX)),
        ("subscribers_max", number(SUBSCRIBERS_MAX)),
        ("subscribers_per_caller_max", number(SUBSCRIBERS_PER_CALLER_MAX)),
        ("webhook_tests_max", number(WEBHOOK_TESTS_MAX)),
        ("webhook_tests_per_caller_max", number(WEBHOOK_TESTS_PER_CALLER_MAX)),
        ("session_idle_seconds", number(SESSION_IDLE.as_secs())),
        ("session_max_seconds", number(SESSION_MAX.as_secs())),
        ("session_credential_bytes_max", number(SESSION_CREDENTIAL_BYTES_MAX)),
        ("held_bytes_max", number(roster_server::TOTAL_BYTES_MAX)),
        ("held_bytes_per_caller_max", number(roster_server::CALLER_BYTES_MAX)),
        ("held_bytes_per_connection_max", number(roster_server::CONNECTION_BYTES_MAX)),
        ("import_unread_bytes_max", number(roster_server::TOTAL_SPILL_BYTES_MAX)),
        ("import_unread_bytes_per_caller_max", number(roster_server::CALLER_SPILL_BYTES_MAX)),
    ])
}

fn limits_of_the_store() -> Vec<(String, Json)> {
    members([
        ("wal_bytes_max", number(limits::WAL_BYTES_MAX)),
        ("database_bytes_max", number(limits::DATABASE_BYTES_MAX)),
        ("total_exact_max", number(limits::TOTAL_EXACT_MAX)),
    ])
}

fn limits_of_scim(settings: &HttpSettings) -> Vec<(String, Json)> {
    members([
        ("bulk_operations_max", number(limits::BULK_OPERATIONS_MAX)),
        ("bulk_bytes_max", number(settings.body_bytes_max)),
        ("patch_operations_max", number(limits::PATCH_OPERATIONS_MAX)),
        ("patch_values_max", number(limits::PATCH_VALUES_MAX)),
        ("patch_comparisons_max", number(limits::COMPARISONS_MAX)),
        ("scim_page_size_default", number(scim::COUNT_DEFAULT)),
        ("scim_page_size_max", number(limits::PAGE_SIZE_MAX)),
        ("scim_page_bytes_max", number(scim::PAGE_BYTES_MAX)),
        ("scim_page_members_max", number(scim::PAGE_MEMBERS_MAX)),
        ("scim_page_reads_max", number(scim::PAGE_READS_MAX)),
        ("scim_page_groups_max", number(scim::PAGE_GROUPS_MAX)),
        ("scim_names_max", number(scim::NAMES_MAX)),
        ("scim_cursor_keep_seconds", number(scim::CURSOR_KEEP_MS / 1000)),
        ("scim_skip_max", number(scim::SKIP_MAX)),
        ("scim_places_max", number(scim::PLACES_MAX)),
        ("scim_place_keep_seconds", number(scim::PLACE_KEEP_MS / 1000)),
    ])
}
