//! The check finds and names damage in the change log.

use super::{
    damage::hex,
    support::{Place, altered, id, must_tell, told},
};

#[track_caller]
fn plant(sql: &str, what: &str) {
    must_tell(&altered(&Place::new(), sql), "events", what);
}

#[test]
fn a_gap_in_the_positions_is_found() {
    plant(
        "UPDATE events SET position = 100 WHERE position = 11; \
           UPDATE events SET position = 11 WHERE position = 10; \
           UPDATE log_head SET position = 100",
        "positions 10 to 10 are missing",
    );
}

#[test]
fn a_lost_event_is_found() {
    let findings = altered(&Place::new(), "DELETE FROM events WHERE position = 7");
    must_tell(&findings, "events", "positions 7 to 7 are missing");
    must_tell(&findings, "events", "the last one is not the user that is there");
}

#[test]
fn a_head_beyond_the_log_is_found() {
    for (position, kept) in [(12, 11), (10, 11)] {
        let sql = format!("UPDATE log_head SET position = {position}");
        let findings = altered(&Place::new(), &sql);
        let told = told(&findings);
        let what = format!("log_head.position: is {position}, but the last event is at {kept}");
        assert!(told.contains(&what), "{told}");
        let what = format!("they end at {kept}, the head says {position}");
        assert!(told.contains(&what), "{told}");
    }
}

#[test]
fn a_changed_record_of_the_last_event_is_found() {
    let sql = "UPDATE events SET record = replace(record, 'Ada 2', 'Eve 2') WHERE position = 2";
    plant(sql, &format!("events of {}: the last one is not the user that is there", id(2)));
}

#[test]
fn a_changed_record_of_an_earlier_event_is_found() {
    let sql = "UPDATE events SET record = replace(record, 'Grace', 'Alice') WHERE position = 10";
    plant(sql, "events at 11: what it says changed is not what differs");
}

#[test]
fn a_changed_record_of_a_user_is_found() {
    let sql = "UPDATE users SET record = replace(record, '\"n\":2', '\"n\":3') WHERE number = 2";
    plant(sql, &format!("events of {}: the last one is not the user that is there", id(2)));
}

#[test]
fn a_changed_record_of_a_deleted_user_is_found() {
    let sql = "UPDATE deleted_users SET record = replace(record, '\"n\":4', '\"n\":3')";
    plant(sql, &format!("events of {}: the last one is not the deleted user", id(4)));
}

#[test]
fn a_user_removed_without_an_event_is_found() {
    for table in ["users", "deleted_users"] {
        let n = if table == "users" { 1 } else { 4 };
        let sql = format!(
            "DELETE FROM {table} WHERE id = x'{0}';
             DELETE FROM words WHERE id = x'{0}'; DELETE FROM further_keys WHERE id = x'{0}';
             UPDATE tenants SET active = (SELECT count(*) FROM users WHERE status = 0),
             deleted = (SELECT count(*) FROM deleted_users)",
            hex(n)
        );
        plant(&sql, &format!("events of {}: the last one is not", id(n)));
    }
}

#[test]
fn a_user_without_any_event_is_found() {
    let sql = format!("UPDATE events SET subject_id = x'{}' WHERE position = 1", hex(50));
    let findings = altered(&Place::new(), &sql);
    must_tell(&findings, "events", &format!("events of {}: there is none", id(1)));
    must_tell(&findings, "events", "events at 1: its record has another id");
}

#[test]
fn a_version_that_does_not_rise_by_one_is_found() {
    let sql = "UPDATE events SET version = 5 WHERE position = 10";
    plant(sql, "events at 10: its version does not rise by one");
    let sql = "UPDATE events SET version = 5 WHERE position = 10";
    plant(sql, "events at 10: its record has another version");
}

#[test]
fn an_impossible_sequence_of_events_is_found() {
    for kind in ["user.created", "user.restored", "user.purged"] {
        let sql = format!("UPDATE events SET kind = '{kind}' WHERE position = 10");
        plant(&sql, "events at 10: its kind cannot follow");
    }
    plant("UPDATE events SET kind = 'user.married' WHERE position = 10", "no such kind of event");
}

#[test]
fn an_event_with_an_earlier_time_is_found() {
    let sql = "UPDATE events SET at = at + 1000000 WHERE position = 6";
    plant(sql, "events at 10: it happened before the event before it");
}

#[test]
fn a_wrong_list_of_changes_is_found() {
    for changed in ["", "name", "name,email,emails,status", "nmae"] {
        let sql = format!("UPDATE events SET changed = '{changed}' WHERE position = 10");
        plant(&sql, "events at 10: what it says changed");
    }
}

#[test]
fn an_emptied_record_of_a_user_that_was_not_purged_is_found() {
    plant("UPDATE events SET record = '' WHERE position = 6", "the user was not purged");
}

#[test]
fn a_fork_of_the_log_that_no_event_names_is_found() {
    let sql = "INSERT INTO former_logs VALUES (3, x'0123456789abcdef')";
    plant(sql, "former_logs at 3: the event after it does not name it");
}

#[test]
fn an_event_of_a_fork_without_a_former_log_is_found() {
    let sql = "INSERT INTO events SELECT 12, 0, 'log.forked', at, 'system', '', \
         x'00000000000000000000000000000001', 2, '', '{\"parent\":\"0123456789abcdef-11\"}' \
         FROM events WHERE position = 11; UPDATE log_head SET position = 12";
    plant(sql, "events at 12: there is no such former log");
}

/// A key, and the policy, that differ from what the log says last of them.
#[test]
fn a_key_or_a_policy_that_the_log_does_not_have_is_found() {
    let key = "INSERT INTO keys VALUES ('aZ09aZ09aZ', 0, 'k', 'scim', 1, 'system', 0, 0, 0, 0, \
               zeroblob(32), x'', 0, 1); INSERT INTO keys_head VALUES (1, 1)";
    plant(key, "keys of aZ09aZ09aZ: the last event about it has another record");
    let event = "INSERT INTO events VALUES (12, 0, 'policy.changed', 0, 'system', 'r', \
                 x'00000000000000000000000000000002', 1, '', \
                 '{\"email_uniqueness\":\"none\",\"unique_external_id\":false}'); \
                 UPDATE log_head SET position = 12";
    plant(event, "the policy: the last event about it has another record");
    let of_user = "UPDATE events SET kind = 'key.created' WHERE position = 11";
    plant(of_user, "events at 11: an audit event is about a user");
}
