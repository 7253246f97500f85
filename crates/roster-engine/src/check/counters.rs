//! The kept counters against what there is to count, and what is to be unique.

use roster_core::{Head, PolicyKey, Sharing};

use super::{CheckReader, Line, number};
use crate::settings::setting;

const LAST: &str = "SELECT coalesce(max(position), 0) FROM events";

/// Checks the head of the log and the policy on shared keys.
pub(super) async fn check<R: CheckReader>(
    reader: R,
    head: Head,
    line: &mut Line,
) -> Result<(), R::Error> {
    for (name, kept, sql) in [
        ("active", head.active, "SELECT count(*) FROM users WHERE status = 0"),
        ("suspended", head.suspended, "SELECT count(*) FROM users WHERE status = 1"),
        ("deleted", head.deleted, "SELECT count(*) FROM deleted_users"),
    ] {
        let counted = number(reader, sql).await?;
        let what = format!("is {kept}, but there are {counted}");
        line.require(kept == counted, &format!("log_head.{name}"), &what);
    }
    let last = number(reader, LAST).await?;
    // All events may have outlived their time: then none is left to compare.
    let what = format!("is {}, but the last event is at {last}", head.position);
    line.require(last == head.position || last == 0, &"log_head.position", &what);
    line.count = 4;
    for key in PolicyKey::ALL.iter().copied() {
        let policy = setting(reader, key.stored_name()).await?.unwrap_or_default();
        if policy.octets(0) == Sharing::Unique.stored().as_bytes() {
            let shared = number(reader, &R::count_shared_sql(key)).await?;
            let what = format!("{shared} keys that are to be unique belong to several users");
            line.require(shared == 0, &key.name(), &what);
        }
        line.count += 1;
    }
    Ok(())
}
