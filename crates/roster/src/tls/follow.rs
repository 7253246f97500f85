//! Reloads the certificate when its files change.
//!
//! The contents are compared, not the modification times, so the files may be overwritten, renamed
//! or replaced by a symbolic link. New contents are used only if two checks in a row read the same,
//! because the two files change one after the other. This module does not know connections.

use std::{future::pending, sync::Arc, time::Duration};

use tokio::{
    signal::unix::Signal,
    task::spawn_blocking,
    time::{MissedTickBehavior, interval},
};

use super::{
    CurrentCertificate,
    pair::{Contents, ContentsDigest, PairError, PairFiles},
};

/// Interval of checks.
const INTERVAL: Duration = Duration::from_secs(2);

/// Checks the files and publishes new contents.
#[derive(Debug)]
pub struct Follower {
    files: PairFiles,
    pub(super) current: Arc<CurrentCertificate>,
    /// The digest of the published pair.
    current_digest: ContentsDigest,
    /// The result of the last check.
    last_found: Found,
    /// Whether that result was already processed.
    processed: bool,
}

/// The contents at one check.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Contents(ContentsDigest),
    /// A file could not be read, for this reason.
    Unreadable(String),
}

/// The result of a check.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// No change, or a change that is not confirmed.
    Nothing,
    /// The files contain the published pair.
    Same,
    /// Another pair was published.
    Renewed,
    /// The old pair stays, for this reason.
    Kept(String),
}

impl Follower {
    pub(super) fn new(
        files: PairFiles,
        contents: &Contents,
        current: Arc<CurrentCertificate>,
    ) -> Self {
        let digest = contents.digest();
        Self {
            files,
            current,
            current_digest: digest,
            last_found: Found::Contents(digest),
            processed: true,
        }
    }

    /// Checks at intervals and at every signal, forever.
    pub async fn follow(mut self, mut hangup: Signal) {
        let mut ticker = interval(INTERVAL);
        ticker.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let at_once = tokio::select! {
                _ = ticker.tick() => false,
                _ = hangup.recv() => true,
            };
            // The files may be on a slow file system.
            let check = spawn_blocking(move || {
                let outcome = self.check(at_once);
                (self, outcome)
            });
            let Ok((follower, outcome)) = check.await else { return pending().await };
            self = follower;
            self.log(&outcome, at_once);
        }
    }

    /// Checks once. A change is used at the second check, or immediately after a signal.
    pub(super) fn check(&mut self, at_once: bool) -> Outcome {
        let found = self.files.read();
        let last_found = match &found {
            Ok(contents) => Found::Contents(contents.digest()),
            Err(error) => Found::Unreadable(error.to_string()),
        };
        if last_found != self.last_found {
            self.processed = false;
            self.last_found = last_found;
            if !at_once {
                return Outcome::Nothing;
            }
        } else if self.processed && !at_once {
            return Outcome::Nothing;
        }
        self.processed = true;
        self.publish(found)
    }

    fn publish(&mut self, found: Result<Contents, PairError>) -> Outcome {
        let outcome = found.and_then(|contents| {
            let digest = contents.digest();
            if digest != self.current_digest {
                self.current.set(self.files.pair(&contents)?);
                self.current_digest = digest;
                return Ok(Outcome::Renewed);
            }
            Ok(Outcome::Same)
        });
        outcome.unwrap_or_else(|error| Outcome::Kept(error.to_string()))
    }

    fn log(&self, outcome: &Outcome, hangup: bool) {
        let certificate = self.files.certificate.display();
        match outcome {
            Outcome::Renewed => tracing::info!(%certificate, "a new certificate is in use"),
            Outcome::Kept(reason) => {
                tracing::warn!(
                    reason,
                    "the new certificate cannot be used; the old one stays in use"
                );
            }
            Outcome::Same if hangup => tracing::info!(%certificate, "the certificate is unchanged"),
            Outcome::Same | Outcome::Nothing => {}
        }
    }
}
