//! One request of an import.

use std::time::Duration;

use roster_client::{Call, Error, Method, Response, header};
use tokio::time::{Instant, sleep_until};

use super::results::{Refusal, Results};
use super::sending::{End, From, Sending};
use super::source::Source;
use super::state::{State, Store};
use super::{Import, flags::ImportFlags};
use crate::failure::{Failure, exit};
use crate::interrupt::Interrupts;
use crate::progress::Progress;

/// How often the state is written.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// How long the service may take for the last complete row. What it has after that is the beginning
/// of a row of several lines.
const LAST_ROW: Duration = Duration::from_secs(2);

/// How a request ended.
pub(super) enum Ended {
    /// All lines have results.
    Complete,
    /// It was asked to stop, and all lines that were sent have results.
    Interrupted,
    /// It was asked to stop at once.
    Killed,
    /// It may help to send it again.
    Broken(Error),
    /// Columns have no member.
    Columns(Error),
    Failed(Failure),
}

impl Import<'_> {
    /// Sends the lines that are left, and reads the results.
    pub(super) async fn attempt(&mut self) -> Ended {
        let from = From { offset: self.state.offset, line: self.state.line };
        let (sending, body) = match Sending::start(&self.source, &from) {
            Ok(sending) => sending,
            Err(error) => return Ended::Failed(error.into()),
        };
        let call = call(self.flags, self.state.key.as_deref());
        let request = self.client.stream(&call, body);
        let ended = match response(request, &sending, &mut self.interrupts, &self.progress).await {
            Ok(response) => {
                self.has_answered = true;
                let ended = self.read(response, &sending).await;
                self.may_have_stored |= matches!(ended, Ended::Broken(_));
                ended
            }
            Err(ended) => ended,
        };
        // The service saw the body break off.
        match sending.fault() {
            Some(why) => Ended::Failed(self.changed(&why)),
            None => ended,
        }
    }

    async fn read(&mut self, response: Response, sending: &Sending) -> Ended {
        let Self { flags, client, source, store, state, spool, interrupts, progress, .. } = self;
        let url = client.url().to_owned();
        let mut pieces = client.pieces(response);
        let mut results = Results::new(state.line, state.tally, spool);
        let (mut saved, mut heard) = (Instant::now(), Instant::now());
        let begun = (Instant::now(), state.tally.all());
        let is_first = !state.has_begun();
        let ended = loop {
            let is_silent = sending.is_stopping() && sending.end().is_some();
            let piece = tokio::select! {
                piece = futures_util::StreamExt::next(&mut pieces) => piece,
                () = interrupts.next() => {
                    if interrupt(sending, progress) {
                        break Ended::Killed;
                    }
                    continue;
                }
                () = sleep_until(heard + LAST_ROW), if is_silent && source.header.is_some() => {
                    break Ended::Interrupted;
                }
            };
            match piece {
                Some(Ok(piece)) => {
                    if let Err(refusal) = results.take(&piece, &url) {
                        break refused(refusal);
                    }
                }
                Some(Err(error)) => break Ended::Broken(error),
                None => break end(&mut results, sending, source, &url),
            }
            heard = Instant::now();
            // The last row is complete, so the service has no part of another one.
            if let Some(End::Stopped(place)) = sending.end()
                && results.last() == Some(place.newlines)
            {
                sending.close();
            }
            let done = sending.place_before(results.next());
            progress.reach(done.offset, &rate(begun, &results));
            if saved.elapsed() >= SAVE_EVERY {
                saved = Instant::now();
                if let Err(error) = save(store, state, source, sending, &mut results) {
                    break Ended::Failed(error);
                }
            }
        };
        if is_first {
            super::report::tell_columns(&results.columns, flags.keep_ids, progress);
        }
        match save(store, state, source, sending, &mut results) {
            Ok(()) => ended,
            Err(failure) => Ended::Failed(failure),
        }
    }
}

/// The request, without its body.
fn call(flags: &ImportFlags, key: Option<&str>) -> Call {
    let media = if flags.is_csv() { "text/csv" } else { "application/x-ndjson" };
    let mut call = Call::new(Method::POST, "bulk/users")
        .header(header::CONTENT_TYPE, media)
        .header(header::ACCEPT, "application/x-ndjson");
    for (name, value) in flags.query() {
        call = call.query(name, value);
    }
    match key {
        Some(key) => {
            call.header(header::HeaderName::from_static("idempotency-key"), &format!("\"{key}\""))
        }
        None => call,
    }
}

/// Waits for the head of the response.
async fn response(
    request: impl Future<Output = Result<Response, Error>>,
    sending: &Sending,
    interrupts: &mut Interrupts,
    progress: &Progress,
) -> Result<Response, Ended> {
    tokio::pin!(request);
    loop {
        tokio::select! {
            response = &mut request => return response.map_err(of_error),
            () = interrupts.next() => if interrupt(sending, progress) {
                return Err(Ended::Killed);
            },
        }
    }
}

/// Stops the sending. Returns whether the process must end at once.
fn interrupt(sending: &Sending, progress: &Progress) -> bool {
    if sending.is_stopping() {
        return true;
    }
    sending.stop();
    progress.say("stopping after the lines that were sent; Ctrl-C again ends at once");
    false
}

/// How a response without an error ended.
fn end(results: &mut Results<'_>, sending: &Sending, source: &Source, url: &str) -> Ended {
    let (next, ended) = match (results.is_done(), sending.end()) {
        // The last line may have no end.
        (true, Some(End::Whole(place))) => (place.newlines + 2, Ended::Complete),
        (true, Some(End::Stopped(place))) if place.offset >= source.stamp.bytes => {
            (place.newlines + 2, Ended::Complete)
        }
        (true, Some(End::Stopped(place))) => (place.newlines + 1, Ended::Interrupted),
        (true, None) | (false, _) => {
            let why = "the response ended before its last line".to_owned();
            return Ended::Broken(Error::Broken { url: url.to_owned(), why });
        }
    };
    match results.settle(next) {
        Ok(()) => {
            results.pass(next);
            ended
        }
        Err(error) => refused(error.into()),
    }
}

fn refused(refusal: Refusal) -> Ended {
    match refusal {
        Refusal::Problem(problem) => of_error(Error::Problem(problem)),
        Refusal::Failure(failure) => Ended::Failed(failure),
    }
}

/// What an error means for the import.
fn of_error(error: Error) -> Ended {
    match &error {
        Error::Connect { .. } | Error::Broken { .. } => Ended::Broken(error),
        Error::Problem(problem) if matches!(problem.status, 408 | 429 | 502..=504) => {
            Ended::Broken(error)
        }
        Error::Problem(problem) if problem.code == "invalid-columns" => Ended::Columns(error),
        Error::Problem(_) | Error::Strange { .. } | Error::Request(_) => {
            Ended::Failed(error.into())
        }
    }
}

/// Writes down how far the import is.
fn save(
    store: &Store,
    state: &mut State,
    source: &Source,
    sending: &Sending,
    results: &mut Results<'_>,
) -> Result<(), Failure> {
    let kept = (|| {
        let next = results.next();
        if next > state.line {
            let offset = source.locate(sending.place_before(next), next)?;
            state.reach(source, next, offset)?;
        }
        state.tally = results.tally();
        state.spooled = results.spool().flush()?;
        if state.has_begun() { store.write(state) } else { Ok(()) }
    })();
    kept.map_err(|error| {
        Failure::new(exit::OTHER, format!("the state of the import cannot be kept: {error}"))
    })
}

/// What a line of progress says.
fn rate((begun, before): (Instant, u64), results: &Results<'_>) -> String {
    let tally = results.tally();
    let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let rate = ((tally.all() - before) * 1000).checked_div(ms).unwrap_or_default();
    format!("{} users, {} failed, {rate}/s", tally.all() - tally.failed, tally.failed)
}
