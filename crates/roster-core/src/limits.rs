//! The limits of a record and of a list, each with its name.
//!
//! They are shown in the service document and in the API description; a face or an engine that
//! needs a limit takes it from here.

/// Most bytes of a whole record as JSON.
pub const USER_BYTES_MAX: usize = 64 * 1024;
/// Most bytes of `attributes` as JSON.
pub const ATTRIBUTES_BYTES_MAX: usize = 16 * 1024;
/// Most levels of nesting inside `attributes`; the object itself is the first.
pub const ATTRIBUTES_DEPTH_MAX: usize = 8;
/// Most code points of an ordinary text member, after NFC.
pub const TEXT_LENGTH_MAX: usize = 256;
/// Most code points of the free lines of an address.
pub const ADDRESS_TEXT_LENGTH_MAX: usize = 1024;
/// Most code points of a URL.
pub const URL_LENGTH_MAX: usize = 2048;
/// Most octets of an e-mail address (RFC 5321 section 4.5.3.1.3).
pub const EMAIL_LENGTH_MAX: usize = 254;
/// Most code points of a telephone number.
pub const PHONE_NUMBER_LENGTH_MAX: usize = 64;
/// Most characters of a certificate in base64.
pub const CERTIFICATE_LENGTH_MAX: usize = 8192;
/// Most entries of `addresses`.
pub const ADDRESSES_MAX: usize = 10;
/// Most entries of every other list.
pub const ENTRIES_MAX: usize = 20;
/// Most levels of nesting in any JSON text that is read.
pub const JSON_DEPTH_MAX: usize = 64;
/// Most errors that a response lists; it counts the others.
pub const ERRORS_MAX: usize = 32;
/// Most parameters of a query, not counting those named `id`.
pub const QUERY_PARAMETERS_MAX: usize = 64;

/// Users on a page when the caller does not say.
pub const PAGE_SIZE_DEFAULT: usize = 50;
/// Most users on a page.
pub const PAGE_SIZE_MAX: usize = 1000;
/// A page ends early once its records hold this many bytes.
pub const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// A page ends early, perhaps empty, once this many rows were looked at.
pub const PAGE_EXAMINED_MAX: usize = 20_000;
/// Most values of the repeatable `id` parameter.
pub const ID_PARAMETERS_MAX: usize = 100;
/// Most names in the `fields` parameter.
pub const FIELDS_MAX: usize = 64;
/// A filtered total is exact up to here.
pub const TOTAL_EXACT_MAX: u64 = 10_000;
/// Most characters of an idempotency key.
pub const IDEMPOTENCY_KEY_LENGTH_MAX: usize = 255;
/// Milliseconds for which an idempotency key is remembered.
pub const IDEMPOTENCY_KEEP_MS: i64 = 24 * 60 * 60 * 1000;
/// Most keys; once there are as many, a new one takes the place of one that ended.
pub const KEYS_MAX: usize = 1000;
/// Most characters of a key's name.
pub const KEY_NAME_LENGTH_MAX: usize = 64;
/// Most scopes that are sent for a new key; there are fewer, so that more name one twice.
pub const KEY_SCOPES_MAX: usize = 16;
/// Milliseconds that a key lives when its maker does not say: 365 days.
pub const KEY_LIFETIME_DEFAULT_MS: i64 = 365 * 24 * 60 * 60 * 1000;
/// Milliseconds for which a rotated key's former secret opens when nobody says otherwise.
pub const KEY_OVERLAP_DEFAULT_MS: i64 = 24 * 60 * 60 * 1000;
/// Most milliseconds for which a rotated key's former secret may open: 30 days.
pub const KEY_OVERLAP_MAX_MS: i64 = 30 * 24 * 60 * 60 * 1000;
/// Most bytes of a filter.
pub const FILTER_LENGTH_MAX: usize = 4096;
/// Most levels of nesting in a filter; the whole is the first.
pub const FILTER_DEPTH_MAX: usize = 32;
/// Most tests in a filter.
pub const FILTER_TERMS_MAX: usize = 64;
/// Most operations of one bulk request of SCIM.
pub const BULK_OPERATIONS_MAX: usize = 1000;
/// Most operations of one PATCH in SCIM's words.
pub const PATCH_OPERATIONS_MAX: usize = 1000;
/// Most values of one list, other than a group's members, while a PATCH is carried out; the list
/// that comes out is held to its own limit.
pub const PATCH_VALUES_MAX: usize = 200;
/// Most bytes of what is searched for.
pub const SEARCH_LENGTH_MAX: usize = 1024;
/// Most words that are searched for at once.
pub const SEARCH_WORDS_MAX: usize = 4;
/// Most code points of a word; what is longer is cut there.
pub const WORD_LENGTH_MAX: usize = 64;
/// Most direct members of a group.
pub const GROUP_MEMBERS_MAX: u64 = 100_000;
/// Most members that one request may name.
pub const GROUP_MEMBERS_CHANGE_MAX: usize = 20_000;
/// Most groups that a user or a group may be a direct member of.
pub const GROUPS_OF_MEMBER_MAX: u64 = 1000;
/// Most groups within one another: a group that is in no other is the first.
pub const GROUP_DEPTH_MAX: usize = 8;
/// Most groups above and most groups below that are looked at when a group joins another.
pub const GROUP_NESTING_MAX: usize = 10_000;
/// So many of the ids that name nobody are told.
pub const UNKNOWN_MEMBERS_TOLD_MAX: usize = 20;
/// Most bytes of the write-ahead log over SQLite while no other process reads the store.
pub const WAL_BYTES_MAX: u64 = 256 * 1024 * 1024;
