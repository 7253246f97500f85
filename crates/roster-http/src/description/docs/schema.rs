//! Schemas on the reference page: a table of members, and a type in words.

use roster_core::Json;

use crate::description::{
    html::{escape, inline, paragraphs},
    problem_page::push,
    tree::{at, items, members, reference, text, text_at},
};

/// Appends a schema with its members.
pub(super) fn render(body: &mut String, name: &str, schema: &Json) {
    push(
        body,
        format_args!(
            "<article id=\"schema-{name}\"><h3>{name}</h3>{}",
            paragraphs(text_at(schema, &["description"])),
        ),
    );
    if let Some(note) = form_of_user(name) {
        push(
            body,
            format_args!(
                "<p>The members are those of <a href=\"#schema-User\">User</a>; \
                 {note}</p></article>"
            ),
        );
        return;
    }
    body.push_str(
        "<table class=\"members\"><thead><tr><th scope=\"col\">Member</th>\
         <th scope=\"col\">Meaning</th></tr></thead><tbody>",
    );
    let required = items(at(schema, &["required"]));
    for (member, property) in members(at(schema, &["properties"])) {
        let always = required.contains(&Json::Text(member.clone()));
        row(body, member, property, always.then_some("always present"));
    }
    body.push_str("</tbody></table></article>");
}

/// How a form of `User` differs from it; `None` for any other schema.
fn form_of_user(name: &str) -> Option<&'static str> {
    match name {
        "UserCreate" | "UserReplace" | "UserPatch" => Some("each may also be <code>null</code>."),
        "ListedUser" => Some("only <code>id</code> and <code>version</code> are always present."),
        _ => None,
    }
}

/// Appends one row: the name, the type in words, a mark, and the description.
pub(super) fn row(body: &mut String, name: &str, schema: &Json, mark: Option<&str>) {
    let mark = mark.map_or_else(String::new, |mark| format!("<span class=\"mark\">{mark}</span>"));
    push(
        body,
        format_args!(
            "<tr><th scope=\"row\"><code>{}</code>{mark}</th><td><p>{}</p>\
             <p class=\"type\">{}</p></td></tr>",
            escape(name),
            inline(text_at(schema, &["description"])),
            in_words(schema),
        ),
    );
}

/// A type with its limits, in words, as HTML.
pub(super) fn in_words(schema: &Json) -> String {
    if let Some(name) = reference(schema) {
        return format!("<a href=\"#schema-{name}\">{name}</a>");
    }
    let of_type = at(schema, &["type"]);
    let mut kinds: Vec<&str> = text(of_type).into_iter().collect();
    kinds.extend(items(of_type).iter().filter_map(text));
    if kinds.is_empty() {
        kinds.push("any");
    }
    let mut words =
        kinds.iter().map(|kind| kind_in_words(kind, schema)).collect::<Vec<_>>().join(" or ");
    for limit in limits(schema) {
        words.push_str(", ");
        words.push_str(&limit);
    }
    let obvious = schema.member("enum").is_some() || kinds.contains(&"boolean");
    let example = items(at(schema, &["examples"])).first().filter(|_| !obvious);
    if let Some(example) = example {
        let example = String::from_utf8_lossy(&crate::description::json(example)).into_owned();
        push(&mut words, format_args!(", such as <code>{}</code>", escape(&example)));
    }
    words
}

fn kind_in_words(kind: &str, schema: &Json) -> String {
    let choices = items(at(schema, &["enum"]));
    match kind {
        "array" => format!("list of {}", in_words_short(at(schema, &["items"]))),
        "string" if !choices.is_empty() => {
            let choices = choices.iter().filter_map(text);
            let choices: Vec<String> =
                choices.map(|one| format!("<code>{}</code>", escape(one))).collect();
            format!("one of {}", choices.join(" "))
        }
        "string" => match text_at(schema, &["format"]) {
            "uuid" => "string, a UUID".to_owned(),
            "date-time" => "string, RFC 3339".to_owned(),
            "uri" => "string, a URL".to_owned(),
            "idn-email" => "string, an e-mail address".to_owned(),
            _ => "string".to_owned(),
        },
        other => other.to_owned(),
    }
}

fn in_words_short(schema: &Json) -> String {
    reference(schema).map_or_else(
        || kind_in_words(text_at(schema, &["type"]), schema),
        |name| format!("<a href=\"#schema-{name}\">{name}</a>"),
    )
}

fn limits(schema: &Json) -> Vec<String> {
    let number = |name: &str| {
        if let Json::Int(number) = at(schema, &[name]) { Some(*number) } else { None }
    };
    let mut words = Vec::new();
    let has_choices = schema.member("enum").is_some() || schema.member("format").is_some();
    if let (Some(max), false) = (number("maxLength"), has_choices) {
        words.push(format!("at most {max} characters"));
    }
    if let Some(max) = number("maxItems") {
        words.push(format!("at most {max}"));
    }
    match (number("minimum"), number("maximum")) {
        (Some(min), Some(max)) => words.push(format!("{min} to {max}")),
        (Some(min), None) => words.push(format!("from {min}")),
        (None, Some(max)) => words.push(format!("up to {max}")),
        (None, None) => {}
    }
    if let Some(default) = schema.member("default") {
        let default = String::from_utf8_lossy(&crate::description::json(default)).into_owned();
        words.push(format!("{} if not given", escape(default.trim_matches('"'))));
    }
    words
}
