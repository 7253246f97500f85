//! Suggests the member that an unknown name probably means.
//!
//! It runs only when a name is rejected, so it may be slow, but the length of the name is limited.
//! It suggests only likely names: another spelling of the same words, a common synonym, or a typing
//! error. It suggests only candidates.

use unicode_normalization::UnicodeNormalization as _;

/// Longer names are not typing errors, and a comparison takes time proportional to the product of
/// the lengths.
const LENGTH_MAX: usize = 64;

/// The names of our members in other directories, in standards, and in the tables of people who
/// speak English, French, German or Spanish, in lower case without separators and accents.
const SYNONYMS: [(&str, &str); 102] = [
    ("abteilung", "department"),
    ("accountexpires", "expires_at"),
    ("accountname", "username"),
    ("active", "status"),
    ("address", "addresses"),
    ("anrede", "honorific_prefix"),
    ("apellido", "family_name"),
    ("apellidos", "family_name"),
    ("avatar", "picture"),
    ("avatarurl", "picture"),
    ("benutzername", "username"),
    ("cell", "phone_number"),
    ("company", "organization"),
    ("correo", "email"),
    ("correoelectronico", "email"),
    ("courriel", "email"),
    ("created", "created_at"),
    ("custom", "attributes"),
    ("customattributes", "attributes"),
    ("dept", "department"),
    ("disabled", "status"),
    ("emailaddress", "email"),
    ("emailaddresses", "emails"),
    ("emailadresse", "email"),
    ("emailwork", "email"),
    ("employeeid", "employee_number"),
    ("enabled", "status"),
    ("expiration", "expires_at"),
    ("expirationdate", "expires_at"),
    ("expires", "expires_at"),
    ("expiry", "expires_at"),
    ("expirydate", "expires_at"),
    ("firma", "organization"),
    ("firstname", "given_name"),
    ("forename", "given_name"),
    ("fullname", "name"),
    ("funktion", "title"),
    ("handy", "phone_number"),
    ("homepage", "profile"),
    ("image", "picture"),
    ("isactive", "status"),
    ("jobtitle", "title"),
    ("kostenstelle", "cost_center"),
    ("lang", "preferred_language"),
    ("language", "preferred_language"),
    ("lastmodified", "updated_at"),
    ("lastname", "family_name"),
    ("login", "username"),
    ("loginname", "username"),
    ("mail", "email"),
    ("mailadresse", "email"),
    ("metadata", "attributes"),
    ("mitarbeiternummer", "employee_number"),
    ("mobil", "phone_number"),
    ("mobile", "phone_number"),
    ("mobilephone", "phone_number"),
    ("mobilnummer", "phone_number"),
    ("modified", "updated_at"),
    ("modifiedat", "updated_at"),
    ("nachname", "family_name"),
    ("nom", "family_name"),
    ("nombre", "given_name"),
    ("nomdefamille", "family_name"),
    ("organisation", "organization"),
    ("personalnummer", "employee_number"),
    ("phone", "phone_number"),
    ("phones", "phone_numbers"),
    ("photo", "picture"),
    ("position", "title"),
    ("preferredusername", "username"),
    ("prenom", "given_name"),
    ("primaryemail", "email"),
    ("profileurl", "profile"),
    ("properties", "attributes"),
    ("samaccountname", "username"),
    ("secondname", "middle_name"),
    ("sprache", "preferred_language"),
    ("staffnumber", "employee_number"),
    ("state", "status"),
    ("street", "street_address"),
    ("surname", "family_name"),
    ("suspended", "status"),
    ("tel", "phone_number"),
    ("telefon", "phone_number"),
    ("telefonnummer", "phone_number"),
    ("telefono", "phone_number"),
    ("telephone", "phone_number"),
    ("telephonenumber", "phone_number"),
    ("timezone", "zoneinfo"),
    ("tz", "zoneinfo"),
    ("updated", "updated_at"),
    ("userid", "username"),
    ("userprincipalname", "username"),
    ("uuid", "id"),
    ("validto", "expires_at"),
    ("validuntil", "expires_at"),
    ("vollername", "name"),
    ("vorname", "given_name"),
    ("website", "profile"),
    ("workemail", "email"),
    ("zeitzone", "zoneinfo"),
    ("zip", "postal_code"),
];

/// The member that a word names elsewhere. The word is [`plain`].
pub fn synonym(word: &str) -> Option<&'static str> {
    SYNONYMS.iter().find(|(other, _)| *other == word).map(|(_, name)| *name)
}

/// The candidate that a word most likely means, if one is similar.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.is_empty() || word.len() > LENGTH_MAX {
        return None;
    }
    let plain_word = plain(word);
    let synonym = synonym(&plain_word);
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates {
        let plain_candidate = plain(candidate);
        let distance = if Some(candidate) == synonym {
            0
        } else {
            strsim::osa_distance(&plain_word, &plain_candidate)
        };
        let is_near = distance <= typos_max(&plain_word, &plain_candidate);
        if is_near && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The maximum number of typing errors in a similar word. In short words, every error makes another
/// word.
fn typos_max(one: &str, other: &str) -> usize {
    match one.len().min(other.len()) {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    }
}

/// The name in lower case without separators and accents, so that camelCase, kebab-case and
/// snake_case are equal.
pub fn plain(name: &str) -> String {
    name.nfd().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
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

    fn suggested(word: &str) -> Option<&'static str> {
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
            ("Prénom", "given_name"),
            ("Pre\u{301}nom", "given_name"),
            ("TELÉFONO", "phone_number"),
        ] {
            assert_eq!(suggested(word), Some(member), "{word}");
        }
    }

    #[test]
    fn common_synonyms_find_our_member() {
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
            assert_eq!(suggested(word), Some(member), "{word}");
        }
    }

    #[test]
    fn typing_errors_find_the_member() {
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
            assert_eq!(suggested(word), Some(member), "{word}");
        }
    }

    #[test]
    fn nothing_is_suggested_if_nothing_is_similar() {
        for word in ["", "_", "xy", "it", "password", "shoe_size", "groups", "日本語"] {
            assert_eq!(suggested(word), None, "{word}");
        }
        assert_eq!(suggested(&"name".repeat(100)), None);
    }

    #[test]
    fn a_synonym_is_suggested_only_if_its_member_is_a_candidate() {
        assert_eq!(nearest("surname", ["value", "type"].into_iter()), None);
        assert_eq!(nearest("photo", ["photos"].into_iter()), Some("photos"));
    }

    #[test]
    fn the_synonyms_have_no_separators() {
        for (word, member) in SYNONYMS {
            assert_eq!(word, plain(word));
            assert_ne!(word, plain(member), "{member} needs no synonym");
        }
    }
}
