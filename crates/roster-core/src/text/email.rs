//! E-mail addresses: the mailbox of RFC 5321 section 4.1.2, with the characters of RFC 6531.
//!
//! An address is `local@domain` without display name, comment or address literal. The domain is a
//! host name or an IDN; a single label is allowed (`root@localhost`). Limits count octets, as mail
//! servers do. The key follows no provider's conventions: dots and `+tags` stay.

use std::borrow::Cow;

use idna::AsciiDenyList;
use idna::uts46::{DnsLength, Hyphens, Uts46};

use super::Detail;
use super::character::{describe, is_invisible};
use super::fold::fold_key;

/// RFC 5321 section 4.5.3.1.3: a path of 256 octets, without its angle brackets.
const ADDRESS_OCTETS_MAX: usize = 254;
/// RFC 5321 section 4.5.3.1.1.
const LOCAL_OCTETS_MAX: usize = 64;
/// RFC 1035 section 2.3.4, without the length octets of the wire form.
const DOMAIN_OCTETS_MAX: usize = 253;
const LABEL_OCTETS_MAX: usize = 63;

/// Rejects a text that is not exactly one e-mail address.
pub fn check_email(typed: &str) -> Result<(), Detail> {
    if typed.len() > ADDRESS_OCTETS_MAX {
        return Err("an address has at most 254 octets: shorten it".into());
    }
    if let Some(c) = typed.chars().find(|&c| is_never_allowed(c)) {
        return Err(format!("remove {}: it is not allowed in an address", describe(c)).into());
    }
    let Some((local, domain)) = typed.rsplit_once('@') else {
        return Err("write an address such as name@example.com: the `@` is missing".into());
    };
    check_local(local).and_then(|()| check_domain(domain)).map_err(|detail| {
        // The first error of `Ada <ada@example.com>` is its space, which is not what the caller
        // must fix.
        if typed.contains(['<', '>']) {
            "give the address alone, without a name or angle brackets".into()
        } else {
            detail
        }
    })
}

/// The form by which addresses are compared: case-folded local part, `@`, and the domain in lower
/// case as A-labels. A text without a valid domain is folded as a whole, so every text has a key.
pub fn email_key(typed: &str) -> String {
    let parts = typed.rsplit_once('@').filter(|(local, _)| !local.is_empty());
    let Some((local, domain)) = parts else {
        return fold_key(typed);
    };
    let Some(domain) = domain_key(domain) else {
        return fold_key(typed);
    };
    let mut key = without_needless_quotes(fold_key(local));
    key.reserve_exact(1 + domain.len());
    key.push('@');
    key.push_str(&domain);
    key
}

fn is_never_allowed(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_control()
    } else {
        c.is_control() || c.is_whitespace() || is_invisible(c)
    }
}

fn check_local(local: &str) -> Result<(), Detail> {
    if local.is_empty() {
        return Err("write the name before the `@`".into());
    }
    if local.len() > LOCAL_OCTETS_MAX {
        return Err("the part before the `@` has at most 64 octets: shorten it".into());
    }
    check_local_syntax(local)
}

fn check_local_syntax(local: &str) -> Result<(), Detail> {
    if let Some(rest) = local.strip_prefix('"') {
        return check_quoted(rest);
    }
    if let Some(c) = local.chars().find(|&c| c != '.' && !is_atext(c)) {
        return Err(error_in_local(c));
    }
    if local.split('.').any(str::is_empty) {
        return Err("a dot before the `@` must be between other characters: not first, not last, \
                    not doubled"
            .into());
    }
    Ok(())
}

/// RFC 5321 section 4.1.2 `Quoted-string`, after its opening quote.
fn check_quoted(rest: &str) -> Result<(), Detail> {
    let Some(content) = rest.strip_suffix('"').filter(|content| !content.is_empty()) else {
        return Err(
            "a quoted name before the `@` needs a quote at both ends and text between".into()
        );
    };
    let mut chars = content.chars();
    while let Some(c) = chars.next() {
        let is_valid = match c {
            '\\' => chars.next().is_some_and(|escaped| matches!(escaped, ' '..='~')),
            other => other != '"',
        };
        if !is_valid {
            return Err(
                "write `\\\"` for a quote and `\\\\` for a backslash inside a quoted name".into()
            );
        }
    }
    Ok(())
}

/// RFC 5322 section 3.2.3, and all characters beyond ASCII by RFC 6531 section 3.3.
fn is_atext(c: char) -> bool {
    !c.is_ascii() || c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c)
}

fn error_in_local(c: char) -> Detail {
    match c {
        ' ' => "remove the space from the address".into(),
        '@' => "an address has one `@`: give one address".into(),
        ',' | ';' => "give one address, not a list".into(),
        '(' | ')' => "leave the comment in round brackets out of the address".into(),
        ':' => "remove the text up to the `:`, such as mailto:".into(),
        _ => format!("{} is not allowed before the `@`", describe(c)).into(),
    }
}

fn check_domain(domain: &str) -> Result<(), Detail> {
    if domain.is_empty() {
        return Err("write the domain after the `@`, such as example.com".into());
    }
    if domain.starts_with('[') {
        return Err("write a domain name after the `@`, not an address in brackets".into());
    }
    let Some(key) = domain_key(domain) else {
        return Err(error_in_domain(domain));
    };
    let last_label = key.rsplit('.').next().unwrap_or_default();
    if last_label.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("write a domain name after the `@`, not a network address".into());
    }
    Ok(())
}

fn error_in_domain(domain: &str) -> Detail {
    let is_host_character =
        |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "-.".contains(c);
    match domain.chars().find(|&c| !is_host_character(c)) {
        Some(' ') => "remove the space from the address".into(),
        Some(',' | ';') => "give one address, not a list".into(),
        Some('(' | ')') => "leave the comment in round brackets out of the address".into(),
        Some(c) => format!("{} is not allowed in the domain after the `@`", describe(c)).into(),
        None if domain.split('.').any(str::is_empty) => {
            "a dot in the domain must be between other characters: not first, not last, not doubled"
                .into()
        }
        None => "the text after the `@` is not a valid domain name: check its spelling".into(),
    }
}

/// The domain in lower case as A-labels (RFC 5890); `None` if it is not a host name.
fn domain_key(domain: &str) -> Option<Cow<'_, str>> {
    if is_plain_host_name(domain) {
        return Some(if domain.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(domain.to_ascii_lowercase())
        } else {
            Cow::Borrowed(domain)
        });
    }
    Uts46::new()
        .to_ascii(
            domain.as_bytes(),
            AsciiDenyList::STD3,
            Hyphens::CheckFirstLast,
            DnsLength::Verify,
        )
        .ok()
}

/// Whether all labels are ASCII and none is an A-label. For such names IDNA only lowers the case.
fn is_plain_host_name(domain: &str) -> bool {
    domain.len() <= DOMAIN_OCTETS_MAX && domain.split('.').all(is_plain_label)
}

fn is_plain_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    (1..=LABEL_OCTETS_MAX).contains(&bytes.len())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
        && bytes.first() != Some(&b'-')
        && bytes.last() != Some(&b'-')
        && !bytes.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"xn--"))
}

/// `"ada"@` and `ada@` are one mailbox (RFC 5321 section 4.1.2), so the key has no unnecessary
/// quotes and backslashes.
fn without_needless_quotes(local: String) -> String {
    let quoted = local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let Some(quoted) = quoted.filter(|_| check_local_syntax(&local).is_ok()) else {
        return local;
    };
    let mut bare = String::with_capacity(quoted.len());
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        bare.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    if !bare.starts_with('"') && check_local_syntax(&bare).is_ok() {
        return bare;
    }
    format!("\"{}\"", bare.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests;
