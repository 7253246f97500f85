//! The frame that every page stands in, and the small pieces of HTML.
//!
//! Pages are whole in themselves: one style sheet inside the page, allowed by its hash, no script,
//! no image, no other host. All text passes [`escape`] or [`inline`]; nothing here takes text from
//! a request.

use bytes::Bytes;
use data_encoding::BASE64;
use roster_core::Json;
use sha2::{Digest, Sha256};

use super::tree::{items, members, string};

const STYLE: &str = include_str!("../../assets/docs.css");

/// The `Content-Security-Policy` of all pages made here.
pub fn content_security_policy() -> String {
    format!(
        "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'",
        BASE64.encode(&Sha256::digest(STYLE.as_bytes()))
    )
}

/// One page.
pub(super) struct Page<'a> {
    /// The title, as plain text.
    pub(super) title: &'a str,
    /// The path that the service is mounted at, without a slash at the end.
    pub(super) base_path: &'a str,
    /// The table of contents: list items with links, as HTML.
    pub(super) contents: Option<&'a str>,
    /// What stands in `main`, as HTML.
    pub(super) body: &'a str,
}

impl Page<'_> {
    /// The page as a document.
    pub(super) fn render(&self) -> Bytes {
        let Self { base_path, body, .. } = self;
        let title = escape(self.title);
        let contents = self.contents.map_or_else(String::new, |items| {
            format!(
                "<nav class=\"side\" aria-label=\"Contents\"><ul>{items}</ul></nav>\
                 <details class=\"menu\"><summary>Contents</summary>\
                 <nav aria-label=\"Contents\"><ul>{items}</ul></nav></details>"
            )
        });
        let layout = if self.contents.is_some() { "wide" } else { "narrow" };
        Bytes::from(format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\">\
             <title>{title} \u{b7} Roster</title><style>{STYLE}</style></head>\
             <body class=\"{layout}\"><a class=\"skip\" href=\"#main\">Skip to the text</a>\
             <header><a class=\"mark\" href=\"{base_path}/docs\">Roster</a>\
             <nav aria-label=\"Pages\"><a href=\"{base_path}/docs\">Reference</a>\
             <a href=\"{base_path}/problems\">Problems</a>\
             <a href=\"{base_path}/openapi.json\">OpenAPI</a></nav></header>\
             {contents}<main id=\"main\">{body}</main></body></html>\n"
        ))
    }
}

/// Plain text as HTML, also good inside quoted attributes.
pub(super) fn escape(text: &str) -> String {
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

/// One line of the Markdown that descriptions use: backticks, `**` and `*`.
pub(super) fn inline(text: &str) -> String {
    let mut out = String::new();
    for (index, piece) in text.split('`').enumerate() {
        if index % 2 == 1 {
            out.push_str("<code>");
            out.push_str(&escape(piece));
            out.push_str("</code>");
        } else {
            out.push_str(&emphasis(&escape(piece)));
        }
    }
    out
}

fn emphasis(escaped: &str) -> String {
    let strong = paired(escaped, "**", "strong");
    paired(&strong, "*", "em")
}

/// Puts every second stretch between two marks into an element.
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

/// Paragraphs, with an empty line between them.
pub(super) fn paragraphs(text: &str) -> String {
    let whole = text.split("\n\n").map(|one| format!("<p>{}</p>", inline(one.trim())));
    whole.collect()
}

/// A JSON tree, laid out for reading, in a block that can be scrolled by keyboard.
pub(super) fn code_block(tree: &Json, label: &str) -> String {
    let mut text = String::new();
    lay_out(tree, 0, &mut text);
    pre(&text, label)
}

/// Text as it is, in a block that can be scrolled by keyboard.
pub(super) fn pre(text: &str, label: &str) -> String {
    let label = escape(label);
    format!(
        "<pre tabindex=\"0\" role=\"region\" aria-label=\"{label}\"><code>{}</code></pre>",
        escape(text)
    )
}

/// JSON with two spaces a level; what fits on a short line stays on one.
fn lay_out(tree: &Json, depth: usize, out: &mut String) {
    const WIDTH: usize = 72;
    let short = one_line(tree);
    if short.chars().count() + depth * 2 <= WIDTH && depth > 0 {
        return out.push_str(&short);
    }
    let (members, items) = (members(tree), items(tree));
    let (open, close) = if members.is_empty() { ('[', ']') } else { ('{', '}') };
    if members.is_empty() && items.is_empty() {
        return out.push_str(&short);
    }
    let named = members.iter().map(|(name, value)| (Some(name), value));
    let values = named.chain(items.iter().map(|value| (None, value)));
    let mut before = open;
    for (name, value) in values {
        out.push(before);
        out.push('\n');
        out.push_str(&"  ".repeat(depth + 1));
        if let Some(name) = name {
            out.push_str(&one_line(&string(name)));
            out.push_str(": ");
        }
        lay_out(value, depth + 1, out);
        before = ',';
    }
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
    out.push(close);
}

/// JSON on one line, with a space after commas and colons and inside braces.
fn one_line(tree: &Json) -> String {
    let members: Vec<String> = members(tree)
        .iter()
        .map(|(name, value)| format!("{}: {}", one_line(&string(name)), one_line(value)))
        .collect();
    if !members.is_empty() {
        return format!("{{ {} }}", members.join(", "));
    }
    let items: Vec<String> = items(tree).iter().map(one_line).collect();
    if !items.is_empty() {
        return format!("[{}]", items.join(", "));
    }
    String::from_utf8_lossy(&super::json(tree)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use roster_core::json::read;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(escape("<a href='x'>&\""), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
        let shown = "<code>&lt;b&gt;</code> <strong>&lt;i&gt;</strong> <em>x</em>";
        assert_eq!(inline("`<b>` **<i>** *x*"), shown);
    }

    #[test]
    fn a_single_mark_is_text() {
        assert_eq!(inline("2 * 3"), "2 * 3");
    }

    #[test]
    fn a_tree_is_laid_out_with_short_things_on_one_line() {
        let tree = read(br#"{"a":[1,{"b":[]}],"c":{}}"#).expect("valid");
        let mut out = String::new();
        lay_out(&tree, 0, &mut out);
        assert_eq!(out, "{\n  \"a\": [1, { \"b\": [] }],\n  \"c\": {}\n}");
    }

    #[test]
    fn the_policy_allows_the_style_that_the_pages_have() {
        let page = Page { title: "t", base_path: "", contents: None, body: "" }.render();
        let page = String::from_utf8(page.to_vec()).expect("UTF-8");
        let style = page.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next());
        let hash = BASE64.encode(&Sha256::digest(style.expect("a style").as_bytes()));
        assert!(content_security_policy().contains(&format!("style-src 'sha256-{hash}'")));
    }
}
