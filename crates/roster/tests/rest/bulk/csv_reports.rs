//! Files that other products misread, by public reports, in our own words and with our own values.

use serde_json::json;

use super::{
    csv::{import, short},
    results_of,
};
use crate::service::Backend;

/// The repository and number of a report, the query, the file, and the results in short.
const FILES: [(&str, &str, &[u8], &[&str]); 18] = [
    // The header row became a user.
    ("grokability/snipe-it#541", "", b"username,email\r\nann,ann@a.example\r\n", &["2 201"]),
    // Columns without a name that a spreadsheet adds went into the last column.
    (
        "gophish/gophish#2054",
        "?map=:",
        b"username;title;;;\nann;Lead;;;\nben;Lead;;;\n",
        &["2 201", "3 201"],
    ),
    // Rows without values were read as users.
    (
        "sapplica/sentrifugo#386",
        "",
        b"username,email\nann,\n,\n",
        &["2 201", "3 422 invalid-user, required at /username in username"],
    ),
    // The same, with another delimiter: a line with nothing but spaces is blank.
    (
        "found here",
        "",
        b"username\temail\nann\t\n\t\n \n\t\t\n",
        &[
            "2 201",
            "3 422 invalid-user, required at /username in username",
            "5 400 malformed-csv, extra-cell at cell 3 in cell 3",
        ],
    ),
    // An address with a space at its end failed without a reason.
    (
        "oroinc/crm#357",
        "",
        b"username,email\nann,ann@a.example \n",
        &["2 422 invalid-user, invalid-email at /email in email"],
    ),
    // The end of the line became a space in the address.
    (
        "Budibase/budibase#7398",
        "",
        b"email\r\nann@a.example\r\nben@a.example\r\n",
        &["2 201", "3 201"],
    ),
    // Only the first user was created.
    (
        "YetiForceCompany/YetiForceCRM#70",
        "?map=guess&map=Password:&map=Role:roles[0].value",
        b"User Name,Primary Email,First Name,Password,Role\n\
          ann,ann@a.example,Ann,x,Sales\nben,ben@a.example,Ben,x,Sales\n",
        &["2 201", "3 201"],
    ),
    // A byte order mark became a part of the first name, and an incomplete row ended the import.
    (
        "alkacon/opencms-core#849",
        "",
        b"\xEF\xBB\xBFusername;given_name\nann;Ann\nben\ncid;Cid\n",
        &["2 201", "3 400 malformed-csv, missing-cell at given_name in given_name", "4 201"],
    ),
    // One cell that is not UTF-8 spoiled the file.
    (
        "zammad/zammad#4075",
        "",
        b"username,family_name\nann,M\xFCller\nben,M\xC3\xBCller\n",
        &["2 422 invalid-user, invalid-encoding at /family_name in family_name", "3 201"],
    ),
    // Lines that end with CR alone were one row.
    (
        "osTicket/osTicket#1139",
        "",
        b"username,email\nann,ann@a.example\rben,ben@a.example\r",
        &["2 400 malformed-csv, bare-cr at email in email"],
    ),
    // A separator behind each line made the name invalid.
    ("chamilo/chamilo-lms#1389", "?map=:", b"username;\nann;\nben;\n", &["2 201", "3 201"]),
    // An empty boolean became false, and other words than true became true or false.
    (
        "woocommerce/woocommerce#14886",
        "",
        b"username,email,email_verified,active\nann,ann@a.example,,\nben,,,No\n",
        &["2 201", "3 422 invalid-user, invalid-value at /status in active"],
    ),
    // A member of one's own was ignored when the user existed.
    (
        "iomad/iomad#1537",
        "?on_conflict=merge",
        b"username,attributes.badge\nann,1\nann,2\n",
        &["2 201", "3 200"],
    ),
    // A row with another number of cells was read with values in wrong columns.
    (
        "affinityworks/main#677",
        "",
        b"username,given_name,title\nann,Ann,Lead,x\nben,Ben,Lead\n",
        &["2 400 malformed-csv, extra-cell at cell 4 in cell 4", "3 201"],
    ),
    // A quoted line end made two rows.
    (
        "zkldi/Tachi#209",
        "",
        b"username,addresses[0].formatted\nann,\"1 Way\n\"\"Town\"\"\"\nben,\n",
        &["2 201", "4 201"],
    ),
    // The second of two users with one address vanished without a word.
    (
        "surveyproject/surveyproject#6",
        "",
        b"username,email\nann,desk@a.example\nben,DESK@a.example\n",
        &["2 201", "3 409 email-taken, email-taken at /email in email"],
    ),
    // Only the first error was returned.
    (
        "digitalfabrik/entitlementcard#1693",
        "",
        b"username,email,locale\nann,ann,x y\n",
        &["2 422 invalid-user, invalid-email at /email in email, invalid-language-tag at /locale \
             in locale"],
    ),
    // Colons in names of columns were not read.
    ("alex/csv-sql#604", "?map=a:b:username", b"a:b\nann\n", &["2 201"]),
];

pub(crate) async fn files_that_others_misread_are_read_or_refused(backend: Backend) {
    for (report, query, file, expected) in FILES {
        let service = backend.open().await;
        let results = results_of(import(&service, query, file).await);
        assert_eq!(results.iter().map(short).collect::<Vec<_>>(), expected, "{report}");
    }
    // What begins with zero is a text.
    let service = backend.open().await;
    let file = "username,employee_number,addresses[0].postal_code,attributes.pin\n\
                ann,00123,\"04101\",0007\n";
    results_of(import(&service, "", file).await);
    let ann = service.get("/users?username=ann").await.expect(200).json()["items"][0].clone();
    let report = "teableio/teable#1880";
    assert_eq!(ann["employee_number"], "00123", "{report}");
    assert_eq!(ann["addresses"], json!([{"postal_code": "04101"}]), "{report}");
    assert_eq!(ann["attributes"], json!({"pin": "0007"}), "{report}");
}

pub(crate) async fn header_rows_that_others_misread_are_refused_with_the_reason(backend: Backend) {
    let service = backend.open().await;
    for (report, header, detail) in [
        // The first user was taken for names, and the message was about duplicates.
        (
            "BurningOKR/BurningOKR#133",
            "Ann,ann@a.example,Maths",
            "the first row must have the names",
        ),
        ("oaeproject/3akai-ux#3777", "ann@a.example,secret", "the first row must have the names"),
        ("gophish/gophish#2054", "username;email;;;", "map=: ignores all columns without one"),
        ("modoboa/modoboa#203", "username,password", "Roster keeps no passwords; map=password:"),
        ("avniproject/avni-server#573", "username,User Groups", "map=COLUMN: ignores it"),
    ] {
        let reply = import(&service, "", format!("{header}\n")).await;
        let reply = reply.refused(422, "invalid-columns");
        assert!(reply.text().contains(detail), "{report}: {}", reply.text());
    }
}
