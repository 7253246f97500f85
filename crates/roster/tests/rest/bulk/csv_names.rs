//! The columns of CSV: their names, and the values that their cells mean.

use serde_json::{Value, json};

use super::{
    csv::{file, import, names},
    results_of, users,
};
use crate::{
    client::Reply,
    service::{Backend, Service, path},
};

/// The only user of a service, without what the service adds.
async fn only(service: &Service) -> Value {
    let mut all = users(super::export(service, "").await);
    assert_eq!(all.len(), 1, "{all:?}");
    let mut user = all.remove(0);
    for name in ["id", "version", "created_at", "updated_at"] {
        user.as_object_mut().expect("an object").remove(name);
    }
    user
}

/// The user that a file with one row makes in a new service.
async fn made(backend: &Backend, text: &str) -> Value {
    let service = backend.open().await;
    let results = results_of(import(&service, "", text).await);
    assert_eq!(results[0]["status"], 201, "{}", results[0]);
    only(&service).await
}

/// The errors of the only row: the code and the column of each.
fn errors(results: &[Value]) -> Vec<String> {
    let [result] = results else { panic!("{results:?}") };
    let errors = result["problem"]["errors"].as_array().unwrap_or_else(|| panic!("{result}"));
    let text = |error: &Value, name| error[name].as_str().unwrap_or("-").to_owned();
    errors
        .iter()
        .map(|error| format!("{} {}", text(error, "code"), text(error, "column")))
        .collect()
}

pub(crate) async fn a_column_is_named_as_its_member_or_as_its_path_in_scim(backend: Backend) {
    let row = "ada,Ada,King,a@x.org,work,b@x.org,home,+1 22,mobile,1 Way,Town,Maths,17,Grace,E7,\
        en-GB,Dr.\n";
    let ours = "username,given_name,family_name,emails[0].value,emails[0].type,emails[1].value,\
        emails[1].type,phone_numbers[0].value,phone_numbers[0].type,addresses[0].street_address,\
        addresses[0].locality,department,manager.id,manager.display_name,external_id,locale,\
        honorific_prefix\n";
    let scim = "userName,name.givenName,name.familyName,emails[0].value,emails[0].type,\
        emails[1].value,emails[1].type,phoneNumbers[0].value,phoneNumbers[0].type,\
        addresses[0].streetAddress,addresses[0].locality,\
        urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department,manager.value,\
        manager.displayName,externalId,locale,name.honorificPrefix\n";
    let urns = "urn:ietf:params:scim:schemas:core:2.0:User:userName,NAME.givenname,\
        urn:ietf:params:scim:schemas:core:2.0:User:name.familyName,emails[0].VALUE,EMAILS[0].type,\
        emails[1].value,emails[1].type,PhoneNumbers[0].value,phonenumbers[0].type,\
        addresses[0].streetaddress,addresses[0].locality,Department,\
        URN:ietf:params:scim:schemas:extension:enterprise:2.0:user:manager.value,\
        manager.displayname,externalid,locale,name.honorificprefix\n";
    let expected = json!({"status": "active", "username": "ada", "given_name": "Ada",
        "family_name": "King", "honorific_prefix": "Dr.", "email": "a@x.org",
        "emails": [{"value": "a@x.org", "type": "work", "primary": true},
            {"value": "b@x.org", "type": "home"}],
        "phone_number": "+1 22", "phone_numbers": [{"value": "+1 22", "type": "mobile",
            "primary": true}],
        "addresses": [{"street_address": "1 Way", "locality": "Town"}], "locale": "en-GB",
        "external_id": "E7", "department": "Maths",
        "manager": {"id": "17", "display_name": "Grace"}});
    for header in [ours, scim, urns] {
        let user = made(&backend, &format!("{header}{row}")).await;
        for (name, value) in expected.as_object().expect("an object") {
            // Which entry is the primary one is not what this is about.
            if value.is_array() {
                let length = value.as_array().map(Vec::len);
                assert_eq!(user[name].as_array().map(Vec::len), length, "{header}: {user}");
                assert_eq!(user[name][0]["type"], value[0]["type"], "{header}: {user}");
                assert_eq!(user[name][0]["value"], value[0]["value"], "{header}: {user}");
            } else {
                assert_eq!(&user[name], value, "{header}: {user}");
            }
        }
        assert_eq!(user["addresses"], made(&backend, &format!("{ours}{row}")).await["addresses"]);
    }
    for (header, cell, status) in [
        ("active", "true", "active"),
        ("active", "FALSE", "suspended"),
        ("urn:ietf:params:scim:schemas:core:2.0:User:active", "False", "suspended"),
        ("status", "suspended", "suspended"),
        ("active", "", "active"),
    ] {
        let user = made(&backend, &format!("userName,{header}\nada,{cell}\n")).await;
        assert_eq!(user["status"], status, "{header}: {cell}");
    }
    // The URN must be that of the schema.
    let service = backend.open().await;
    for header in [
        "urn:x:userName",
        "Old:userName",
        "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:userName",
        "urn:ietf:params:scim:schemas:core:2.0:User:department",
        "user.userName",
        "emails.value",
        "manager[0].value",
        "userName[0]",
        "emails[x].value",
        "emails[+0].value",
    ] {
        let reply = import(&service, "", format!("{header}\nada\n")).await;
        let faults = reply.refused(422, "invalid-columns").faults();
        assert_eq!(faults, [(header.to_owned(), "unknown-column".to_owned())]);
    }
}

pub(crate) async fn cells_of_attributes_have_their_declared_types(backend: Backend) {
    let service = backend.open().await;
    let urn = "urn:ietf:params:scim:schemas:extension:acme:2.0:User";
    let schema = json!({"attributes": [
        {"name": "badge", "type": "string", "scim_schema": urn},
        {"name": "remote", "type": "boolean"}, {"name": "level", "type": "integer"},
        {"name": "share", "type": "number"}, {"name": "since", "type": "date_time"},
        {"name": "tags", "type": "string", "multi_valued": true},
    ]});
    service.request("PUT", "/schema").json(&schema).send().await.expect(200);
    let header = "username,attributes.BADGE,attributes.remote,attributes.level,attributes.share,\
        attributes.since,attributes.tags,attributes.room,attributes,attributes.a/~b.c\n";
    let row = "ada,007,TRUE,-7,1.5,2026-01-02T03:04:05Z,\"[\"\"a\"\",\"\"b,c\"\"]\",true,\
        \"{\"\"deep\"\":[1,{}]}\",x\n";
    let results = results_of(import(&service, "", format!("{header}{row}")).await);
    assert_eq!(results[0]["status"], 201, "{results:?}");
    let expected = json!({"badge": "007", "remote": true, "level": -7, "share": 1.5,
        "since": "2026-01-02T03:04:05Z", "tags": ["a", "b,c"], "room": "true",
        "deep": [1, {}], "a/~b": {"c": "x"}});
    assert_eq!(only(&service).await["attributes"], expected);
    let results = results_of(import(&service, "", format!("{header}bob,,,,,,,,,\n")).await);
    assert_eq!(results[0]["status"], 201);
    let bob = users(super::export(&service, "?username=bob").await).remove(0);
    assert_eq!(bob.get("attributes"), None, "{bob}");
    // A path of the extension is a name too.
    let text = format!("username,{urn}:BADGE\ncyd,9\n");
    assert_eq!(results_of(import(&service, "", text).await)[0]["status"], 201);
    let cyd = users(super::export(&service, "?username=cyd").await).remove(0);
    assert_eq!(cyd["attributes"], json!({"badge": "9"}));
    let wrong = "eve,7,yes,1.5,1e,today,a,,[1],\n";
    let results = results_of(import(&service, "", format!("{header}{wrong}")).await);
    assert_eq!(errors(&results), ["wrong-type attributes.tags", "wrong-type attributes"]);
    let wrong = "eve,7,yes,1.5,1e,today,\"[1]\",,,\n";
    let results = results_of(import(&service, "", format!("{header}{wrong}")).await);
    let expected = ["remote", "level", "share", "since", "tags"].map(|name| {
        let code = if name == "since" { "invalid-value" } else { "wrong-type" };
        format!("{code} attributes.{name}")
    });
    assert_eq!(errors(&results), expected);
}

pub(crate) async fn the_caller_maps_columns(backend: Backend) {
    let text = "Login,Mail: work,Alter,Stra\u{df}e,\nada,a@x.org,36,1 Way,x\n";
    let map = "?map=Login:username&map=Mail%3A+work:emails%5B0%5D.value&map=Alter:&map=:\
        &map=Stra%C3%9Fe:addresses%5B0%5D.streetAddress";
    let service = backend.open().await;
    assert_eq!(results_of(import(&service, map, text).await)[0]["status"], 201);
    let user = only(&service).await;
    assert_eq!((&user["username"], &user["email"]), (&json!("ada"), &json!("a@x.org")));
    assert_eq!(user["addresses"][0]["street_address"], "1 Way");
    // An error has the name that the file has.
    let results = results_of(import(&service, map, text.replace("a@x", "@x")).await);
    assert_eq!(errors(&results), ["invalid-email Mail: work"]);
    // A map may exchange two names, and a column may be mapped to an attribute.
    let other = "username,nickname,email\nben,Cyd,?\n";
    let map = "?map=username:nickname&map=nickname:username&map=email:attributes.mark";
    assert_eq!(results_of(import(&service, map, other).await)[0]["status"], 201);
    let ben = users(super::export(&service, "?username=cyd").await).remove(0);
    assert_eq!((&ben["nickname"], &ben["attributes"]["mark"]), (&json!("ben"), &json!("?")));
    let before = service.head().await.position;
    for (map, column, code) in [
        ("map=Nick:nickname", "Nick", "unknown-column"),
        ("map=username:nobody", "username", "unknown-column"),
        ("map=email:username", "email", "duplicate-column"),
    ] {
        let reply = import(&service, &format!("?{map}"), other).await;
        let faults = reply.refused(422, "invalid-columns").faults();
        assert_eq!(faults, [(column.to_owned(), code.to_owned())], "{map}");
    }
    for (map, code) in [
        ("map=", "invalid-value"),
        ("map=username", "invalid-value"),
        ("map=Guess", "invalid-value"),
        ("map=email:&map=email:nickname", "duplicate-parameter"),
    ] {
        for method in ["POST", "PATCH", "DELETE"] {
            let reply = file(&service, method, &format!("?{map}"), other).send().await;
            let faults = reply.refused(400, "invalid-query").faults();
            assert_eq!(faults, [("map".to_owned(), code.to_owned())], "{map}");
        }
    }
    // Lines have no columns, and a list has no map.
    let line = "{\"username\":\"dan\"}\n";
    let lines = super::import(&service, "?map=guess", line).await;
    let expected = [("map".to_owned(), "conflicting-parameter".to_owned())];
    assert_eq!(lines.refused(400, "invalid-query").faults(), expected);
    for target in ["/users?map=guess", "/bulk/users?map=guess"] {
        let faults = service.get(target).await.refused(400, "invalid-query").faults();
        assert_eq!(faults, [("map".to_owned(), "unknown-parameter".to_owned())]);
    }
    assert_eq!(service.head().await.position, before);
}

pub(crate) async fn a_column_and_the_path_that_it_is_mapped_to_may_have_colons(backend: Backend) {
    let service = backend.open().await;
    let urn = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
    let header = format!("username,Dept,Staff: no.,Old:,{urn}");
    let text = format!("{header}\neva,Maths,7,x,Analysis\n");
    let map = format!(
        "?map=Dept:{urn}:department&map=Staff:+no.:{}:employeeNumber&map=Old::&map={urn}:\
         {urn}:division",
        urn.to_uppercase()
    );
    assert_eq!(results_of(import(&service, &map, text.clone()).await)[0]["status"], 201);
    let eva = users(super::export(&service, "?username=eva").await).remove(0);
    let members = ["department", "employee_number", "division"].map(|name| eva[name].clone());
    assert_eq!(members, ["Maths", "7", "Analysis"]);
    // A file may have a column for each place where the value can be split.
    let (both, third) = (format!("Dept,Dept:{urn}"), format!("y:{urn}"));
    for (header, map, column, code, detail) in [
        (&*both, "Dept", "department", "Dept", "ambiguous-column", "rename one of them"),
        ("x", "x", "nobody", "x", "unknown-column", "there is no member "),
        ("x", "y", "department", "y", "unknown-column", "the file has no such column"),
        ("x", "y", "nobody", &*third, "unknown-column", "the file has no such column"),
    ]
    .map(|(header, from, to, column, code, detail)| {
        (header, format!("?map={from}:{urn}:{to}"), column, code, detail)
    }) {
        let reply = import(&service, &map, format!("{header}\n")).await;
        let reply = reply.refused(422, "invalid-columns");
        assert_eq!(reply.faults()[0], (column.to_owned(), code.to_owned()), "{map}");
        assert!(reply.text().contains(detail), "{map}: {}", reply.text());
    }
    assert_eq!(service.head().await.position, 1);
}

/// The members of the columns that a dry run returns first.
fn columns(reply: &Reply) -> Vec<(String, Value)> {
    let first: Value = super::read(reply.text().lines().next().expect("a line"));
    let columns = first["columns"].as_array().expect("columns").iter();
    columns
        .map(|column| {
            (column["column"].as_str().expect("a text").to_owned(), column["member"].clone())
        })
        .collect()
}

pub(crate) async fn names_that_people_write_are_guessed_if_asked(backend: Backend) {
    let service = backend.open().await;
    let schema = json!({"attributes": [{"name": "cost_unit", "type": "string"}]});
    service.request("PUT", "/schema").json(&schema).send().await.expect(200);
    let known = [
        ("E-Mail", "email"),
        ("First name", "given_name"),
        ("Nachname", "family_name"),
        ("User Name", "username"),
        ("Job Title", "title"),
        ("Phone", "phone_number"),
        ("ABTEILUNG", "department"),
        ("Cost Unit", "attributes.cost_unit"),
        ("active", "status"),
        ("External ID", "external_id"),
        ("Full Name", "name"),
        ("Pr\u{e9}nom d'usage", ""),
    ];
    let header: Vec<&str> = known.iter().map(|(header, _)| *header).collect();
    let text =
        format!("{}\na@x.org,Ada,King,ada,Countess,+1 22,Maths,7,true,E,,x\n", header.join(","));
    let refused = import(&service, "", text.clone()).await.refused(422, "invalid-columns");
    // `active` alone is a name of SCIM.
    assert_eq!(refused.faults().len(), known.len() - 1, "{}", refused.text());
    let refused = import(&service, "?map=guess", text.clone()).await;
    let faults = refused.refused(422, "invalid-columns").faults();
    assert_eq!(faults, [("Pr\u{e9}nom d'usage".to_owned(), "unknown-column".to_owned())]);
    let map = "?map=guess&map=Pr%C3%A9nom+d'usage:";
    let reply = import(&service, &format!("{map}&dry_run=true"), text.clone()).await.expect(200);
    assert_eq!(reply.header("dry-run"), "true");
    let member = |name: &str| if name.is_empty() { Value::Null } else { json!(name) };
    let expected: Vec<_> =
        known.iter().map(|(header, name)| ((*header).to_owned(), member(name))).collect();
    assert_eq!(columns(&reply), expected);
    assert_eq!(reply.text().lines().nth(1), Some("{\"line\":2,\"processed\":1,\"status\":201}"));
    assert_eq!(names(&service).await, [""; 0]);
    assert_eq!(results_of(import(&service, map, text).await)[0]["status"], 201);
    let user = only(&service).await;
    let results = ["username", "email", "given_name", "family_name", "department", "title"]
        .map(|name| user[name].as_str().unwrap_or_default());
    assert_eq!(results, ["ada", "a@x.org", "Ada", "King", "Maths", "Countess"]);
    assert_eq!(user["attributes"]["cost_unit"], "7");
    // However the accents are composed.
    for (name, map) in [("Pr\u{e9}nom", "Pre%CC%81nom"), ("Pre\u{301}nom", "Pr%C3%A9nom")] {
        let file = format!("Login;{name};T\u{e9}l\u{e9}phone\nzoe;Zo\u{eb};+33 1\n");
        for query in ["", &format!("&map={map}:given_name"), &format!("&map={map}:title")] {
            let target = format!("?map=guess&dry_run=true{query}");
            let reply = import(&service, &target, file.clone()).await.expect(200);
            let member = if query.ends_with("title") { "title" } else { "given_name" };
            let of_name = ("Pr\u{e9}nom".to_owned(), json!(member));
            assert_eq!(columns(&reply)[1], of_name, "{target}");
        }
    }
    // Two names of one member are not guessed away, and a list has no form in one cell.
    let two = import(&service, "?map=guess", "E-Mail,Mail\na@x.org,b@x.org\n").await;
    let faults = two.refused(422, "invalid-columns").faults();
    assert_eq!(faults, [("Mail".to_owned(), "duplicate-column".to_owned())]);
    let short = import(&service, "?map=guess&dry_run=true", "Login,Dept\nmary,Maths\n").await;
    let meant = [("Login", "username"), ("Dept", "department")];
    let meant = meant.map(|(header, name)| (header.to_owned(), json!(name)));
    assert_eq!(columns(&short), meant);
    let list = import(&service, "?map=guess", "User,Address\nada,1 Way\n").await;
    assert_eq!(list.refused(422, "invalid-columns").faults().len(), 2);
    // The part of a country is no status, and nor is the opposite of one. Roster would drop an id
    // or a time of another system.
    for header in ["State", "Disabled", "Suspended", "ID", "Created At", "Version", "meta.created"]
    {
        let refused = import(&service, "?map=guess", format!("Login,{header}\neva,x\n")).await;
        assert_eq!(refused.refused(422, "invalid-columns").faults()[0].0, header);
    }
    let results = results_of(import(&service, "?map=guess", "Login,Enabled\neva,FALSE\n").await);
    let eva = service.get(&path(&results[0])).await.expect(200).json();
    assert_eq!(eva["status"], "suspended");
}

pub(crate) async fn an_empty_cell_is_no_value(backend: Backend) {
    let service = backend.open().await;
    let ada = json!({"username": "ada", "title": "Countess", "nickname": "A",
        "phone_numbers": [{"value": "+1 22"}], "attributes": {"a": 1, "b": "x"}});
    service.user(ada).await;
    let text = "username,title,nickname,phone_numbers[0].value,manager.id,attributes.b,attributes\n\
        ada,,B,,,,\n";
    let merged = results_of(import(&service, "?on_conflict=merge", text).await);
    assert_eq!((&merged[0]["status"], &merged[0]["version"]), (&json!(200), &json!(2)));
    let user = only(&service).await;
    assert_eq!((&user["title"], &user["nickname"]), (&json!("Countess"), &json!("B")));
    assert_eq!(user["attributes"], json!({"a": 1, "b": "x"}));
    assert_eq!((&user["phone_number"], user.get("manager")), (&json!("+1 22"), None));
    // A replacement clears what a row has no value for, as a line does that omits it.
    let replaced = results_of(import(&service, "?on_conflict=replace", text).await);
    assert_eq!(replaced[0]["version"], 3);
    let user = only(&service).await;
    assert_eq!((user.get("title"), user.get("attributes")), (None, None), "{user}");
    assert_eq!(user["nickname"], "B");
}

pub(crate) async fn an_error_names_the_column_of_its_cell(backend: Backend) {
    let service = backend.open().await;
    let result_of = async |header: &str, row: &str| {
        let text = format!("userName,{header}\nada,{row}\n");
        errors(&results_of(import(&service, "", text).await))
    };
    for (header, row, expected) in [
        // The list has no entry for empty cells, so its indexes are not those of the columns.
        (
            "emails[0].value,emails[1].value,emails[2].value",
            ",,bad",
            "invalid-email emails[2].value",
        ),
        ("emails[2].value,emails[1].value", "bad,b@x.org", "invalid-email emails[2].value"),
        ("email,emails[1].value,emails[3].value", "a@x.org,,bad", "invalid-email emails[3].value"),
        ("phoneNumbers[3].value,title", "x,Dr.", "invalid-phone-number phoneNumbers[3].value"),
        (
            "emails",
            "\"[{\"\"value\"\":\"\"a@x.org\"\"},{\"\"value\"\":\"\"@\"\"}]\"",
            "invalid-email emails",
        ),
        ("emails", "a@x.org", "wrong-type emails"),
        ("emails[1].primary,emails[1].value", "yes,a@x.org", "wrong-type emails[1].primary"),
        ("active", "yes", "invalid-value active"),
        ("email_verified", "1", "wrong-type email_verified"),
        // Two cells of one row have the same member.
        ("status,active", "active,true", "duplicate-column active"),
        ("emails,emails[1].value", "[],a@x.org", "duplicate-column emails[1].value"),
        ("emails[1].value,emails", "a@x.org,[]", "duplicate-column emails"),
        ("manager.id,manager", "1,{}", "duplicate-column manager"),
        ("attributes,attributes.a", "\"{\"\"a\"\":1}\",2", "duplicate-column attributes.a"),
        ("attributes,attributes.a", "null,2", "wrong-type attributes"),
        ("attributes.a,attributes", "2,\"{\"\"a\"\":1}\"", "duplicate-column attributes"),
        ("attributes.a,attributes.a.b", "1,2", "duplicate-column attributes.a.b"),
        ("attributes.a.b,attributes.a", "1,2", "duplicate-column attributes.a"),
        ("roles", "null", "wrong-type roles"),
    ] {
        assert_eq!(result_of(header, row).await, [expected], "{header}");
    }
    // The short form makes an entry of its list, so its error is found twice.
    let twice = result_of("email,emails[1].value", "bad,b@x.org").await;
    assert_eq!(twice, ["invalid-email email"; 2]);
    assert_eq!(service.head().await.position, 0);
    for (header, row) in [
        ("emails,emails[1].value", "\"[]\","),
        ("emails,emails[1].value,email", ",b@x.org,a@x.org"),
        ("phone_number", "+1 (555) 010-9999 ext. 5"),
        ("phone_number", "'+1 (555) 010-9999"),
        ("title", "'=1+1"),
        ("nickname", "-"),
    ] {
        let text = format!("userName,{header}\nada,{row}\n");
        let results = results_of(import(&service, "?on_conflict=replace", text).await);
        assert_eq!(results[0].get("problem"), None, "{header}: {}", results[0]);
    }
}
