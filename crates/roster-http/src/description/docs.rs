//! The reference page at `/docs`, made from the description.
//!
//! It shows what the document says and adds nothing of its own, so it cannot drift. It needs no
//! script: the table of contents is links, and what is long folds away with `details`.

mod operation;
mod schema;

use bytes::Bytes;
use roster_core::Json;

use super::{
    assemble::operations,
    base_path,
    html::{Page, escape, inline, paragraphs},
    problem_page::{problem_table, push},
    tree::{at, items, members, text_at},
};

/// The reference page of a service at this base URL (no slash at its end), as HTML.
///
/// Made anew with each call: keep the bytes.
pub fn docs_page(base_url: &str) -> Bytes {
    let document = super::document(base_url);
    let base = base_path(base_url);
    let mut body = String::new();
    introduction(&mut body, &document, base_url);
    for tag in items(at(&document, &["tags"])) {
        section(&mut body, &document, tag, base);
    }
    body.push_str("<section id=\"schemas\"><h2>Schemas</h2>");
    for (name, one) in shown_schemas(&document) {
        schema::render(&mut body, name, one);
    }
    body.push_str("</section><section id=\"codes\"><h2>Problem codes</h2>");
    body.push_str(&problem_table(base));
    body.push_str("</section>");
    let contents = contents(&document);
    Page { title: "Reference", base_path: base, contents: Some(&contents), body: &body }.render()
}

fn introduction(body: &mut String, document: &Json, base_url: &str) {
    push(
        body,
        format_args!(
            "<h1>{}</h1><p class=\"about\">{} Version {}, at <code>{}</code></p>{}",
            escape(text_at(document, &["info", "title"])),
            inline(text_at(document, &["info", "summary"])),
            escape(text_at(document, &["info", "version"])),
            escape(base_url),
            paragraphs(text_at(document, &["info", "description"])),
        ),
    );
}

fn section(body: &mut String, document: &Json, tag: &Json, base: &str) {
    let name = text_at(tag, &["name"]);
    push(
        body,
        format_args!(
            "<section id=\"{}\"><h2>{}</h2>{}",
            anchor(name),
            escape(&capitalised(name)),
            paragraphs(text_at(tag, &["description"])),
        ),
    );
    for (method, path, one) in operations(document) {
        if has_tag(one, name) {
            operation::render(body, document, base, (method, path, one));
        }
    }
    body.push_str("</section>");
}

fn contents(document: &Json) -> String {
    let mut out = String::new();
    for tag in items(at(document, &["tags"])) {
        let name = text_at(tag, &["name"]);
        push(
            &mut out,
            format_args!(
                "<li><a href=\"#{}\">{}</a><ul>",
                anchor(name),
                escape(&capitalised(name)),
            ),
        );
        for (_, _, one) in operations(document).into_iter().filter(|(_, _, one)| has_tag(one, name))
        {
            push(
                &mut out,
                format_args!(
                    "<li><a href=\"#{}\">{}</a></li>",
                    escape(text_at(one, &["operationId"])),
                    escape(text_at(one, &["summary"])),
                ),
            );
        }
        out.push_str("</ul></li>");
    }
    out.push_str("<li><a href=\"#schemas\">Schemas</a><ul>");
    for (name, _) in shown_schemas(document) {
        push(&mut out, format_args!("<li><a href=\"#schema-{name}\">{name}</a></li>"));
    }
    out.push_str("</ul></li><li><a href=\"#codes\">Problem codes</a></li>");
    out
}

/// The schemas that are shown: an entry of a write has the parts of the entry that it becomes.
fn shown_schemas(document: &Json) -> impl Iterator<Item = (&str, &Json)> {
    let all = members(at(document, &["components", "schemas"])).iter();
    let shown = all.filter(|(name, _)| !name.ends_with("Input"));
    shown.map(|(name, one)| (name.as_str(), one))
}

fn has_tag(operation: &Json, tag: &str) -> bool {
    items(at(operation, &["tags"])).contains(&Json::Text(tag.to_owned()))
}

/// The id of a tag's section: one word.
fn anchor(tag: &str) -> String {
    escape(&tag.replace(' ', "-"))
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
