//! The pages of the problems: each code that a response may contain has an explanation.

use roster_core::UserSchema;
use roster_core::ViolationCode;
use roster_http::problem::{
    registry::PROBLEMS,
    violations::{Place, VIOLATIONS},
};
use serde_json::Value;

use crate::service::{Backend, Service};

async fn page(service: &Service, target: &str, accept: &str) -> crate::client::Reply {
    service.request("GET", target).header("accept", accept).send().await
}

pub(crate) async fn every_problem_type_has_a_page_as_json_and_html(backend: Backend) {
    let service = backend.open().await;
    let problems = PROBLEMS.iter().map(|kind| (kind.code, Some(kind.status), kind.title));
    let faults = VIOLATIONS.iter().map(|kind| (kind.code, None, kind.title));
    for (code, status, title) in problems.chain(faults) {
        let target = format!("/problems/{code}");
        let explained = page(&service, &target, "application/json").await.expect(200).json();
        assert_eq!(explained["code"], code);
        assert_eq!(explained["title"], title);
        assert_eq!(explained["status"].as_u64(), status.map(u64::from));
        let html = page(&service, &target, "text/html,*/*;q=0.8").await.expect(200);
        assert_eq!(html.header("content-type"), "text/html; charset=utf-8");
        assert!(html.text().contains(code), "{code}");
        assert!(html.header("content-security-policy").contains("default-src 'none'"));
        assert_eq!(html.header("vary"), "Accept, Accept-Encoding");
    }
    page(&service, "/problems/nope", "*/*").await.refused(404, "problem-not-found");
    page(&service, "/problems/Internal", "*/*").await.refused(404, "problem-not-found");
}

pub(crate) async fn the_list_of_problems_is_complete_as_json_and_html(backend: Backend) {
    let service = backend.open().await;
    let list = page(&service, "/problems", "application/json").await.expect(200).json();
    let html = page(&service, "/problems", "text/html").await.expect(200);
    let codes = |name: &str| -> Vec<String> {
        let all = list[name].as_array().expect("a list").iter();
        all.map(|kind| kind["code"].as_str().expect("a code").to_owned()).collect()
    };
    assert_eq!(codes("problems"), PROBLEMS.iter().map(|kind| kind.code).collect::<Vec<_>>());
    assert_eq!(codes("violations"), VIOLATIONS.iter().map(|kind| kind.code).collect::<Vec<_>>());
    for code in codes("problems").iter().chain(&codes("violations")) {
        assert!(html.text().contains(&format!("/problems/{code}\"")), "{code}");
    }
}

pub(crate) async fn every_violation_code_has_a_page(backend: Backend) {
    let service = backend.open().await;
    for code in ViolationCode::ALL {
        let target = format!("/problems/{}", code.as_str());
        page(&service, &target, "application/json").await.expect(200);
    }
    for kind in VIOLATIONS.iter().filter(|kind| matches!(kind.place, Place::Pointer(_))) {
        let known = ViolationCode::ALL.iter().any(|code| code.as_str() == kind.code);
        assert!(known, "{} is told by a rule", kind.code);
    }
}

pub(crate) async fn links_between_documents_resolve(backend: Backend) {
    let service = backend.open().await;
    service.close_as_operator().await;
    let document = service.get("/").await.expect(200).json();
    let links = document["links"].as_object().expect("links");
    for link in links.values().filter_map(Value::as_str) {
        let target = link.strip_prefix(service.base_url).expect("below the base URL");
        // A client keeps the fragment and looks for it in the page.
        let (target, id) = target.split_once('#').unwrap_or((target, ""));
        let page = service.get(target).await.expect(200);
        assert!(id.is_empty() || page.text().contains(&format!("id=\"{id}\"")), "{link}");
    }
    let description = service.get("/openapi.json").await.expect(200);
    let expected = roster_http::description::openapi(service.base_url, &UserSchema::default());
    assert_eq!(description.exchange.response_body, expected);
    let docs = service.get("/docs").await.expect(200);
    assert_eq!(docs.header("content-type"), "text/html; charset=utf-8");
    for operation in ["listUsers", "createUser", "patchUser"] {
        assert!(docs.text().contains(operation), "{operation}");
    }
    assert!(!docs.text().contains("<script"), "it needs no script");
}
