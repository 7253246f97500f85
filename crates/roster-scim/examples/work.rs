//! Measures how long one piece of each of the dearest writes takes, in milliseconds.
//!
//! `cargo run --release -p roster-scim --example work`. A piece is what runs without a break:
//! parsing a body, applying a patch, deciding a command. Run it on an idle machine.

use std::{
    io::{self, Write as _},
    sync::Arc,
    time::Instant,
};

use roster_core::{Draft, UserAct, Work, limits::COMPARISONS_MAX};
use roster_scim::{
    Strictness, bulk,
    bulk::Run,
    discovery::SERVED,
    user::{Sent, UserPatch, read},
};
use roster_testkit::largest_writes as cases;

/// How many pieces are shown.
const SHOWN: usize = 10;

/// How often a piece is measured. The fastest counts.
const REPEATS: usize = 3;

fn milliseconds<T>(work: impl Fn() -> T) -> f64 {
    let one = || {
        let start = Instant::now();
        let result = work();
        let taken = start.elapsed().as_secs_f64() * 1000.0;
        drop(result);
        taken
    };
    (0..REPEATS).map(|_| one()).fold(f64::INFINITY, f64::min)
}

fn main() -> io::Result<()> {
    let mut pieces: Vec<(f64, String)> = Vec::new();
    let (users, schema) = (cases::users(), cases::schema());
    let tolerant = Strictness::Tolerant;
    for (name, body) in cases::patches() {
        let tree = cases::tree(&body);
        let read = || UserPatch::read(tree.clone(), tolerant, &schema);
        pieces.push((milliseconds(read), format!("read a PATCH: {name}")));
        let Ok(patch) = read() else { continue };
        for (number, user) in users.iter().enumerate() {
            for (what, most) in [("long", COMPARISONS_MAX), ("short", 5_000)] {
                let apply = || patch.apply("http://x", user, &Work::new(most));
                let label = format!("apply a {what} PATCH to user {number}: {name}");
                pieces.push((milliseconds(apply), label));
            }
        }
    }
    for (name, body) in cases::scim_users() {
        let tree = cases::tree(&body);
        let read = || read(tree.clone(), tolerant, Sent::Replaced, &schema);
        pieces.push((milliseconds(read), format!("read a user: {name}")));
    }
    for (name, body) in cases::rest_users() {
        let tree = cases::tree(&body);
        pieces.push((milliseconds(|| cases::tree(&body)), format!("parse JSON: {name}")));
        let draft = || Draft::parse(tree.clone());
        pieces.push((milliseconds(draft), format!("read a draft: {name}")));
        let (draft, patch) = (Box::new(draft()), Arc::new(tree.clone()));
        for (number, user) in users.iter().enumerate() {
            let replace = UserAct::Replace { id: user.id, draft: draft.clone() };
            let patch = UserAct::Patch { id: user.id, patch: Arc::clone(&patch) };
            for (what, act) in [("PUT", replace), ("PATCH", patch)] {
                let decide = || cases::decided(Some(user), &act);
                let label = format!("decide a {what} of user {number}: {name}");
                pieces.push((milliseconds(decide), label));
            }
        }
    }
    for (name, body) in cases::schemas() {
        let read = || cases::schema_draft(&body);
        pieces.push((milliseconds(read), format!("read a schema: {name}")));
    }
    let tree = cases::tree(&cases::bulk());
    let read = || bulk::read(tree.clone(), tolerant).map(|request| Run::new(request, SERVED));
    pieces.push((milliseconds(read), "read a Bulk".to_owned()));
    pieces.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let mut out = io::stdout().lock();
    for (taken, name) in pieces.iter().take(SHOWN) {
        writeln!(out, "{taken:8.2} ms  {name}")?;
    }
    Ok(())
}
