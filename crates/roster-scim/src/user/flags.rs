//! Which verified flags a patch sets itself, and whether it sets the username.
//!
//! A change of an address resets its verified flag, unless the same patch sets the flag. The REST
//! interface does the same. It also changes a username that follows the address, unless the same
//! patch sets the username (RFC 7644 section 3.5.2).

use roster_core::{Attribute, Json};

use crate::{
    Strictness,
    patch::{Op, Operation, given},
    schema::{AttributeSchema, Schema, USER, scim_path},
};

const FLAGS: [Attribute; 2] = [Attribute::EmailVerified, Attribute::PhoneNumberVerified];

/// The flags that any operation sets.
pub(super) fn named_flags(operations: &[Operation], strictness: Strictness) -> Vec<Attribute> {
    let named = |flag: &Attribute| operations.iter().any(|one| sets(one, *flag, strictness));
    FLAGS.into_iter().filter(named).collect()
}

/// Whether any operation gives the user a username.
pub(super) fn names_username(operations: &[Operation], strictness: Strictness) -> bool {
    operations.iter().any(|one| sets(one, Attribute::Username, strictness))
}

/// Whether an operation sets a single attribute, or removes it by name.
fn sets(operation: &Operation, wanted: Attribute, strictness: Strictness) -> bool {
    let Operation { op, path, value, .. } = operation;
    let has_effect = |attribute, value: Option<&Json>| {
        *op == Op::Remove || matches!(given(attribute, value.cloned(), strictness), Ok(Some(_)))
    };
    let is_set = |schema: Option<&Schema>, name: &str, value: Option<&Json>| {
        let found = if let Some(schema) = schema {
            schema.attribute(name).map(|attribute| (schema.urn, attribute))
        } else {
            named(name)
        };
        let is_it = |(urn, attribute): &(&str, &AttributeSchema)| {
            scim_path(wanted).is_some_and(|it| it.urn == *urn && it.attribute == attribute.name)
        };
        found.filter(is_it).is_some_and(|(_, attribute)| has_effect(attribute, value))
    };
    let any_below = |schema: &Schema, value: Option<&Json>| {
        members(value).iter().any(|(name, value)| is_set(Some(schema), name, Some(value)))
    };
    match path.as_deref() {
        Some(path) => match USER.schema_of(path) {
            Some(schema) => any_below(schema, value.as_ref()),
            None => is_set(None, path, value.as_ref()),
        },
        None => members(value.as_ref()).iter().any(|(name, value)| match USER.schema_of(name) {
            Some(schema) => any_below(schema, Some(value)),
            None => is_set(None, name, Some(value)),
        }),
    }
}

/// The URN and the attribute that a whole path names. An attribute of an extension needs no URN.
fn named(path: &str) -> Option<(&'static str, &'static AttributeSchema)> {
    let found = USER.find(path).filter(|found| found.sub_attribute.is_none());
    found.map(|found| (found.schema.urn, found.attribute)).or_else(|| {
        let schema = USER.extension_with(path)?;
        Some((schema.urn, schema.attribute(path)?))
    })
}

fn members(value: Option<&Json>) -> &[(String, Json)] {
    if let Some(Json::Object(members)) = value { members } else { &[] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch;

    fn flags(operations: &str) -> Vec<Attribute> {
        let body = format!(r#"{{"Operations":[{operations}]}}"#);
        let body = roster_core::json::read(body.as_bytes()).expect("JSON");
        let operations = patch::read(body, Strictness::Tolerant).expect("operations");
        named_flags(&operations, Strictness::Tolerant)
    }

    const URN: &str = "urn:ietf:params:scim:schemas:extension:roster:2.0:User";

    #[test]
    fn a_flag_is_named_by_path_or_by_value() {
        let urn = URN;
        let by_path = format!(r#"{{"op":"add","path":"{urn}:EMAIL_verified","value":true}}"#);
        assert_eq!(flags(&by_path), [Attribute::EmailVerified]);
        let by_value = format!(r#"{{"op":"add","value":{{"{urn}":{{"email_verified":true}}}}}}"#);
        assert_eq!(flags(&by_value), [Attribute::EmailVerified]);
        assert_eq!(flags(r#"{"op":"add","path":"title","value":"email_verified"}"#), []);
    }

    #[test]
    fn a_flag_is_named_in_each_form_of_its_whole_name() {
        for operation in [
            format!(r#"{{"op":"replace","value":{{"{URN}:email_verified":"True"}}}}"#),
            format!(r#"{{"op":"add","value":{{"{URN}.Email_Verified":true}}}}"#),
            format!(
                r#"{{"op":"add","path":"{}","value":{{"EMAIL_VERIFIED":false}}}}"#,
                URN.to_uppercase()
            ),
            format!(r#"{{"op":"remove","path":"{URN}:email_verified"}}"#),
            r#"{"op":"add","value":{"email_verified":true}}"#.to_owned(),
            r#"{"op":"add","path":"email_verified","value":[true]}"#.to_owned(),
        ] {
            assert_eq!(flags(&operation), [Attribute::EmailVerified], "{operation}");
        }
        let phone = format!(r#"{{"op":"add","path":"{URN}:phone_number_verified","value":true}}"#);
        assert_eq!(flags(&phone), [Attribute::PhoneNumberVerified]);
    }

    #[test]
    fn a_name_that_ends_alike_or_an_operation_without_a_value_sets_no_flag() {
        for operation in [
            r#"{"op":"add","value":{"backup_email_verified":true}}"#.to_owned(),
            r#"{"op":"add","value":{"urn:okta:x:1.0:User":{"email_verified":true}}}"#.to_owned(),
            r#"{"op":"add","value":{"urn:okta:x:1.0:User:email_verified":true}}"#.to_owned(),
            r#"{"op":"add","path":"x_email_verified","value":true}"#.to_owned(),
            r#"{"op":"add","path":"name","value":{"email_verified":true}}"#.to_owned(),
            format!(r#"{{"op":"add","path":"{URN}:attributes.backup_email_verified","value":1}}"#),
            format!(r#"{{"op":"add","path":"{URN}:attributes.email_verified","value":true}}"#),
            format!(
                r#"{{"op":"add","value":{{"{URN}":{{"attributes":{{"email_verified":1}}}}}}}}"#
            ),
            format!(r#"{{"op":"add","path":"{URN}:email_verified","value":null}}"#),
            format!(r#"{{"op":"add","path":"{URN}:email_verified","value":{{"value":null}}}}"#),
            format!(r#"{{"op":"add","path":"{URN}:email_verified","value":""}}"#),
            format!(r#"{{"op":"add","value":{{"{URN}":{{"email_verified":null}}}}}}"#),
        ] {
            assert_eq!(flags(&operation), [], "{operation}");
        }
    }
}
