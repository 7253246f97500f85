//! Absolute URLs of pictures and profile pages.
//!
//! A URL has a scheme, and a host if the scheme is http or https. It contains the characters of RFC
//! 3986 or, beyond ASCII, of the WHATWG URL Standard. A scheme that runs code or contains its own
//! content is rejected, because a page that displays the value would run it.

use url::Url;

use super::Detail;
use super::character::{describe, is_invisible};

const LENGTH_MAX: usize = 2048;

/// Rejects a text that is not an absolute URL that a page can display safely.
pub fn check_absolute_url(typed: &str) -> Result<(), Detail> {
    if typed.len() > LENGTH_MAX && typed.chars().nth(LENGTH_MAX).is_some() {
        return Err("a URL has at most 2048 characters: use a shorter one".into());
    }
    // This precedes parsing: the URL Standard skips tabs and line breaks, so `java<TAB>script:`
    // would pass the check of the scheme.
    if let Some(c) = typed.chars().find(|&c| is_invalid(c)) {
        return Err(error_at(c));
    }
    let Some((scheme, rest)) = typed.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) else {
        return Err("write an absolute URL, beginning with https://".into());
    };
    check_scheme(scheme, rest)?;
    if !has_whole_escapes(typed) {
        return Err("write a percent sign in a URL as `%25`".into());
    }
    match Url::parse(typed) {
        Ok(_) => Ok(()),
        Err(url::ParseError::InvalidPort) => {
            Err("the port in the URL is a number up to 65535".into())
        }
        Err(_) => Err("this is not a valid URL: check the host name after the `//`".into()),
    }
}

/// Whether a browser would take this text for a URL that is a script. Browsers ignore spaces before
/// the scheme and line breaks within it.
pub fn is_script_url(typed: &str) -> bool {
    Url::parse(typed).is_ok_and(|url| matches!(url.scheme(), "javascript" | "vbscript"))
}

fn check_scheme(scheme: &str, rest: &str) -> Result<(), Detail> {
    let is = |known: &str| scheme.eq_ignore_ascii_case(known);
    if is("javascript") || is("vbscript") {
        return Err(
            "a page that shows this URL would run it as a script: give an https:// URL".into()
        );
    }
    if is("data") {
        return Err(
            "a data: URL can carry a script into the page that shows it: give the https:// \
                    URL of the content"
                .into(),
        );
    }
    let has_authority = rest.strip_prefix("//").is_some_and(|host| !host.starts_with('/'));
    if (is("http") || is("https")) && !has_authority {
        return Err("write `//` and the host after the scheme, such as https://example.com/".into());
    }
    // `example.com:8080/ada.png`, `localhost:8080` and `C:/ada.png` begin with what looks like a
    // scheme.
    if scheme.contains('.') || is("localhost") || scheme.len() == 1 {
        return Err("write an absolute URL, beginning with https://".into());
    }
    Ok(())
}

/// RFC 3986 section 3.1.
fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Whether a character is outside both standards. Square brackets are allowed everywhere: RFC 3986
/// allows them only in hosts, but query strings often have them.
fn is_invalid(c: char) -> bool {
    if c.is_ascii() {
        !c.is_ascii_graphic() || "\"<>\\^`{|}".contains(c)
    } else {
        c.is_control() || c.is_whitespace() || is_invisible(c)
    }
}

fn error_at(c: char) -> Detail {
    if c == ' ' {
        "write a space in a URL as `%20`".into()
    } else if c.is_ascii_graphic() {
        format!("write {} in a URL as `%{:02X}`", describe(c), u32::from(c)).into()
    } else {
        format!("remove {} from the URL", describe(c)).into()
    }
}

/// Whether two hexadecimal digits follow each `%` (RFC 3986 section 2.1).
fn has_whole_escapes(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        after
            .as_bytes()
            .first_chunk::<2>()
            .is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn absolute_urls_are_valid() {
        for typed in [
            "https://example.com",
            "http://example.com/ada.png",
            "HTTPS://EXAMPLE.COM/",
            "https://example.com:8443/a/b?c=d&e[]=f#g",
            "https://[2001:db8::1]/a.png",
            "https://127.0.0.1/ada",
            "http://localhost:8080/ada.png",
            "https://münchen.de/straße",
            "https://例子.广告/路径?询=问",
            "https://example.com/a%20b",
            "ftp://example.com/ada.png",
            "urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
            "mailto:ada@example.com",
            "https://picsum.photos/536/354",
            "https://example.com/~ada/(1)!$&'*+,;=:@",
        ] {
            assert_eq!(check_absolute_url(typed), Ok(()), "{typed}");
        }
    }

    #[test]
    fn other_texts_are_rejected_with_what_to_do() {
        for (typed, part) in [
            ("", "beginning with https://"),
            ("ada.png", "beginning with https://"),
            ("/ada.png", "beginning with https://"),
            ("//example.com/ada.png", "beginning with https://"),
            ("example.com/ada.png", "beginning with https://"),
            ("example.com:8080/ada.png", "beginning with https://"),
            ("localhost:8080/ada.png", "beginning with https://"),
            ("C:/ada.png", "beginning with https://"),
            ("://example.com", "beginning with https://"),
            ("1https://example.com", "beginning with https://"),
            ("https:example.com", "the host after the scheme"),
            ("https:/example.com", "the host after the scheme"),
            ("https:///example.com", "the host after the scheme"),
            ("https://", "valid URL"),
            ("https://?a", "valid URL"),
            ("https://:80/", "valid URL"),
            ("https://a b.com", "`%20`"),
            ("https://exa%00mple.com/", "valid URL"),
            ("https://1.2.3.400/", "valid URL"),
            ("https://example.com:99999/", "65535"),
            ("https://example.com/<ada>", "`%3C`"),
            ("https://example.com/\"ada\"", "`%22`"),
            ("https:\\\\example.com", "`%5C`"),
            ("https://example.com/a%2", "`%25`"),
            ("https://example.com/100%", "`%25`"),
            ("https://example.com/%zz", "`%25`"),
            ("https://example.com/\u{202E}gnp.ada", "U+202E"),
            ("https://example.com/ada\n", "U+000A"),
            ("https://example.com/a\u{A0}b", "U+00A0"),
        ] {
            let detail = check_absolute_url(typed).expect_err(typed);
            assert!(detail.contains(part), "{typed:?}: {detail}");
            assert!(!detail.contains("ada"), "{detail}");
        }
    }

    #[test]
    fn a_url_that_would_run_in_a_page_is_rejected() {
        for typed in [
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            "javascript://example.com/%0aalert(1)",
            "java\tscript:alert(1)",
            " javascript:alert(1)",
            "\u{1}javascript:alert(1)",
            "vbscript:msgbox(1)",
            "data:image/png;base64,iVBORw0KGgo=",
            "DATA:text/html,hello",
        ] {
            assert!(check_absolute_url(typed).is_err(), "{typed}");
        }
        let detail = check_absolute_url("data:image/png;base64,iVBORw0KGgo=").unwrap_err();
        assert!(detail.contains("carry a script"), "{detail}");
    }

    #[test]
    fn length_counts_code_points() {
        let start = "https://example.com/";
        let full = |c: &str| format!("{start}{}", c.repeat(LENGTH_MAX - start.len()));
        for c in ["a", "é"] {
            assert_eq!(check_absolute_url(&full(c)), Ok(()));
            assert!(check_absolute_url(&format!("{}{c}", full(c))).is_err());
        }
    }

    proptest! {
        #[test]
        fn a_valid_url_never_has_a_scheme_that_runs(
            typed in "[\\PC\t\n]{0,3}[jJ][aA][\t]?vascript[\\PC\t]{0,2}:\\PC{0,9}"
        ) {
            if check_absolute_url(&typed).is_ok() {
                let parsed = Url::parse(&typed).unwrap();
                prop_assert!(parsed.scheme() != "javascript", "{}", typed);
            }
        }
    }
}
