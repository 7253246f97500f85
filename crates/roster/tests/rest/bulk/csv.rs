//! CSV as the format of imports: what is a file, a row and a cell, and what becomes of bad ones.

use roster_server::ServerSettings;
use serde_json::{Value, json};

use super::{results_of, talk::Talk, users};
use crate::{
    client::{Reply, Request, faults},
    service::{Backend, Service, Setup},
};

pub(super) const CSV: &str = "text/csv";
const NDJSON_OR_CSV: &str = "application/x-ndjson, text/csv";

/// A request with a file.
pub(super) fn file<'s>(
    service: &'s Service,
    method: &str,
    query: &str,
    text: impl Into<Vec<u8>>,
) -> Request<'s> {
    service.request(method, &format!("/bulk/users{query}")).body(CSV, text)
}

/// Imports a file. The results are lines.
pub(super) async fn import(service: &Service, query: &str, text: impl Into<Vec<u8>>) -> Reply {
    file(service, "POST", query, text).send().await
}

/// Sends a file. The results are rows, the header row first.
pub(super) async fn table(
    service: &Service,
    method: &str,
    query: &str,
    text: impl Into<Vec<u8>>,
) -> Vec<Vec<String>> {
    let reply = file(service, method, query, text).header("accept", CSV).send().await.expect(200);
    assert_eq!(reply.header("content-type"), "text/csv; charset=utf-8; header=present");
    assert!(reply.text().ends_with("\r\n"), "{}", reply.text());
    parsed(reply.text(), ',')
}

/// The cells of a file, by a parser that shares nothing with the service.
pub(super) fn parsed(text: &str, delimiter: char) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut quoted, mut rest) = (false, text.chars().peekable());
    while let Some(c) = rest.next() {
        match c {
            '"' if quoted && rest.peek() == Some(&'"') => cell.extend(rest.next()),
            '"' => quoted = !quoted,
            _ if quoted => cell.push(c),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\n' => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            _ if c == delimiter => row.push(std::mem::take(&mut cell)),
            _ => cell.push(c),
        }
    }
    assert!(!quoted && row.is_empty() && cell.is_empty(), "the last row is ended");
    rows
}

/// A result in short: its line, its status, and the places, codes and columns of its errors.
pub(super) fn short(result: &Value) -> String {
    let mut text = format!("{} {}", result["line"], result["status"]);
    if let Some(code) = result["problem"]["code"].as_str() {
        text += &format!(" {code}");
    }
    let errors = result["problem"]["errors"].as_array().map_or(&[][..], Vec::as_slice);
    for ((place, code), error) in faults(&result["problem"]).into_iter().zip(errors) {
        text += &format!(", {code} at {place} in {}", error["column"].as_str().unwrap_or("-"));
    }
    text
}

/// The usernames of all users.
pub(super) async fn names(service: &Service) -> Vec<String> {
    let all = users(super::export(service, "?fields=username").await);
    all.iter().map(|user| user["username"].as_str().expect("a name").to_owned()).collect()
}

/// Good rows, and one of each kind of bad ones.
fn mixed() -> Vec<u8> {
    let long = format!("long,,{},,", "x".repeat(1025));
    let huge = format!("huge,,{},,", "x".repeat(128 * 1024));
    let rows: [&[u8]; 19] = [
        b"username,email,name,title,nickname",
        b"good1,good1@x.org,Good,,",
        b"quoted,\"quoted@x.org,Open,,",
        b"good2,,\"Good, \"\"two\"\"\",,",
        b"short,short@x.org,Short",
        b"address,not an address,Address,,",
        b"TAKEN,,,,",
        long.as_bytes(),
        b"latin,,\xe9mile,,",
        b"nul,,N\0,,",
        b"more,,More,,,extra",
        b"formula,,Formula,\"=HYPERLINK(\"\"x\"\")\",",
        b"",
        b",,,,",
        b"in\"side,,,,",
        huge.as_bytes(),
        b"carriage,,one\rreturn,,",
        b"two,no address,=1+1,,",
        b"good3,,,,\xd8\xb9",
    ];
    rows.join(&b"\r\n"[..])
}

pub(crate) async fn good_rows_among_bad_ones_are_stored_and_no_others(backend: Backend) {
    let service = backend.open().await;
    service.user(json!({"username": "taken"})).await;
    let results = results_of(import(&service, "", mixed()).await);
    let expected = [
        "2 201",
        "3 400 malformed-csv, misquoted-cell at email in email",
        "4 201",
        "5 400 malformed-csv, missing-cell at title in title",
        "6 422 invalid-user, invalid-email at /email in email",
        "7 409 username-taken, username-taken at /username in username",
        "8 422 invalid-user, too-long at /name in name",
        "9 422 invalid-user, invalid-encoding at /name in name",
        "10 422 invalid-user, control-character at /name in name",
        "11 400 malformed-csv, extra-cell at cell 6 in cell 6",
        "12 422 invalid-user, formula at /title in title",
        "14 422 invalid-user, required at /username in username",
        "15 400 malformed-csv, misquoted-cell at username in username",
        "16 413 body-too-large",
        "17 422 invalid-user, control-character at /name in name",
        "18 422 invalid-user, formula at /name in name",
        "19 201",
    ];
    assert_eq!(results.iter().map(short).collect::<Vec<_>>(), expected);
    assert_eq!(names(&service).await, ["taken", "good1", "good2", "good3"]);
    let all = users(super::export(&service, "").await);
    assert_eq!(
        (&all[2]["name"], &all[3]["nickname"]),
        (&json!("Good, \"two\""), &json!("\u{639}"))
    );
}

pub(crate) async fn a_table_has_the_same_results_as_the_lines(backend: Backend) {
    let service = backend.open().await;
    service.user(json!({"username": "taken"})).await;
    let mut rows = table(&service, "POST", "", mixed()).await;
    let header = rows.remove(0).join(",");
    assert_eq!(header, "username,email,name,title,nickname,status,code,line,column,detail");
    assert!(rows.iter().all(|row| row.len() == 10), "{rows:?}");
    let short: Vec<String> = rows
        .iter()
        .map(|row| format!("{} {} {} {} {}", row[7], row[5], row[6], row[8], row[0]))
        .collect();
    let expected = [
        "2 201   good1",
        // A row that would be read as another one when it is sent again has no cells.
        "3 400 misquoted-cell email ",
        "4 201   good2",
        "5 400 missing-cell title ",
        "6 422 invalid-email email address",
        "7 409 username-taken username TAKEN",
        "8 422 too-long name long",
        "9 422 invalid-encoding name ",
        "10 422 control-character name nul",
        "11 400 extra-cell cell 6 ",
        "12 422 formula title ",
        "14 422 required username ",
        "15 400 misquoted-cell username ",
        "16 413 body-too-large  ",
        "17 422 control-character name carriage",
        "18 422 formula name ",
        "19 201   good3",
    ];
    assert_eq!(short, expected);
    assert_eq!((rows[2][2].as_str(), rows[2][9].as_str()), ("Good, \"two\"", ""));
    assert!(rows[6][2].len() == 1025 && rows[4][9].contains("email: "), "{:?}", rows[4]);
    assert_eq!(names(&service).await, ["taken", "good1", "good2", "good3"]);
}

pub(crate) async fn every_usual_form_of_csv_is_read(backend: Backend) {
    let way = "addresses[0].formatted";
    // The text, the lines of its two rows, and the address of the first user.
    let forms = [
        (format!("username,email,{way}\nA,a@x.org,W\nB,b@x.org,\n"), [2, 3], "W"),
        (format!("username,email,{way}\r\nA,a@x.org,W\r\nB,b@x.org,\r\n"), [2, 3], "W"),
        (format!("username,email,{way}\r\nA,a@x.org,W\nB,b@x.org,"), [2, 3], "W"),
        (format!("\u{feff}username,email,{way}\nA,a@x.org,W\nB,b@x.org,"), [2, 3], "W"),
        (format!("username;email;{way}\nA;a@x.org;1,5 \"km\"\nB;b@x.org;\n"), [2, 3], ""),
        (format!("username;email;{way}\nA;a@x.org;1,5, km\nB;b@x.org;\n"), [2, 3], "1,5, km"),
        (format!("username\temail\t{way}\nA\ta@x.org\tW;\nB\tb@x.org\t\n"), [2, 3], "W;"),
        (format!("sep=;\r\nusername;email;{way}\r\nA;a@x.org;W\r\nB;b@x.org;"), [3, 4], "W"),
        (format!("SEP=;\nusername;email;{way}\nA;a@x.org;W\nB;b@x.org;"), [3, 4], "W"),
        (format!(",,\n\"\", ,\nusername,email,{way}\nA,a@x.org,W\n\t\nB,b@x.org,\n"), [4, 6], "W"),
        (format!("sep=|\nusername|email|{way}\nA|a@x.org|W,;\nB|b@x.org|"), [3, 4], "W,;"),
        (format!("\n\r\n \nusername,email,{way}\n\nA,a@x.org,W\n \t\n\nB,b@x.org,"), [6, 9], "W"),
        (format!("\"username\",\"email\",\"{way}\"\nA,a@x.org,W\nB,b@x.org,\n"), [2, 3], "W"),
        (format!(" username , email ,{way} \nA,a@x.org,W\nB,b@x.org,\n"), [2, 3], "W"),
        (
            format!("username,email,{way}\r\n\"A\",a@x.org,\"1\r\nW\n\"\"\n\"\r\nB,b@x.org,\r\n"),
            [2, 6],
            "1\r\nW\n\"\n",
        ),
        (format!("email,{way},username\na@x.org,\"W,\n\",A\nb@x.org,,B\n"), [2, 4], "W,\n"),
    ];
    let cr = "a line ends with CR alone; save the file with LF or CRLF as line breaks";
    for text in [
        "username,email\nA,a@x.org\rB,b@x.org\r",
        "username,email\r\nA,a@x.org\r\r\n",
        "username,email\n\"A\",\"a@x.org\"\r\"B\",\"b@x.org\"\r",
        &format!("username,email\n{}", "A,a@x.org\r".repeat(13_200)),
    ] {
        let service = backend.open().await;
        let results = results_of(import(&service, "", text).await);
        let shown: Vec<String> = results.iter().map(short).collect();
        assert_eq!(shown, ["2 400 malformed-csv, bare-cr at email in email"]);
        assert_eq!(results[0]["problem"]["errors"][0]["detail"], cr);
        let rows = table(&service, "POST", "", text).await;
        assert_eq!((rows.len(), rows[1][0].as_str(), rows[1][3].as_str()), (2, "", "bare-cr"));
    }
    for (text, lines, address) in forms {
        let service = backend.open().await;
        let (text, expects_two) = (text.as_str(), !address.is_empty());
        let results = results_of(import(&service, "", text).await);
        let numbers: Vec<u64> = results.iter().filter_map(|one| one["line"].as_u64()).collect();
        assert_eq!(numbers, lines, "{text:?}");
        let stored = users(super::export(&service, "").await);
        let names: Vec<&Value> = stored.iter().map(|user| &user["username"]).collect();
        let expected: &[&str] = if expects_two { &["A", "B"] } else { &["B"] };
        assert_eq!(names, expected, "{text:?}");
        let emails: Vec<&Value> = stored.iter().map(|user| &user["email"]).collect();
        let expected: &[&str] = if expects_two { &["a@x.org", "b@x.org"] } else { &["b@x.org"] };
        assert_eq!(emails, expected, "{text:?}");
        if expects_two {
            assert_eq!(stored[0]["addresses"][0]["formatted"], address, "{text:?}");
            assert_eq!(stored[1].get("addresses"), None, "{text:?}");
        }
    }
}

pub(crate) async fn a_file_without_a_valid_header_executes_nothing(backend: Backend) {
    let service = backend.open().await;
    let columns = |count: usize| -> String {
        let names: Vec<String> = (1..count).map(|number| format!("attributes.a{number}")).collect();
        format!("username,{}\nada{}\n", names.join(","), ",".repeat(count - 1))
    };
    let utf16 = |text: &str, order: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(order).collect()
    };
    let text = "username,email\nada,ada@x.org\n";
    let most = 128 * 1024;
    let files: Vec<(Vec<u8>, &str)> = vec![
        (b"".to_vec(), "send a header row"),
        (b"\r\n\n  \n".to_vec(), "send a header row"),
        (b"sep=,\n".to_vec(), "send a header row"),
        (b"\xEF\xBB\xBF".to_vec(), "send a header row"),
        (utf16(text, u16::to_le_bytes), "UTF-16"),
        (utf16(text, u16::to_be_bytes), "UTF-16"),
        (text.replace('\n', "\r").into_bytes(), "CR alone"),
        (b"user\"name,email\nada,ada@x.org\n".to_vec(), "quotation mark"),
        (b"username,\"email\nada,ada@x.org\n".to_vec(), "quotation mark"),
        (b"username,n\xe9e\nada,\n".to_vec(), "UTF-8"),
        (format!("username{}\nada\n", " ".repeat(most)).into_bytes(), "131072 bytes"),
        (vec![b'x'; 3 * most], "131072 bytes"),
        (format!("{}{text}", "\n".repeat(2 * most)).into_bytes(), "before the header row"),
        (columns(513).into_bytes(), "at most 512 cells"),
    ];
    for (text, detail) in files {
        let shown = String::from_utf8_lossy(&text[..text.len().min(40)]).into_owned();
        for method in ["POST", "PATCH", "DELETE"] {
            let reply = file(&service, method, "", text.clone()).send().await;
            let reply = reply.refused(400, "malformed-csv");
            assert!(reply.text().contains(detail), "{shown:?}: {}", reply.text());
        }
    }
    for (header, column, code, detail) in [
        ("username,nick_name", "nick_name", "unknown-column", "did you mean nickname?"),
        ("username,", "", "unknown-column", "map=:"),
        ("Old:username", "Old:username", "unknown-column", "map=COLUMN:"),
        ("username,userName", "userName", "duplicate-column", "username"),
        ("username,emails[0].value,emails[0].value", "emails[0].value", "duplicate-column", ""),
        ("status,code,line,column,detail,id", "code", "unknown-column", ""),
        ("emails[].value,id", "emails[].value", "unknown-column", ""),
        ("emails[100000].value,id", "emails[100000].value", "unknown-column", ""),
        ("username,manager.nobody", "manager.nobody", "unknown-column", ""),
        ("username,attributes.", "attributes.", "unknown-column", ""),
    ] {
        for method in ["POST", "PATCH", "DELETE"] {
            let reply = file(&service, method, "", format!("{header}\na,b,c\n")).send().await;
            let reply = reply.refused(422, "invalid-columns");
            let expected = (column.to_owned(), code.to_owned());
            assert_eq!(reply.faults()[0], expected, "{header}: {}", reply.text());
            assert!(reply.text().contains(detail), "{header}: {}", reply.text());
        }
    }
    // All wrong columns are listed at once.
    let both = import(&service, "", "a,b,username,username\n").await;
    assert_eq!(both.refused(422, "invalid-columns").faults().len(), 3);
    assert_eq!(service.head().await.position, 0);
    for text in ["username", "username\n", "\u{feff}username,email\r\n\r\n"] {
        assert_eq!(results_of(import(&service, "", text).await), Vec::<Value>::new());
        assert_eq!(table(&service, "POST", "", text).await.len(), 1);
    }
    assert_eq!(results_of(import(&service, "", columns(512)).await)[0]["status"], 201);
}

pub(crate) async fn what_an_import_of_csv_does_not_take_is_refused(backend: Backend) {
    let service = backend.open().await;
    let text = "username\nada\n";
    let post = || service.request("POST", "/bulk/users");
    let refused = ["text/csv; charset=windows-1252", "text/csv;header=absent", "text/plain"];
    for media in refused.into_iter().chain(["text/tab-separated-values"]) {
        let other = post().body(media, text).send().await.refused(415, "unsupported-media-type");
        assert_eq!(other.header("accept"), NDJSON_OR_CSV, "{media}");
    }
    for accept in ["application/json", "text/html", "text/csv;q=0, application/x-ndjson;q=0"] {
        let other = post().header("accept", accept).body(CSV, text).send().await;
        other.refused(406, "not-acceptable");
    }
    // The results of lines are lines.
    let lines = post().header("accept", CSV).body(super::NDJSON, "{\"username\":\"ada\"}\n");
    lines.send().await.refused(406, "not-acceptable");
    let marked = post().header("idempotency-key", "").body(CSV, text).send().await;
    marked.refused(400, "invalid-idempotency-key");
    let packed = post().header("content-encoding", "gzip").body(CSV, text).send().await;
    packed.refused(415, "unsupported-media-type");
    // Other resources have no CSV.
    for (method, target) in [("POST", "/users"), ("POST", "/groups"), ("PUT", "/schema")] {
        let other = service.request(method, target).body(CSV, text).send().await;
        other.refused(415, "unsupported-media-type");
    }
    assert_eq!(service.head().await.position, 0);
    for (number, (media, accept)) in [
        ("text/csv; charset=utf-8; header=present", "*/*"),
        ("Text/CSV;Charset=\"UTF-8\"", "application/*"),
        ("text/csv", "text/csv;q=0.5, application/x-ndjson"),
    ]
    .into_iter()
    .enumerate()
    {
        let request = post().header("accept", accept).body(media, format!("username\nu{number}"));
        assert_eq!(results_of(request.send().await)[0]["status"], 201, "{media}");
    }
}

/// Begins to send a file.
async fn begin(service: &Service, query: &str, headers: &str) -> Talk {
    let headers = format!("content-type: {CSV}\r\ntransfer-encoding: chunked\r\n{headers}");
    Talk::begin(service, &format!("POST /bulk/users{query}"), &headers).await
}

pub(crate) async fn pieces_of_a_file_may_be_cut_anywhere(backend: Backend) {
    let service = backend.open().await;
    let text = "\u{feff}sep=;\r\n\"username\";title;addresses[0].formatted\r\n\
        \u{e9}mile;\"a;\"\"b\"\"\";\"x\r\ny\"\r\n\r\n\u{1f600};\"open;\r\nlast;;";
    let results = results_of(import(&service, "?on_conflict=replace", text).await);
    let expected: Vec<String> = results.iter().map(short).collect();
    assert_eq!(
        expected,
        ["3 201", "6 400 malformed-csv, misquoted-cell at title in title", "7 201"]
    );
    for size in [1, 2, 3, 7] {
        let mut talk = begin(&service, "?on_conflict=replace", "").await;
        for piece in text.as_bytes().chunks(size) {
            talk.send(piece).await;
        }
        talk.end().await;
        assert!(talk.head().await.starts_with("200 OK\r\n"));
        let (mut rest, whole) = talk.rest().await;
        assert!(whole);
        assert_eq!(rest.pop().expect("a last line")["replaced"], 2);
        let again: Vec<String> =
            rest.iter().map(|one| short(one).replace(" 200", " 201")).collect();
        assert_eq!(again, expected, "pieces of {size}");
    }
    let user = users(super::export(&service, "?username=%C3%A9mile").await).remove(0);
    let address = &user["addresses"][0]["formatted"];
    assert_eq!((&user["title"], address), (&json!("a;\"b\""), &json!("x\r\ny")));
    assert_eq!((names(&service).await.len(), &user["version"]), (2, &json!(1)));
}

pub(crate) async fn a_result_of_a_row_follows_its_commit_while_the_stream_rests(backend: Backend) {
    let service = backend.open().await;
    let mut talk = begin(&service, "", "expect: 100-continue\r\n").await;
    assert!(talk.head().await.starts_with("100 Continue"));
    talk.send("username,ti").await;
    talk.send("tle\r\n").await;
    assert!(talk.head().await.starts_with("200 OK\r\n"));
    for number in 1..=3 {
        talk.send(format!("u{number},\"")).await;
        talk.send("\"\r\n").await;
        let result = talk.line().await.expect("a result");
        assert_eq!((&result["line"], &result["status"]), (&json!(number + 1), &json!(201)));
    }
    talk.send("last,").await;
    talk.end().await;
    let (rest, whole) = talk.rest().await;
    assert!(whole);
    assert_eq!((&rest[0]["line"], &rest[0]["status"]), (&json!(5), &json!(201)));
    assert_eq!((&rest[1]["done"], &rest[1]["lines"]), (&json!(true), &json!(4)));
}

pub(crate) async fn a_row_that_is_cut_off_is_not_executed(backend: Backend) {
    let service = backend.open().await;
    let mut talk = begin(&service, "", "").await;
    talk.send("username,title\r\nada,\r\nhalf,\"").await;
    assert!(talk.head().await.starts_with("200 OK\r\n"));
    assert_eq!(talk.line().await.expect("a result")["status"], 201);
    talk.break_off().await;
    let (rest, whole) = talk.rest().await;
    assert!(!whole && rest.is_empty(), "{rest:?}");
    // The same in the table of results, which has no last line either.
    let mut talk = begin(&service, "", "accept: text/csv\r\n").await;
    talk.send("username,title\r\nben,\r\nhalf,").await;
    assert!(talk.head().await.starts_with("200 OK\r\n"));
    talk.break_off().await;
    assert!(!talk.text().await.1);
    assert_eq!(names(&service).await, ["ada", "ben"]);
    let mut talk = begin(&service, "", "").await;
    talk.send("username,ti").await;
    talk.break_off().await;
    assert!(talk.head().await.starts_with("400 Bad Request\r\n"));
}

pub(crate) async fn a_header_row_that_does_not_come_is_408(backend: Backend) {
    let front = ServerSettings { body_grace_ms: 300, ..ServerSettings::default() };
    let service = backend.open_with(Setup { front, ..Setup::default() }).await;
    for method in ["POST", "PATCH", "DELETE"] {
        for sent in [0, 5] {
            let request = file(&service, method, "", "username,title\r\nada,\r\n").sending(sent);
            request.send().await.refused(408, "body-too-slow");
        }
    }
    assert_eq!(service.head().await.position, 0);
}
