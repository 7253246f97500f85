//! Tests of batches on a store in memory.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use roster_core::{
    Actor, Caller, Command, Draft, EventKind, Failure, Group, GroupAct, Idempotency, Json,
    OnConflict, Refusal, Rules, TenantId, Timestamp, User, UserAct, UserId, UserSchema,
    group::{GroupEdit, MembersEdit, StatedKinds},
    json,
};

use crate::{
    CLAIMS_MAX, Cell, ClaimKind, CommandError, Completed, Current, Dialect, Facts,
    IdempotencyRecord, MEMBERSHIPS_MAX, Request, Values, read::stored_groups::GROUP, run,
    write::group::ALL_MEMBERS,
};

/// A store with live users only. The fact of the user `missing` is not available.
#[derive(Default)]
struct Stored {
    live: HashMap<UserId, Current>,
    missing: Option<UserId>,
    /// The members of the only group, if there is one.
    group: Option<(Group, Vec<UserId>)>,
}

impl Dialect for Stored {
    fn any(parameter: &str) -> String {
        parameter.to_owned()
    }

    const ABSENT_KEY: &str = "NULL";

    fn indexed_by(_index: &str) -> String {
        String::new()
    }
}

impl Facts for Stored {
    type Dialect = Self;

    fn tenant(&self) -> TenantId {
        TenantId::DEFAULT
    }

    fn live(&mut self, id: UserId) -> Result<Option<Current>, CommandError> {
        if self.missing == Some(id) {
            return Err(CommandError::MissingFact);
        }
        Ok(self.live.get(&id).cloned())
    }

    fn deleted(&mut self, _id: UserId) -> Result<Option<Current>, CommandError> {
        Ok(None)
    }

    fn holder(&mut self, kind: ClaimKind, key: &str) -> Result<Option<UserId>, CommandError> {
        let has = |user: &User| kind == ClaimKind::Username && username(user) == key;
        Ok(self.live.values().find(|current| has(&current.user)).map(|current| current.user.id))
    }

    fn users_room(&mut self) -> Result<Option<i64>, CommandError> {
        Ok(None)
    }

    fn idempotency_record(
        &mut self,
        _key: &[u8; 32],
    ) -> Result<Option<IdempotencyRecord>, CommandError> {
        Ok(None)
    }

    fn groups_of(&mut self, _member: UserId) -> Result<Vec<Group>, CommandError> {
        Ok(Vec::new())
    }

    fn rows(
        &mut self,
        sql: String,
        _parameters: Vec<Cell>,
    ) -> Result<Arc<Vec<Values>>, CommandError> {
        let Some((group, members)) = &self.group else { return Ok(Arc::default()) };
        let count = i64::try_from(members.len()).unwrap();
        let rows = match sql.as_str() {
            GROUP => {
                let record = Cell::Bytes(group.to_record());
                vec![Values(vec![group.id.into(), group.version.into(), record, count.into()])]
            }
            ALL_MEMBERS => members.iter().map(|id| Values(vec![(*id).into()])).collect(),
            _ => Vec::new(),
        };
        Ok(Arc::new(rows))
    }
}

fn username(user: &User) -> String {
    roster_core::Keys::of(user).username
}

fn id(n: u8) -> UserId {
    UserId::from_bytes([n; 16])
}

fn tree(text: &str) -> Json {
    json::read(text.as_bytes()).unwrap()
}

fn command(act: UserAct) -> Command {
    let caller = Caller { actor: Actor::System, request_id: "r".to_owned() };
    // A record of an idempotency key at time 0 is erased.
    Command::of(act, Timestamp::from_millis(1), caller)
}

fn create(n: u8, body: &str) -> Command {
    let draft = Box::new(Draft::parse(tree(body)));
    command(UserAct::Create { id: id(n), draft, upsert: OnConflict::Fail.into() })
}

fn patch(n: u8, body: &str) -> Command {
    let patch = Arc::new(tree(body));
    command(UserAct::Patch { id: id(n), patch })
}

fn delete(n: u8) -> Command {
    command(UserAct::Delete { id: id(n) })
}

fn requests(commands: Vec<Command>) -> Vec<Request> {
    let request = |command| {
        Request::new(TenantId::DEFAULT, Rules::default(), &UserSchema::default(), command)
    };
    commands.into_iter().map(request).collect()
}

fn run_all(requests: &[Request], facts: &mut Stored) -> Completed {
    let requests: Vec<&Request> = requests.iter().collect();
    run(Rules::default(), &Arc::default(), &requests, facts)
}

/// The user that results from a create.
fn created(n: u8, body: &str) -> Current {
    let completed = run_all(&requests(vec![create(n, body)]), &mut Stored::default());
    let change = completed.writes.users.get(&id(n)).and_then(|write| write.after()).unwrap();
    Current { user: change.user.clone(), record: change.record.clone() }
}

fn store_of(current: Current) -> Stored {
    let live = HashMap::from([(current.user.id, current)]);
    Stored { live, ..Stored::default() }
}

fn record_after(completed: &Completed, n: u8) -> Bytes {
    completed.writes.users.get(&id(n)).and_then(|write| write.after()).unwrap().record.clone()
}

#[test]
fn a_transaction_ends_after_many_unique_keys() {
    // Each user has a name and an address.
    let user = |n| format!(r#"{{"username":"u{n}","email":"u{n}@example.com"}}"#);
    let commands = (0..CLAIMS_MAX).map(|n| create(u8::try_from(n % 256).unwrap(), &user(n)));
    let completed = run_all(&requests(commands.collect()), &mut Stored::default());
    assert_eq!(completed.results.len(), CLAIMS_MAX / 2);
}

#[test]
fn a_transaction_ends_after_large_users() {
    let addresses = |n: u16, words: u16| {
        let address = |at| {
            let words = (0..words).map(|word| format!("w{word}x{at}x{n}"));
            let words = words.collect::<Vec<_>>().join(".");
            format!(r#"{{"value":"a@{words}.example.com"}}"#)
        };
        (0..250).map(address).collect::<Vec<_>>().join(",")
    };
    let user = |n, words| format!(r#"{{"username":"u{n}","emails":[{}]}}"#, addresses(n, words));
    for (words, least, most) in [(15, 3, 8), (1, 30, 50)] {
        let commands = (0..250_u8).map(|n| create(n, &user(n.into(), words)));
        let completed = run_all(&requests(commands.collect()), &mut Stored::default());
        let executed = completed.results.len();
        assert!(completed.results.iter().all(Result::is_ok));
        assert!((least..=most).contains(&executed), "{words} words: {executed}");
    }
}

#[test]
fn a_rejected_change_that_read_a_large_group_ends_its_batch() {
    let group = Group {
        id: id(1),
        version: 1,
        display_name: "Large".to_owned(),
        external_id: None,
        member_count: 0,
        updated_at: Timestamp::from_millis(1),
    };
    for (size, executed) in [(MEMBERSHIPS_MAX / 4, 3), (MEMBERSHIPS_MAX, 1)] {
        let members = (0..size).map(|n| {
            let mut bytes = [7; 16];
            bytes[8..].copy_from_slice(&n.to_be_bytes());
            UserId::from_bytes(bytes)
        });
        let mut facts =
            Stored { group: Some((group.clone(), members.collect())), ..Stored::default() };
        // Each names a member that does not exist, after all members were read.
        let act = || {
            let members = MembersEdit::All([id(2)].into());
            GroupAct::Change {
                id: id(1),
                edit: GroupEdit::Keep,
                members,
                kinds: StatedKinds::new(),
            }
        };
        let caller = || Caller { actor: Actor::System, request_id: "r".to_owned() };
        let command = || Command::of(act(), Timestamp::from_millis(1), caller());
        let completed = run_all(&requests((0..3).map(|_| command()).collect()), &mut facts);
        assert_eq!(completed.results.len(), executed, "{size} members");
        assert!(completed.results.iter().all(Result::is_err));
    }
}

#[test]
fn a_decision_on_an_equal_version_with_other_bytes_does_not_count() {
    let decided_on = created(1, r#"{"username":"ada","title":"never committed"}"#);
    let stored = created(1, r#"{"username":"ada"}"#);
    assert_eq!(decided_on.user.version, stored.user.version);
    let command = patch(1, r#"{"name":"Ada"}"#);
    let schema = UserSchema::default();
    let (tenant, rules) = (TenantId::DEFAULT, Rules::default());
    let request = Request::decided_on(tenant, rules, &schema, command, &decided_on);
    let completed = run_all(&[request], &mut store_of(stored));
    let record = record_after(&completed, 1);
    assert!(!String::from_utf8_lossy(&record).contains("never committed"), "{record:?}");
}

#[test]
fn a_command_is_decided_on_what_the_commands_before_it_changed() {
    let ada = created(1, r#"{"username":"ada"}"#);
    let batch = requests(vec![
        create(2, r#"{"username":"ada"}"#),
        delete(1),
        create(3, r#"{"username":"ada","name":"A"}"#),
        patch(3, r#"{"name":"B"}"#),
        create(4, r#"{"username":"ada"}"#),
    ]);
    let completed = run_all(&batch, &mut store_of(ada));
    let is_taken =
        |result: &Result<_, Failure>| matches!(result, Err(Failure::Refused(Refusal::Taken(_))));
    let taken: Vec<bool> = completed.results.iter().map(is_taken).collect();
    assert_eq!(taken, [true, false, false, false, true]);
    let kinds: Vec<EventKind> = completed.writes.events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::Deleted, EventKind::Created, EventKind::Updated]);
    let counts = completed.writes.counts;
    assert_eq!((counts.active, counts.deleted), (0, 1));
    let write = completed.writes.users.get(&id(3)).unwrap();
    assert!(write.keys_before().is_none(), "the row is new");
    assert_eq!(write.index().added.words, ["ada", "b"], "the sum of both changes");
    assert!(write.index().removed.words.is_empty());
}

#[test]
fn a_request_that_comes_twice_in_a_batch_is_executed_once() {
    let idempotency = Some(Idempotency { key: [1; 32], fingerprint: [2; 32] });
    let first = Command { idempotency, ..create(1, r#"{"username":"ada"}"#) };
    let second = Command { idempotency, ..create(2, r#"{"username":"ada"}"#) };
    let completed = run_all(&requests(vec![first, second]), &mut Stored::default());
    let outcomes: Vec<_> =
        completed.results.into_iter().map(|result| result.unwrap().outcome(7)).collect();
    assert_eq!(outcomes[0].stored, outcomes[1].stored);
    assert_eq!([outcomes[0].position, outcomes[1].position], [8, 8]);
    assert_eq!([outcomes[0].replayed, outcomes[1].replayed], [false, true]);
    assert_eq!((completed.writes.events.len(), completed.writes.idempotency.len()), (1, 1));
}

#[test]
fn a_missing_fact_gives_no_result() {
    let mut facts = Stored { missing: Some(id(1)), ..Stored::default() };
    let batch = requests(vec![delete(1), create(2, r#"{"username":"grace"}"#)]);
    assert_eq!(run_all(&batch, &mut facts).results.len(), 1);
}
