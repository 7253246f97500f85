//! No file imports a file that imports it, directly or through other files.
//!
//! A file may import its ancestors, because a child that uses its parent's items is ordinary Rust.
//! An import of a re-exported name counts as an import of the file that defines it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use petgraph::{algo::tarjan_scc, graphmap::DiGraphMap};
use syn::{
    Attribute, ItemMod, ItemUse, UseTree, Visibility,
    visit::{self, Visit},
};

use super::{Fault, Rule, is_rust, is_test, tree::Tree};

/// The path of a module or of an item, from the root of its crate.
type ItemPath = Vec<String>;

/// Checks every crate.
pub(super) fn check(tree: &Tree, faults: &mut Vec<Fault>) {
    let mut crates: BTreeMap<&str, BTreeMap<ItemPath, (&str, Imports)>> = BTreeMap::new();
    for (path, text) in tree.files() {
        let Some((name, file)) =
            path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"))
        else {
            continue;
        };
        if !is_rust(path) || is_test(path) {
            continue;
        }
        let module = module_of(file);
        // The compiler reports a file that does not parse.
        let Ok(parsed) = syn::parse_file(text) else { continue };
        let mut imports = Imports { module: module.clone(), ..Imports::default() };
        imports.visit_file(&parsed);
        crates.entry(name).or_default().insert(module, (path, imports));
    }
    for modules in crates.values() {
        check_crate(modules, faults);
    }
}

fn check_crate(modules: &BTreeMap<ItemPath, (&str, Imports)>, faults: &mut Vec<Fault>) {
    let exported: HashMap<&ItemPath, &ItemPath> = modules
        .values()
        .flat_map(|(_, imports)| &imports.exported)
        .map(|(name, item)| (name, item))
        .collect();
    let mut graph = DiGraphMap::<&str, ()>::new();
    for (module, (path, imports)) in modules {
        for item in &imports.used {
            let mut item = absolute(module, item, modules);
            let mut seen = BTreeSet::new();
            while let Some(target) = item.as_ref().and_then(|item| exported.get(item)) {
                let target = absolute(&parent(item.as_ref()), target, modules);
                if !seen.insert(target.clone()) {
                    break;
                }
                item = target;
            }
            let Some(item) = item else { continue };
            let mut starts = (0..=item.len()).rev().filter_map(|end| item.get(..end));
            let found = starts.find_map(|start| modules.get_key_value(start));
            if let Some((target, (target_path, _))) = found
                && !module.starts_with(target)
            {
                graph.add_edge(*path, *target_path, ());
            }
        }
    }
    for circle in tarjan_scc(&graph) {
        if circle.len() < 2 {
            continue;
        }
        let path = circle.iter().min().copied().unwrap_or_default().to_owned();
        let detail = format!("imports in a circle: {}", circle.join(", "));
        faults.push(Fault { rule: Rule::Circle, path, line: 0, detail });
    }
}

fn parent(item: Option<&ItemPath>) -> ItemPath {
    let item = item.map(Vec::as_slice).unwrap_or_default();
    item.split_last().map(|(_, parent)| parent.to_vec()).unwrap_or_default()
}

/// The path of a name that a module uses, from the root; `None` if the name is of another crate.
fn absolute(
    module: &ItemPath,
    item: &ItemPath,
    modules: &BTreeMap<ItemPath, (&str, Imports)>,
) -> Option<ItemPath> {
    let (first, rest) = item.split_first()?;
    let mut base = match first.as_str() {
        "crate" => Vec::new(),
        "self" => module.clone(),
        "super" => parent(Some(module)),
        name => {
            let mut child = module.clone();
            child.push(name.to_owned());
            return modules.contains_key(&child).then(|| [&child[..], rest].concat());
        }
    };
    for name in rest {
        if name == "super" {
            base.pop();
        } else {
            base.push(name.clone());
        }
    }
    Some(base)
}

fn module_of(file: &str) -> ItemPath {
    let mut module: ItemPath = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if module.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

/// The imports of a file, and the names that it re-exports.
#[derive(Default)]
struct Imports {
    module: ItemPath,
    used: BTreeSet<ItemPath>,
    /// The path of an exported name, and the path that it stands for.
    exported: Vec<(ItemPath, ItemPath)>,
}

impl Imports {
    fn add(&mut self, tree: &UseTree, prefix: &ItemPath, is_public: bool) {
        let mut path = prefix.clone();
        match tree {
            UseTree::Path(one) => {
                path.push(one.ident.to_string());
                self.add(&one.tree, &path, is_public);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.add(item, prefix, is_public));
            }
            UseTree::Name(name) if name.ident == "self" => {
                self.used.insert(path);
            }
            UseTree::Name(name) => self.add_name(path, &name.ident.to_string(), None, is_public),
            UseTree::Rename(name) => {
                let renamed = Some(name.rename.to_string());
                self.add_name(path, &name.ident.to_string(), renamed, is_public);
            }
            UseTree::Glob(_) => {
                self.used.insert(path);
            }
        }
    }

    fn add_name(&mut self, mut path: ItemPath, name: &str, renamed: Option<String>, public: bool) {
        path.push(name.to_owned());
        if public {
            let mut exported = self.module.clone();
            exported.push(renamed.unwrap_or_else(|| name.to_owned()));
            self.exported.push((exported, path.clone()));
        }
        self.used.insert(path);
    }
}

impl<'a> Visit<'a> for Imports {
    fn visit_item_use(&mut self, item: &'a ItemUse) {
        if !is_for_tests(&item.attrs) {
            let is_public = !matches!(item.vis, Visibility::Inherited);
            self.add(&item.tree, &ItemPath::new(), is_public);
        }
    }

    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names: ItemPath = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if let [first, _, ..] = names.as_slice()
            && matches!(first.as_str(), "crate" | "self" | "super")
        {
            self.used.insert(names);
        }
        visit::visit_path(self, path);
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}
