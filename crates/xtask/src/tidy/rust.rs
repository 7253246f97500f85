//! Rules for Rust files: the header, names, and reading the environment.

use proc_macro2::Span;
use syn::{
    Ident, ItemEnum, ItemMod, ItemStruct, ItemTrait, ItemType, ItemUnion, UseName, UsePath,
    UseTree,
    visit::{self, Visit},
};

use super::{Fault, Rule, is_test};

/// Words that are meaningless anywhere in a name.
const EMPTY_WORDS: &[&str] =
    &["manager", "helper", "helpers", "util", "utils", "utility", "dto", "misc"];
/// Words that are meaningless at the end of a name.
const EMPTY_LAST_WORDS: &[&str] = &["data", "info", "impl"];
/// Crates that developers run. They may read their command line.
const TOOLS: &[&str] =
    &["crates/xtask/", "crates/roster-test-service/", "crates/roster-testkit/", "tools/"];

/// Checks one file.
pub(super) fn check(path: &str, text: &str, faults: &mut Vec<Fault>) {
    let mut found = Found { path, faults };
    if !text.trim_start().starts_with("//!") {
        let detail = "does not open with //! lines that say what it is for".to_owned();
        found.add(Rule::Header, 1, detail);
    }
    let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
    if let Some(word) = empty_word(stem) {
        found.add(Rule::Name, 0, format!("the file's name says {word:?}: say what it is about"));
    }
    // The compiler reports a file that does not parse.
    if let Ok(parsed) = syn::parse_file(text) {
        found.visit_file(&parsed);
    }
}

/// Collects the faults of a file.
struct Found<'f> {
    path: &'f str,
    faults: &'f mut Vec<Fault>,
}

impl Found<'_> {
    fn add(&mut self, rule: Rule, line: usize, detail: String) {
        self.faults.push(Fault { rule, path: self.path.to_owned(), line, detail });
    }

    fn name(&mut self, name: &Ident) {
        if let Some(word) = empty_word(&name.to_string()) {
            let line = name.span().start().line;
            self.add(Rule::Name, line, format!("{name} says {word:?}: say what it is"));
        }
    }

    fn environment(&mut self, at: Span) {
        let is_product =
            self.path.contains("/src/") && !TOOLS.iter().any(|tool| self.path.starts_with(tool));
        if is_product && !is_test(self.path) {
            let detail = "only the settings read the environment: take it as a value".to_owned();
            self.add(Rule::Environment, at.start().line, detail);
        }
    }
}

impl<'a> Visit<'a> for Found<'_> {
    fn visit_item_struct(&mut self, item: &'a ItemStruct) {
        self.name(&item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'a ItemEnum) {
        self.name(&item.ident);
    }

    fn visit_item_trait(&mut self, item: &'a ItemTrait) {
        self.name(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_union(&mut self, item: &'a ItemUnion) {
        self.name(&item.ident);
    }

    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        self.name(&item.ident);
        visit::visit_item_mod(self, item);
    }

    fn visit_item_type(&mut self, item: &'a ItemType) {
        self.name(&item.ident);
    }

    /// `std::env::var`, `env::args`; not `env::consts`.
    fn visit_path(&mut self, path: &'a syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if let Some(at) = names.iter().position(|name| name == "env")
            && names.get(at + 1).is_some_and(|next| next != "consts")
        {
            self.environment(
                path.segments.first().map_or_else(Span::call_site, |s| s.ident.span()),
            );
        }
        visit::visit_path(self, path);
    }

    fn visit_use_path(&mut self, path: &'a UsePath) {
        let is_consts = matches!(&*path.tree, UseTree::Path(next) if next.ident == "consts");
        if path.ident == "env" && !is_consts {
            self.environment(path.ident.span());
        }
        visit::visit_use_path(self, path);
    }

    fn visit_use_name(&mut self, name: &'a UseName) {
        if name.ident == "env" {
            self.environment(name.ident.span());
        }
    }
}

/// The meaningless word of a name, if there is one.
fn empty_word(name: &str) -> Option<String> {
    let words = words_of(name);
    let anywhere = words.iter().find(|word| EMPTY_WORDS.contains(&word.as_str()));
    let last = words.last().filter(|word| EMPTY_LAST_WORDS.contains(&word.as_str()));
    anywhere.or(last).cloned()
}

/// The words of a name in snake_case or CamelCase, in lower case. `HTTPUtil` is two words.
fn words_of(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    let after = chars.iter().skip(1).map(Some).chain([None]);
    let before = [None].into_iter().chain(chars.iter().map(Some));
    for ((c, before), after) in chars.iter().zip(before).zip(after) {
        let lower = |c: Option<&char>| c.is_some_and(|c| c.is_lowercase());
        let begins = c.is_uppercase() && (lower(before) || lower(after));
        if *c == '_' || begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| *c != '_') {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
