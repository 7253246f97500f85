//! Every legal write keeps within the comparisons that a request may cause, or is refused by name.

use roster_core::{Decision, Draft, Refusal, UserAct, Work, limits::COMPARISONS_MAX};
use roster_scim::{
    ScimType, Strictness,
    bulk::{self, Done, Run},
    discovery::SERVED,
    user::{Sent, UserPatch, read},
};

use roster_testkit::largest_writes::{
    bulk, decided, patches, rest_users, schema, scim_users, tree, users,
};

#[test]
fn every_patch_is_counted_and_one_that_needs_too_much_is_refused_as_too_many() {
    let users = users();
    let mut refused = Vec::new();
    for (number, (name, body)) in patches().into_iter().enumerate() {
        let patch = match UserPatch::read(tree(&body), Strictness::Tolerant, &schema()) {
            Ok(patch) => patch,
            Err(error) => {
                assert_eq!(error.scim_type, Some(ScimType::TooMany), "{name}: {error:?}");
                refused.push(name);
                continue;
            }
        };
        // Each user once would take long without optimization. The example `work` measures all.
        let one = users.iter().cycle().skip(number).take(1);
        for user in one {
            let work = Work::new(COMPARISONS_MAX);
            match patch.apply("http://x", user, &work) {
                // A body is read once at least, so less means that something is not counted.
                Ok(_) => {
                    let read = u64::try_from(body.len() / 16).expect("a length");
                    assert!(COMPARISONS_MAX - work.left() >= read, "{name}: {}", work.left());
                }
                Err(error) if error.scim_type == Some(ScimType::TooMany) => refused.push(name),
                Err(error) => assert_eq!(error.status, 400, "{name}: {error:?}"),
            }
        }
    }
    for name in ["conditions of 40 tests", "conditions of 64 tests", "unknown names in a value"] {
        assert!(refused.contains(&name), "{name} is refused: {refused:?}");
    }
    for name in ["an addition of 1,000 values", "single members of attributes"] {
        assert!(!refused.contains(&name), "{name} is executed: {refused:?}");
    }
}

#[test]
fn users_that_are_too_large_are_refused_without_their_values() {
    for (name, body) in rest_users() {
        for user in users() {
            let draft = Box::new(Draft::parse(tree(&body)));
            let replaced = decided(Some(&user), &UserAct::Replace { id: user.id, draft });
            let patch = std::sync::Arc::new(tree(&body));
            let patched = decided(Some(&user), &UserAct::Patch { id: user.id, patch });
            // Without its nulls, this body is small.
            let replaced = (name != "removed attributes").then_some(replaced);
            for result in replaced.into_iter().chain([patched]) {
                let Err(Refusal::Invalid(violations)) = result else {
                    panic!("{name} is executed")
                };
                assert!(violations.items().len() <= 32, "{name}");
            }
        }
    }
}

#[test]
fn bodies_of_scim_are_read_or_refused() {
    for (name, body) in scim_users() {
        for strictness in Strictness::ALL {
            let read = read(tree(&body), *strictness, Sent::Replaced, &schema());
            match read {
                Ok(body) => {
                    let user = users().remove(0);
                    let draft = body.replacing(&user, &Work::new(COMPARISONS_MAX));
                    let draft = Box::new(draft.expect("a body within the limits"));
                    let decision = decided(Some(&user), &UserAct::Replace { id: user.id, draft });
                    assert!(
                        matches!(decision, Ok(Decision::Write(_)) | Err(Refusal::Invalid(_))),
                        "{name}: {decision:?}"
                    );
                }
                Err(error) => assert_eq!(error.status, 400, "{name}: {error:?}"),
            }
        }
    }
}

#[test]
fn a_bulk_of_operations_that_wait_for_each_other_executes_each_once() {
    let request = bulk::read(tree(&bulk()), Strictness::Tolerant).expect("a request");
    let mut run = Run::new(request, SERVED);
    let mut steps = 0;
    while let Some(step) = run.next_step() {
        steps += 1;
        let id = format!("0190d1c2-8000-7000-8000-{steps:012}");
        run.done(step, Done { status: 201, id, location: "x".to_owned(), version: None });
    }
    let results = run.response();
    let Some(roster_core::Json::Array(results)) = results.member("Operations") else {
        panic!("results")
    };
    assert_eq!((steps, results.len()), (1000, 1000));
}
