//! The check finds and names damage in the tables of users.

use super::support::{Place, altered, id, must_tell, must_tell_alone};

/// Damages a store. The check must report it in this line and in no other.
#[track_caller]
fn plant(sql: &str, line: &str, what: &str) {
    must_tell_alone(&altered(&Place::new(), sql), line, what);
}

#[test]
fn every_key_column_is_compared_with_the_record() {
    for (column, value) in [
        ("username_key", "'other'"),
        ("email_key", "'other@example.com'"),
        ("email_key", "x''"),
        ("phone_number_key", "'+1'"),
        ("phone_number_key", "NULL"),
        ("external_id", "'other'"),
        ("family_name_key", "'other'"),
        ("name_key", "x''"),
        ("updated_at", "updated_at + 1"),
    ] {
        let sql = format!("UPDATE users SET {column} = {value} WHERE number = 2");
        plant(&sql, "users", &format!("{}: {column} is not the record's", id(2)));
    }
}

#[test]
fn a_key_missing_from_the_record_is_found() {
    let sql = "UPDATE users SET email_key = 'a@example.com' WHERE number = 6";
    plant(sql, "users", "email_key is not the record's");
}

#[test]
fn a_record_that_cannot_be_read_is_found() {
    let sql = "UPDATE users SET record = 'x' WHERE number = 2;
               UPDATE events SET record = 'x' WHERE position = 2";
    let findings = altered(&Place::new(), sql);
    let what = format!("users of {}: a stored record cannot be read", id(2));
    must_tell(&findings, "users", &what);
    must_tell(&findings, "events", "events at 2: its record is no JSON");
}

#[test]
fn a_record_of_another_version_is_found() {
    let findings = altered(&Place::new(), "UPDATE users SET version = 7 WHERE number = 2");
    must_tell(&findings, "users", "another version");
    must_tell(&findings, "events", "the last one is not the user that is there");
}

#[test]
fn a_record_that_is_not_canonical_is_found() {
    let spelt = "SET record = replace(record, '\"u2\"', '\"\\u0075\\u0032\"')";
    let sql =
        format!("UPDATE users {spelt} WHERE number = 2; UPDATE events {spelt} WHERE position = 2");
    let findings = altered(&Place::new(), &sql);
    must_tell(&findings, "users", "not spelt as it is written");
    must_tell(&findings, "events", "not spelt as it is written");
}

#[test]
fn columns_of_deleted_users_are_compared_with_the_record() {
    for (column, value) in [
        ("username_key", "'other'"),
        ("email_key", "NULL"),
        ("external_id", "'other'"),
        ("deleted_at", "deleted_at - 1"),
    ] {
        let sql = format!("UPDATE deleted_users SET {column} = {value} WHERE id = x'{}'", hex(4));
        plant(&sql, "deleted users", &format!("{}: {column} is not the record's", id(4)));
    }
}

#[test]
fn a_wrong_counter_is_found() {
    for counter in ["active", "suspended", "deleted"] {
        let sql = format!("UPDATE tenants SET {counter} = {counter} + 1");
        plant(&sql, "counters", &format!("tenants.{counter} of 0: is"));
    }
}

#[test]
fn a_key_whose_change_is_not_counted_is_found() {
    let sql =
        "INSERT INTO keys VALUES ('k', NULL, 'n', 'scim', 1, 'c', 0, 0, 0, 0, x'', x'', 0, 1)";
    let what = "keys_head.generation: is lower than the generation of 1 keys";
    must_tell(&altered(&Place::new(), sql), "counters", what);
}

#[test]
fn duplicate_unique_keys_are_found() {
    let sql = "UPDATE users SET email_key = 'a1@example.com' WHERE number = 2";
    must_tell(&altered(&Place::new(), sql), "counters", "email-uniqueness: 1 keys");
}

#[test]
fn an_index_that_differs_from_its_table_is_found() {
    let sql = "PRAGMA writable_schema = ON;
               UPDATE sqlite_schema
               SET sql = replace(sql, '(tenant, status, id)', '(tenant, version, id)')
               WHERE name = 'users_status'";
    let findings = altered(&Place::new(), sql);
    let pages = findings.lines.iter().find(|line| line.name == "pages").unwrap();
    assert!(pages.faults > 0, "{pages}");
    assert!(pages.named[0].contains("users_status"), "{pages}");
}

#[test]
fn a_schema_that_is_not_the_programs_is_found() {
    for (sql, what) in [
        ("CREATE VIEW spy AS SELECT * FROM users", "view spy: is not Roster's"),
        (
            "CREATE TRIGGER spy AFTER INSERT ON users BEGIN DELETE FROM users; END",
            "trigger spy: is not Roster's",
        ),
        ("CREATE TABLE more (x)", "table more: is not Roster's"),
        ("CREATE INDEX more ON users (version)", "index more: is not Roster's"),
        ("DROP INDEX users_status", "index users_status: is missing"),
        ("ALTER TABLE keys ADD COLUMN more TEXT", "table keys: is not Roster's"),
    ] {
        plant(sql, "schema", what);
    }
}

#[test]
fn a_missing_word_or_key_is_found() {
    let of = hex(2);
    plant(
        &format!("DELETE FROM words WHERE word = 'lovelace' AND id = x'{of}'"),
        "words",
        &format!("words of {}: one is missing", id(2)),
    );
    plant(
        &format!("DELETE FROM further_keys WHERE kind = 1 AND id = x'{of}'"),
        "further keys",
        &format!("further_keys of {}: one is missing", id(2)),
    );
}

#[test]
fn a_word_or_key_without_a_user_is_found() {
    for n in [4, 77] {
        plant(
            &format!("INSERT INTO words VALUES (0, 'ada', x'{}')", hex(n)),
            "words",
            &format!("words of {}: there is no such user", id(n)),
        );
        plant(
            &format!("INSERT INTO further_keys VALUES (0, 0, 'a@example.com', x'{}')", hex(n)),
            "further keys",
            &format!("further_keys of {}: there is no such user", id(n)),
        );
    }
}

#[test]
fn a_word_or_key_missing_from_the_record_is_found() {
    let of = hex(2);
    plant(
        &format!("UPDATE words SET word = 'zuse' WHERE word = 'lovelace' AND id = x'{of}'"),
        "words",
        "one is not the record's",
    );
    plant(
        &format!("INSERT INTO further_keys VALUES (0, 1, '+1', x'{of}')"),
        "further keys",
        "one is not the record's",
    );
}

/// The bytes of the n-th id in hexadecimal.
pub(crate) fn hex(n: u64) -> String {
    id(n).to_string().replace('-', "")
}

#[test]
fn a_sort_key_of_another_type_is_found() {
    for (column, value) in [("email_key", "''"), ("name_key", "CAST(name_key AS BLOB)")] {
        let sql = format!("UPDATE users SET {column} = {value} WHERE id = x'{}'", hex(1));
        plant(&sql, "users", &format!("{}: {column} is not the record's", id(1)));
    }
}

#[test]
fn rows_without_a_tenant_are_found() {
    let findings = altered(&Place::new(), "DELETE FROM tenants");
    for table in ["users", "deleted_users", "events", "words", "further_keys", "settings"] {
        must_tell(&findings, "counters", &format!("{table}: "));
    }
    let sql = "INSERT INTO words VALUES (5, 'ada', zeroblob(16))";
    must_tell(&altered(&Place::new(), sql), "counters", "words: 1 rows have no tenant");
}

#[test]
fn rows_that_no_change_makes_are_found() {
    let tenant = |values: &str| format!("INSERT INTO tenants VALUES (5, {values}, 0, 0, 0, 0)");
    for (sql, what) in [
        (tenant("'acme', 1, 7, NULL, NULL, NULL, 1, 1, NULL"), "tenants: 1 rows have an unknown"),
        (tenant("NULL, 1, 0, NULL, NULL, NULL, 1, 1, NULL"), "tenants: 1 rows have no name"),
        (tenant("'acme', 1, 3, NULL, NULL, NULL, 1, 1, 1"), "tenants: 1 rows are purged and still"),
        (tenant("NULL, 1, 2, NULL, NULL, NULL, 1, 1, 1"), "erasures: 1 purged tenants would never"),
        ("INSERT INTO clock_mark VALUES (1, 1, -1, 0, 0)".to_owned(), "clock_mark: 1 rows have"),
    ] {
        must_tell(&altered(&Place::new(), &sql), "counters", what);
    }
}
