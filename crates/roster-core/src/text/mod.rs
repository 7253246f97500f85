//! The rules of single strings: what may stand in a member, and the key it is compared by.
//!
//! Everything here is a pure function of its argument; nothing knows the record, the store or
//! a face. A `check_*` function says yes or tells a person what to do; a `*_key` function makes
//! the form that uniqueness and search compare. Keys are kept by the stores: a change to any
//! of them is a migration. A `Detail` never repeats the value it speaks of, for values are
//! personal; a single character of it is the most that is shown.

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

pub use character::is_control_or_format;
pub use control::{Controls, check_controls};
pub use country::check_country;
pub use digit::decimal_digit;
pub use email::{check_email, email_key};
pub use fold::fold_key;
pub use language::check_language_tag;
pub use near::nearest;
pub use nfc::nfc;
pub use phone::{check_phone, phone_key};
pub use pointer::{Pointer, Segment, pointer};
pub use url::check_absolute_url;
pub use username::username_key;
pub use zone::check_zone;

/// One sentence for a person: what is wrong with a value, and what to do about it.
pub type Detail = Cow<'static, str>;
