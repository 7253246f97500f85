//! JSON Merge Patch (RFC 7396 section 2).

use std::collections::HashMap;

use super::Json;

/// Applies a patch: members of the patch replace those of the target, `null` removes a member, and
/// objects are merged.
pub fn merge(target: Json, patch: Json) -> Json {
    let Json::Object(changes) = patch else { return patch };
    let members = match target {
        Json::Object(members) => members,
        Json::Null
        | Json::Bool(_)
        | Json::Int(_)
        | Json::Float(_)
        | Json::Text(_)
        | Json::Array(_) => Vec::new(),
    };
    // A scan for each member would take time proportional to the product of both sizes.
    let mut indexes: HashMap<&str, usize> = HashMap::new();
    if !members.is_empty() {
        indexes.extend(changes.iter().enumerate().map(|(at, (name, _))| (name.as_str(), at)));
    }
    let indexes: Vec<Option<usize>> =
        members.iter().map(|(name, _)| indexes.get(name.as_str()).copied()).collect();
    let mut changes: Vec<Option<(String, Json)>> = changes.into_iter().map(Some).collect();
    let mut merged = Vec::with_capacity(members.len());
    for ((name, value), at) in members.into_iter().zip(indexes) {
        match at.and_then(|at| changes.get_mut(at)).and_then(Option::take) {
            None => merged.push((name, value)),
            Some((_, Json::Null)) => {}
            Some((_, change)) => merged.push((name, merge(value, change))),
        }
    }
    let added = changes.into_iter().flatten().filter(|(_, change)| *change != Json::Null);
    merged.extend(added.map(|(name, change)| (name, merge(Json::Null, change))));
    Json::Object(merged)
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
