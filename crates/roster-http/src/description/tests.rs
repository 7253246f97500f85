//! Compares the description with the attribute table, the limits and the codes.

use std::collections::BTreeSet;

use roster_core::{
    Attribute, Json, Part, UserSchema, ViolationCode,
    attribute::{Kind, PartKind, Shape, TextRule},
    json::read,
    limits,
};

mod examples;
mod schemas;

use super::{
    assemble, openapi_of_tenant,
    tree::{at, items, members, reference, text, text_at},
};
use crate::operation::Operation;
use crate::problem::{
    registry::{self, PROBLEMS},
    violations::{Place, VIOLATIONS},
};

const BASE: &str = "https://directory.example.com/v1";

fn document() -> Json {
    assemble::assemble(BASE, &UserSchema::default()).expect("every part is JSON")
}

fn schema<'a>(document: &'a Json, name: &str) -> &'a Json {
    let found = at(document, &["components", "schemas", name]);
    assert_ne!(*found, Json::Null, "no schema {name}");
    found
}

fn names(object: &Json) -> Vec<&str> {
    members(object).iter().map(|(name, _)| name.as_str()).collect()
}

fn number(tree: &Json, name: &str) -> usize {
    let Json::Int(number) = at(tree, &[name]) else { panic!("no {name} in {tree:?}") };
    usize::try_from(*number).expect("not negative")
}

/// Resolves a `$ref` in the document. Returns any other value unchanged.
fn resolve<'a>(document: &'a Json, tree: &'a Json) -> &'a Json {
    let Some(reference) = tree.member("$ref").and_then(text) else { return tree };
    let path: Vec<&str> = reference.trim_start_matches("#/").split('/').collect();
    at(document, &path)
}

/// Every object in the tree.
fn walk<'a>(tree: &'a Json, found: &mut Vec<&'a Json>) {
    if matches!(tree, Json::Object(_)) {
        found.push(tree);
    }
    for (_, value) in members(tree) {
        walk(value, found);
    }
    for value in items(tree) {
        walk(value, found);
    }
}

#[test]
fn a_request_that_changes_something_has_a_body_or_refuses_one() {
    let document = document();
    for operation in Operation::ALL {
        // A session is in headers.
        let is_other = operation.path().starts_with("/console");
        if is_other || operation.method().is_safe() {
            continue;
        }
        let method = operation.method().as_str().to_ascii_lowercase();
        let described = at(&document, &["paths", operation.path(), &method]);
        let has_body = described.member("requestBody").is_some();
        assert_ne!(has_body, operation.takes_no_body(), "{operation:?}");
    }
}

#[test]
fn the_user_has_the_members_of_the_attribute_table_in_its_order() {
    let document = document();
    let shown = names(at(schema(&document, "User"), &["properties"]));
    let table: Vec<&str> = Attribute::ALL.iter().map(|one| one.name()).collect();
    assert_eq!(shown, table);
    assert_eq!(names(at(schema(&document, "ListedUser"), &["properties"])), table);
    for form in ["UserCreate", "UserReplace", "UserPatch"] {
        let shown = names(at(schema(&document, form), &["properties"]));
        let order: Vec<&str> = table.iter().copied().filter(|name| shown.contains(name)).collect();
        assert_eq!(shown, order, "{form}");
    }
}

#[test]
fn members_have_the_limits_of_the_attribute_table() {
    let document = document();
    let user = at(schema(&document, "User"), &["properties"]);
    for attribute in Attribute::ALL {
        let member = at(user, &[attribute.name()]);
        match attribute.kind() {
            Kind::Text(rule) | Kind::ShortForm { rule, .. } => {
                assert_eq!(number(member, "maxLength"), longest(rule), "{attribute:?}");
            }
            Kind::Many(shape) => {
                assert_eq!(number(member, "maxItems"), shape.entries_max, "{attribute:?}");
                let entry = resolve(&document, at(member, &["items"]));
                same_parts(entry, shape);
                let form = format!("{}Input", reference(at(member, &["items"])).expect("a $ref"));
                same_parts(schema(&document, &form), shape);
            }
            Kind::One(shape) => same_parts(member, shape),
            Kind::Flag { .. } | Kind::Mark => assert_eq!(text_at(member, &["type"]), "boolean"),
            Kind::Object => assert_eq!(text_at(member, &["type"]), "object"),
            Kind::ServerMade | Kind::Status => {}
        }
    }
}

fn same_parts(entry: &Json, shape: &Shape) {
    let parts: Vec<&str> = shape.parts.iter().map(|(part, _)| part.name()).collect();
    assert_eq!(names(at(entry, &["properties"])), parts);
    let required: Vec<&str> = items(at(entry, &["required"])).iter().filter_map(text).collect();
    assert_eq!(required, shape.required.map(Part::name).into_iter().collect::<Vec<_>>());
    for (part, kind) in shape.parts {
        let property = at(entry, &["properties", part.name()]);
        match kind {
            PartKind::Text(rule) => assert_eq!(number(property, "maxLength"), longest(*rule)),
            PartKind::Flag => assert_eq!(property.member("maxLength"), None),
        }
    }
}

fn longest(rule: TextRule) -> usize {
    rule.length_max()
}

#[test]
fn numbers_are_those_of_the_limits() {
    let document = document();
    let parameter = |name: &str| at(&document, &["components", "parameters", name, "schema"]);
    assert_eq!(number(parameter("Limit"), "maximum"), limits::PAGE_SIZE_MAX);
    assert_eq!(number(parameter("Limit"), "default"), limits::PAGE_SIZE_DEFAULT);
    assert_eq!(number(parameter("Id"), "maxItems"), limits::ID_PARAMETERS_MAX);
    assert_eq!(number(schema(&document, "Scopes"), "maxItems"), limits::KEY_SCOPES_MAX);
    let list = at(schema(&document, "UserList"), &["properties"]);
    assert_eq!(number(at(list, &["items"]), "maxItems"), limits::PAGE_SIZE_MAX);
    assert_eq!(number(at(list, &["examined"]), "maximum"), limits::PAGE_EXAMINED_MAX);
    let service = at(&document, &["components", "examples", "ServiceDocument", "value", "limits"]);
    assert_eq!(number(service, "user_bytes_max"), limits::USER_BYTES_MAX);
    assert_eq!(number(service, "attributes_bytes_max"), limits::ATTRIBUTES_BYTES_MAX);
    assert_eq!(number(service, "attributes_depth_max"), limits::ATTRIBUTES_DEPTH_MAX);
    assert_eq!(number(service, "page_bytes_max"), limits::PAGE_BYTES_MAX);
    let tenant = at(schema(&document, "Tenant"), &["properties", "name"]);
    assert_eq!(number(tenant, "maxLength"), limits::TENANT_NAME_LENGTH_MAX);
}

#[test]
fn every_problem_code_is_described_and_none_besides() {
    let document = document();
    let responses = members(at(&document, &["components", "responses"]));
    let described: BTreeSet<&str> = responses
        .iter()
        .flat_map(|(_, response)| items(at(response, &["x-problem-codes"])))
        .filter_map(text)
        .collect();
    assert_eq!(described, PROBLEMS.iter().map(|kind| kind.code).collect());
}

#[test]
fn a_problem_stands_under_its_own_status() {
    let document = document();
    for (_, path, operation) in assemble::operations(&document) {
        for (status, response) in members(at(operation, &["responses"])) {
            for code in items(at(resolve(&document, response), &["x-problem-codes"])) {
                let kind = text(code).and_then(registry::find).expect("a known code");
                assert_eq!(kind.status.to_string(), *status, "{path} {}", kind.code);
            }
        }
    }
}

#[test]
fn every_violation_code_has_a_page_and_no_page_is_for_nothing() {
    let raised: BTreeSet<&str> = ViolationCode::ALL.iter().map(|code| code.as_str()).collect();
    let of_bodies = VIOLATIONS.iter().filter(|kind| matches!(kind.place, Place::Pointer(_)));
    assert_eq!(of_bodies.map(|kind| kind.code).collect::<BTreeSet<_>>(), raised);
    for code in raised.into_iter().chain(PROBLEMS.iter().map(|kind| kind.code)) {
        assert!(super::problem_page(code, BASE).is_some(), "{code}");
        assert!(super::problem(code, BASE).is_some(), "{code}");
    }
    assert!(super::problem_page("no-such-code", BASE).is_none());
    assert!(super::problem("", BASE).is_none());
}

#[test]
fn every_reference_leads_somewhere_and_no_placeholder_is_left() {
    let document = document();
    let mut objects = Vec::new();
    walk(&document, &mut objects);
    for object in objects {
        assert_ne!(*resolve(&document, object), Json::Null, "{object:?}");
    }
    let whole =
        String::from_utf8(super::openapi(BASE, &UserSchema::default()).to_vec()).expect("UTF-8");
    let prose = ["description", "states", "authentication", "limits", "versions"];
    for word in ["base_url", "base_path", "version", "line", "members"].iter().chain(&prose) {
        assert!(!whole.contains(&format!("{{{word}}}")), "{word}");
    }
    assert!(whole.contains("\"url\":\"https://directory.example.com/v1\""));
    assert!(whole.contains("\"/v1/users/01a1f84a-963b-7c3e-9a41-5d2e8f604b17\""));
    assert!(read(whole.as_bytes()).is_ok());
}

#[test]
fn every_text_of_a_schema_has_a_limit() {
    let document = document();
    let mut objects = Vec::new();
    walk(at(&document, &["components", "schemas"]), &mut objects);
    // The values of an enumeration limit its length, and code generators do not expect `maxLength`
    // in addition.
    let enumerated = |one: &Json| one.member("enum").or(one.member("const")).is_some();
    let both = objects.iter().filter(|one| enumerated(one) && one.member("maxLength").is_some());
    assert_eq!(both.collect::<Vec<_>>(), Vec::<&&Json>::new());
    let texts = objects.iter().filter(|one| {
        let of_type = at(one, &["type"]);
        text(of_type) == Some("string") || items(of_type).iter().any(|t| text(t) == Some("string"))
    });
    let unlimited: Vec<_> =
        texts.filter(|one| !enumerated(one) && one.member("maxLength").is_none()).collect();
    assert!(unlimited.is_empty(), "{unlimited:?}");
}

#[test]
fn operations_are_named_once_and_have_a_path_and_a_method() {
    let operations = super::operations();
    assert_eq!(operations.len(), Operation::ALL.len());
    let ids: BTreeSet<&str> = operations.iter().map(|(_, _, id)| id.as_str()).collect();
    assert_eq!(ids.len(), operations.len());
    let replace = ("PUT".to_owned(), "/users/{user_id}".to_owned(), "replaceUser".to_owned());
    assert!(operations.contains(&replace));
}

#[test]
fn a_tenant_has_the_operations_that_are_not_of_the_service() {
    let document = assemble::of_tenant(document());
    let shown = assemble::operations(&document).into_iter();
    let shown: BTreeSet<_> = shown.map(|(_, _, one)| text_at(one, &["operationId"])).collect();
    let kept = Operation::ALL.iter().filter(|operation| !operation.is_of_service());
    assert_eq!(shown, kept.map(|operation| operation.id()).collect());
    assert_eq!(text_at(&items(at(&document, &["servers"]))[0], &["url"]), BASE);
    for (_, path, operation) in assemble::operations(&document) {
        let responses = at(operation, &["responses"]);
        let may_lack_a_tenant = ["404", "default"].map(|status| responses.member(status).is_some());
        assert!(may_lack_a_tenant.contains(&true), "{path}");
    }
}

#[test]
fn the_document_of_a_tenant_has_the_urls_of_the_service() {
    let document = openapi_of_tenant("https://h.example/v1/tenants/acme", &UserSchema::default());
    let document = std::str::from_utf8(&document).unwrap();
    assert!(document.contains("https://h.example/v1/problems/user-not-found"));
    assert!(document.contains("\"https://h.example/v1/docs\""));
    assert!(document.contains("https://h.example/v1/tenants/acme/users"));
    for path in ["problems", "docs", "metrics", "livez", "console", "tenants"] {
        assert!(!document.contains(&format!("/tenants/acme/{path}")), "{path}");
    }
}

#[test]
fn a_member_of_a_write_may_be_null_unless_it_is_required() {
    let document = document();
    let patch = at(schema(&document, "UserPatch"), &["properties"]);
    let may_be_null =
        |tree: &Json| items(at(tree, &["type"])).iter().any(|t| text(t) == Some("null"));
    for name in ["name", "emails", "manager", "attributes", "status", "version"] {
        assert!(may_be_null(at(patch, &[name])), "{name}");
    }
    assert!(items(at(patch, &["status", "enum"])).contains(&Json::Null));
    let email = at(schema(&document, "EmailInput"), &["properties"]);
    assert!(!may_be_null(at(email, &["value"])));
    assert!(may_be_null(at(email, &["type"])));
}

#[test]
fn pages_are_whole_in_themselves() {
    let mut pages = vec![super::docs_page(BASE), super::problem_list_page(BASE)];
    pages.extend(PROBLEMS.iter().filter_map(|kind| super::problem_page(kind.code, BASE)));
    for page in pages {
        let page = String::from_utf8(page.to_vec()).expect("UTF-8");
        for foreign in ["<script", " src=", "@import", "url(", " style=", " onclick", "<link"] {
            assert!(!page.contains(foreign), "{foreign}");
        }
        for id in page.split("id=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(!id.is_empty() && !id.contains(char::is_whitespace), "{id:?}");
        }
        for link in page.split("href=\"").skip(1) {
            let target = link.split('"').next().expect("a value");
            match target.strip_prefix('#') {
                Some(id) => assert!(page.contains(&format!("id=\"{id}\"")), "{target}"),
                None => assert!(target.starts_with("/v1/"), "{target}"),
            }
            if let Some(code) = target.strip_prefix("/v1/problems/") {
                assert!(super::problem(code, BASE).is_some(), "{code}");
            }
        }
    }
}

#[test]
fn the_reference_shows_every_operation_member_and_code() {
    let page = String::from_utf8(super::docs_page(BASE).to_vec()).expect("UTF-8");
    for (_, _, id) in super::operations() {
        assert!(page.contains(&format!("<article id=\"{id}\">")), "{id}");
    }
    for attribute in Attribute::ALL {
        assert!(page.contains(&format!("<code>{}</code>", attribute.name())), "{attribute:?}");
    }
    for kind in PROBLEMS {
        assert!(page.contains(&format!("/v1/problems/{}\"", kind.code)), "{}", kind.code);
    }
}

#[test]
fn the_reference_has_the_nine_parts_of_the_interface() {
    let page = String::from_utf8(super::docs_page(BASE).to_vec()).expect("UTF-8");
    let (_, rest) = page.split_once("<section id=\"interface\">").expect("the list of the parts");
    let (parts, _) = rest.split_once("</ol>").expect("its end");
    assert_eq!(parts.matches("<li>").count(), 9);
    for tag in ["states", "authentication", "limits", "versions"] {
        assert!(parts.contains(&format!("href=\"#{tag}\"")), "{tag}");
        let (_, section) = page.split_once(&format!("<section id=\"{tag}\">")).expect("a section");
        let (section, _) = section.split_once("</section>").expect("its end");
        assert!(section.matches("<p>").count() > 2, "{tag} says something");
    }
}

#[test]
fn a_base_url_at_the_root_has_an_empty_path() {
    assert_eq!(super::base_path("http://127.0.0.1:8080"), "");
    assert_eq!(super::base_path("https://directory.example.com/v1"), "/v1");
    assert_eq!(super::base_path("https://[::1]:8080/a/b"), "/a/b");
}
