//! The member that was meant by a name nobody knows.
//!
//! Asked only when a name is refused, so it may take its time, but not on a name of any length.
//! A guess must be better than none: another spelling of the same words, a word the field uses
//! for the same thing, or a slip of the fingers. It proposes nothing that is not a candidate.

/// Longer names are no slips, and comparing costs the product of the lengths.
const LENGTH_MAX: usize = 64;

/// What other directories and standards call our members, without case and marks.
const SYNONYMS: [(&str, &str); 51] = [
    ("active", "status"),
    ("address", "addresses"),
    ("avatar", "picture"),
    ("avatarurl", "picture"),
    ("cell", "phone_number"),
    ("company", "organization"),
    ("created", "created_at"),
    ("custom", "attributes"),
    ("customattributes", "attributes"),
    ("disabled", "status"),
    ("emailaddress", "email"),
    ("emailaddresses", "emails"),
    ("employeeid", "employee_number"),
    ("enabled", "status"),
    ("firstname", "given_name"),
    ("forename", "given_name"),
    ("fullname", "name"),
    ("homepage", "profile"),
    ("image", "picture"),
    ("isactive", "status"),
    ("jobtitle", "title"),
    ("language", "preferred_language"),
    ("lang", "preferred_language"),
    ("lastmodified", "updated_at"),
    ("lastname", "family_name"),
    ("login", "username"),
    ("loginname", "username"),
    ("mail", "email"),
    ("metadata", "attributes"),
    ("mobile", "phone_number"),
    ("mobilephone", "phone_number"),
    ("modified", "updated_at"),
    ("modifiedat", "updated_at"),
    ("phone", "phone_number"),
    ("phones", "phone_numbers"),
    ("photo", "picture"),
    ("preferredusername", "username"),
    ("profileurl", "profile"),
    ("properties", "attributes"),
    ("secondname", "middle_name"),
    ("state", "status"),
    ("street", "street_address"),
    ("surname", "family_name"),
    ("suspended", "status"),
    ("telephone", "phone_number"),
    ("timezone", "zoneinfo"),
    ("tz", "zoneinfo"),
    ("updated", "updated_at"),
    ("uuid", "id"),
    ("website", "profile"),
    ("zip", "postal_code"),
];

/// The candidate that was most likely meant by a word, if one is near.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.is_empty() || word.len() > LENGTH_MAX {
        return None;
    }
    let bare_word = bare(word);
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == bare_word).map(|(_, name)| *name);
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates {
        let bare_candidate = bare(candidate);
        let distance = if Some(candidate) == synonym {
            0
        } else {
            strsim::osa_distance(&bare_word, &bare_candidate)
        };
        let is_near = distance <= slips_max(&bare_word, &bare_candidate);
        if is_near && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// How many slips of the fingers still tell a word: in short ones every slip makes another word.
fn slips_max(one: &str, other: &str) -> usize {
    match one.len().min(other.len()) {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    }
}

/// The name without what camelCase, kebab-case and snake_case differ in.
fn bare(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBERS: [&str; 24] = [
        "id",
        "version",
        "status",
        "username",
        "name",
        "given_name",
        "middle_name",
        "family_name",
        "nickname",
        "title",
        "email",
        "emails",
        "phone_number",
        "phone_numbers",
        "picture",
        "photos",
        "profile",
        "addresses",
        "zoneinfo",
        "preferred_language",
        "external_id",
        "attributes",
        "created_at",
        "updated_at",
    ];

    fn meant(word: &str) -> Option<&'static str> {
        nearest(word, MEMBERS.into_iter())
    }

    #[test]
    fn other_spellings_of_a_member_find_it() {
        for (word, member) in [
            ("givenName", "given_name"),
            ("given-name", "given_name"),
            ("GIVEN_NAME", "given_name"),
            ("given name", "given_name"),
            ("externalID", "external_id"),
            ("userName", "username"),
            ("user_name", "username"),
            ("e-mail", "email"),
            ("phoneNumber", "phone_number"),
            ("phoneNumbers", "phone_numbers"),
            ("createdAt", "created_at"),
            ("Email", "email"),
        ] {
            assert_eq!(meant(word), Some(member), "{word}");
        }
    }

    #[test]
    fn words_of_the_field_find_our_member() {
        for (word, member) in [
            ("firstname", "given_name"),
            ("first_name", "given_name"),
            ("lastname", "family_name"),
            ("last_name", "family_name"),
            ("surname", "family_name"),
            ("phone", "phone_number"),
            ("mobile", "phone_number"),
            ("mail", "email"),
            ("emailAddress", "email"),
            ("login", "username"),
            ("timezone", "zoneinfo"),
            ("avatar", "picture"),
            ("photo", "picture"),
            ("fullName", "name"),
            ("full_name", "name"),
            ("active", "status"),
            ("state", "status"),
            ("enabled", "status"),
            ("address", "addresses"),
            ("metadata", "attributes"),
            ("custom", "attributes"),
        ] {
            assert_eq!(meant(word), Some(member), "{word}");
        }
    }

    #[test]
    fn slips_of_the_fingers_find_the_member() {
        for (word, member) in [
            ("nmae", "name"),
            ("emial", "email"),
            ("stauts", "status"),
            ("usernmae", "username"),
            ("famly_name", "family_name"),
            ("titel", "title"),
            ("attribtues", "attributes"),
            ("preferred_langauge", "preferred_language"),
            ("emals", "emails"),
        ] {
            assert_eq!(meant(word), Some(member), "{word}");
        }
    }

    #[test]
    fn nothing_is_proposed_where_nothing_is_near() {
        for word in ["", "_", "xy", "it", "password", "shoe_size", "groups", "日本語"] {
            assert_eq!(meant(word), None, "{word}");
        }
        assert_eq!(meant(&"name".repeat(100)), None);
    }

    #[test]
    fn a_synonym_is_proposed_only_where_its_member_is_a_candidate() {
        assert_eq!(nearest("surname", ["value", "type"].into_iter()), None);
        assert_eq!(nearest("photo", ["photos"].into_iter()), Some("photos"));
    }

    #[test]
    fn the_synonyms_are_written_bare() {
        for (word, member) in SYNONYMS {
            assert_eq!(word, bare(word));
            assert_ne!(word, bare(member), "{member} needs no synonym");
        }
    }
}
