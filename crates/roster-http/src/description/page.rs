//! The HTML pages: templates filled with the data that programs get as JSON.
//!
//! A page loads nothing: its style sheet is inside it, allowed by its hash, and it has no script
//! and no image. The templates escape all text. No text comes from a request.

use std::sync::LazyLock;

use bytes::Bytes;
use data_encoding::BASE64;
use minijinja::{Environment, Error, State, UndefinedBehavior, Value, context, value::ValueKind};
use roster_core::Json;
use sha2::{Digest, Sha256};

use super::{base_path, json};

const STYLE: &str = include_str!("../../assets/docs.css");
const TEMPLATES: [(&str, &str); 6] = [
    ("layout.html", include_str!("../../assets/layout.html")),
    ("macros.html", include_str!("../../assets/macros.html")),
    ("docs.html", include_str!("../../assets/docs.html")),
    ("service.html", include_str!("../../assets/service.html")),
    ("problem.html", include_str!("../../assets/problem.html")),
    ("problems.html", include_str!("../../assets/problems.html")),
];

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    // A missing member of the document is empty.
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_formatter(|out, _, value| {
        let text = value.to_string();
        out.write_str(&if value.is_safe() { text } else { escape(&text) }).map_err(Error::from)
    });
    environment.add_filter("inline", |text: Value| safe(inline(of(&text))));
    environment.add_filter("paragraphs", |text: Value| safe(paragraphs(of(&text))));
    environment.add_filter("code", |text: Value| safe(code(of(&text))));
    environment.add_filter("json", |tree: Value| compact(&tree));
    environment.add_filter("laid_out", |tree: Value| {
        let mut out = String::new();
        lay_out(&tree, 0, &mut out);
        out
    });
    environment.add_filter("resolve", resolve);
    for (name, source) in TEMPLATES {
        let added = environment.add_template(name, source);
        debug_assert!(added.is_ok(), "{added:?}");
    }
    environment
});

/// The `Content-Security-Policy` of all pages.
pub fn content_security_policy() -> String {
    format!(
        "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'",
        BASE64.encode(&Sha256::digest(STYLE.as_bytes()))
    )
}

/// Renders a template with this data. The result is empty if that fails, which the tests exclude.
pub(super) fn render(template: &str, base_url: &str, facts: &Json) -> Bytes {
    let facts: Value = serde_json::from_slice(&json(facts)).unwrap_or_default();
    let base_path = base_path(base_url);
    let context = context! { base_url, base_path, style => STYLE, ..facts };
    let page = ENVIRONMENT.get_template(template).and_then(|template| template.render(context));
    debug_assert!(page.is_ok(), "{template}: {page:?}");
    Bytes::from(page.unwrap_or_default())
}

/// The page of a service without a console.
pub(crate) fn service_page(base_url: &str) -> Bytes {
    render("service.html", base_url, &Json::Object(Vec::new()))
}

/// The page of the console, whose files have URLs below `files`.
pub(crate) fn render_page(template: &str, base: &str, files: &str) -> Bytes {
    let page = ENVIRONMENT.render_str(template, context! { base, files });
    debug_assert!(page.is_ok(), "{page:?}");
    Bytes::from(page.unwrap_or_default())
}

/// The part of the document that a `$ref` names, or the tree itself if it is no `$ref`.
fn resolve(state: &mut State<'_, '_>, tree: Value) -> Result<Value, Error> {
    let reference = tree.get_attr("$ref")?;
    let Some(path) = reference.as_str().and_then(|path| path.strip_prefix("#/")) else {
        return Ok(tree);
    };
    let document = state.lookup("document").unwrap_or_default();
    path.split('/').try_fold(document, |tree, name| tree.get_attr(name))
}

fn of(text: &Value) -> &str {
    text.as_str().unwrap_or_default()
}

fn safe(html: String) -> Value {
    Value::from_safe_string(html)
}

/// Escapes text for HTML, also for attributes in quotation marks.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(text))
}

/// Converts one line of the Markdown that descriptions use: backticks, `**` and `*`.
fn inline(text: &str) -> String {
    let piece = |(index, piece)| {
        if index % 2 == 1 {
            return code(piece);
        }
        paired(&paired(&escape(piece), "**", "strong"), "*", "em")
    };
    text.split('`').enumerate().map(piece).collect()
}

/// Puts the text between each pair of marks into an element.
fn paired(text: &str, mark: &str, element: &str) -> String {
    let pieces: Vec<&str> = text.split(mark).collect();
    if pieces.len().is_multiple_of(2) {
        return text.to_owned();
    }
    let mut out = String::new();
    for (index, piece) in pieces.iter().enumerate() {
        if index % 2 == 1 {
            out.extend(["<", element, ">", piece, "</", element, ">"]);
        } else {
            out.push_str(piece);
        }
    }
    out
}

/// Converts paragraphs that are separated by an empty line. A block of code is one of them.
fn paragraphs(text: &str) -> String {
    text.split("\n\n").map(|one| block(one.trim())).collect()
}

fn block(paragraph: &str) -> String {
    let fenced = paragraph.strip_prefix("```text\n").and_then(|rest| rest.strip_suffix("\n```"));
    match fenced {
        Some(code) => format!("<pre tabindex=\"0\">{}</pre>", self::code(code)),
        None => format!("<p>{}</p>", inline(paragraph)),
    }
}

/// Formats JSON with two spaces per level. A value that fits on a short line stays on one line.
fn lay_out(tree: &Value, depth: usize, out: &mut String) {
    const WIDTH: usize = 72;
    let short = one_line(tree);
    let entries = entries(tree);
    if entries.is_empty() || (depth > 0 && short.chars().count() + depth * 2 <= WIDTH) {
        return out.push_str(&short);
    }
    let (open, close) = if tree.kind() == ValueKind::Map { ("{", "}") } else { ("[", "]") };
    let mut before = open;
    for (name, value) in entries {
        out.extend([before, "\n", &"  ".repeat(depth + 1), &name]);
        lay_out(&value, depth + 1, out);
        before = ",";
    }
    out.extend(["\n", &"  ".repeat(depth), close]);
}

/// Formats JSON on one line, with a space after commas and colons and inside braces.
fn one_line(tree: &Value) -> String {
    let entries = entries(tree).into_iter();
    let entries: Vec<_> = entries.map(|(name, value)| name + &one_line(&value)).collect();
    if entries.is_empty() {
        return compact(tree);
    }
    let entries = entries.join(", ");
    if tree.kind() == ValueKind::Map { format!("{{ {entries} }}") } else { format!("[{entries}]") }
}

/// The members of an object, each with its name and a colon, or the elements of an array.
fn entries(tree: &Value) -> Vec<(String, Value)> {
    let is_object = tree.kind() == ValueKind::Map;
    let has_entries = is_object || tree.kind() == ValueKind::Seq;
    let keys = if has_entries { tree.try_iter().ok() } else { None };
    let entry = |key: Value| {
        if is_object {
            (format!("{}: ", compact(&key)), tree.get_item(&key).unwrap_or_default())
        } else {
            (String::new(), key)
        }
    };
    keys.into_iter().flatten().map(entry).collect()
}

fn compact(tree: &Value) -> String {
    serde_json::to_string(tree).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("<a href='x'>&\""), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
        let shown = "<code>&lt;b&gt;</code> <strong>&lt;i&gt;</strong> <em>x</em>";
        assert_eq!(inline("`<b>` **<i>** *x*"), shown);
        let facts = Json::Object(vec![("title".to_owned(), Json::Text("<b>".to_owned()))]);
        let page = render("problem.html", "", &facts);
        assert!(String::from_utf8_lossy(&page).contains("<h1>&lt;b&gt;</h1>"));
    }

    #[test]
    fn a_single_mark_is_text() {
        assert_eq!(inline("2 * 3"), "2 * 3");
    }

    #[test]
    fn a_block_of_code_keeps_its_lines() {
        let shown = "<p>a</p><pre tabindex=\"0\"><code>+-+\n|&lt;|</code></pre><p>b c</p>";
        assert_eq!(paragraphs("a\n\n```text\n+-+\n|<|\n```\n\nb c"), shown);
    }

    #[test]
    fn short_values_are_formatted_on_one_line() {
        let tree = serde_json::from_str(r#"{"a":[1,{"b":[]}],"c":{}}"#).expect("valid");
        let mut out = String::new();
        lay_out(&tree, 0, &mut out);
        assert_eq!(out, "{\n  \"a\": [1, { \"b\": [] }],\n  \"c\": {}\n}");
    }

    #[test]
    fn the_policy_allows_the_style_that_the_pages_have() {
        let page = render("problems.html", "", &Json::Null);
        let page = String::from_utf8(page.to_vec()).expect("UTF-8");
        let style = page.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next());
        let hash = BASE64.encode(&Sha256::digest(style.expect("a style").as_bytes()));
        assert!(content_security_policy().contains(&format!("style-src 'sha256-{hash}'")));
    }
}
