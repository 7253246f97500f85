//! The limits of records, lists and requests, as named constants.
//!
//! The service document and the API description contain them. Interfaces and engines use these
//! constants.

/// The maximum size of a record as JSON, in bytes.
pub const USER_BYTES_MAX: usize = 64 * 1024;
/// The maximum size of a row of CSV, in bytes. Quotation marks are doubled in it, so the row of the
/// largest record may have twice its size.
pub const CSV_ROW_BYTES_MAX: usize = 2 * USER_BYTES_MAX;
/// The maximum number of columns of a file of CSV.
pub const CSV_COLUMNS_MAX: usize = 512;
/// A write may add this many times its own bytes to the change log without being charged.
pub const LOG_FREE_FACTOR: usize = 16;
/// The bytes that any write may add to the change log without being charged.
pub const LOG_FREE_BYTES_MIN: usize = 4 * 1024;
/// The default for the bytes beyond these that a caller may add to the change log in an hour.
pub const LOG_BYTES_PER_HOUR: u64 = 128 * 1024 * 1024;
/// The maximum size of `attributes` as JSON, in bytes.
pub const ATTRIBUTES_BYTES_MAX: usize = 16 * 1024;
/// The maximum number of levels of nesting inside `attributes`; the object itself is the first.
pub const ATTRIBUTES_DEPTH_MAX: usize = 8;
/// The maximum number of code points of an ordinary text member, after NFC.
pub const TEXT_LENGTH_MAX: usize = 256;
/// The maximum number of code points of the free lines of an address.
pub const ADDRESS_TEXT_LENGTH_MAX: usize = 1024;
/// The maximum number of code points of a text of `roles`, `entitlements` and `ims`, after NFC.
pub const ENTRY_TEXT_LENGTH_MAX: usize = 1024;
/// The maximum number of code points of a URL.
pub const URL_LENGTH_MAX: usize = 2048;
/// The maximum number of octets of an e-mail address (RFC 5321 section 4.5.3.1.3).
pub const EMAIL_LENGTH_MAX: usize = 254;
/// The maximum number of code points of a telephone number.
pub const PHONE_NUMBER_LENGTH_MAX: usize = 64;
/// The maximum number of characters of a certificate in base64.
pub const CERTIFICATE_LENGTH_MAX: usize = 8192;
/// The maximum number of entries of `addresses`.
pub const ADDRESSES_MAX: usize = 100;
/// The maximum number of entries of every other list.
pub const ENTRIES_MAX: usize = 500;
/// The maximum number of levels of nesting in any parsed JSON text.
pub const JSON_DEPTH_MAX: usize = 64;
/// The maximum number of values and of names of members in any parsed JSON text. Members of groups
/// that are read as they come do not count.
pub const JSON_VALUES_MAX: usize = 100_000;
/// The maximum number of errors that a response lists; it counts the others.
pub const ERRORS_MAX: usize = 32;
/// The maximum number of parameters of a query, not counting those named `id`.
pub const QUERY_PARAMETERS_MAX: usize = 64;

/// The number of users on a page without a `limit` parameter.
pub const PAGE_SIZE_DEFAULT: usize = 50;
/// The maximum number of users on a page.
pub const PAGE_SIZE_MAX: usize = 1000;
/// A page ends early once its records have this many bytes.
pub const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// A page ends early, possibly empty, once this many rows were examined.
pub const PAGE_EXAMINED_MAX: usize = 20_000;
/// The maximum number of types, and of actors, that a query for events names.
pub const EVENT_VALUES_MAX: usize = 20;
/// The maximum number of values of the repeatable `id` parameter.
pub const ID_PARAMETERS_MAX: usize = 100;
/// The maximum number of names in the `fields` parameter.
pub const FIELDS_MAX: usize = 64;
/// A filtered total is exact up to this number.
pub const TOTAL_EXACT_MAX: u64 = 10_000;
/// The maximum number of characters of an idempotency key.
pub const IDEMPOTENCY_KEY_LENGTH_MAX: usize = 255;
/// The time for which an idempotency record is stored, in milliseconds: 24 hours.
pub const IDEMPOTENCY_KEEP_MS: i64 = 24 * 60 * 60 * 1000;
/// The maximum number of tenants beside the default one.
pub const TENANTS_MAX: i64 = 100_000;
/// The maximum number of characters of a tenant's name.
pub const TENANT_NAME_LENGTH_MAX: usize = 63;
/// The maximum number of events of a request to a webhook.
pub const WEBHOOK_BATCH_MAX: usize = 100;

/// The maximum number of types of events of a webhook.
pub const WEBHOOK_TYPES_MAX: usize = 20;

/// The maximum number of webhooks of a tenant.
pub const WEBHOOKS_MAX: i64 = 100;

/// The maximum number of webhooks of all tenants.
pub const WEBHOOKS_OF_STORE_MAX: i64 = 10_000;

/// The maximum number of keys of a tenant. When it is reached, a new key replaces one that expired
/// or was revoked.
pub const KEYS_MAX: usize = 1000;
/// The maximum number of characters of a key's name.
pub const KEY_NAME_LENGTH_MAX: usize = 64;
/// The maximum number of scopes in the request for a new key. Fewer scopes exist, so a longer list
/// has duplicates.
pub const KEY_SCOPES_MAX: usize = 16;
/// The default lifetime of a key, in milliseconds: 365 days.
pub const KEY_LIFETIME_DEFAULT_MS: i64 = 365 * 24 * 60 * 60 * 1000;
/// The default time for which a rotated key's previous secret stays valid, in milliseconds: 24
/// hours.
pub const KEY_OVERLAP_DEFAULT_MS: i64 = 24 * 60 * 60 * 1000;
/// The maximum time for which a rotated key's previous secret may stay valid, in milliseconds: 30
/// days.
pub const KEY_OVERLAP_MAX_MS: i64 = 30 * 24 * 60 * 60 * 1000;
/// The maximum size of a filter, in bytes.
pub const FILTER_LENGTH_MAX: usize = 4096;
/// The maximum number of levels of nesting in a filter; the whole filter is the first.
pub const FILTER_DEPTH_MAX: usize = 32;
/// The maximum number of tests in a filter.
pub const FILTER_TERMS_MAX: usize = 64;
/// The maximum number of operations of one SCIM bulk request.
pub const BULK_OPERATIONS_MAX: usize = 1000;
/// The maximum number of operations of one SCIM PATCH.
pub const PATCH_OPERATIONS_MAX: usize = 1000;
/// The maximum number of values of one list, other than a group's members, while a SCIM PATCH is
/// executed. The resulting list has a separate limit.
pub const PATCH_VALUES_MAX: usize = 1000;
/// The number of bytes of a search text that are used; the rest is ignored.
pub const SEARCH_LENGTH_MAX: usize = 1024;
/// The number of words of a search that are used; further ones are ignored.
pub const SEARCH_WORDS_MAX: usize = 16;
/// The maximum number of code points of a search word; longer words are cut.
pub const WORD_LENGTH_MAX: usize = 64;
/// The maximum number of direct members of a group.
pub const GROUP_MEMBERS_MAX: u64 = 100_000;
/// The maximum number of members that one request may add and remove.
pub const GROUP_MEMBERS_CHANGE_MAX: usize = 20_000;
/// The maximum number of members that a replacement of a group may name: the maximum size of a
/// group.
pub const GROUP_MEMBERS_NAMED_MAX: usize = 100_000;
/// The maximum size of a request body about keys, tenants and webhooks, in bytes.
pub const ADMIN_BODY_BYTES_MAX: usize = 16 * 1024;
/// The maximum size of a SCIM request that creates, replaces or patches a group, in bytes: enough
/// for the largest group as responses contain it.
pub const GROUP_BODY_BYTES_MAX: usize = 20_000_000;
/// The maximum number of groups that a user or a group may be a direct member of.
pub const GROUPS_OF_MEMBER_MAX: u64 = 1000;
/// The maximum number of levels of nested groups; a group that is in no other is the first.
pub const GROUP_DEPTH_MAX: usize = 8;
/// The maximum number of memberships of groups in groups that are followed upwards, and downwards,
/// when a group joins another.
pub const GROUP_NESTING_MAX: usize = 10_000;
/// The maximum number of memberships that are read to find the groups around a user, at all levels.
pub const NESTED_MEMBERSHIPS_MAX: usize = 20_000;
/// The maximum number of unknown ids of members that a rejection lists.
pub const UNKNOWN_MEMBERS_LISTED_MAX: usize = 20;
/// The maximum number of members of `attributes` that the schema declares.
pub const DECLARED_MEMBERS_MAX: usize = 100;
/// The maximum number of members that the schema gives an index.
pub const INDEXED_MEMBERS_MAX: usize = 16;
/// The maximum number of characters of a value in such an index, after case folding.
pub const INDEX_KEY_LENGTH_MAX: usize = 256;
/// The maximum size of SQLite's write-ahead log while no other process reads the store, in bytes.
pub const WAL_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The maximum size of SQLite's database file, in bytes: below the size from which on the number
/// of a page may begin with the byte that marks a page of a tree. The sweep after a purge
/// distinguishes the two by this byte.
pub const DATABASE_BYTES_MAX: u64 = 128 * 1024 * 1024 * 1024 - 4096;
/// The maximum number of comparisons that one request may cause while its values are compared:
/// tests of a filter with values of groups, and operations of a SCIM PATCH with values of a list.
pub const COMPARISONS_MAX: u64 = 150_000;
/// A page of a list ends early, possibly empty, once its records needed this many comparisons.
/// Reading a record counts too, by its size.
pub const PAGE_COMPARISONS_MAX: u64 = 500_000;
/// Counting the matches of a list may take this many times the comparisons of a page.
pub const COUNT_FACTOR: u64 = 4;
