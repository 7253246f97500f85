//! Every legal write keeps within the comparisons that a request may cause, or is refused by name.
#![expect(clippy::expect_used, clippy::panic, reason = "this is how a test fails")]

#[expect(dead_code, reason = "the example measures more than the test counts")]
mod cases;

use roster_core::{Act, Decision, Draft, Preconditions, Refusal, Work, limits::COMPARISONS_MAX};
use roster_scim::{
    ScimType, Strictness,
    bulk::{self, Done, Run},
    discovery::SERVED,
    user::{Sent, UserPatch, read},
};

use cases::{bulk, decided, patches, rest_users, schema, scim_users, tree, users};

/// The comparisons of a patch and whether it was refused for them.
fn counted(body: &str, user: &roster_core::User) -> (u64, bool) {
    let work = Work::new(COMPARISONS_MAX);
    let patch = UserPatch::read(tree(body), Strictness::Tolerant, &schema());
    let result = patch.and_then(|patch| patch.apply("http://x", user, &work));
    let too_many =
        result.as_ref().is_err_and(|error| error.scim_type == Some(ScimType::TooMany));
    if let Err(error) = &result {
        assert!(error.status == 400 || error.status == 413, "{error:?}");
    }
    (COMPARISONS_MAX - work.left(), too_many)
}

#[test]
fn every_patch_is_counted_and_one_that_needs_too_much_is_refused_as_too_many() {
    let users = users();
    let mut refused = Vec::new();
    for (name, body) in patches() {
        for user in &users {
            let (work, too_many) = counted(&body, user);
            // A body is read once at least, so less means that something is not counted.
            assert!(too_many || work as usize >= body.len() / 16, "{name}: {work}");
            if too_many {
                refused.push(name);
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
