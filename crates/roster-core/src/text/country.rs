//! Country codes of addresses: ISO 3166-1 alpha-2.
//!
//! The assigned codes in capitals, and `XK`, a user-assigned code that is in general use for
//! Kosovo. The error for another spelling names the right code.

use super::Detail;

/// Common codes that are not assigned, with the correct code.
const MEANT: [(&str, &str); 2] = [("UK", "GB"), ("EL", "GR")];

/// Rejects a text that is not an assigned country code.
pub fn check_country(typed: &str) -> Result<(), Detail> {
    if is_assigned(typed) {
        return Ok(());
    }
    let capitals = typed.trim().to_ascii_uppercase();
    if let Some((_, code)) = MEANT.iter().find(|(written, _)| *written == capitals) {
        return Err(format!("write {code}, the code of ISO 3166-1 for this country").into());
    }
    if is_assigned(&capitals) {
        return Err(format!("write {capitals} in capitals, with nothing around it").into());
    }
    match rust_iso3166::from_alpha3(&capitals) {
        Some(country) => Err(format!("write {}, the code of two letters", country.alpha2).into()),
        None => {
            Err("write the country as its code of two capitals in ISO 3166-1, such as GB".into())
        }
    }
}

fn is_assigned(code: &str) -> bool {
    code == "XK" || rust_iso3166::from_alpha2(code).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assigned_codes_pass_and_no_others() {
        let letters = || 'A'..='Z';
        let codes: Vec<String> = letters()
            .flat_map(|first| letters().map(move |second| format!("{first}{second}")))
            .filter(|code| check_country(code).is_ok())
            .collect();
        // 249 codes are assigned; the 250th is XK.
        assert_eq!(codes.len(), 250);
        for code in ["GB", "DE", "US", "CD", "SS", "BQ", "CW", "TW", "PS", "AX", "XK"] {
            assert!(codes.iter().any(|known| known == code), "{code}");
        }
        for code in ["UK", "EU", "SU", "YU", "CS", "AN", "XX", "ZZ", "AA", "AC"] {
            assert!(!codes.iter().any(|known| known == code), "{code}");
        }
    }

    #[test]
    fn the_error_names_the_code_that_was_meant() {
        for (typed, detail) in [
            ("gb", "write GB in capitals, with nothing around it"),
            (" GB", "write GB in capitals, with nothing around it"),
            ("UK", "write GB, the code of ISO 3166-1 for this country"),
            ("uk", "write GB, the code of ISO 3166-1 for this country"),
            ("GBR", "write GB, the code of two letters"),
            ("deu", "write DE, the code of two letters"),
        ] {
            assert_eq!(check_country(typed).unwrap_err(), detail);
        }
    }

    #[test]
    fn other_texts_are_rejected() {
        for typed in ["", "G", "Germany", "276", "XX", "ＧＢ", "D E", "\u{1F1EC}\u{1F1E7}"] {
            assert!(check_country(typed).is_err(), "{typed}");
        }
    }
}
