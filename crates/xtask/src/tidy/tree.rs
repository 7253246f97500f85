//! The files of the repository, read once.
//!
//! Paths are relative to the root and have slashes. The text of UTF-8 files is stored; of other
//! files only the path is. Output of builds and runs is skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::Context;

/// Folders that contain no files of the repository.
const PASSED_OVER: &[&str] =
    &[".git", ".venv", "__pycache__", "node_modules", "roster-data", "target"];

/// The repository's folders and files.
#[derive(Debug, Default)]
pub(super) struct Tree {
    texts: BTreeMap<String, String>,
    paths: BTreeSet<String>,
}

impl Tree {
    /// Reads everything below `root`.
    pub(super) fn read(root: &Path) -> anyhow::Result<Self> {
        let mut tree = Self::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    /// A tree that does not come from a disk.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in files {
            let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
            tree.paths.extend(ends.filter_map(|end| path.get(..end)).map(str::to_owned));
            tree.texts.insert((*path).to_owned(), (*text).to_owned());
        }
        tree
    }

    /// The path and text of every text file, in order.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The text of one file.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Whether a file or folder exists; a slash at the end does not matter.
    pub(super) fn exists(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        path.is_empty() || self.paths.contains(path)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> anyhow::Result<()> {
        let entries =
            fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !PASSED_OVER.contains(name)) else {
                continue;
            };
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else if let Some(text) = kind.is_file().then(|| fs::read(entry.path())).transpose()?
                && let Ok(text) = String::from_utf8(text)
            {
                self.texts.insert(path.clone(), text);
            }
            self.paths.insert(path);
        }
        Ok(())
    }
}
