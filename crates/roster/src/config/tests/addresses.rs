//! Settings with addresses: `listen`, base URL, hosts and origins.

use super::*;

#[test]
fn localhost_is_the_loopback_address() {
    let listen = none().flag("listen", "localhost:81").config().listen;
    assert_eq!(listen, "127.0.0.1:81".parse().unwrap());
}

#[test]
fn a_base_url_keeps_its_mount_and_loses_its_last_slash() {
    let rows = [
        ("http://a.example", "http://a.example", "a.example", ""),
        ("http://a.example/", "http://a.example", "a.example", ""),
        ("HTTPS://A.Example:443/v1/", "https://a.example/v1", "a.example", "/v1"),
        ("http://[::1]:8080/a/b", "http://[::1]:8080/a/b", "[::1]:8080", "/a/b"),
        ("https://bücher.example", "https://xn--bcher-kva.example", "xn--bcher-kva.example", ""),
    ];
    for (text, whole, authority, mount) in rows {
        let url = BaseUrl::parse(text).unwrap();
        assert_eq!(
            (url.to_string().as_str(), url.authority(), url.mount()),
            (whole, authority, mount)
        );
        assert_eq!(BaseUrl::parse(whole).unwrap(), url, "the printed value parses to the same");
    }
}

#[test]
fn a_base_url_of_any_other_form_is_rejected() {
    let refused = [
        "directory.example.com",
        "/v1",
        "ftp://a.example",
        "http://",
        "http://a.example?x=1",
        "http://a.example/?",
        "http://a.example/#top",
        "http://u@a.example",
        "http://u:p@a.example",
        "http://@a.example",
        "http://a.example//v1",
        "http://a.example/v1//",
        "http://a.example/v1/../v2",
        "http://a.example/./v1",
        "http://a.example/v%31",
        "http://a.example/v 1",
        "http://a.example\\v1",
        "http:a.example/v1",
    ];
    for text in refused {
        assert!(BaseUrl::parse(text).is_err(), "{text}");
    }
    let faults = none().flag("base_url", "http://ada:secret@a.example").faults();
    assert!(faults.iter().all(|fault| !fault.contains("secret")), "{faults:?}");
}

#[test]
fn without_a_base_url_callers_use_the_listening_address() {
    let config = none().config();
    let url = |address: &str| config.effective_base_url(address.parse().unwrap());
    assert_eq!(url("127.0.0.1:41234").to_string(), "http://127.0.0.1:41234");
    assert_eq!(url("[::1]:80").authority(), "[::1]");
    assert_eq!(url("127.0.0.1:8080").authority(), "127.0.0.1:8080");
    let secured = none().flag("tls_certificate", "a.pem").flag("tls_key", "a.key").config();
    let url = |address: &str| secured.effective_base_url(address.parse().unwrap()).to_string();
    assert_eq!(url("127.0.0.1:8443"), "https://127.0.0.1:8443");
    assert_eq!(url("127.0.0.1:443"), "https://127.0.0.1");
    assert_eq!(url("127.0.0.1:80"), "https://127.0.0.1:80");
    let set = none().flag("base_url", "https://a.example/v1").config();
    let url = set.effective_base_url("127.0.0.1:1".parse().unwrap());
    assert_eq!(url.to_string(), "https://a.example/v1");
}

#[test]
fn host_names_are_stored_as_they_are_compared() {
    let config = none().flag("hosts", "Directory.Example.com, Bücher.example:8443,[::1]").config();
    let hosts: Vec<String> = config.hosts.iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["directory.example.com", "xn--bcher-kva.example:8443", "[::1]"]);
    assert_eq!(none().file("hosts = []").config().hosts, []);
    for bad in ["*", "a b", "a.example:", "a.example:0", "a.example:99999", "a,,b", "http://a"] {
        assert_eq!(none().flag("hosts", bad).faults().len(), 1, "{bad}");
    }
    assert_eq!(none().file("hosts = [\"a,b\"]").faults().len(), 1);
    assert_eq!(none().file("hosts = [1]").faults().len(), 1);
    // As a text with commas, this would be an empty list.
    for key in ["hosts", "cors_origins", "trusted_proxies", "webhook_networks"] {
        for list in ["[\"\"]", "[\" \"]", "[\"\", \"\"]"] {
            let faults = none().file(&format!("{key} = {list}")).faults();
            let said = "must be a list of single strings, none of them empty";
            assert_eq!(faults, [format!("file FILE:1: {key} {said}")], "{list}");
        }
    }
}

#[test]
fn an_origin_is_stored_as_browsers_write_it_and_there_is_no_wildcard() {
    let given = "HTTPS://Admin.Example.com:443, https://bücher.example:8443,http://[::1]:80,\
                 http://localhost:3000";
    let config = none().flag("cors_origins", given).config();
    let origins: Vec<String> = config.cors_origins.iter().map(ToString::to_string).collect();
    let written = [
        "https://admin.example.com",
        "https://xn--bcher-kva.example:8443",
        "http://[::1]",
        "http://localhost:3000",
    ];
    assert_eq!(origins, written);
    let file = "cors_origins = [\"https://a.example\", \"https://b.example\"]";
    assert_eq!(none().file(file).config().cors_origins.len(), 2);
    for bad in [
        "*",
        "null",
        "https://*",
        "https://*.example.com",
        "*.example.com",
        "a.example",
        "https://",
        "https://a.example/",
        "https://a.example/app",
        "https://u@a.example",
        "https://a.example?x",
        "https://a.example#x",
        "https://a.example:0",
        "https://a.example:",
        "https://a.example:99999",
        "https://a b.example",
        "https:a.example",
        "ftp://a.example",
        "file:///",
        "chrome-extension://abcdefgh",
        "https://a.example,,https://b.example",
    ] {
        assert_eq!(none().flag("cors_origins", bad).faults().len(), 1, "{bad}");
    }
}
