//! The kept counters against what there is to count, and what is to be unique.

use roster_core::{Head, PolicyKey, Sharing};
use rusqlite::Connection;

use super::findings::Line;
use crate::{
    establish::setting,
    policy::{column, count_shared},
};

const LAST: &str = "SELECT coalesce(max(position), 0) FROM events";

/// The head of the log and the policy on shared keys.
pub(super) fn look(connection: &Connection, head: Head) -> Line {
    Line::of("counters", |line| {
        let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        for (name, kept, sql) in [
            ("active", head.active, "SELECT count(*) FROM users WHERE status = 0"),
            ("suspended", head.suspended, "SELECT count(*) FROM users WHERE status = 1"),
            ("deleted", head.deleted, "SELECT count(*) FROM deleted_users"),
        ] {
            let counted = number(sql)?;
            let what = format!("is {kept}, but there are {counted}");
            line.hold(kept == counted, &format!("log_head.{name}"), &what);
        }
        let last = number(LAST)?;
        // All events may have outlived their time: then none is left to compare.
        let what = format!("is {}, but the last event is at {last}", head.position);
        line.hold(last == head.position || last == 0, &"log_head.position", &what);
        line.count = 4;
        for key in PolicyKey::ALL.iter().copied() {
            let policy: Option<String> = setting(connection, key.stored_name())?;
            if policy.as_deref() == Some(Sharing::Unique.stored()) {
                let shared = number(&count_shared(key))?;
                let what = format!("{shared} keys that are to be unique belong to several users");
                line.hold(shared == 0, &format!("users.{}", column(key)), &what);
            }
            line.count += 1;
        }
        Ok(())
    })
}
