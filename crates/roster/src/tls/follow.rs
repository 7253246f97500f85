//! Keeps the certificate up to date with its files.
//!
//! What is in the files is compared, not their times, so that it does not matter how they are
//! replaced: written over, renamed, or by a link that leads elsewhere. New contents are taken once
//! two looks have found the same, for the two files change one after the other. This module must
//! not know what a connection is.

use std::{future::pending, sync::Arc, time::Duration};

use tokio::{
    signal::unix::Signal,
    task::spawn_blocking,
    time::{MissedTickBehavior, interval},
};

use super::{
    Shown,
    pair::{Contents, Mark, PairError, PairFiles},
};

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Looks at the files, and shows what is new in them.
#[derive(Debug)]
pub struct Follower {
    files: PairFiles,
    pub(super) shown: Arc<Shown>,
    /// What the pair that is shown was made of.
    shown_mark: Mark,
    /// What the last look found.
    seen: Seen,
    /// Whether that was already judged.
    judged: bool,
}

/// What a look finds.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Contents(Mark),
    /// One of the files could not be read, for this reason.
    Unreadable(String),
}

/// What came of a look.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// There is nothing new, or not yet for certain.
    Nothing,
    /// The files hold what is shown.
    Same,
    /// Another pair is shown from now on.
    Renewed,
    /// The pair before stays, for this reason.
    Kept(String),
}

impl Follower {
    pub(super) fn new(files: PairFiles, contents: &Contents, shown: Arc<Shown>) -> Self {
        let mark = contents.mark();
        Self { files, shown, shown_mark: mark, seen: Seen::Contents(mark), judged: true }
    }

    /// Looks every few seconds, and at once for every signal; for ever.
    pub async fn follow(mut self, mut asked: Signal) {
        let mut ticker = interval(LOOK_EVERY);
        ticker.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let at_once = tokio::select! {
                _ = ticker.tick() => false,
                _ = asked.recv() => true,
            };
            // Files may lie where reading takes its time.
            let look = spawn_blocking(move || {
                let outcome = self.look(at_once);
                (self, outcome)
            });
            let Ok((follower, outcome)) = look.await else { return pending().await };
            self = follower;
            self.tell(&outcome, at_once);
        }
    }

    /// Looks once. What is new is taken at the second look, or when it is asked for at once.
    pub(super) fn look(&mut self, at_once: bool) -> Outcome {
        let found = self.files.read();
        let seen = match &found {
            Ok(contents) => Seen::Contents(contents.mark()),
            Err(error) => Seen::Unreadable(error.to_string()),
        };
        if seen != self.seen {
            self.judged = false;
            self.seen = seen;
            if !at_once {
                return Outcome::Nothing;
            }
        } else if self.judged && !at_once {
            return Outcome::Nothing;
        }
        self.judged = true;
        self.judge(found)
    }

    fn judge(&mut self, found: Result<Contents, PairError>) -> Outcome {
        let taken = found.and_then(|contents| {
            let mark = contents.mark();
            if mark != self.shown_mark {
                self.shown.show(self.files.pair(&contents)?);
                self.shown_mark = mark;
                return Ok(Outcome::Renewed);
            }
            Ok(Outcome::Same)
        });
        taken.unwrap_or_else(|error| Outcome::Kept(error.to_string()))
    }

    fn tell(&self, outcome: &Outcome, asked: bool) {
        let certificate = self.files.certificate.display();
        match outcome {
            Outcome::Renewed => tracing::info!(%certificate, "a new certificate is shown"),
            Outcome::Kept(reason) => {
                tracing::warn!(reason, "the certificate before is shown on, the new one cannot be");
            }
            Outcome::Same if asked => tracing::info!(%certificate, "the certificate is the same"),
            Outcome::Same | Outcome::Nothing => {}
        }
    }
}
