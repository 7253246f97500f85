//! Reads the lines of an import and executes them.
//!
//! The next lines are read while the store commits the batch before. If the client disconnects, all
//! lines that arrived completely are still executed, unless the caller's credential is no longer
//! valid. The `done` line is sent only if the stream ended normally. Nothing here waits for the
//! client to read results.

use std::{mem, net::IpAddr, sync::Arc};

use bytes::{Buf as _, Bytes};
use roster_core::{
    BulkWrite, Caller, Directory, Failure, Mode, Outcome, StoreError,
    access::{Permit, RestoreIds, WriteUsers},
    json::write_json,
};
use roster_server::{BodyFault, Upload};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::yield_now,
};

use super::{
    batch::{Batch, Slot, joined},
    bulk_query::{BulkQuery, LineKind},
    charges::LineCharges,
    clashes::Clashes,
    csv::{BOM, Columns, header_of_results, row_of_result},
    flight::Flight,
    group_line::of_group_line,
    import_key::{ImportKey, write_again},
    line_result::{LineResult, Tally},
    lines::Line,
    outbox::Parcel,
    splitter::{Format, Splitter},
};
use crate::{
    access::Lease, extract::JsonParser, limits::admission::LogCharges, problem::Problem,
    state::AppState,
};

/// Other tasks of this thread run after this number of lines.
const YIELD_AFTER_LINES: u64 = 64;
/// Other tasks of this thread run after this number of bytes.
const YIELD_AFTER_BYTES: usize = 32 * 1024;

type Piece = Result<Option<Bytes>, BodyFault>;
type Finished = (Vec<Slot>, Vec<Result<Outcome, Failure>>);

/// The state of the stream of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Open,
    Ended,
    /// It was interrupted, or too slow.
    Broken,
    /// The caller's credential is no longer valid, or another caller needs the place.
    Stopped,
}

/// The body of a request with lines.
pub(super) struct Body {
    pub(super) upload: Upload,
    pub(super) lines: Splitter,
    pub(super) format: Format,
    /// The columns, if the results are rows of CSV.
    pub(super) table: Option<Arc<Columns>>,
    /// The number of lines before the first record.
    pub(super) number: u64,
    /// Its `Idempotency-Key`.
    pub(super) key: Option<String>,
}

/// A running import.
pub(super) struct Intake {
    directory: Directory,
    lease: Lease<WriteUsers>,
    query: BulkQuery,
    /// Lets new users keep the ids of their lines.
    keep: Option<Permit<RestoreIds>>,
    caller: Caller,
    /// The key of an import that can be sent again whole.
    key: Option<ImportKey>,
    base_url: String,
    batches: Arc<Semaphore>,
    upload: Upload,
    source: Source,
    lines: Splitter,
    format: Format,
    /// The columns, if the results are rows of CSV.
    table: Option<Arc<Columns>>,
    /// The next line, which waits for the caller's rate limit, and the number of its lines.
    next: Option<(Line, u64)>,
    charges: LineCharges,
    log_charges: LogCharges,
    parser: JsonParser,
    /// The number of the last line that was read, from 1.
    number: u64,
    batch: Batch,
    flight: Flight<Finished>,
    clashes: Option<Clashes>,
    tally: Tally,
    /// `None` once the receiver of results is gone.
    results: Option<mpsc::Sender<Parcel>>,
    /// The first line that was not executed after the import was stopped, and the reason.
    stopped: Option<(u64, Problem)>,
    failed: bool,
    /// Whether the store had no room for a line. Later lines are refused without an attempt.
    is_full: bool,
}

impl Intake {
    pub(super) fn new(
        app: &AppState,
        (query, keep): (BulkQuery, Option<Permit<RestoreIds>>),
        (lease, caller, client): (Lease<WriteUsers>, Caller, IpAddr),
        Body { upload, lines, format, table, number, key }: Body,
        results: mpsc::Sender<Parcel>,
    ) -> Self {
        let upsert = match query.kind {
            LineKind::Create(upsert) => Some(upsert),
            LineKind::Patch | LineKind::Delete | LineKind::Group(_) => None,
        };
        let upsert = upsert.filter(|_| query.mode == Mode::DryRun);
        let (rules, schema) = (app.directory.rules(), app.directory.schema());
        let clashes = upsert.map(|upsert| Clashes::new(rules, schema, upsert, keep.is_some()));
        // Rows mean another thing below other columns.
        let shape = match &format {
            Format::Csv(columns) => columns.shape(),
            Format::Json => String::new(),
        };
        Self {
            directory: app.directory.clone(),
            lease,
            query,
            keep,
            base_url: app.settings.base_url.clone(),
            batches: Arc::clone(&app.transfers.batches),
            upload,
            source: Source::Open,
            lines,
            format,
            table,
            next: None,
            charges: LineCharges::new(app, caller.actor.clone(), client),
            log_charges: app.admission.log_charges(&caller.actor, client),
            key: key.map(|key| ImportKey::new(&caller.actor, &key, &shape)),
            caller,
            parser: app.json.clone(),
            number,
            batch: Batch::default(),
            flight: Flight::new(),
            clashes,
            tally: Tally::default(),
            results: Some(results),
            stopped: None,
            failed: false,
            is_full: false,
        }
    }

    /// Executes all lines. `first` is a part of the body that has already arrived.
    pub(super) async fn run(mut self, first: Option<Piece>) {
        self.begin().await;
        if let Some(first) = first {
            self.take(first);
        }
        loop {
            self.read_lines().await;
            let open = self.source == Source::Open;
            let throttled = self.charges.is_waiting();
            if !open && !throttled && self.batch.is_empty() && self.flight.is_empty() {
                break;
            }
            let may_read = open && !throttled && !self.batch.is_full();
            let ready = !self.batch.is_empty() && self.may_launch();
            let waiting = ready && self.flight.is_empty();
            let unfinished = open || throttled || !self.batch.is_empty();
            tokio::select! {
                biased;
                problem = self.lease.over(), if unfinished => self.stop(problem),
                permit = permit(&self.batches), if ready && !may_read => self.launch(permit).await,
                done = self.flight.next(), if !self.flight.is_empty() => self.finish(done).await,
                piece = self.upload.next(), if may_read => self.take(piece),
                // The client pauses and the store is idle, so the incomplete batch is sent now.
                permit = permit(&self.batches), if waiting && may_read => self.launch(permit).await,
                () = self.charges.wait(), if throttled => {}
            }
        }
        self.end().await;
    }

    /// Sends what comes before the results: the header row, or in a dry run of CSV the members of
    /// the columns.
    async fn begin(&mut self) {
        let mut out = Vec::new();
        match (&self.table, &self.format) {
            (Some(table), _) => header_of_results(table, &mut out),
            (None, Format::Csv(columns)) if self.query.mode == Mode::DryRun => {
                write_json(&mut out, &columns.describe());
                out.push(b'\n');
            }
            (None, _) => return,
        }
        self.send(Parcel::Results(out)).await;
    }

    async fn end(&mut self) {
        let (lines, failed) = (self.tally.lines(), self.tally.failed);
        let whole = self.source == Source::Ended;
        let request_id = self.caller.request_id.clone();
        let kind = self.query.kind;
        tracing::info!(request_id, whole, ?kind, lines, failed, "a bulk request ended");
        if whole {
            let done = if self.table.is_some() { String::new() } else { self.tally.done(kind) };
            self.send(Parcel::Done(done)).await;
        }
        // The last result. Without a `done` line, the response is incomplete.
        if let Some((number, problem)) = self.stopped.take() {
            let code = problem.code.as_str();
            tracing::warn!(request_id, code, "an import was stopped");
            let mut out = Vec::new();
            self.write(None, number, LineResult::Failed(problem, None), &mut out);
            self.send(Parcel::Results(out)).await;
        }
    }

    /// Stops: neither waiting nor later lines are executed.
    fn stop(&mut self, problem: Problem) {
        let batch = mem::take(&mut self.batch);
        self.log(&problem);
        self.stopped = Some((batch.first().unwrap_or(self.number + 1), problem));
        self.source = Source::Stopped;
        self.charges.stop();
    }

    /// The store executes a single command before batches, so a batch of one waits for the batches
    /// in flight.
    fn may_launch(&self) -> bool {
        self.flight.is_empty() || (!self.flight.is_full() && self.batch.writes() != 1)
    }

    fn take(&mut self, piece: Piece) {
        match piece {
            Ok(Some(piece)) => self.lines.feed(piece),
            Ok(None) => self.source = Source::Ended,
            // An incomplete last line is ignored.
            Err(_) => self.source = Source::Broken,
        }
    }

    /// Reads lines until no complete line is available, the batch is full, or the caller's rate
    /// limit is reached.
    async fn read_lines(&mut self) {
        let (mut lines_since_yield, mut bytes_since_yield) = (0, 0);
        while self.source != Source::Stopped
            && !self.batch.is_full()
            && let Some((line, count)) = self.next.take().or_else(|| self.next_line())
        {
            // A blank line has a number but no result.
            let blank = matches!(&line, Line::Whole(text) if self.format.is_blank(text));
            if !blank && !self.charges.charge() {
                self.next = Some((line, count));
                break;
            }
            if !blank {
                self.take_line(&line).await;
            }
            self.number += count;
            bytes_since_yield += line.len();
            lines_since_yield += 1;
            if lines_since_yield >= YIELD_AFTER_LINES || bytes_since_yield >= YIELD_AFTER_BYTES {
                (lines_since_yield, bytes_since_yield) = (0, 0);
                yield_now().await;
            }
        }
        self.upload.progress(self.lines.take_progress());
    }

    async fn take_line(&mut self, line: &Line) {
        if self.query.mode == Mode::Write
            && let Err(problem) = self.log_charges.check()
        {
            return self.batch.refuse(self.number + 1, problem);
        }
        let how = (self.query.kind, &self.format);
        let with = (&self.parser, &self.log_charges, self.key.as_ref());
        self.batch.take(self.number + 1, line, how, with).await;
    }

    fn next_line(&mut self) -> Option<(Line, u64)> {
        let (mut line, count) = self.lines.next(self.source == Source::Ended)?;
        // A file of JSON may begin with a byte order mark (RFC 8259, section 8.1).
        if let (0, Line::Whole(text)) = (self.number, &mut line)
            && text.starts_with(BOM)
        {
            text.advance(BOM.len());
        }
        Some((line, count))
    }

    async fn launch(&mut self, permit: Option<OwnedSemaphorePermit>) {
        let may = match self.lease.permit().await {
            Ok(may) => may,
            Err(problem) => return self.stop(problem),
        };
        let (slots, mut writes) = mem::take(&mut self.batch).into_parts();
        let last = writes.last().and_then(|line| line.start.clone());
        if let Some(keep) = self.keep {
            for line in &mut writes {
                if let BulkWrite::Create(draft, _) = &mut line.write {
                    self.directory.keep_id(keep, draft);
                }
            }
        }
        let (mode, is_keyed) = (self.query.mode, self.key.is_some());
        let (directory, caller) = (self.directory.clone(), self.caller.clone());
        let is_full = self.is_full && mode == Mode::Write;
        let no_room = || StoreError::Full("there was no room for an earlier line".into());
        let answer = async move {
            let results = if writes.is_empty() {
                Vec::new()
            } else if is_full {
                writes.iter().map(|_| Err(Failure::Store(no_room()))).collect()
            } else {
                match mode {
                    Mode::Write if is_keyed => write_again(&directory, may, writes, &caller).await,
                    Mode::Write | Mode::DryRun => {
                        directory.write_many(may, writes, mode, &caller).await
                    }
                }
            };
            drop(permit);
            (slots, results)
        };
        self.flight.launch(answer, last).await;
    }

    async fn finish(&mut self, (slots, results): Finished) {
        self.lease.progress(slots.len());
        self.is_full |= results.iter().any(is_full);
        let mut out = Vec::with_capacity(slots.len() * 80);
        let is_of_groups = matches!(self.query.kind, LineKind::Group(_));
        let problem = if is_of_groups { of_group_line } else { Problem::from };
        for (slot, result) in joined(slots, results, problem) {
            let result = self.line_result(&slot, result);
            self.tally.count(&result);
            self.write(slot.text.as_deref(), slot.number, result, &mut out);
        }
        self.send(Parcel::Results(out)).await;
    }

    /// Writes the result of a line. A table repeats its text.
    fn write(&self, text: Option<&[u8]>, number: u64, result: LineResult, out: &mut Vec<u8>) {
        match &self.table {
            Some(columns) => row_of_result(columns, (text, number), &result, out),
            None => result.write(number, self.tally.lines(), &self.base_url, out),
        }
    }

    fn line_result(&mut self, slot: &Slot, result: Result<Outcome, Problem>) -> LineResult {
        let result = match (&mut self.clashes, result) {
            (Some(clashes), Ok(outcome)) => clashes.check(outcome).map_err(Problem::from),
            (_, result) => result,
        };
        let text = slot.text.as_deref();
        let result = result.map_err(|problem| self.format.name_columns(problem, text));
        if let Err(problem) = &result {
            self.log(problem);
        }
        LineResult::of(self.query, slot.sent_id.as_deref(), result)
    }

    /// Logs only the first failure, because a failing store fails many lines.
    fn log(&mut self, problem: &Problem) {
        if let Some(cause) = &problem.cause
            && !mem::replace(&mut self.failed, true)
        {
            let request_id = self.caller.request_id.as_str();
            let cause: &dyn std::error::Error = cause;
            tracing::error!(request_id, cause, "a line of an import failed");
        }
    }

    async fn send(&mut self, parcel: Parcel) {
        let Some(results) = &self.results else { return };
        let sent = match results.try_send(parcel) {
            Err(mpsc::error::TrySendError::Full(parcel)) => {
                self.upload.hold();
                let sent = results.send(parcel).await;
                self.upload.resume();
                sent.is_ok()
            }
            sent => sent.is_ok(),
        };
        if !sent {
            self.results = None;
        }
    }
}

/// Whether the store had no room for a write.
pub(super) const fn is_full(result: &Result<Outcome, Failure>) -> bool {
    matches!(result, Err(Failure::Store(StoreError::Full(_))))
}

/// A permit for one batch. The semaphore is never closed.
async fn permit(batches: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    Arc::clone(batches).acquire_owned().await.ok()
}
