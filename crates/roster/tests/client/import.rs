//! `roster import` into a service.

use std::{fs, os::unix::fs::PermissionsExt as _};

use roster_testkit::over_each_engine;
use roster_testkit::process::Engine;

use super::{Shell, broken_imports::states, run};

over_each_engine! {
    faults_are_listed_and_can_be_corrected,
    rows_that_an_open_quotation_mark_takes_in_are_not_lost,
    ids_that_are_not_kept_are_counted,
    columns_without_a_member_of_their_own_get_a_command_that_works,
    lines_of_json_are_imported_and_conflicts_settled,
    what_cannot_be_imported_is_refused,
    importing_needs_its_scope,
}

const FAULTY: &str = "username,email,given_name,attributes.note\n\
                      hedy,hedy@example.com,Hedy,\"two\nlines\"\n\
                      vera,vera at example.com,Vera,x\n\
                      \n\
                      rosa,rosa@example.com,Rosa,+49 30\n\
                      kurt,\"kurt@example.com,Kurt,\n\
                      emil,emil at example.com,'=Emil,\"a\nb\"\n\
                      hedy,,,\n\
                      ivan,ivan@example.com\n";

fn faults_are_listed_and_can_be_corrected(engine: Engine) {
    let shell = Shell::new(engine);
    shell.file("people.csv", FAULTY);
    let dry = shell.run(&["import", "people.csv", "--dry-run"]);
    dry.failed(7, &["column given_name: given_name", "would be: 2 created", "5 failed"]);
    assert_eq!(shell.ok(&["users", "list"]), "");
    let ran = shell.run(&["import", "people.csv"]);
    ran.failed(
        7,
        &[
            "people.csv: 2 created, 0 replaced, 0 skipped, 5 failed",
            "line 4: email: write an address",
            "line 7: email: a quotation mark",
            "line 8: email: ",
            "and 2 more; all are in people.faults.csv",
            "next: correct the lines in people.csv, as people.faults.csv lacks the cells of line 7 \
             and 1 more, and import it again: roster import people.csv --on-conflict skip \
             --restart",
        ],
    );
    let path = shell.home.path().join("people.faults.csv");
    let faults = fs::read_to_string(&path).unwrap();
    let (mark, faults) = faults.split_at(3);
    assert_eq!(mark, "\u{feff}");
    let rows: Vec<Vec<String>> = csv_rows(faults);
    assert_eq!(
        rows[0].join(","),
        "username,email,given_name,attributes.note,status,code,line,column,detail"
    );
    let short: Vec<String> =
        rows[1..].iter().map(|row| [&row[..4], &row[4..8]].concat().join("|")).collect();
    assert_eq!(
        short,
        [
            "vera|vera at example.com|Vera|x|422|invalid-email|4|email",
            "||||400|misquoted-cell|7|email",
            "emil|emil at example.com|'=Emil|a\nb|422|invalid-email|8|email",
            "hedy||||409|username-taken|10|username",
            "||||400|missing-cell|11|given_name",
        ]
    );
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    // It is not overwritten, and can be corrected and imported.
    shell.run(&["import", "people.csv"]).failed(2, &["people.faults.csv exists", "--restart"]);
    shell.file("people.faults.csv", &faults.replace(" at ", "@"));
    let ran = shell.run(&["import", "people.faults.csv"]);
    ran.failed(
        7,
        &[
            "2 created, 0 replaced, 0 skipped, 3 failed",
            "line 6: username: choose",
            "next: correct people.faults.faults.csv and import it: roster import ",
        ],
    );
    let emil = shell.run(&["users", "get", "emil", "-o", "json"]).json();
    assert_eq!(
        (&emil["given_name"], &emil["attributes"]["note"]),
        (&"=Emil".into(), &"a\nb".into())
    );
    let again = shell.run(&["import", "people.csv", "--restart", "--on-conflict", "skip"]);
    again.failed(7, &["0 created, 0 replaced, 3 skipped, 4 failed"]);
    assert!(states(&shell).is_empty());
    shell.service.stop();
}

fn rows_that_an_open_quotation_mark_takes_in_are_not_lost(engine: Engine) {
    let shell = Shell::new(engine);
    let rows: Vec<_> = (0..9000).map(|n| format!("u{n},Name of {n}\n")).collect();
    let text = format!("username,name\nada,Ada\nbob,\"Bob\n{}", rows.concat());
    shell.file("people.csv", &text);
    let given = ["import", "people.csv", "--on-conflict", "fail", "--faults", "f.csv"];
    let again = "roster import people.csv --on-conflict skip --faults f.csv --restart";
    let next = format!(
        "next: correct the lines in people.csv, as f.csv lacks the cells of line 3, and import it \
         again: {again}\n"
    );
    shell.run(&given).failed(7, &["1 created, 0 replaced, 0 skipped, 1 failed", &next]);
    let faults = fs::read_to_string(shell.home.path().join("f.csv")).unwrap();
    let rows = csv_rows(faults.trim_start_matches('\u{feff}'));
    assert_eq!((rows.len(), &*rows[1][3]), (2, "body-too-large"));
    assert!(rows[1][6].contains("; the row: bob,") && rows[1][6].ends_with('…'));
    shell.file("people.csv", &text.replace('"', ""));
    let arguments: Vec<&str> = again.split(' ').skip(1).collect();
    let ran = shell.run(&arguments);
    assert!(ran.err.contains("9001 created, 0 replaced, 1 skipped, 0 failed"), "{ran:?}");
    ran.succeeded();
    shell.service.stop();
}

fn ids_that_are_not_kept_are_counted(engine: Engine) {
    let shell = Shell::new(engine);
    let kept = "note: ids that are not kept: ";
    shell.file("new.csv", "id,version,username\n4711,3,ada\n4712,3,bob\n,,cleo\n");
    shell.file("ids.ndjson", "{\"id\":\"x\",\"username\":\"emil\"}\n{\"username\":\"fred\"}\n");
    let id = "019b76da-a800-7000-8000-00000000000b";
    shell.file("same.csv", &format!("id,username,external_id\n{id},ada,7\n"));
    for (arguments, words) in [
        (
            &["new.csv", "--dry-run"][..],
            &[
                "column id: id (ignored without --keep-ids)\n",
                "column version: version (ignored)\n",
                "2; --keep-ids keeps those of new users, --map id:external_id stores them\n",
            ][..],
        ),
        (
            &["new.csv"],
            &[
                "3 created",
                "2; --keep-ids keeps those of new users, --map id:external_id --on-conflict merge \
                 stores them\n",
            ],
        ),
        (&["ids.ndjson"], &["2 created", "1; --keep-ids keeps those of new users\n"]),
        (
            &["same.csv", "--on-conflict", "merge"],
            &["1 replaced", "1; --keep-ids keeps those of new users\n"],
        ),
        (
            &["same.csv", "--on-conflict", "merge", "--keep-ids", "--dry-run"],
            &["column id: id\n", "1; a user that exists keeps its own\n"],
        ),
    ] {
        let ran = shell.run(&[&["import"], arguments].concat());
        for word in [&[kept][..], words].concat() {
            assert!(ran.err.contains(word), "{arguments:?} {word}: {ran:?}");
        }
        ran.succeeded();
    }
    for arguments in [
        &["new.csv", "--map", "id:external_id", "--on-conflict", "merge"][..],
        &["new.csv", "--on-conflict", "skip"],
    ] {
        let ran = shell.run(&[&["import"], arguments].concat());
        assert!(!ran.err.contains("note: "), "{arguments:?}: {ran:?}");
        ran.succeeded();
    }
    let ada = shell.run(&["users", "get", "ada", "-o", "json"]).json();
    assert_eq!(ada["external_id"], "4711");
    shell.service.stop();
}

fn columns_without_a_member_of_their_own_get_a_command_that_works(engine: Engine) {
    let shell = Shell::new(engine);
    let telephones = "username,telephoneNumber,mobilePhone,Hat,Hat,\nada,+49301,+49302,,,\n";
    let command = "roster import t.csv --map mobilePhone: --map Hat: --map :";
    for (table, arguments, next) in [
        (telephones, &[][..], &*format!("{command}; or with a member after each colon\n")),
        (telephones, &["--map", "mobilePhone:phone_number"], "--map COLUMN:MEMBER for each, or "),
        (
            "username,email,email,Hat\nada,,,\n",
            &[],
            "several columns have the name email: rename one of them\n",
        ),
    ] {
        shell.file("t.csv", table);
        let ran = shell.run(&[&["import", "t.csv"], arguments].concat());
        ran.failed(2, &[&format!("next: {next}")]);
    }
    shell.file("t.csv", telephones);
    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
    shell.ok(&arguments);
    let ada = shell.run(&["users", "get", "ada", "-o", "json"]).json();
    assert_eq!(ada["phone_number"], "+49301");
    shell.service.stop();
}

/// The cells of a table that this command wrote.
pub(super) fn csv_rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut is_quoted) = (vec![], vec![], String::new(), false);
    for character in text.replace("\r\n", "\n").chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            other => cell.push(other),
        }
    }
    rows
}

fn lines_of_json_are_imported_and_conflicts_settled(engine: Engine) {
    let shell = Shell::new(engine);
    let people = "{\"username\":\"ada\",\"title\":\"Dr\"}\n{\"username\":\"bob\",\"emial\":\"b\"}\n\
                  \n{\"username\":\"cleo\"}";
    shell.file("people.ndjson", people);
    shell.run(&["import", "people.ndjson"]).failed(7, &["2 created", "1 failed", "line 2: emial"]);
    let faults = fs::read_to_string(shell.home.path().join("people.faults.csv")).unwrap();
    assert_eq!(
        faults,
        "\u{feff}status,code,line,member,detail,record\r\n422,unknown-member,2,emial,emial: did \
         you mean email?,\"{\"\"username\"\":\"\"bob\"\",\"\"emial\"\":\"\"b\"\"}\"\r\n"
    );
    let stdin = |arguments: &[&str], text: &str| {
        run(shell.command(arguments).env("ROSTER_URL", shell.url()), text)
    };
    let merged = stdin(
        &["import", "-", "--on-conflict", "merge"],
        "{\"username\":\"ADA\",\"name\":\"A\"}\n",
    );
    assert!(merged.err.contains("stdin: 0 created, 1 replaced"), "{merged:?}");
    merged.succeeded();
    let ada = shell.run(&["users", "get", "ada", "-o", "json"]).json();
    assert_eq!((&ada["title"], &ada["name"]), (&"Dr".into(), &"A".into()));
    let table = "Login;Vorname;Hat\nada;Ada;7\n";
    stdin(&["import", "-", "--csv"], table).failed(
        2,
        &["Hat: --map COLUMN:MEMBER", "next: roster import - --csv --map Hat:; or with"],
    );
    stdin(&["import", "-", "--map", "Hat:hat"], table)
        .failed(2, &["Hat: there is no member hat", "next: --map COLUMN:MEMBER for each"]);
    let guessed = ["import", "-", "--map", "Hat:", "--on-conflict", "replace"];
    stdin(&guessed, table).succeeded();
    let ada = shell.run(&["users", "get", "ada", "-o", "json"]).json();
    assert_eq!((&ada["title"], &ada["given_name"]), (&().into(), &"Ada".into()));
    let kept = "{\"id\":\"019b76da-a800-7000-8000-00000000000a\",\"username\":\"kept\"}";
    stdin(&["import", "-", "--keep-ids"], kept).succeeded();
    shell.ok(&["users", "get", "019b76da-a800-7000-8000-00000000000a"]);
    shell.service.stop();
}

fn what_cannot_be_imported_is_refused(engine: Engine) {
    let shell = Shell::new(engine);
    fs::write(shell.home.path().join("utf16.csv"), b"\xFF\xFEu\0s\0").unwrap();
    fs::write(shell.home.path().join("book.csv"), b"PK\x03\x04\0\0\0\0").unwrap();
    fs::write(shell.home.path().join("binary"), [0, 1, 2, 3, 0, 0, 0, 0]).unwrap();
    fs::write(shell.home.path().join("my users.csv.gz"), b"\x1F\x8B\x08\0").unwrap();
    fs::write(shell.home.path().join("users.csv"), b"\x1F\x8B\x08\0").unwrap();
    fs::create_dir(shell.home.path().join("directory")).unwrap();
    shell.file("empty.csv", "\n\n");
    shell.file("array.json", "[{\"username\":\"a\"}]");
    shell.file("plain.txt", "username\nada\n");
    shell.file("open.csv", "user\"name\nada\n");
    shell.file("good.csv", "username\nada\n");
    for (arguments, word) in [
        (&["nobody.csv"][..], "No such file"),
        (&["directory"], "it is a directory"),
        (&["utf16.csv"], "save it as CSV UTF-8"),
        (&["book.csv"], "it is a spreadsheet"),
        (&["binary"], "it is no text"),
        (&["empty.csv"], "it is empty"),
        (&["array.json", "--dry-run"], "jq -c '.[]' array.json | roster import - --dry-run\n"),
        (
            &["my users.csv.gz", "--on-conflict", "skip", "--tenant", "acme"],
            "zcat 'my users.csv.gz' | roster import - --on-conflict skip --tenant acme --csv\n",
        ),
        (&["users.csv", "--csv"], "zcat users.csv | roster import - --csv\n"),
        (&["plain.txt"], "if it is CSV, use --csv"),
        (&["open.csv"], "a quotation mark in it is wrong"),
        (&["good.csv", "--resume"], "no import of good.csv"),
        (&["good.csv", "--resume", "--restart"], "cannot be used with"),
        (&["good.csv", "--faults", "none/x.csv"], "none is no directory"),
        (&["good.csv", "--faults", "-"], "- is no file"),
        (&["good.csv", "--faults", "."], "error: /"),
        (&["good.csv", "--match", "title"], "match"),
        (&["good.csv", "--data", "d", "--on-conflict", "skip"], "cannot be used with"),
        (&["good.csv", "--config", "x"], "--data"),
    ] {
        shell.run(&[&["import"], arguments].concat()).failed(2, &[word]);
    }
    let stdin = |arguments: &[&str], text: &str| {
        run(shell.command(arguments).env("ROSTER_URL", shell.url()), text)
    };
    stdin(&["import", "-"], "").failed(2, &["it is empty"]);
    stdin(&["import", "-", "--resume"], "{}").failed(2, &["it can be read once"]);
    stdin(&["import", "-", "--key-file", "-"], "{}").failed(2, &["either the users or the key"]);
    assert!(states(&shell).is_empty());
    assert_eq!(shell.ok(&["users", "list"]), "");
    shell.service.stop();
}

fn importing_needs_its_scope(engine: Engine) {
    let shell = Shell::new(engine);
    shell.file("people.csv", "username\nada\n");
    shell.needs("users:write", &["import", "people.csv"]);
    shell.operate(&["users", "get", "ada"]).succeeded();
    assert!(states(&shell).is_empty());
    shell.service.stop();
}
