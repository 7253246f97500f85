//! Reads one HTTP answer out of a connection's bytes.
//!
//! An answer is complete when its head and as many body bytes as Content-Length says are there.
//! Other framing is an error: the bench asks only for answers of a known length.

use anyhow::{Context, Result, bail};

/// Most header lines an answer may have.
const HEADERS_MAX: usize = 48;

/// Where the parts of a complete answer lie in the buffer it was read into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The status code.
    pub(super) status: u16,
    /// Offset of the body.
    pub(super) body: usize,
    /// Offset of the end; nothing may follow, for one request is under way at a time.
    pub(super) end: usize,
}

/// The head at the start of `bytes`, or `None` while some of it is missing: where the answer lies
/// once all of it is there.
pub(super) fn parse_head(bytes: &[u8]) -> Result<Option<Answer>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(body) = head.parse(bytes).context("not an HTTP answer")? else {
        return Ok(None);
    };
    let status = head.code.context("an answer without a status")?;
    let length = match head.headers.iter().find(|h| h.name.eq_ignore_ascii_case("content-length")) {
        Some(header) => std::str::from_utf8(header.value)?.trim().parse()?,
        None if status == 204 || status == 304 => 0,
        None => bail!("an answer {status} without Content-Length"),
    };
    Ok(Some(Answer { status, body, end: body + length }))
}

/// The answer at the start of `bytes`, or `None` while some of it is missing.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<Answer>> {
    let Some(answer) = parse_head(bytes)? else { return Ok(None) };
    let Answer { status, end, .. } = answer;
    if bytes.len() > end {
        bail!("{} bytes follow an answer {status}", bytes.len() - end);
    }
    Ok((bytes.len() == end).then_some(answer))
}

#[cfg(test)]
mod tests {
    use super::{Answer, parse};

    const WHOLE: &[u8] = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}";

    #[test]
    fn an_answer_is_complete_with_its_last_byte() {
        assert_eq!(parse(WHOLE).unwrap(), Some(Answer { status: 201, body: 43, end: 45 }));
        for missing in 1..WHOLE.len() {
            assert_eq!(parse(&WHOLE[..WHOLE.len() - missing]).unwrap(), None);
        }
    }

    #[test]
    fn no_content_needs_no_length() {
        let answer = parse(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap().unwrap();
        assert_eq!((answer.status, answer.body, answer.end), (204, 27, 27));
    }

    #[test]
    fn bytes_after_the_answer_are_an_error() {
        assert!(parse(b"HTTP/1.1 204 No Content\r\n\r\nHTTP").is_err());
        assert!(parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
