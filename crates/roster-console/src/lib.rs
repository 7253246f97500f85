//! The files of the console, the page for people. The page uses the public API alone, so nothing
//! here knows of users.

use std::{borrow::Cow, sync::LazyLock};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use rust_embed::RustEmbed;
use sha2::{Digest as _, Sha256};

/// The files. A debug build reads them when they are requested, so a change shows after a reload.
#[derive(RustEmbed)]
#[folder = "web"]
struct Web;

/// A file of the console.
#[derive(Clone, Debug)]
pub struct File {
    /// The value of `Content-Type`.
    pub media: &'static str,
    /// The content.
    pub bytes: Bytes,
    /// A number that is another one for another content.
    pub version: i64,
}

/// The file with this path below the URL of the files.
pub fn file(path: &str) -> Option<File> {
    let media = match path.rsplit_once('.')?.1 {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => return None,
    };
    let found = Web::get(path)?;
    let version =
        found.metadata.sha256_hash().first_chunk().map_or(0, |first| i64::from_be_bytes(*first));
    let bytes = match found.data {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => bytes.into(),
    };
    Some(File { media, bytes, version })
}

/// The template of the page. It has the variables `base_path`, and `files`: the URL of the files.
pub fn page() -> Option<String> {
    let found = Web::get("index.html")?;
    String::from_utf8(found.data.into_owned()).ok()
}

/// A digest of all files. It is part of their URLs, so that a browser may keep a file forever.
pub fn digest() -> String {
    static EMBEDDED: LazyLock<String> = LazyLock::new(digest_now);
    if cfg!(debug_assertions) { digest_now() } else { EMBEDDED.clone() }
}

fn digest_now() -> String {
    let mut all = Sha256::new();
    for path in Web::iter() {
        let hash = Web::get(&path).map(|file| file.metadata.sha256_hash());
        all.update(path.as_bytes());
        all.update(hash.unwrap_or_default());
    }
    HEXLOWER.encode(all.finalize().first_chunk::<8>().unwrap_or(&[0; 8]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendored_files_are_those_of_the_lock() {
        let lock = include_str!("../web/vendor/vendor.lock");
        let lines = lock.lines().filter(|line| !line.starts_with('#'));
        let locked: Vec<_> = lines.map(|line| line.split_once("  ").expect("a name")).collect();
        let mut found = 0;
        for path in Web::iter().filter(|path| path.starts_with("vendor/")) {
            let name = path.trim_start_matches("vendor/");
            if name == "vendor.lock" {
                continue;
            }
            let hash = Web::get(&path).expect("a file").metadata.sha256_hash();
            assert!(locked.contains(&(HEXLOWER.encode(&hash).as_str(), name)), "{name}");
            found += 1;
        }
        assert_eq!(found, locked.len());
    }

    #[test]
    fn the_page_and_its_files_are_there() {
        let page = page().expect("a page");
        for path in ["app.js", "app.css"] {
            assert!(page.contains(&format!("{{{{files}}}}/{path}")), "{path}");
            assert!(!file(path).expect(path).bytes.is_empty());
        }
        assert!(file("index.html").is_none() && file("../Cargo.toml").is_none());
        assert_eq!(digest().len(), 16);
    }
}
