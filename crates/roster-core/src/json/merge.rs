//! JSON Merge Patch (RFC 7396 section 2).

use super::Json;

/// The target after the patch: members of the patch replace, `null` removes, objects merge.
pub fn merge(target: Json, patch: Json) -> Json {
    let Json::Object(changes) = patch else { return patch };
    let mut members = match target {
        Json::Object(members) => members,
        Json::Null
        | Json::Bool(_)
        | Json::Int(_)
        | Json::Float(_)
        | Json::Text(_)
        | Json::Array(_) => Vec::new(),
    };
    for (name, change) in changes {
        let at = members.iter().position(|(found, _)| *found == name);
        if change == Json::Null {
            if let Some(at) = at {
                members.remove(at);
            }
            continue;
        }
        let before = at.and_then(|at| members.get_mut(at));
        match before {
            Some((_, slot)) => *slot = merge(std::mem::replace(slot, Json::Null), change),
            None => members.push((name, merge(Json::Null, change))),
        }
    }
    Json::Object(members)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{read, write_json};

    #[test]
    fn every_case_of_the_rfc_holds() {
        // RFC 7396 appendix A.
        for (target, patch, result) in [
            (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
            (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
            (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
            (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
            (r#"{"a":"foo"}"#, "null", "null"),
            (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
            (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
            ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
            ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
        ] {
            let tree = |text: &str| read(text.as_bytes()).expect("valid");
            let mut out = Vec::new();
            write_json(&mut out, &merge(tree(target), tree(patch)));
            assert_eq!(String::from_utf8(out).expect("UTF-8"), result, "{target} + {patch}");
        }
    }
}
