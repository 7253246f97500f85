//! The functions and types by which a row is written.
//!
//! A row has no code, only what is sent, what is expected, and why. When the row is run,
//! placeholders are replaced: `<host>`, `<port>`, `<id>` (a user created for this row), `<n>` (a
//! number unique to this row) and `<len>` (the length of the text after the head).

/// One row.
pub(crate) struct Row {
    /// The name of the row.
    pub(crate) name: &'static str,
    /// The section that requires the response; if the RFC leaves it open, the reason for the
    /// choice.
    pub(crate) why: &'static str,
    /// The parts to send, in order.
    pub(crate) send: Vec<Part>,
    /// The expected responses, in order. There may be no others.
    pub(crate) answers: Vec<Answer>,
    /// The expected state of the connection.
    pub(crate) end: End,
    /// The expected state of the user that was created for this row.
    pub(crate) user: Fate,
}

/// A part of a request.
pub(crate) enum Part {
    /// Bytes, with placeholders. Consecutive parts are sent in one write.
    Bytes(Vec<u8>),
    /// Sends nothing for this many milliseconds.
    Pause(u64),
    /// Waits for the next response.
    Answer,
    /// Sends one byte at a time until the service has responded or closed.
    Trickle,
    /// Closes the sending side.
    End,
}

/// The state of the connection after the row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It accepts another request.
    Open,
    /// It is closed properly.
    Closed,
    /// It is closed properly after a limit of this many milliseconds, and not before.
    ClosedAfter(u64),
    /// It is reset, whatever the responses were.
    Reset,
}

/// The state of the user after the row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Kept,
    Deleted,
}

/// One expected response.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) source: Source,
    pub(crate) head_only: bool,
    pub(crate) mirrors: bool,
    pub(crate) headers: Vec<Held>,
    pub(crate) says: Vec<&'static str>,
}

/// The author of the response.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The service, on success.
    Service,
    /// The service, with a problem of this code.
    Problem(&'static str),
    /// hyper, which rejects an invalid request before the service sees it, with only a status.
    Parser,
    /// An interim response, which another one follows.
    Interim,
}

/// A condition on a header of a response.
pub(crate) enum Held {
    Is(&'static str, &'static str),
    IsNot(&'static str, &'static str),
    Absent(&'static str),
}

/// A row whose connection stays open and whose user is kept.
pub(crate) fn row(
    name: &'static str,
    why: &'static str,
    send: impl Sent,
    answer: impl Into<Option<Answer>>,
) -> Row {
    let answers = answer.into().into_iter().collect();
    Row { name, why, send: send.parts(), answers, end: End::Open, user: Fate::Kept }
}

impl Row {
    pub(crate) fn then(mut self, answer: Answer) -> Self {
        self.answers.push(answer);
        self
    }

    pub(crate) fn closes(self) -> Self {
        Self { end: End::Closed, ..self }
    }

    pub(crate) fn ends(self, end: End) -> Self {
        Self { end, ..self }
    }

    pub(crate) fn deletes(self) -> Self {
        Self { user: Fate::Deleted, ..self }
    }
}

fn answer(status: u16, source: Source) -> Answer {
    let (headers, says) = (Vec::new(), Vec::new());
    Answer { status, source, head_only: false, mirrors: false, headers, says }
}

/// A successful response of the service.
pub(crate) fn ours(status: u16) -> Answer {
    answer(status, Source::Service)
}

/// A problem of the service.
pub(crate) fn problem(status: u16, code: &'static str) -> Answer {
    answer(status, Source::Problem(code))
}

/// A rejection by hyper.
pub(crate) fn parser(status: u16) -> Answer {
    answer(status, Source::Parser)
}

/// `100 Continue`.
pub(crate) fn go_on() -> Answer {
    answer(100, Source::Interim)
}

impl Answer {
    pub(crate) fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push(Held::Is(name, value));
        self
    }

    pub(crate) fn not_with(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push(Held::IsNot(name, value));
        self
    }

    pub(crate) fn without(mut self, name: &'static str) -> Self {
        self.headers.push(Held::Absent(name));
        self
    }

    /// The body contains this text.
    pub(crate) fn saying(mut self, words: &'static str) -> Self {
        self.says.push(words);
        self
    }

    /// The response to a HEAD.
    pub(crate) fn head(self) -> Self {
        Self { head_only: true, ..self }
    }

    /// The response to a HEAD after the same GET: the headers that describe the body are equal.
    pub(crate) fn head_of_the_one_before(self) -> Self {
        Self { head_only: true, mirrors: true, ..self }
    }
}

/// Anything that can be sent.
pub(crate) trait Sent {
    fn parts(self) -> Vec<Part>;
}

impl Sent for &str {
    fn parts(self) -> Vec<Part> {
        vec![Part::Bytes(self.into())]
    }
}

impl Sent for String {
    fn parts(self) -> Vec<Part> {
        vec![Part::Bytes(self.into())]
    }
}

impl Sent for Vec<u8> {
    fn parts(self) -> Vec<Part> {
        vec![Part::Bytes(self)]
    }
}

impl<const N: usize> Sent for [Part; N] {
    fn parts(self) -> Vec<Part> {
        self.into()
    }
}

/// Bytes as one of several parts.
pub(crate) fn bytes(text: impl Into<Vec<u8>>) -> Part {
    Part::Bytes(text.into())
}

/// A request without a body. Each of the header lines ends in CR LF.
pub(crate) fn ask(method: &str, target: &str, lines: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nHost: <host>\r\n{lines}\r\n")
}

/// A GET.
pub(crate) fn get(target: &str, lines: &str) -> String {
    ask("GET", target, lines)
}

/// A request with a body and `Content-Length`.
pub(crate) fn send(method: &str, target: &str, lines: &str, content: &[u8]) -> Vec<u8> {
    let lines = format!("{lines}Content-Length: <len>\r\n");
    [ask(method, target, &lines).as_bytes(), content].concat()
}

/// The header line that a JSON body needs.
pub(crate) const JSON: &str = "Content-Type: application/json\r\n";

/// A user that no other row creates.
pub(crate) const USER: &[u8] = br#"{"username":"wire-<n>"}"#;

/// A POST of JSON to `/users`.
pub(crate) fn post(content: &[u8]) -> Vec<u8> {
    send("POST", "/users", JSON, content)
}

/// A POST of JSON text in chunked coding. The chunks are sent as written here.
pub(crate) fn post_chunks(lines: &str, coded: &str) -> String {
    ask("POST", "/users", &format!("{JSON}Transfer-Encoding: chunked\r\n{lines}")) + coded
}
