//! The words in which a row is written.
//!
//! A row holds no code: only what is sent, what is expected and why. `<host>`, `<port>`, `<id>`
//! (a user that was made for this row), `<n>` (a number that no other row has) and `<len>` (the
//! length of what follows the head) are filled in when the row is run.

/// One row.
pub(crate) struct Row {
    /// What the row is about.
    pub(crate) name: &'static str,
    /// The section that asks for the answer, or leaves it to us, and then why it is this one.
    pub(crate) why: &'static str,
    /// What is sent, in order.
    pub(crate) send: Vec<Part>,
    /// The answers, in order. There may be no further one.
    pub(crate) answers: Vec<Answer>,
    /// What becomes of the connection.
    pub(crate) end: End,
    /// What becomes of the user that was made for this row.
    pub(crate) user: Fate,
}

/// A piece of what is sent.
pub(crate) enum Part {
    /// Bytes, with words to fill in. Pieces in a row go out in one write.
    Bytes(Vec<u8>),
    /// Nothing for this many milliseconds.
    Pause(u64),
    /// Nothing until the next answer has come.
    Answer,
    /// One byte now and then until the other side has answered or closed.
    Trickle,
    /// No more will come.
    End,
}

/// What becomes of the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It takes another request.
    Open,
    /// It is closed in good order.
    Closed,
    /// It is closed in good order once a limit of this many milliseconds is over, and not before.
    ClosedAfter(u64),
    /// It is reset, whatever was answered before.
    Reset,
}

/// What becomes of the user.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Kept,
    Deleted,
}

/// One expected answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) source: Source,
    pub(crate) head_only: bool,
    pub(crate) mirrors: bool,
    pub(crate) headers: Vec<Held>,
    pub(crate) says: Vec<&'static str>,
}

/// Who writes the answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The service, on success.
    Service,
    /// The service, with a problem of this code.
    Problem(&'static str),
    /// hyper, which refuses what is no request before we see it: a bare status.
    Parser,
    /// An interim answer, which another one follows.
    Interim,
}

/// What a header of an answer is held to.
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

/// A success of the service.
pub(crate) fn ours(status: u16) -> Answer {
    answer(status, Source::Service)
}

/// A refusal by the service.
pub(crate) fn problem(status: u16, code: &'static str) -> Answer {
    answer(status, Source::Problem(code))
}

/// A refusal before the service sees anything.
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

    /// The content holds these words.
    pub(crate) fn saying(mut self, words: &'static str) -> Self {
        self.says.push(words);
        self
    }

    /// The answer to a HEAD.
    pub(crate) fn head(self) -> Self {
        Self { head_only: true, ..self }
    }

    /// The answer to a HEAD after the same GET: the headers that describe the content are equal.
    pub(crate) fn head_of_the_one_before(self) -> Self {
        Self { head_only: true, mirrors: true, ..self }
    }
}

/// What can be sent.
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

/// Bytes as a part of several.
pub(crate) fn bytes(text: impl Into<Vec<u8>>) -> Part {
    Part::Bytes(text.into())
}

/// A request without content. Each of the header lines ends in CR LF.
pub(crate) fn ask(method: &str, target: &str, lines: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nHost: <host>\r\n{lines}\r\n")
}

/// A GET.
pub(crate) fn get(target: &str, lines: &str) -> String {
    ask("GET", target, lines)
}

/// A request with content of a known length.
pub(crate) fn send(method: &str, target: &str, lines: &str, content: &[u8]) -> Vec<u8> {
    let lines = format!("{lines}Content-Length: <len>\r\n");
    [ask(method, target, &lines).as_bytes(), content].concat()
}

/// The line that a JSON content needs.
pub(crate) const JSON: &str = "Content-Type: application/json\r\n";

/// A user that no other row makes.
pub(crate) const USER: &[u8] = br#"{"username":"wire-<n>"}"#;

/// A POST of JSON to `/users`.
pub(crate) fn post(content: &[u8]) -> Vec<u8> {
    send("POST", "/users", JSON, content)
}

/// A POST of JSON text in chunked coding, as it stands after the head.
pub(crate) fn post_chunks(lines: &str, coded: &str) -> String {
    ask("POST", "/users", &format!("{JSON}Transfer-Encoding: chunked\r\n{lines}")) + coded
}
