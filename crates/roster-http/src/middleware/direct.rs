//! The guard of the open mode: only programs on this machine are served without a key.
//!
//! A proxy on this machine connects from loopback like every local program. A request is therefore
//! rejected at any sign of another machine: a peer that is not loopback, HTTP/1.0 (which proxies
//! use towards their servers by default), or a header that proxies, load balancers and content
//! delivery networks add. A proxy that adds nothing cannot be detected.

use std::net::IpAddr;

use http::{HeaderName, Version, request::Parts};

use crate::problem::{Problem, ProblemCode};

/// Headers that name a proxy or the client behind it, sorted.
const NAMES: [&str; 49] = [
    "cdn-loop",
    "client-ip",
    "connect-time",
    "disguised-host",
    "early-data",
    "forwarded",
    "front-end-https",
    "incap-client-ip",
    "max-forwards",
    "proxy-client-ip",
    "proxy-connection",
    "remote-addr",
    "remote-user",
    "rndr-id",
    "surrogate-capability",
    "total-route-time",
    "true-client-ip",
    "via",
    "wl-proxy-client-ip",
    "x-appservice-proto",
    "x-bluecoat-via",
    "x-cdn",
    "x-client-ip",
    "x-cloud-trace-context",
    "x-cluster-client-ip",
    "x-coming-from",
    "x-country-code",
    "x-forwarder-for",
    "x-geo-country",
    "x-host",
    "x-http-proto",
    "x-iinfo",
    "x-imforwards",
    "x-lb-name",
    "x-ms-client-principal",
    "x-originating-ip",
    "x-proxyuser-ip",
    "x-queue-start",
    "x-remote-addr",
    "x-remote-ip",
    "x-request-start",
    "x-rewrite-url",
    "x-scheme",
    "x-start-time",
    "x-sucuri-clientip",
    "x-true-client-ip",
    "x-url-scheme",
    "x-varnish",
    "z-forwarded-for",
];

/// Prefixes of such headers, for products that use several. Sorted, and none begins with another.
const PREFIXES: [&str; 46] = [
    "akamai-",
    "cdn-",
    "cf-",
    "cloudfront-",
    "fastly-",
    "fly-",
    "tailscale-",
    "x-akamai-",
    "x-amz-cf-",
    "x-amzn-",
    "x-apigateway-",
    "x-apigw-",
    "x-appengine-",
    "x-arr-",
    "x-auth-request-",
    "x-authentik-",
    "x-azure-",
    "x-bluecoat-",
    "x-bunny-",
    "x-cdn-",
    "x-consumer-",
    "x-edge-",
    "x-edgeconnect-",
    "x-envoy-",
    "x-fastly-",
    "x-forwarded",
    "x-gateway-",
    "x-goog-",
    "x-haproxy-",
    "x-heroku-",
    "x-kong-",
    "x-lb-",
    "x-ms-client-principal-",
    "x-nf-",
    "x-nginx-",
    "x-ngrok-",
    "x-original-",
    "x-pomerium-",
    "x-proxy-",
    "x-railway-",
    "x-real-",
    "x-ssl-",
    "x-traefik-",
    "x-tyk-",
    "x-vercel-",
    "x-zscaler-",
];

/// Rejects a request that another machine may have sent.
pub(crate) fn check_direct(parts: &Parts, peer: IpAddr) -> Result<(), Problem> {
    if parts.version < Version::HTTP_11 {
        let detail = "send HTTP/1.1 or HTTP/2: before the first key HTTP/1.0 is refused, which \
                      proxies speak";
        return Err(Problem::saying(ProblemCode::ForwardedRequest, detail));
    }
    if !peer.to_canonical().is_loopback() || parts.headers.keys().any(is_of_a_proxy) {
        return Err(Problem::new(ProblemCode::ForwardedRequest));
    }
    Ok(())
}

fn is_of_a_proxy(name: &HeaderName) -> bool {
    let name = name.as_str();
    // Only the last prefix that is not after the name can be its beginning.
    let count = PREFIXES.partition_point(|prefix| *prefix <= name);
    let last = count.checked_sub(1).and_then(|at| PREFIXES.get(at));
    NAMES.binary_search(&name).is_ok() || last.is_some_and(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn is_direct(peer: &str, version: Version, header: &str) -> bool {
        let request = Request::builder().version(version).header(header, "192.0.2.1").body(());
        let (parts, ()) = request.unwrap().into_parts();
        check_direct(&parts, peer.parse().unwrap()).is_ok()
    }

    #[test]
    fn names_and_prefixes_are_sorted_and_no_prefix_begins_with_another() {
        assert!(NAMES.is_sorted());
        assert!(PREFIXES.is_sorted_by(|one, next| one < next && !next.starts_with(one)));
    }

    #[test]
    fn a_request_of_this_machine_without_proxy_headers_is_direct() {
        for header in ["accept", "x-request-id", "traceparent", "x-client-version", "x-api-key"] {
            for peer in ["127.0.0.1", "::1", "127.3.2.1", "::ffff:127.0.0.1"] {
                assert!(is_direct(peer, Version::HTTP_11, header), "{header}");
                assert!(is_direct(peer, Version::HTTP_2, header), "{header}");
            }
        }
    }

    #[test]
    fn a_peer_of_another_machine_and_http_1_0_are_not_direct() {
        for peer in ["192.0.2.1", "10.0.0.1", "::2", "::ffff:10.0.0.1"] {
            assert!(!is_direct(peer, Version::HTTP_11, "accept"), "{peer}");
        }
        assert!(!is_direct("127.0.0.1", Version::HTTP_10, "accept"));
    }

    #[test]
    fn a_request_with_a_header_of_a_proxy_is_not_direct() {
        for header in [
            "Forwarded",
            "Via",
            "X-Forwarded",
            "X-Forwarded-For",
            "X-Forwarded-Zork",
            "X-Real-IP",
            "CF-Connecting-IP",
            "CF-Ray",
            "Client-IP",
            "X-Client-IP",
            "X-Cluster-Client-IP",
            "True-Client-IP",
            "X-Envoy-External-Address",
            "X-Original-For",
            "X-Original-URL",
            "Fastly-Client-IP",
            "X-Azure-ClientIP",
            "X-ARR-LOG-ID",
            "X-Amzn-Trace-Id",
            "X-Amz-Cf-Id",
            "CloudFront-Viewer-Address",
            "Fly-Client-IP",
            "X-Vercel-Id",
            "CDN-Loop",
            "Tailscale-User-Login",
            "Max-Forwards",
            "X-Request-Start",
            "X-Azure-FDID",
            "X-Goog-IAP-JWT-Assertion",
            "Surrogate-Capability",
            "Early-Data",
        ] {
            assert!(!is_direct("127.0.0.1", Version::HTTP_11, header), "{header}");
        }
    }

    #[test]
    fn names_are_written_as_they_are_compared() {
        for name in NAMES.iter().chain(&PREFIXES) {
            assert_eq!(*name, name.to_ascii_lowercase());
        }
        assert!(NAMES.is_sorted() && PREFIXES.is_sorted());
    }
}
