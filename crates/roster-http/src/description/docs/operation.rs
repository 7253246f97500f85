//! One operation on the reference page: what it takes, what it answers, how to try it.

use roster_core::Json;

use super::schema::in_words;
use crate::description::{
    assemble::parameters,
    html::{code_block, escape, inline, paragraphs, pre},
    problem_page::push,
    tree::{at, items, members, reference, resolve, text, text_at},
};

/// Appends the operation: its method, path and description, then its parts.
pub(super) fn render(
    body: &mut String,
    document: &Json,
    base: &str,
    (method, path, operation): (&str, &str, &Json),
) {
    let id = escape(text_at(operation, &["operationId"]));
    let summary = escape(text_at(operation, &["summary"]));
    push(
        body,
        format_args!(
            "<article id=\"{id}\"><h3>{summary}</h3>\
         <p class=\"route\"><span class=\"method {method}\">{}</span> <code>{}</code></p>{}",
            method.to_ascii_uppercase(),
            escape(path),
            paragraphs(text_at(operation, &["description"])),
        ),
    );
    for sample in items(at(operation, &["x-codeSamples"])) {
        body.push_str(&pre(text_at(sample, &["source"]), &format!("{summary}, with curl")));
    }
    render_parameters(body, &parameters(document, path, operation));
    render_body(body, document, operation);
    render_answers(body, document, base, operation);
    render_example(body, document, operation, &summary);
    body.push_str("</article>");
}

fn render_parameters(body: &mut String, parameters: &[&Json]) {
    if parameters.is_empty() {
        return;
    }
    body.push_str(
        "<h4>Parameters</h4><table class=\"members\"><thead><tr><th scope=\"col\">Name</th>\
         <th scope=\"col\">Meaning</th></tr></thead><tbody>",
    );
    for parameter in parameters {
        push(
            body,
            format_args!(
                "<tr><th scope=\"row\"><code>{}</code><span class=\"mark\">{}</span></th>\
             <td><p>{}</p><p class=\"type\">{}</p></td></tr>",
                escape(text_at(parameter, &["name"])),
                escape(text_at(parameter, &["in"])),
                inline(text_at(parameter, &["description"])),
                in_words(at(parameter, &["schema"])),
            ),
        );
    }
    body.push_str("</tbody></table>");
}

fn render_body(body: &mut String, document: &Json, operation: &Json) {
    let content = members(at(operation, &["requestBody", "content"]));
    let Some((_, first)) = content.first() else { return };
    let types: Vec<String> =
        content.iter().map(|(name, _)| format!("<code>{}</code>", escape(name))).collect();
    push(
        body,
        format_args!(
            "<h4>Body</h4><p>{}, as {}.</p>",
            in_words(at(first, &["schema"])),
            types.join(" or "),
        ),
    );
    for (_, example) in members(at(first, &["examples"])) {
        let example = resolve(document, example);
        body.push_str(&code_block(at(example, &["value"]), text_at(example, &["summary"])));
    }
}

fn render_answers(body: &mut String, document: &Json, base: &str, operation: &Json) {
    body.push_str(
        "<h4>Answers</h4><table class=\"answers\"><thead><tr><th scope=\"col\">Status</th>\
         <th scope=\"col\">When, and with what</th></tr></thead><tbody>",
    );
    for (status, response) in members(at(operation, &["responses"])) {
        let response = resolve(document, response);
        push(
            body,
            format_args!(
                "<tr><th scope=\"row\">{status}</th><td><p>{}{}</p>{}</td></tr>",
                inline(text_at(response, &["description"])),
                codes(response, base),
                headers(response),
            ),
        );
    }
    body.push_str("</tbody></table>");
}

fn codes(response: &Json, base: &str) -> String {
    let codes = items(at(response, &["x-problem-codes"])).iter().filter_map(text);
    let links =
        codes.map(|code| format!(" <a href=\"{base}/problems/{code}\"><code>{code}</code></a>"));
    links.collect()
}

/// What comes with a success: its schema, and the headers beyond those of every answer.
fn headers(response: &Json) -> String {
    if response.member("x-problem-codes").is_some() {
        return String::new();
    }
    let names = members(at(response, &["headers"])).iter().map(|(name, _)| name.as_str());
    let own = names.filter(|name| !matches!(*name, "Cache-Control" | "X-Request-Id"));
    let mut parts: Vec<String> = members(at(response, &["content"]))
        .iter()
        .map(|(media_type, content)| {
            let schema = at(content, &["schema"]);
            let kind = if reference(schema).is_some() { in_words(schema) } else { String::new() };
            format!("<code>{}</code> {kind}", escape(media_type)).trim_end().to_owned()
        })
        .collect();
    parts.extend(own.map(|name| format!("<code>{}</code>", escape(name))));
    if parts.is_empty() {
        String::new()
    } else {
        format!("<p class=\"type\">{}</p>", parts.join(", "))
    }
}

fn render_example(body: &mut String, document: &Json, operation: &Json, summary: &str) {
    for (status, response) in members(at(operation, &["responses"])) {
        let content = members(at(response, &["content"]));
        let examples = content.first().map(|(_, first)| members(at(first, &["examples"])));
        for (_, example) in examples.unwrap_or_default() {
            let example = resolve(document, example);
            push(
                body,
                format_args!(
                    "<details><summary>Example: {status}, {}</summary>{}</details>",
                    escape(text_at(example, &["summary"])).to_lowercase(),
                    code_block(
                        at(example, &["value"]),
                        &format!("{summary}: example of the answer")
                    ),
                ),
            );
        }
    }
}
