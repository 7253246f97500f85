//! Which addresses are valid, the errors of the others, and which addresses have the same key.
//!
//! For ASCII addresses the crate email_address is an independent check. It is not used beyond
//! ASCII, because it rejects the vowel signs of addresses in Indic scripts.

use std::str::FromStr;

use email_address::{EmailAddress, Options};
use proptest::prelude::*;

use super::*;

#[test]
fn common_addresses_are_valid() {
    for typed in [
        "ada@example.com",
        "ada.lovelace+notes@mail.example.co.uk",
        "o'neill@example.com",
        "a@b",
        "root@localhost",
        "x@1and1.com",
        "x@r3---sn-a.example.com",
        "!#$%&'*+-/=?^_`{|}~@example.com",
        "\"ada lovelace\"@example.com",
        "\"a@b\"@example.com",
        "\"a\\\"b\\\\\"@example.com",
        "\"<ada>\"@example.com",
        "ada@EXAMPLE.com",
        "ada@münchen.de",
        "ada@MÜNCHEN.DE",
        "ada@xn--mnchen-3ya.de",
        "用户@例子.广告",
        "सम्पर्क@डाटामेल.भारत",
        "юзер@екзампл.ком",
        "θσερ@εχαμπλε.ψομ",
        "Dörte@Sörensen.example.com",
        "علي@مثال.إختبار",
        "nfranchuk@balaban-zatovkaniuk.укр",
        "👩‍🚀@example.com",
    ] {
        assert_eq!(check_email(typed), Ok(()), "{typed}");
    }
}

#[test]
fn other_texts_are_rejected_with_what_to_do() {
    for (typed, part) in [
        ("", "the `@` is missing"),
        ("ada", "the `@` is missing"),
        ("ada.example.com", "the `@` is missing"),
        ("ada\u{FF20}example.com", "the `@` is missing"),
        ("@example.com", "before the `@`"),
        ("ada@", "after the `@`"),
        ("ada@lovelace@example.com", "one `@`"),
        ("Ada <ada@example.com>", "the address alone"),
        ("<ada@example.com>", "the address alone"),
        ("mailto:ada@example.com", "mailto:"),
        ("ada@example.com, bob@example.com", "one address"),
        ("ada@example.com;bob@example.com", "one address"),
        ("ada;bob@example.com", "not a list"),
        ("ada@example.com,bob", "not a list"),
        ("ada(the first)@example.com", "comment"),
        ("ada@example.com (Ada)", "space"),
        ("ada lovelace@example.com", "space"),
        (" ada@example.com", "space"),
        ("ada@example.com ", "space"),
        (".ada@example.com", "a dot"),
        ("ada.@example.com", "a dot"),
        ("ada..l@example.com", "a dot"),
        ("ada@example..com", "a dot"),
        ("ada@.example.com", "a dot"),
        ("ada@example.com.", "a dot"),
        ("ada@[127.0.0.1]", "in brackets"),
        ("ada@[IPv6:::1]", "in brackets"),
        ("ada@127.0.0.1", "network address"),
        ("ada@12", "network address"),
        ("ada@ex_ample.com", "`_` (U+005F)"),
        ("ada@example!com", "`!` (U+0021)"),
        ("ada@-example.com", "valid domain"),
        ("ada@example-.com", "valid domain"),
        ("ada@xn--a.com", "valid domain"),
        ("ada@a\u{378}.com", "valid domain"),
        ("ada\\b@example.com", "`\\` (U+005C)"),
        ("a\"b@example.com", "`\"` (U+0022)"),
        ("\"ada@example.com", "quote at both ends"),
        ("\"\"@example.com", "quote at both ends"),
        ("\"@example.com", "quote at both ends"),
        ("\"a\"b\"@example.com", "for a quote"),
        ("\"a\\\"@example.com", "for a quote"),
        ("ada\u{7}@example.com", "U+0007"),
        ("\"a\u{7}\"@example.com", "U+0007"),
        ("ada@example.com\n", "U+000A"),
        ("ada\u{85}@example.com", "U+0085"),
        ("ada\u{A0}@example.com", "U+00A0"),
        ("ada@exam\u{200B}ple.com", "U+200B"),
        ("\u{202A}ada@example.com\u{202C}", "U+202A"),
    ] {
        let detail = check_email(typed).expect_err(typed);
        assert!(detail.contains(part), "{typed:?}: {detail}");
        assert!(!detail.contains("ada") && !detail.contains("lovelace"), "{detail}");
    }
}

#[test]
fn limits_count_octets() {
    let local = "a".repeat(64);
    assert_eq!(check_email(&format!("{local}@example.com")), Ok(()));
    assert!(check_email(&format!("{local}a@example.com")).is_err());
    assert_eq!(check_email(&format!("{}@example.com", "é".repeat(32))), Ok(()));
    assert!(check_email(&format!("{}@example.com", "é".repeat(33))).is_err());

    let label = "d".repeat(63);
    assert_eq!(check_email(&format!("a@{label}.com")), Ok(()));
    assert!(check_email(&format!("a@{label}d.com")).is_err());

    let domain = format!("{label}.{label}.{label}.{}", "d".repeat(59));
    assert_eq!(domain.len(), 251);
    assert_eq!(check_email(&format!("ab@{domain}")), Ok(()));
    assert!(check_email(&format!("abc@{domain}")).is_err());
}

#[test]
fn spellings_of_one_mailbox_share_a_key() {
    for (one, other) in [
        ("Ada@Example.COM", "ada@example.com"),
        ("ada@MÜNCHEN.de", "ADA@xn--mnchen-3ya.de"),
        ("ada@XN--MNCHEN-3YA.de", "ada@mu\u{308}nchen.DE"),
        ("ada@例子。广告", "ada@例子.广告"),
        ("Zoe\u{308}@example.com", "zoë@example.com"),
        ("STRASSE@example.com", "straße@example.com"),
        ("\"ada\"@example.com", "ada@example.com"),
        ("\"a\\d\\a\"@example.com", "ada@example.com"),
        ("\"a\\ b\"@example.com", "\"A b\"@example.com"),
    ] {
        assert_eq!(email_key(one), email_key(other), "{one} and {other}");
    }
    assert_eq!(email_key("Ada.L+x@MÜNCHEN.de"), "ada.l+x@xn--mnchen-3ya.de");
}

#[test]
fn different_mailboxes_keep_different_keys() {
    for (one, other) in [
        ("ada.l@example.com", "adal@example.com"),
        ("ada+x@example.com", "ada@example.com"),
        ("\"a b\"@example.com", "\"ab\"@example.com"),
        ("\"a\\\\b\"@example.com", "\"ab\"@example.com"),
        ("ada@straße.de", "ada@strasse.de"),
        ("ada@example.com", "ada@mail.example.com"),
    ] {
        assert_ne!(email_key(one), email_key(other), "{one} and {other}");
    }
}

#[test]
fn invalid_addresses_are_folded_as_a_whole() {
    for (typed, key) in [
        ("", ""),
        ("Ada", "ada"),
        ("@Example.com", "@example.com"),
        ("Ada@", "ada@"),
        ("Ada@EX AMPLE", "ada@ex ample"),
        ("Ada@[127.0.0.1]", "ada@[127.0.0.1]"),
        ("GROẞ@-", "gross@-"),
    ] {
        assert_eq!(email_key(typed), key);
    }
}

proptest! {
    #[test]
    fn ascii_addresses_are_checked_as_by_the_crate(
        local in "[a-c.+!\"\\\\ @<>(,:]{1,5}|\"[a-c @.<\\\\\"]{1,4}\"",
        domain in "[a-cA-C0-9.-]{1,8}(\\.com)?|[a-c]{1,3}[ _!,>\\[\\]]",
    ) {
        let typed = format!("{local}@{domain}");
        let options = Options::default().without_display_text().without_domain_literal();
        let second = EmailAddress::parse_with_options(&typed, options).is_ok();
        let number = domain.rsplit('.').next().unwrap().bytes().all(|byte| byte.is_ascii_digit());
        let ours = check_email(&typed).is_ok();
        // The crate splits off a display name inside quotes, and rejects the quoted pair of a
        // space, which RFC 5321 allows (quoted-pairSMTP).
        if typed.contains(" <") || typed.contains("\\ ") {
            return Ok(());
        }
        prop_assert_eq!(ours, second && !number, "{}", typed);
    }

    #[test]
    fn every_generated_address_is_valid(
        typed in "[a-z0-9]{1,10}([.+_-][a-z0-9]{1,10}){0,3}@[a-z0-9]{1,12}(\\.[a-z]{2,8}){1,3}"
    ) {
        prop_assert_eq!(check_email(&typed), Ok(()));
        prop_assert!(EmailAddress::from_str(&typed).is_ok());
        prop_assert_eq!(email_key(&typed.to_ascii_uppercase()), typed);
    }

    #[test]
    fn the_fast_path_of_ascii_domains_equals_idna(
        domain in "[a-zA-Z0-9.-]{1,20}|([a-z0-9-]{1,70}\\.){1,5}[a-z]{2,4}|[xX][nN]--[a-z0-9-]{0,9}"
    ) {
        let by_idna = Uts46::new()
            .to_ascii(
                domain.as_bytes(),
                AsciiDenyList::STD3,
                Hyphens::CheckFirstLast,
                DnsLength::Verify,
            )
            .ok();
        prop_assert_eq!(domain_key(&domain), by_idna);
    }

    #[test]
    fn a_key_is_the_key_of_itself(
        typed in "[a-cA-Cäß\"\\\\ .]{1,6}@[a-zA-ZäÖé例。.-]{1,8}|\\PC{0,12}@?\\PC{0,12}"
    ) {
        let key = email_key(&typed);
        prop_assert_eq!(email_key(&key), key);
    }
}
