//! Taking in the lines of an import and having them carried out.
//!
//! The next lines are read while the store commits the former. Whatever becomes of the caller,
//! the lines that came whole are carried out, unless the caller is let in no longer; only a stream
//! that came to its end is told to be done. Nothing here waits for the verdicts to be read.

use std::{mem, sync::Arc};

use bytes::Bytes;
use roster_core::{
    Caller, Directory, Effect, EventKind, Failure, Mode, Outcome, access::WriteUsers,
    limits::USER_BYTES_MAX,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::yield_now,
};

use super::{
    batch::{Batch, Slot, joined},
    charges::LineCharges,
    clashes::Clashes,
    flight::Flight,
    import_query::ImportQuery,
    lines::{Line, Lines},
    outbox::Parcel,
    verdict::{Tally, Verdict},
};
use crate::{
    access::Lease,
    extract::JsonParser,
    problem::Problem,
    server::{BodyFault, Upload},
    state::AppState,
};

/// After so many lines other tasks of this thread have their turn.
const LINES_AT_A_STRETCH: u64 = 64;
/// So they have after lines of so many bytes.
const BYTES_AT_A_STRETCH: usize = 32 * 1024;

type Piece = Result<Option<Bytes>, BodyFault>;
type Landed = (Vec<Slot>, Vec<Result<Outcome, Failure>>);

/// How far the stream of lines has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Open,
    Ended,
    /// It broke off, or was too slow.
    Broken,
    /// Whoever sends it is let in no longer.
    Stopped,
}

/// An import that takes in its lines.
pub(super) struct Intake {
    directory: Directory,
    lease: Lease<WriteUsers>,
    query: ImportQuery,
    caller: Caller,
    base_url: String,
    batches: Arc<Semaphore>,
    upload: Upload,
    source: Source,
    lines: Lines,
    /// The line that is read next, once it may be charged.
    next: Option<Line>,
    charges: LineCharges,
    parser: JsonParser,
    /// The number of the last line that was read, from 1.
    number: u64,
    batch: Batch,
    flight: Flight<Landed>,
    clashes: Option<Clashes>,
    tally: Tally,
    /// Gone once nobody takes verdicts any more.
    verdicts: Option<mpsc::Sender<Parcel>>,
    /// The first line that was not carried out since the caller is let in no longer, and why.
    stopped: Option<(u64, Problem)>,
    failed: bool,
}

impl Intake {
    pub(super) fn new(
        app: &AppState,
        query: ImportQuery,
        (lease, caller, charges): (Lease<WriteUsers>, Caller, LineCharges),
        upload: Upload,
        verdicts: mpsc::Sender<Parcel>,
    ) -> Self {
        let dry = query.mode == Mode::DryRun;
        let clashes = dry.then(|| Clashes::new(app.directory.rules(), query.on_conflict));
        Self {
            directory: app.directory.clone(),
            lease,
            query,
            caller,
            base_url: app.settings.base_url.clone(),
            batches: Arc::clone(&app.transfers.batches),
            upload,
            source: Source::Open,
            lines: Lines::new(USER_BYTES_MAX),
            next: None,
            charges,
            parser: app.json.clone(),
            number: 0,
            batch: Batch::default(),
            flight: Flight::new(),
            clashes,
            tally: Tally::default(),
            verdicts: Some(verdicts),
            stopped: None,
            failed: false,
        }
    }

    /// Carries out all lines. `first` is a piece that has come already.
    pub(super) async fn run(mut self, first: Option<Piece>) {
        if let Some(first) = first {
            self.take(first);
        }
        loop {
            self.read_lines().await;
            let open = self.source == Source::Open;
            let slowed = self.charges.is_waiting();
            if !open && !slowed && self.batch.is_empty() && self.flight.is_empty() {
                break;
            }
            let hungry = open && !slowed && !self.batch.is_full();
            let ready = !self.batch.is_empty() && self.may_launch();
            let waiting = ready && self.flight.is_empty();
            let unfinished = open || slowed || !self.batch.is_empty();
            tokio::select! {
                biased;
                problem = self.lease.over(), if unfinished => self.stop(problem),
                permit = permit(&self.batches), if ready && !hungry => self.launch(permit).await,
                landed = self.flight.next(), if !self.flight.is_empty() => self.land(landed).await,
                piece = self.upload.next(), if hungry => self.take(piece),
                // The caller pauses and the store is idle: what has come need not wait.
                permit = permit(&self.batches), if waiting && hungry => self.launch(permit).await,
                () = self.charges.wait(), if slowed => {}
            }
        }
        self.end().await;
    }

    async fn end(&mut self) {
        let Tally { created, replaced, skipped, failed } = self.tally;
        let whole = self.source == Source::Ended;
        let request_id = self.caller.request_id.clone();
        tracing::info!(request_id, whole, created, replaced, skipped, failed, "an import ended");
        if whole {
            let done = self.tally.done();
            self.tell(Parcel::Done(done)).await;
        }
        // The last that is told; without a last line of its own, the answer is not whole.
        if let Some((number, problem)) = self.stopped.take() {
            let code = problem.code.as_str();
            tracing::warn!(
                request_id,
                code,
                "an import was stopped: its caller is let in no longer"
            );
            let mut out = Vec::new();
            Verdict::Failed(problem).write(number, &self.base_url, &mut out);
            self.tell(Parcel::Verdicts(out)).await;
        }
    }

    /// Nothing more is begun: neither the lines that wait nor those that would come.
    fn stop(&mut self, problem: Problem) {
        let batch = mem::take(&mut self.batch);
        self.log(&problem);
        self.stopped = Some((batch.first().unwrap_or(self.number + 1), problem));
        self.source = Source::Stopped;
        self.charges.stop();
    }

    /// A command that is alone goes before batches in the store: it waits for those in flight.
    fn may_launch(&self) -> bool {
        self.flight.is_empty() || (!self.flight.is_full() && self.batch.drafts() != 1)
    }

    fn take(&mut self, piece: Piece) {
        match piece {
            Ok(Some(piece)) => self.lines.feed(piece),
            Ok(None) => self.source = Source::Ended,
            // The line that broke off is no line.
            Err(_) => self.source = Source::Broken,
        }
    }

    /// Reads lines until there are no more for now, or the batch is full, or the caller's rate
    /// limit is reached.
    async fn read_lines(&mut self) {
        let mut stretch = 0;
        while self.source != Source::Stopped
            && !self.batch.is_full()
            && let Some(line) = self.next.take().or_else(|| self.next_line())
        {
            // A blank line has a number but no result.
            let blank = matches!(&line, Line::Whole(text) if text.trim_ascii().is_empty());
            if !blank && !self.charges.charge() {
                self.next = Some(line);
                break;
            }
            self.number += 1;
            if !blank {
                self.batch.take(self.number, &line, &self.parser).await;
            }
            stretch += line.len();
            if self.number.is_multiple_of(LINES_AT_A_STRETCH) || stretch >= BYTES_AT_A_STRETCH {
                stretch = 0;
                yield_now().await;
            }
        }
        self.upload.progress(self.lines.take_progress());
    }

    fn next_line(&mut self) -> Option<Line> {
        let line = self.lines.next();
        line.or_else(|| if self.source == Source::Ended { self.lines.last() } else { None })
    }

    async fn launch(&mut self, permit: Option<OwnedSemaphorePermit>) {
        let may = match self.lease.permit().await {
            Ok(may) => may,
            Err(problem) => return self.stop(problem),
        };
        let (slots, drafts) = mem::take(&mut self.batch).into_parts();
        let ImportQuery { on_conflict, mode } = self.query;
        let (directory, caller) = (self.directory.clone(), self.caller.clone());
        let answer = async move {
            let results = if drafts.is_empty() {
                Vec::new()
            } else {
                directory.import(may, drafts, on_conflict, mode, &caller).await
            };
            drop(permit);
            (slots, results)
        };
        self.flight.launch(answer).await;
    }

    async fn land(&mut self, (slots, results): Landed) {
        let mut out = Vec::with_capacity(slots.len() * 80);
        for (number, result) in joined(slots, results) {
            let verdict = self.verdict(result);
            self.tally.count(&verdict);
            verdict.write(number, &self.base_url, &mut out);
        }
        self.tell(Parcel::Verdicts(out)).await;
    }

    fn verdict(&mut self, result: Result<Outcome, Problem>) -> Verdict {
        let result = match (&mut self.clashes, result) {
            (Some(clashes), Ok(outcome)) => clashes.judge(outcome).map_err(Problem::from),
            (_, result) => result,
        };
        match result {
            Ok(Outcome { effect, stored, .. }) => {
                let id = (self.query.mode == Mode::Write).then_some(stored.id);
                match effect {
                    Effect::Changed(EventKind::Created) => Verdict::Created(id),
                    Effect::Changed(_) | Effect::Unchanged => Verdict::Replaced(id),
                    Effect::Skipped => Verdict::Skipped,
                }
            }
            Err(problem) => {
                self.log(&problem);
                Verdict::Failed(problem)
            }
        }
    }

    /// A store that fails does so for many lines: the first is enough.
    fn log(&mut self, problem: &Problem) {
        if let Some(cause) = &problem.cause
            && !mem::replace(&mut self.failed, true)
        {
            let request_id = self.caller.request_id.as_str();
            let cause: &dyn std::error::Error = cause;
            tracing::error!(request_id, cause, "a line of an import failed");
        }
    }

    async fn tell(&mut self, parcel: Parcel) {
        let Some(verdicts) = &self.verdicts else { return };
        let told = match verdicts.try_send(parcel) {
            Err(mpsc::error::TrySendError::Full(parcel)) => {
                self.upload.hold();
                let told = verdicts.send(parcel).await;
                self.upload.resume();
                told.is_ok()
            }
            told => told.is_ok(),
        };
        if !told {
            self.verdicts = None;
        }
    }
}

/// Room for one batch; the semaphore is never closed.
async fn permit(batches: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    Arc::clone(batches).acquire_owned().await.ok()
}
