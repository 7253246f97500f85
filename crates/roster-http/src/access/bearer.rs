//! Parses `Authorization: Bearer` (RFC 6750 section 2.1), the only way to send a credential. The
//! query is not accepted, because logs and browser histories would contain it.

use http::{HeaderMap, header::AUTHORIZATION};

use super::{another_scheme, invalid};
use crate::problem::{Problem, ProblemCode};

/// The token of a request, if it sends credentials.
pub(crate) fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut lines = headers.get_all(AUTHORIZATION).into_iter();
    let Some(line) = lines.next() else { return Ok(None) };
    if lines.next().is_some() {
        let detail = "send exactly one Authorization header";
        return Err(Problem::saying(ProblemCode::InvalidRequest, detail));
    }
    let (scheme, token) =
        line.to_str().ok().and_then(|line| line.split_once(' ')).unwrap_or(("", ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(another_scheme());
    }
    let token = token.trim_matches(' ');
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    if token.is_empty() || !token.bytes().all(is_token) {
        return Err(invalid("the token contains characters that are not allowed in a token"));
    }
    Ok(Some(token))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read(lines: &[&str]) -> Result<Option<String>, ProblemCode> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(AUTHORIZATION, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        bearer(&headers).map(|token| token.map(str::to_owned)).map_err(|problem| problem.code)
    }

    #[test]
    fn one_bearer_token_is_taken_and_nothing_else() {
        let token = || Ok(Some("abc.DEF-1~2+3/4=".to_owned()));
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&["Bearer abc.DEF-1~2+3/4="]), token());
        assert_eq!(read(&["bEARER   abc.DEF-1~2+3/4= "]), token());
        for line in [
            "",
            "Bearer",
            "Bearer ",
            "Basic YTpi",
            "abc",
            "Bearer a b",
            "Bearer a,b",
            "Bearer \u{e9}",
        ] {
            assert_eq!(read(&[line]), Err(ProblemCode::Unauthenticated), "{line}");
        }
        assert_eq!(read(&["Bearer a", "Bearer a"]), Err(ProblemCode::InvalidRequest));
    }
}
