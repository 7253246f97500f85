//! Which verified flags a patch sets itself.
//!
//! A change of an address resets its verified flag, unless the same patch sets the flag. The REST
//! interface does the same.

use roster_core::{Attribute, Json};

use crate::{patch::Operation, schema::scim_path};

const FLAGS: [Attribute; 2] = [Attribute::EmailVerified, Attribute::PhoneNumberVerified];

/// The flags that any operation sets.
pub(super) fn named_flags(operations: &[Operation]) -> Vec<Attribute> {
    let named = |flag: &Attribute| {
        let name = scim_path(*flag).map_or("", |path| path.attribute);
        operations.iter().any(|operation| {
            let by_path = operation.path.as_deref().is_some_and(|path| ends_in(path, name));
            by_path || operation.value.as_ref().is_some_and(|value| holds(value, name))
        })
    };
    FLAGS.into_iter().filter(named).collect()
}

fn ends_in(path: &str, name: &str) -> bool {
    let start = path.len().saturating_sub(name.len());
    path.get(start..).is_some_and(|end| end.eq_ignore_ascii_case(name))
}

/// Whether an object has a member with this name, at any depth.
fn holds(value: &Json, name: &str) -> bool {
    let Json::Object(members) = value else { return false };
    members.iter().any(|(member, inner)| ends_in(member, name) || holds(inner, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Strictness, patch};

    fn flags(operations: &str) -> Vec<Attribute> {
        let body = format!(r#"{{"Operations":[{operations}]}}"#);
        let body = roster_core::json::read(body.as_bytes()).expect("JSON");
        named_flags(&patch::read(body, Strictness::Tolerant).expect("operations"))
    }

    #[test]
    fn a_flag_is_named_by_path_or_by_value() {
        let urn = "urn:ietf:params:scim:schemas:extension:roster:2.0:User";
        let by_path = format!(r#"{{"op":"add","path":"{urn}:EMAIL_verified","value":true}}"#);
        assert_eq!(flags(&by_path), [Attribute::EmailVerified]);
        let by_value = format!(r#"{{"op":"add","value":{{"{urn}":{{"email_verified":true}}}}}}"#);
        assert_eq!(flags(&by_value), [Attribute::EmailVerified]);
        assert_eq!(flags(r#"{"op":"add","path":"title","value":"email_verified"}"#), []);
    }
}
