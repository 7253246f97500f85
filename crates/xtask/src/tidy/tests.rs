//! Tests every rule of tidy with text that breaks it, and with text that only looks like a
//! violation.

use super::exceptions::Exception;
use super::lines::Report;
use super::tree::Tree;
use super::{Fault, Rule, check};

/// A map without paths.
const MAP: (&str, &str) = ("ARCHITECTURE.md", "# Map\n");

/// The faults of a repository with one file in addition to the map.
fn faults(path: &str, text: &str) -> Vec<Fault> {
    check(&Tree::of(&[MAP, (path, text)]), &[])
}

/// The rules and lines of the faults of one file.
fn found(path: &str, text: &str) -> Vec<(Rule, usize)> {
    faults(path, text).iter().map(|fault| (fault.rule, fault.line)).collect()
}

/// A Rust file with a header and this code from line 2 on.
fn rust(code: &str) -> Vec<(Rule, usize)> {
    found("crates/a/src/lib.rs", &format!("//! What it is for.\n{code}\n"))
}

#[test]
fn a_clean_file_has_no_fault() {
    assert_eq!(rust("pub struct User;\nfn f<'a>(x: &'a str) -> char { '\"' }\n// x"), []);
}

#[test]
fn a_long_file_is_found_and_tests_may_be_longer() {
    let lines = |n: usize| format!("//! What it is for.\n{}", "fn f() {}\n".repeat(n - 1));
    for (path, most) in [
        ("crates/a/src/lib.rs", 500),
        ("crates/a/src/tests.rs", 800),
        ("crates/a/src/store_tests.rs", 800),
        ("crates/a/tests/store.rs", 800),
    ] {
        assert_eq!(found(path, &lines(most)), [], "{path}");
        assert_eq!(found(path, &lines(most + 1)), [(Rule::FileLength, 0)], "{path}");
    }
    assert_eq!(found("data.json", &"1\n".repeat(2000)), []);
    assert_eq!(found("tools/x.py", &"1\n".repeat(501)), [(Rule::FileLength, 0)]);
}

#[test]
fn a_long_line_is_found_and_characters_are_counted() {
    assert_eq!(rust(&format!("// {}", "é".repeat(97))), []);
    assert_eq!(rust(&format!("// {}", "é".repeat(98))), [(Rule::LineLength, 2)]);
    assert_eq!(rust(&format!("// https://{}", "a".repeat(98))), []);
}

#[test]
fn a_missing_header_is_found() {
    assert_eq!(found("a.rs", "/// Not of the module.\nfn f() {}\n"), [(Rule::Header, 1)]);
    assert_eq!(found("a.rs", "\n//! Of the module.\n"), []);
}

#[test]
fn names_that_say_nothing_are_found() {
    for code in [
        "struct UserManager;",
        "pub enum HTTPUtil {}",
        "pub(crate) trait StoreHelper {}",
        "mod utils;",
        "type UserDto = ();",
        "pub type UserInfo = ();",
        "struct UserData(u8);",
        "struct DirectoryImpl;",
    ] {
        assert_eq!(rust(code), [(Rule::Name, 2)], "{code}");
    }
    for path in ["src/helpers.rs", "src/user_data.rs", "src/utils.rs"] {
        assert_eq!(found(path, "//! What it is for.\n"), [(Rule::Name, 0)], "{path}");
    }
    for code in [
        "struct DataDir;",
        "impl Body for Answer {\n    type Data = Bytes;\n}",
        "// struct UserManager;",
        "const S: &str = \"struct UserManager\";",
        "struct Utilities;",
        "fn manager(user: &User) {}",
    ] {
        assert_eq!(rust(code), [], "{code}");
    }
}

#[test]
fn reading_the_environment_is_found() {
    for code in [
        "fn f() { std::env::var(\"X\"); }",
        "use std::env;",
        "fn f() { env::args(); }",
        "fn f() { std::env::temp_dir(); }",
    ] {
        assert_eq!(rust(code), [(Rule::Environment, 2)], "{code}");
        let in_test = found("crates/a/tests/x.rs", &format!("//! Tests.\n{code}\n"));
        assert_eq!(in_test, [], "{code}");
    }
    for code in [
        "const V: &str = env!(\"CARGO_PKG_VERSION\");",
        "fn f() { std::env::consts::ARCH; }",
        "// std::env::var",
        "fn f() { setting.env.len(); my_env::read(); }",
    ] {
        assert_eq!(rust(code), [], "{code}");
    }
}

#[test]
fn words_that_must_not_stay_are_found() {
    for code in [
        "// TODO: later",
        "// FIXME",
        "/* XXX */",
        "// a HACK",
        "fn f() { todo!() }",
        "#[ignore]\nfn f() {}",
        "fn f() { assert!(true); }",
        "// see /home/ada/x",
    ] {
        assert_eq!(rust(code), [(Rule::Word, 2)], "{code}");
    }
    assert_eq!(found("x.md", "# TODO\n"), [(Rule::Word, 1)]);
    assert_eq!(found("test", "mktemp /tmp/roster-XXXXXX\n"), []);
    assert_eq!(found("x.md", "HACKING, todo lists and assert!(true)\n"), []);
}

#[test]
fn words_with_a_plainer_one_are_found_in_rust_and_documents() {
    for line in
        ["// Whoever asks", "/// Read anew.", "fn carry_out() {}", "const S: &str = \"a face\";"]
    {
        assert_eq!(rust(line), [(Rule::Word, 2)], "{line}");
    }
    assert_eq!(found("x.md", "a\nThe SCIM Face, a parameter that there is not\n").len(), 2);
    assert_eq!(rust("/// An interface, a surface, `carry_out_all`."), []);
    assert_eq!(found("x.py", "# whoever\n"), []);
}

#[test]
fn links_that_lead_nowhere_are_found() {
    let tree = |text| {
        Tree::of(&[
            MAP,
            ("docs/a.md", text),
            ("docs/b.md", "# First\n## It's `B`, the 2nd\n```\n# no heading\n```\n"),
            ("README.md", ""),
        ])
    };
    for broken in [
        "[x](c.md)",
        "[x](../docs/c.md \"title\")",
        "[x](b.md#second)",
        "[x](#nowhere)",
        "[x](b.md#no-heading)",
        "[x](../../README.md)",
        "a [x](b.md) and [y](c.md)",
    ] {
        let faults = check(&tree(broken), &[]);
        assert_eq!(faults.len(), 1, "{broken}: {faults:?}");
        assert!(faults.iter().all(|fault| fault.rule == Rule::Link), "{faults:?}");
    }
    for whole in [
        "[x](b.md)",
        "[x](../README.md)",
        "[x](/README.md)",
        "[x](../docs/)",
        "[x](b.md#its-b-the-2nd)",
        "# Own\n[x](#own)",
        "[x](https://example.com/c.md)",
        "```\n[x](c.md)\n```",
        "`[x](c.md)`",
    ] {
        assert_eq!(check(&tree(whole), &[]), [], "{whole}");
    }
}

#[test]
fn a_map_that_is_missing_long_or_wrong_is_found() {
    let rules = |tree: &Tree| -> Vec<(Rule, usize)> {
        check(tree, &[]).iter().map(|fault| (fault.rule, fault.line)).collect()
    };
    assert_eq!(rules(&Tree::of(&[])), [(Rule::Architecture, 0)]);
    let long = "x\n".repeat(201);
    assert_eq!(rules(&Tree::of(&[("ARCHITECTURE.md", &long)])), [(Rule::Architecture, 0)]);
    let tree = |text| {
        let router = ("crates/roster-http/src/router.rs", "//! Routes.\n");
        Tree::of(&[("ARCHITECTURE.md", text), router, ("docs/a.md", "")])
    };
    for wrong in [
        "`docs/b.md`",
        "`crates/roster-http/src/routes.rs`",
        "`roster-http/routes.rs`",
        "`crates/roster-mail`",
        "`roster-mail/`",
        "`lib/x.rs`",
    ] {
        assert_eq!(rules(&tree(wrong)), [(Rule::Architecture, 1)], "{wrong}");
    }
    for right in [
        "`docs/a.md` `roster-http/router.rs` `crates/roster-http/` `docs/`",
        "`application/json` `text/plain` `/users/{user_id}` `a / b` `GET /users` `PUT`",
        "docs/b.md",
        "```\n`docs/b.md`\n```",
    ] {
        assert_eq!(rules(&tree(right)), [], "{right}");
    }
}

#[test]
fn an_exception_holds_for_its_rule_and_place_alone() {
    let exception = |rule, path| Exception { rule, path, reason: "planted" };
    let tree = Tree::of(&[MAP, ("src/utils.rs", "//! X.\n// TODO\n")]);
    let rules = |exceptions: &[Exception]| -> Vec<Rule> {
        check(&tree, exceptions).iter().map(|fault| fault.rule).collect()
    };
    assert_eq!(rules(&[]), [Rule::Word, Rule::Name]);
    assert_eq!(rules(&[exception(Rule::Name, "src/utils.rs")]), [Rule::Word]);
    assert_eq!(rules(&[exception(Rule::Word, "src/")]), [Rule::Name]);
    assert_eq!(
        rules(&[exception(Rule::Link, "src/utils.rs")]),
        [Rule::Word, Rule::Name, Rule::Exception]
    );
}

#[test]
fn a_fault_is_printed_with_its_place() {
    let faults = faults("src/a.rs", "//! X.\n// TODO\n");
    let printed: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(printed, ["src/a.rs:2: \"TODO\" must not stay [Word]"]);
}

#[test]
fn files_that_import_one_another_are_told() {
    let circle = |files: &[(&str, &str)]| {
        let mut faults = Vec::new();
        super::circles::check(&Tree::of(files), &mut faults);
        faults.into_iter().map(|fault| fault.detail).collect::<Vec<_>>()
    };
    let told = circle(&[
        ("crates/a/src/lib.rs", "mod b;\nmod c;\n"),
        ("crates/a/src/b/mod.rs", "mod d;\npub(crate) use d::D;\nuse crate::c::C;\n"),
        ("crates/a/src/b/d.rs", "use super::E;\nfn f() { crate::c::g() }\n"),
        ("crates/a/src/c.rs", "use crate::b::D;\n"),
    ]);
    let files = "crates/a/src/b/d.rs, crates/a/src/c.rs";
    let other = "crates/a/src/c.rs, crates/a/src/b/d.rs";
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(files) || told[0].contains(other), "{told:?}");
    let siblings =
        [("crates/a/src/b.rs", "use crate::c::C;\n"), ("crates/a/src/c.rs", "use crate::b::B;\n")];
    assert_eq!(circle(&siblings).len(), 1);
    let in_tests = [
        ("crates/a/src/b/mod.rs", "#[cfg(test)]\nuse crate::c::C;\n"),
        ("crates/a/src/c.rs", "use crate::b::B;\n"),
    ];
    assert!(circle(&in_tests).is_empty());
}

#[test]
fn lines_are_counted_without_tests() {
    let code = "//! What it is for.\n\nfn f() {} // a comment\n";
    let tests = "#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n";
    let report = Report::of(&Tree::of(&[
        ("crates/roster-engine/src/lib.rs", &format!("{code}{tests}")),
        ("crates/roster-engine/src/write/queue/tests.rs", code),
        ("crates/roster-engine/tests/queue.rs", code),
        ("crates/roster-sqlite/src/lib.rs", "#[cfg(test)]\nmod tests;\nfn f() {}\n"),
        ("crates/xtask/src/main.rs", code),
        ("docs/lines.md", code),
    ]));
    let words = |row: &str| row.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    let expected = [
        "without tests lines code only",
        "roster-engine 2 1",
        "roster-sqlite 3 3",
        "xtask 2 1",
        "the engines together 5 4",
        "the product 5 4",
        "circles of imports 0",
    ];
    assert_eq!(report.to_string().lines().map(words).collect::<Vec<_>>(), expected);
}
