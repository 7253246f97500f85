//! The table of short forms, row by row, for each of the three, by POST, PUT and PATCH.

use roster_core::{Refusal, User, ViolationCode};
use serde_json::{Value, json};

use crate::support::{create, faults, patch, replace, user, view};

/// A short form, its list and four values that it may take.
struct Form {
    short: &'static str,
    list: &'static str,
    values: [&'static str; 4],
}

const FORMS: [Form; 3] = [
    Form {
        short: "email",
        list: "emails",
        values: ["a@example.com", "b@example.com", "c@example.com", "d@example.com"],
    },
    Form {
        short: "phone_number",
        list: "phone_numbers",
        values: ["+44 20 01", "+44 20 02", "+44 20 03", "+44 20 04"],
    },
    Form {
        short: "picture",
        list: "photos",
        values: ["https://x.example/a", "https://x.example/b", "https://x.example/c", "urn:x:d"],
    },
];

impl Form {
    /// Replaces S, L, a, b, c and d in a row by the names and values of this form.
    fn spell(&self, row: &Value) -> Value {
        match row {
            Value::Object(members) => {
                let name = |name: &str| match name {
                    "S" => self.short.to_owned(),
                    "L" => self.list.to_owned(),
                    other => other.to_owned(),
                };
                members.iter().map(|(key, value)| (name(key), self.spell(value))).collect()
            }
            Value::Array(items) => items.iter().map(|item| self.spell(item)).collect(),
            Value::String(text) => {
                let at = ["a", "b", "c", "d"].iter().position(|letter| letter == text);
                at.map_or_else(|| row.clone(), |at| json!(self.values[at]))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => row.clone(),
        }
    }

    fn list_of(&self, user: &User) -> Value {
        let seen = view(user);
        let primary = primary(seen.get(self.list));
        assert_eq!(seen.get(self.short).cloned(), primary, "the short form is the primary");
        seen.get(self.list).cloned().unwrap_or_default()
    }

    fn is_conflict(&self, result: Result<User, Refusal>) {
        let place = (format!("/{}", self.short), ViolationCode::ConflictingShortForm);
        assert_eq!(faults(result), [place]);
    }
}

fn primary(list: Option<&Value>) -> Option<Value> {
    let entries = list?.as_array()?;
    let flagged = entries.iter().find(|entry| entry["primary"] == true);
    flagged.or_else(|| entries.first()).map(|entry| entry["value"].clone())
}

/// Two addresses, of which the second is primary.
fn stored() -> Value {
    json!([
        {"value": "a", "type": "home", "display": "A"},
        {"value": "b", "type": "work", "display": "B", "primary": true},
    ])
}

/// The bodies of PUT requests to a user with the list [`stored`], and the resulting lists.
fn rows_of_put() -> Vec<(&'static str, Value, Value)> {
    let of_a = json!({"value": "a", "type": "home", "display": "A", "primary": true});
    let of_b = json!({"value": "b", "type": "work", "display": "B", "primary": true});
    let other = json!([{"value": "c"}, {"value": "d", "type": "work", "primary": true}]);
    let unflagged = json!([{"value": "c", "primary": false}, {"value": "d"}]);
    vec![
        ("neither: cleared", json!({}), Value::Null),
        ("both null: cleared", json!({"S": null, "L": null}), Value::Null),
        ("an empty list alone: cleared", json!({"L": []}), Value::Null),
        ("only S, new", json!({"S": "c"}), json!([{"value": "c", "primary": true}])),
        ("only S, of another entry", json!({"S": "a"}), json!([of_a])),
        ("only S, as stored", json!({"S": "b"}), json!([of_b])),
        ("S with an empty list", json!({"S": "b", "L": []}), json!([of_b])),
        ("only L", json!({"L": other}), other.clone()),
        ("only L, without a flag", json!({"L": unflagged}), unflagged.clone()),
        ("both agree on the flagged", json!({"S": "d", "L": other}), other.clone()),
        ("both agree on the first", json!({"S": "c", "L": unflagged}), unflagged.clone()),
        ("both as stored", json!({"S": "b", "L": stored()}), stored()),
        ("S as stored: L wins", json!({"S": "b", "L": other}), other.clone()),
        (
            "L as stored: S replaces the primary value",
            json!({"S": "c", "L": stored()}),
            json!([
                {"value": "a", "type": "home", "display": "A"},
                {"value": "c", "type": "work", "display": "B", "primary": true},
            ]),
        ),
        (
            "L as stored: the flag moves to the entry that holds S",
            json!({"S": "a", "L": stored()}),
            json!([
                {"value": "a", "type": "home", "display": "A", "primary": true},
                {"value": "b", "type": "work", "display": "B"},
            ]),
        ),
    ]
}

#[test]
fn every_row_of_a_replacement_is_true_for_each_short_form() {
    for form in &FORMS {
        let before = user(&form.spell(&json!({"username": "ada", "L": stored()})));
        for (row, body, list) in rows_of_put() {
            let after = replace(&before, &form.spell(&body)).expect(row);
            assert_eq!(form.list_of(&after), form.spell(&list), "{row}: {}", form.short);
        }
        let differ = json!({"S": "c", "L": [{"value": "d"}]});
        form.is_conflict(replace(&before, &form.spell(&differ)));
        let differ_at_the_flag =
            json!({"S": "a", "L": [{"value": "a"}, {"value": "d", "primary": true}]});
        form.is_conflict(replace(&before, &form.spell(&differ_at_the_flag)));
    }
}

#[test]
fn every_row_of_a_create_is_true_for_each_short_form() {
    let list = json!([{"value": "a"}, {"value": "b", "primary": true}]);
    for form in &FORMS {
        for (body, made) in [
            (json!({}), Value::Null),
            (json!({"S": "c"}), json!([{"value": "c", "primary": true}])),
            (json!({"L": list}), list.clone()),
            (json!({"S": "b", "L": list}), list.clone()),
        ] {
            let mut body = form.spell(&body);
            body["username"] = json!("ada");
            assert_eq!(form.list_of(&user(&body)), form.spell(&made), "{body}");
        }
        let mut differ = form.spell(&json!({"S": "a", "L": list}));
        differ["username"] = json!("ada");
        form.is_conflict(create(&differ));
    }
}

#[test]
fn every_row_of_a_patch_is_true_for_each_short_form() {
    let other = json!([{"value": "c"}, {"value": "d", "type": "work", "primary": true}]);
    let rows = [
        ("nothing named", json!({}), stored()),
        (
            "S alone replaces the primary value",
            json!({"S": "c"}),
            json!([
                {"value": "a", "type": "home", "display": "A"},
                {"value": "c", "type": "work", "display": "B", "primary": true},
            ]),
        ),
        (
            "S alone moves the flag",
            json!({"S": "a"}),
            json!([
                {"value": "a", "type": "home", "display": "A", "primary": true},
                {"value": "b", "type": "work", "display": "B"},
            ]),
        ),
        ("L alone", json!({"L": other}), other.clone()),
        ("both agree", json!({"S": "d", "L": other}), other.clone()),
        ("S as stored: L wins", json!({"S": "b", "L": other}), other.clone()),
        ("both null: cleared", json!({"S": null, "L": null}), Value::Null),
        ("L null: cleared", json!({"L": null}), Value::Null),
        ("L empty: cleared", json!({"L": []}), Value::Null),
        (
            "L null beside a new S: S alone",
            json!({"S": "c", "L": null}),
            json!([{"value": "c", "primary": true}]),
        ),
    ];
    for form in &FORMS {
        let before = user(&form.spell(&json!({"username": "ada", "L": stored()})));
        for (row, body, list) in &rows {
            let after = patch(&before, &form.spell(body)).expect(row);
            assert_eq!(form.list_of(&after), form.spell(list), "{row}: {}", form.short);
        }
        let differ = json!({"S": "c", "L": [{"value": "d"}]});
        form.is_conflict(patch(&before, &form.spell(&differ)));
        // Null removes the only entry, and is ambiguous if there are more.
        form.is_conflict(patch(&before, &form.spell(&json!({"S": null}))));
        let one = user(&form.spell(&json!({"username": "ada", "S": "a"})));
        let after = patch(&one, &form.spell(&json!({"S": null}))).expect("one entry");
        assert_eq!(form.list_of(&after), Value::Null);
    }
}

#[test]
fn without_a_flag_the_first_entry_is_primary_and_gets_the_new_value() {
    for form in &FORMS {
        let list = json!([{"value": "a", "type": "home"}, {"value": "b"}]);
        let before = user(&form.spell(&json!({"username": "ada", "L": list})));
        let after = patch(&before, &form.spell(&json!({"S": "c"}))).expect("valid");
        let expected = json!([{"value": "c", "type": "home"}, {"value": "b"}]);
        assert_eq!(form.list_of(&after), form.spell(&expected));
        let after = patch(&before, &form.spell(&json!({"S": "b"}))).expect("valid");
        let expected = json!([{"value": "a", "type": "home"}, {"value": "b", "primary": true}]);
        assert_eq!(form.list_of(&after), form.spell(&expected));
    }
}
