//! The users of the benchmark. Each is a function of its number and has the names of a person.
//!
//! Half of them have their e-mail address as username, a third have a telephone number, a quarter
//! have a second address. The order of numbers is not the order of any key, as in a real directory:
//! increasing keys would fill every index page completely.

use fake::{
    Fake, RngExt,
    faker::name::en::{FirstName, LastName},
    rand::{SeedableRng, rngs::StdRng},
};
use serde_json::{Value, json};

/// A stored user.
#[derive(Clone)]
pub(super) struct User {
    /// The number that generated it.
    pub(super) number: u64,
    /// The id that the service assigned to it.
    pub(super) id: String,
}

/// A user before its creation.
pub(super) struct Person {
    number: u64,
    given_name: String,
    family_name: String,
    /// The username.
    pub(super) username: String,
    /// The primary e-mail address.
    pub(super) email: String,
    further_email: Option<String>,
    phone_number: Option<String>,
    team: u32,
}

impl Person {
    /// User `number`.
    pub(super) fn new(number: u64) -> Self {
        let mut random = StdRng::seed_from_u64(number);
        let given_name: String = FirstName().fake_with_rng(&mut random);
        let family_name: String = LastName().fake_with_rng(&mut random);
        let letters = |name: &str| -> String {
            name.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_lowercase()
        };
        let (given, family) = (letters(&given_name), letters(&family_name));
        let email = format!("{given}.{family}{number}@example.com");
        let username = match random.random_range(0..2) {
            0 => email.clone(),
            _ => format!("{}{family}{number}", given.get(..1).unwrap_or_default()),
        };
        let further = format!("{family}.{number}@mail.example.org");
        let phone_number = format!("+4420{:08}", random.random_range(0..100_000_000));
        Self {
            number,
            username,
            email,
            further_email: random.random_bool(0.25).then_some(further),
            phone_number: random.random_bool(1.0 / 3.0).then_some(phone_number),
            team: random.random_range(0..100),
            given_name,
            family_name,
        }
    }

    /// The second e-mail address, or the only one.
    pub(super) fn last_email(&self) -> &str {
        self.further_email.as_ref().unwrap_or(&self.email)
    }

    /// The body that creates the user, or that replaces it in a later revision. Each revision has
    /// another family name, so that indexes and search words change.
    pub(super) fn body(&self, revision: u64) -> String {
        let mut family_name = self.family_name.clone();
        if revision > 0 {
            let mut random = StdRng::seed_from_u64(self.number ^ (revision << 32));
            family_name = LastName().fake_with_rng(&mut random);
        }
        let mut emails = vec![json!({"value": self.email, "primary": true})];
        emails.extend(self.further_email.iter().map(|value| json!({ "value": value })));
        let mut user = json!({
            "username": self.username,
            "emails": emails,
            "name": format!("{} {family_name}", self.given_name),
            "given_name": self.given_name,
            "family_name": family_name,
            "title": "Engineer",
            "employee_number": self.number.to_string(),
            "department": format!("dept-{}", self.team),
            "locale": "en-GB",
            "attributes": {"team": format!("core-{}", self.team), "revision": revision},
        });
        if let (Some(phone_number), Value::Object(members)) = (&self.phone_number, &mut user) {
            members.insert("phone_number".to_owned(), json!(phone_number));
        }
        user.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::Person;

    #[test]
    fn a_user_is_a_function_of_its_number_and_revisions_differ() {
        assert_eq!(Person::new(7).body(0), Person::new(7).body(0));
        assert_ne!(Person::new(7).body(0), Person::new(7).body(1));
        assert_ne!(Person::new(7).email, Person::new(8).email);
    }

    #[test]
    fn users_are_mixed_as_a_directory_mixes_them() {
        let people: Vec<_> = (0..3000).map(Person::new).collect();
        let share = |has: fn(&Person) -> bool| people.iter().filter(|person| has(person)).count();
        assert!((1400..1600).contains(&share(|person| person.username == person.email)));
        assert!((900..1100).contains(&share(|person| person.phone_number.is_some())));
        assert!((650..850).contains(&share(|person| person.further_email.is_some())));
        assert!(!people.is_sorted_by_key(|person| person.username.as_str()));
    }
}
