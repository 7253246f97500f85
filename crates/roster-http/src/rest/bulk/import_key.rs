//! The `Idempotency-Key` of an import, which can be sent again whole.
//!
//! Nothing is stored for a key. The event of a user that a line creates has a digest of the caller,
//! the key, the number of the line and its text as its request id. When the import is sent again, a
//! line that meets a user compares this id with that of the event that created the user. So a line
//! that was executed before is told from a clash with somebody else, while events are kept.

use roster_core::{
    Actor, BulkLine, BulkWrite, Caller, Directory, Effect, EventKind, Failure, Mode, OnConflict,
    Outcome, Refusal, Upsert,
    access::{Permit, WriteUsers},
};
use sha2::{Digest, Sha256};

/// The key of an import, with its caller.
#[derive(Clone)]
pub(super) struct ImportKey(Sha256);

impl ImportKey {
    /// `shape` says what the texts of the lines mean.
    pub(super) fn new(actor: &Actor, key: &str, shape: &str) -> Self {
        let mut digest = Sha256::new();
        for part in [actor.to_string().as_str(), key, shape] {
            digest.update(part.len().to_be_bytes());
            digest.update(part);
        }
        Self(digest)
    }

    /// The request id of the event of a line.
    pub(super) fn request_id(&self, number: u64, text: &[u8]) -> String {
        let digest = self.0.clone().chain_update(number.to_be_bytes()).chain_update(text);
        let digest = digest.finalize();
        let short = digest.first_chunk::<16>().unwrap_or(&[0; 16]);
        format!("import-{}", data_encoding::HEXLOWER.encode(short))
    }
}

/// Executes lines, and recognises those that the same import executed before.
pub(super) async fn write_again(
    directory: &Directory,
    may: Permit<WriteUsers>,
    lines: Vec<BulkLine>,
    caller: &Caller,
) -> Vec<Result<Outcome, Failure>> {
    let sent = lines.clone();
    let mut results = directory.write_many(may, lines, Mode::Write, caller).await;
    for (result, line) in results.iter_mut().zip(sent) {
        let Some(request_id) = &line.request_id else { continue };
        let met = match result {
            Ok(outcome) if outcome.effect == Effect::Skipped => outcome.clone(),
            Err(Failure::Refused(Refusal::Taken(_) | Refusal::IdTaken)) => {
                let BulkWrite::Create(draft, upsert) = line.write else { continue };
                let upsert = Upsert { on_conflict: OnConflict::Skip, ..upsert };
                let skipping = vec![BulkWrite::Create(draft, upsert).into()];
                let skipped = directory.write_many(may, skipping, Mode::DryRun, caller).await;
                match skipped.into_iter().next() {
                    Some(Ok(outcome)) if outcome.effect == Effect::Skipped => outcome,
                    _ => continue,
                }
            }
            _ => continue,
        };
        // If the log cannot be read, the line is a clash, which says no more than it did.
        let is_own = directory.is_created_in(may, met.stored.id, caller, request_id).await;
        if is_own.unwrap_or(false) {
            let effect = Effect::Changed(EventKind::Created);
            *result = Ok(Outcome { effect, replayed: true, ..met });
        }
    }
    results
}
