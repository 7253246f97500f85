//! A queued command, with a decision that may be made before its execution.

use std::sync::{Mutex, PoisonError};

use roster_core::{
    Act, Claims, Command, Decision, MatchBy, OnConflict, Refusal, Rules, Target, TenantId, UserAct,
    UserSchema, decide,
};

use crate::{
    read::stored_groups::GROUP,
    write::facts::{ClaimKind, Current, Facts},
};

/// The groups, the webhooks, and the purged users whose history is still being erased, that have an
/// id, and the first event of a group or a webhook that had it.
pub(crate) const USES_OF_ID: &str = "SELECT id FROM groups WHERE tenant = $1 AND id = $2 \
     UNION ALL SELECT id FROM erasures WHERE tenant = $1 AND id = $2 \
     UNION ALL SELECT id FROM webhooks WHERE tenant = $1 AND id = $2 \
     UNION ALL SELECT subject_id FROM (SELECT subject_id, kind FROM events \
     WHERE tenant = $1 AND subject_id = $2 ORDER BY position LIMIT 1) AS first_event \
     WHERE kind NOT LIKE 'user.%'";

/// A queued command.
#[derive(Debug)]
pub struct Request {
    tenant: TenantId,
    pub(crate) command: Command,
    pub(crate) is_import: bool,
    precomputed: Mutex<Option<Precomputed>>,
}

/// A decision made on a record under these rules and this version of the schema. It is used only if
/// the stored record has the same bytes. An equal version is not enough, because the record may
/// come from a transaction that was never committed.
#[derive(Clone, Debug)]
struct Precomputed {
    on: Option<Current>,
    rules: Rules,
    schema: i64,
    decision: Result<Decision, Refusal>,
}

impl Request {
    /// A command that is decided now if it creates a user, and otherwise when it is executed.
    pub fn new(tenant: TenantId, rules: Rules, schema: &UserSchema, command: Command) -> Self {
        let request = Self { tenant, command, is_import: false, precomputed: Mutex::default() };
        if let Act::User(act) = &request.command.act
            && act.target() == Target::New
        {
            drop(request.decide(rules, schema, act, None));
        }
        request
    }

    /// A command about a user, which is decided now, on what is probably the stored record.
    pub fn decided_on(
        tenant: TenantId,
        rules: Rules,
        schema: &UserSchema,
        command: Command,
        current: &Current,
    ) -> Self {
        let request = Self { tenant, command, is_import: false, precomputed: Mutex::default() };
        if let Act::User(act) = &request.command.act {
            drop(request.decide(rules, schema, act, Some(current)));
        }
        request
    }

    /// The tenant of the command.
    pub const fn tenant(&self) -> TenantId {
        self.tenant
    }

    /// Whether it was queued together with others: the lines of an import or of a change in bulk.
    pub const fn is_import(&self) -> bool {
        self.is_import
    }

    /// The record that the command was decided on in advance.
    pub fn known_user(&self) -> Option<Current> {
        self.precomputed()?.on
    }

    /// Asks for the facts that the command needs whatever they are, so that an engine can read
    /// those of a batch in one step before it executes the batch.
    pub fn ask(&self, facts: &mut impl Facts) {
        if let Some(idempotency) = &self.command.idempotency {
            drop(facts.idempotency_record(&idempotency.key));
        }
        match &self.command.act {
            Act::User(act) => self.ask_about_user(act, facts),
            Act::Group(act) => {
                drop(facts.rows(GROUP.to_owned(), vec![self.tenant.into(), act.id().into()]));
            }
            Act::Schema(_) => {}
        }
    }

    fn ask_about_user(&self, act: &UserAct, facts: &mut impl Facts) {
        let id = act.id();
        if act.target() != Target::Live && !self.tenant.is_default() {
            drop(facts.users_room());
        }
        match act {
            UserAct::Create { draft, upsert, .. } => {
                if draft.kept_id().is_some() {
                    drop((facts.live(id), facts.deleted(id)));
                    drop(facts.rows(USES_OF_ID.to_owned(), vec![self.tenant.into(), id.into()]));
                }
                if let Some(Precomputed { decision: Ok(Decision::Write(change)), .. }) =
                    self.precomputed()
                    && upsert.match_by == MatchBy::Unique
                {
                    let Claims { username, email, external_id, indexed, .. } = &change.claims;
                    for (kind, key) in indexed {
                        drop(facts.holder(ClaimKind::Indexed(*kind), key));
                    }
                    let claims = [
                        (ClaimKind::Username, username),
                        (ClaimKind::Email, email),
                        (ClaimKind::ExternalId, external_id),
                    ];
                    for (kind, key) in claims {
                        drop(key.as_ref().map(|key| match upsert.on_conflict {
                            OnConflict::Fail => facts.holder(kind, key),
                            OnConflict::Skip | OnConflict::Replace | OnConflict::Merge => {
                                facts.holder_to_follow(kind, key)
                            }
                        }));
                    }
                }
            }
            UserAct::Delete { .. } => drop((facts.live(id), facts.groups_of(id))),
            UserAct::Replace { .. } | UserAct::Patch { .. } | UserAct::Edit { .. } => {
                drop(facts.live(id));
            }
            UserAct::Restore { .. } | UserAct::Purge { .. } => drop(facts.deleted(id)),
        }
    }

    /// Whether the command may be executed in one batch with others of this kind.
    pub(crate) const fn shares_batch(&self) -> bool {
        match &self.command.act {
            Act::User(act) => !matches!(act, UserAct::Restore { joins_groups: true, .. }),
            Act::Group(_) | Act::Schema(_) => false,
        }
    }

    /// The decision on that user: the precomputed one if it was made on the same record.
    pub(crate) fn decision(
        &self,
        rules: Rules,
        schema: &UserSchema,
        act: &UserAct,
        current: Option<&Current>,
    ) -> Result<Decision, Refusal> {
        let record = current.map(|current| &current.record);
        match self.precomputed() {
            Some(Precomputed { on, rules: under, schema: version, decision })
                if under == rules
                    && version == schema.version
                    && on.as_ref().map(|on| &on.record) == record =>
            {
                decision
            }
            _ => self.decide(rules, schema, act, current),
        }
    }

    fn decide(
        &self,
        rules: Rules,
        schema: &UserSchema,
        act: &UserAct,
        current: Option<&Current>,
    ) -> Result<Decision, Refusal> {
        let user = current.map(|current| &*current.user);
        let decision = decide(rules, schema, user, act, &self.command);
        let (on, version) = (current.cloned(), schema.version);
        let precomputed = Precomputed { on, rules, schema: version, decision: decision.clone() };
        *self.precomputed.lock().unwrap_or_else(PoisonError::into_inner) = Some(precomputed);
        decision
    }

    fn precomputed(&self) -> Option<Precomputed> {
        self.precomputed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
