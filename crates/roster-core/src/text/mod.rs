//! The rules for single texts: which values a member may have, and the keys that compare them.
//!
//! All functions here are pure and know neither the record nor the store nor an interface. A
//! `check_*` function accepts a text or says what to change; a `*_key` function computes the form
//! that uniqueness and search compare. Stores contain keys, so a change of a key function is a
//! migration. A [`Detail`] never repeats the value, which may be personal; it contains at most a
//! single character of it.

use std::borrow::Cow;

mod bidi;
mod character;
mod control;
mod country;
mod digit;
mod email;
mod fold;
mod language;
mod near;
mod nfc;
mod phone;
mod pointer;
mod url;
mod username;
mod zone;

pub use character::{is_control_or_format, is_visible};
pub use control::{Controls, check_controls};
pub use country::check_country;
pub use digit::decimal_digit;
pub use email::{check_email, email_key};
pub use fold::fold_key;
pub use language::check_language_tag;
pub use near::{nearest, plain, synonym};
pub use nfc::nfc;
pub use phone::{check_phone, phone_key, phone_part};
pub use pointer::{Pointer, Segment, pointer};
pub use url::{check_absolute_url, is_script_url};
pub use username::{username_fold, username_key};
pub use zone::check_zone;

/// One sentence for people: what is wrong with a value, and how to correct it.
pub type Detail = Cow<'static, str>;
