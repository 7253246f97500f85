//! The rules for texts: the code and the detail of an invalid one.

use crate::{
    text::{
        Controls, Detail, check_absolute_url, check_controls, check_country, check_email,
        check_language_tag, check_phone, check_zone, is_script_url, is_visible, username_key,
    },
    timestamp::Timestamp,
    user::attribute::TextRule,
    write::violation::ViolationCode,
};

/// What is wrong with a text, without its pointer.
pub(crate) struct TextFault {
    pub(crate) code: ViolationCode,
    pub(crate) detail: Detail,
}

/// Checks a normalized text against its rule and returns its first fault.
pub(crate) fn check_rule(rule: TextRule, text: &str) -> Result<(), TextFault> {
    let controls =
        if rule == TextRule::AddressLines { Controls::LineBreaks } else { Controls::None };
    check_controls(text, controls).map_err(fault(ViolationCode::ControlCharacter))?;
    let max = rule.length_max();
    // A text with at most `max` bytes has at most `max` code points.
    if text.len() > max && text.chars().nth(max).is_some() {
        let detail = format!("shorten it to at most {max} characters");
        return Err(TextFault { code: ViolationCode::TooLong, detail: detail.into() });
    }
    match rule {
        TextRule::Plain | TextRule::EntryText | TextRule::AddressLines => Ok(()),
        TextRule::Name if is_visible(text) => Ok(()),
        TextRule::Name => {
            let detail = "give at least one visible character, or leave it out".into();
            Err(TextFault { code: ViolationCode::TooShort, detail })
        }
        TextRule::Username => {
            username_key(text).map(drop).map_err(fault(ViolationCode::InvalidUsername))
        }
        TextRule::Email => check_email(text).map_err(fault(ViolationCode::InvalidEmail)),
        TextRule::PhoneNumber => {
            check_phone(text).map_err(fault(ViolationCode::InvalidPhoneNumber))
        }
        TextRule::Url => check_absolute_url(text).map_err(|detail| {
            let is_script = is_script_url(text);
            let code = if is_script { ViolationCode::ScriptUrl } else { ViolationCode::InvalidUrl };
            TextFault { code, detail }
        }),
        TextRule::LanguageTag => {
            check_language_tag(text).map_err(fault(ViolationCode::InvalidLanguageTag))
        }
        TextRule::Zone => check_zone(text).map_err(fault(ViolationCode::InvalidZone)),
        TextRule::Time => stored_time(text).map(drop).ok_or_else(|| TextFault {
            code: ViolationCode::InvalidValue,
            detail: "write a time of RFC 3339, with its offset, like 2027-01-31T12:00:00Z".into(),
        }),
        TextRule::Country => check_country(text).map_err(fault(ViolationCode::InvalidCountry)),
        TextRule::Certificate => check_base64(text),
    }
}

/// The form in which a time is stored.
pub(super) fn stored_time(text: &str) -> Option<String> {
    Timestamp::parse(text).and_then(Timestamp::stored_form)
}

fn fault(code: ViolationCode) -> impl FnOnce(Detail) -> TextFault {
    move |detail| TextFault { code, detail }
}

/// Checks base64 (RFC 4648 section 4) with padding and without line breaks.
fn check_base64(text: &str) -> Result<(), TextFault> {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    let plain = digits.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'));
    if plain && padding <= 2 && !digits.is_empty() && text.len().is_multiple_of(4) {
        return Ok(());
    }
    let detail = "send the DER certificate in base64, in one line, with its padding".into();
    Err(TextFault { code: ViolationCode::InvalidCertificate, detail })
}
