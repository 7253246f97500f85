//! `roster import` into a running service.
//!
//! The file is the body of one request, or of several if the connection breaks off: each goes on
//! after the last line with a result. A line may have been executed without a result that arrived,
//! so it is sent again with the same `Idempotency-Key` and the same number.

mod attempt;
mod bytes;
mod faults;
mod flags;
mod report;
mod results;
mod sending;
mod source;
mod spool;
mod state;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use roster_client::{Client, Error, random_key};

pub use flags::ImportFlags;

use crate::failure::{Failure, Outcome, exit};
use crate::interrupt::Interrupts;
use crate::progress::Progress;
use attempt::Ended;
use source::Source;
use spool::Spool;
use state::{State, Store};

/// How often a request is sent again that gets nowhere, with pauses of 1 s, 2 s, 4 s and so on.
const RETRIES: u32 = 5;

/// The longest pause that the service may ask for.
const PAUSE_MAX_S: u64 = 60;

/// A running import.
struct Import<'a> {
    flags: &'a ImportFlags,
    client: Client,
    source: Source,
    store: Store,
    state: State,
    spool: Spool,
    faults: PathBuf,
    interrupts: Interrupts,
    progress: Progress,
    /// Whether the service has answered.
    has_answered: bool,
    /// Whether it may have stored users of whom nothing is known here.
    may_have_stored: bool,
}

/// Runs the command.
pub(crate) async fn run(flags: ImportFlags) -> Outcome {
    let client = flags.remote.client()?;
    if flags.is_stdin() && flags.remote.reads_stdin() {
        return Err(Failure::usage("stdin has either the users or the key"));
    }
    let mut import = Import::begin(&flags, client)?;
    let outcome = import.run().await;
    import.progress.clear();
    outcome
}

impl<'a> Import<'a> {
    fn begin(flags: &'a ImportFlags, client: Client) -> Result<Self, Failure> {
        let is_dry_run = flags.service.dry_run;
        let given = flags.service.faults.clone();
        // Elsewhere it is stdin or stdout, so nobody means a file of this name.
        if given.as_ref().is_some_and(|path| path.as_os_str() == "-") {
            return Err(faults::no_file("-"));
        }
        let source = Source::open(flags)?;
        let (store, state) = stored(flags, &client, &source)?;
        let default = || faults::default_path(&flags.file, is_dry_run);
        let path = given.clone().or_else(|| state.faults.clone()).unwrap_or_else(default);
        // The import may go on from another directory.
        let path = std::path::absolute(path)?;
        let is_input = |input| path.canonicalize().is_ok_and(|faults| faults == input);
        if flags.file.canonicalize().is_ok_and(is_input) {
            let text = format!("{} has the users", faults::shown(&path));
            return Err(Failure::usage(text).next("--faults names another file"));
        }
        // The faults of the last dry run are of no use to this one.
        let is_own = state.faults.as_ref() == Some(&path) || (is_dry_run && given.is_none());
        faults::check(&path, is_own || flags.service.restart)?;
        let spool = store.spool(state.spooled)?;
        // The service may store users before their results are here, and only the key of their
        // request keeps them from clashing with the import that goes on.
        store.write(&state)?;
        let interrupts = Interrupts::listen()?;
        let progress = Progress::of_bytes("import", source.stamp.bytes, state.offset);
        if state.has_begun() {
            progress.say(&format!("going on at line {}", state.line));
        }
        Ok(Self {
            flags,
            client,
            source,
            store,
            state,
            spool,
            faults: path,
            interrupts,
            progress,
            has_answered: false,
            may_have_stored: flags.service.restart || flags.service.resume,
        })
    }

    async fn run(&mut self) -> Outcome {
        let mut tries = 0;
        loop {
            let before = self.state.line;
            let error = match self.attempt().await {
                Ended::Complete => return self.complete(),
                Ended::Interrupted => return self.interrupted(true),
                Ended::Killed => {
                    self.may_have_stored = true;
                    return self.interrupted(false);
                }
                Ended::Columns(error) => {
                    let header = self.source.header.as_ref();
                    let names = header.map_or(&[][..], |header| &header.columns);
                    let failure = report::columns(error, self.flags, names);
                    return Err(self.failed(failure));
                }
                Ended::Failed(failure) => return Err(self.failed(failure)),
                Ended::Broken(error) => error,
            };
            // A service that refuses the whole request has stored nothing of it.
            self.may_have_stored |= !matches!(error, Error::Connect { .. } | Error::Problem(_));
            if self.state.line > before {
                tries = 0;
            }
            tries += 1;
            if tries > RETRIES || !(self.has_answered || may_heal(&error)) {
                return Err(self.failed(error.into()));
            }
            let pause = pause(tries, &error);
            self.progress.say(&format!("{error}; trying again in {} s", pause.as_secs()));
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.interrupts.next() => return self.interrupted(true),
            }
        }
    }
}

/// Whether it is worth to wait although the service has not answered so far.
fn may_heal(error: &Error) -> bool {
    matches!(error, Error::Problem(_) | Error::Broken { .. })
}

fn pause(tries: u32, error: &Error) -> Duration {
    let asked = match error {
        Error::Problem(problem) => problem.retry_after_s,
        Error::Connect { .. }
        | Error::Broken { .. }
        | Error::Strange { .. }
        | Error::Request(_) => None,
    };
    let doubled = 1_u64 << (tries - 1).min(6);
    Duration::from_secs(asked.unwrap_or(doubled).min(PAUSE_MAX_S))
}

/// The files in which the import is remembered, and where it begins.
fn stored(
    flags: &ImportFlags,
    client: &Client,
    source: &Source,
) -> Result<(Store, State), Failure> {
    let (service, meaning) = (&flags.service, flags.meaning());
    let key = if flags.is_keyed() { Some(random_key()?) } else { None };
    let fresh = State::new(source, client.url(), meaning.clone(), key);
    if service.dry_run {
        return Ok((Store::none(), fresh));
    }
    let store = Store::of(source, client.url(), &meaning)?;
    if service.resume && source.path.is_none() {
        let text = format!("{} cannot be resumed: it can be read once", source.name);
        return Err(Failure::usage(text).next("import a file"));
    }
    let restart = || flags.command(&flags.file, "--restart");
    match store.read()? {
        Some(state) if service.resume => match state.check(source) {
            Ok(()) => Ok((store, state)),
            Err(failure) => Err(failure.next(restart())),
        },
        // With the same key, users whom it created before do not clash.
        Some(state) if service.restart => {
            let faults = state.faults.clone();
            Ok((store, State { key: state.key, faults, ..fresh }))
        }
        Some(state) => {
            let (file, line) = (&source.name, state.line);
            let text = format!("an import of {file} was interrupted before line {line}");
            let next = format!("{}, or {}", flags.command(&flags.file, "--resume"), restart());
            Err(Failure::new(exit::CONFLICT, text).next(next))
        }
        None if service.resume => {
            let text = format!("no import of {} with these flags was interrupted", source.name);
            let failure = Failure::usage(text);
            Err(match store.others(source, client.url()).first() {
                Some(other) => failure.next(format!(
                    "roster import {}{other}{} --resume",
                    source.name,
                    flags.remote.words()
                )),
                None => failure,
            })
        }
        None => Ok((store, fresh)),
    }
}
