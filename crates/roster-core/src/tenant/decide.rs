//! Creating and changing a tenant, as a pure function of the stored one, so that every engine
//! applies the same rules.

use super::{Tenant, TenantDraft, TenantId, TenantName, draft::invalid_name};
use crate::{
    failure::StoreError,
    json::{Json, merge},
    timestamp::Timestamp,
    user::Status,
    write::{
        command::{Caller, Guard, Preconditions, Rules},
        violation::{Violation, ViolationCode, Violations},
    },
};

/// An operation on a tenant.
#[derive(Clone, Debug)]
pub enum TenantAct {
    /// Create a tenant.
    Create(TenantDraft),
    /// Replace what its caller may set.
    Replace(TenantName, TenantDraft),
    /// Patch it by JSON Merge Patch (RFC 7396).
    Patch(TenantName, Json),
    /// Delete it. It is kept, and can be restored.
    Delete(TenantName),
    /// Restore a deleted one.
    Restore(TenantName),
    /// Purge a deleted one. Its name is free again, and everything in it is erased in steps.
    Purge(TenantName),
}

impl TenantAct {
    /// The name of its tenant; `None` if a create names none.
    pub const fn name(&self) -> Option<&TenantName> {
        match self {
            Self::Create(draft) => draft.name.as_ref(),
            Self::Replace(name, _)
            | Self::Patch(name, _)
            | Self::Delete(name)
            | Self::Restore(name)
            | Self::Purge(name) => Some(name),
        }
    }
}

/// A requested change of a tenant.
#[derive(Clone, Debug)]
pub struct TenantChange {
    /// The operation.
    pub act: TenantAct,
    /// The preconditions of the request.
    pub preconditions: Preconditions,
    /// Which writes need one.
    pub rules: Rules,
    /// The time of the request.
    pub at: Timestamp,
    /// The sender of the request.
    pub caller: Caller,
    /// Whether nothing is stored.
    pub is_dry_run: bool,
}

/// The result of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantDecision {
    /// The tenant after the change. The id of a new one is assigned by the engine.
    pub tenant: Tenant,
    /// Whether anything must be written.
    pub changes: bool,
}

/// Why a change of a tenant was rejected. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TenantRefusal {
    /// No tenant of the kind that the operation is about (live or deleted) has the name.
    NotFound,
    /// The settings require a precondition, and the request has none.
    PreconditionRequired,
    /// Another tenant has the name.
    NameTaken {
        /// Whether that one is deleted.
        is_deleted: bool,
    },
    /// The tenant is at this version, which the preconditions exclude.
    VersionMismatch(i64),
    /// The body breaks rules.
    Invalid(Violations),
    /// The maximum number of tenants exists.
    TooMany,
}

/// Why a change of a tenant failed.
#[derive(Debug)]
pub enum TenantFailure {
    /// The rules reject it.
    Refused(TenantRefusal),
    /// The store failed.
    Store(StoreError),
}

impl From<TenantRefusal> for TenantFailure {
    fn from(refusal: TenantRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<StoreError> for TenantFailure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Decides a change, given the tenant with the name.
pub fn decide_tenant(
    stored: Option<&Tenant>,
    change: &TenantChange,
) -> Result<TenantDecision, TenantRefusal> {
    let patched;
    let stored = match &change.act {
        TenantAct::Create(draft) => return create(stored, draft, change.at),
        TenantAct::Replace(..) | TenantAct::Patch(..) | TenantAct::Delete(_) => {
            stored.filter(|stored| stored.deleted_at.is_none())
        }
        TenantAct::Restore(_) | TenantAct::Purge(_) => {
            stored.filter(|stored| stored.deleted_at.is_some())
        }
    };
    let stored = stored.ok_or(TenantRefusal::NotFound)?;
    let draft = match &change.act {
        TenantAct::Create(draft) | TenantAct::Replace(_, draft) => draft,
        TenantAct::Patch(_, patch) => {
            // The merge drops what is `null`, so the patch itself is checked first.
            TenantDraft::parse(patch).map_err(TenantRefusal::Invalid)?;
            let tree = merge(TenantDraft::tree_of(stored), patch.clone());
            patched = TenantDraft::parse(&tree).map_err(TenantRefusal::Invalid)?;
            &patched
        }
        TenantAct::Delete(_) => return set_deleted_at(stored, change, Some(change.at)),
        TenantAct::Restore(_) => return set_deleted_at(stored, change, None),
        TenantAct::Purge(_) => return purge(stored, change),
    };
    let is_version = draft.version.is_none_or(|version| version == stored.version);
    if !is_version {
        return Err(TenantRefusal::VersionMismatch(stored.version));
    }
    may_write(stored, change)?;
    if draft.name.as_ref().is_some_and(|name| *name != stored.name) {
        let detail = "a tenant keeps its name, because it is in the URLs of its callers";
        return Err(TenantRefusal::Invalid(
            Violation::of_member("name", ViolationCode::InvalidValue, detail).into(),
        ));
    }
    let mut tenant = Tenant {
        display_name: draft.display_name.clone(),
        external_id: draft.external_id.clone(),
        status: draft.status.unwrap_or(stored.status),
        users_max: draft.users_max,
        ..stored.clone()
    };
    let is_guarded = change.rules.put == Guard::On && matches!(change.act, TenantAct::Replace(..));
    let has_precondition = draft.version.is_some() || change.preconditions.name_a_version();
    if is_guarded && !has_precondition && clears(stored, &tenant) {
        return Err(TenantRefusal::PreconditionRequired);
    }
    let changes = tenant != *stored;
    if changes {
        tenant.version += 1;
        tenant.updated_at = change.at.max(stored.updated_at);
    }
    Ok(TenantDecision { tenant, changes })
}

/// Whether a replacement clears what the stored tenant has.
fn clears(stored: &Tenant, tenant: &Tenant) -> bool {
    stored.display_name.is_some() && tenant.display_name.is_none()
        || stored.external_id.is_some() && tenant.external_id.is_none()
        || stored.users_max.is_some() && tenant.users_max.is_none()
}

/// Checks the preconditions of a deletion or a purge.
fn may_remove(stored: &Tenant, change: &TenantChange) -> Result<(), TenantRefusal> {
    if change.rules.delete == Guard::On && !change.preconditions.name_a_version() {
        return Err(TenantRefusal::PreconditionRequired);
    }
    may_write(stored, change)
}

fn may_write(stored: &Tenant, change: &TenantChange) -> Result<(), TenantRefusal> {
    let may = change.preconditions.allow_write(stored.version);
    if may { Ok(()) } else { Err(TenantRefusal::VersionMismatch(stored.version)) }
}

/// Purges a deleted tenant. The decision has the tenant as it was last.
fn purge(stored: &Tenant, change: &TenantChange) -> Result<TenantDecision, TenantRefusal> {
    may_remove(stored, change)?;
    Ok(TenantDecision { tenant: stored.clone(), changes: true })
}

/// Deletes a tenant, or restores a deleted one.
fn set_deleted_at(
    stored: &Tenant,
    change: &TenantChange,
    deleted_at: Option<Timestamp>,
) -> Result<TenantDecision, TenantRefusal> {
    if deleted_at.is_some() {
        may_remove(stored, change)?;
    } else {
        may_write(stored, change)?;
    }
    let version = stored.version + 1;
    let updated_at = change.at.max(stored.updated_at);
    let tenant = Tenant { version, updated_at, deleted_at, ..stored.clone() };
    Ok(TenantDecision { tenant, changes: true })
}

fn create(
    stored: Option<&Tenant>,
    draft: &TenantDraft,
    at: Timestamp,
) -> Result<TenantDecision, TenantRefusal> {
    let invalid = || TenantRefusal::Invalid(invalid_name().into());
    let name = draft.name.clone().ok_or_else(invalid)?;
    if let Some(stored) = stored {
        return Err(TenantRefusal::NameTaken { is_deleted: stored.deleted_at.is_some() });
    }
    let tenant = Tenant {
        id: TenantId::DEFAULT,
        name,
        version: 1,
        status: draft.status.unwrap_or(Status::Active),
        display_name: draft.display_name.clone(),
        external_id: draft.external_id.clone(),
        users_max: draft.users_max,
        created_at: at,
        updated_at: at,
        deleted_at: None,
    };
    Ok(TenantDecision { tenant, changes: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actor, Tags, json};

    fn draft(text: &str) -> TenantDraft {
        TenantDraft::parse(&json::read(text.as_bytes()).unwrap()).unwrap()
    }

    fn change(act: TenantAct) -> TenantChange {
        let at = Timestamp::from_millis(1000);
        let (preconditions, rules) = Default::default();
        let caller = Caller { actor: Actor::System, request_id: "r".to_owned() };
        TenantChange { act, preconditions, rules, at, caller, is_dry_run: false }
    }

    fn acme() -> Tenant {
        let act =
            TenantAct::Create(draft(r#"{"name":"acme","display_name":"Acme","users_max":5}"#));
        decide_tenant(None, &change(act)).unwrap().tenant
    }

    fn patch(text: &str) -> Result<TenantDecision, TenantRefusal> {
        let patch = json::read(text.as_bytes()).unwrap();
        decide_tenant(Some(&acme()), &change(TenantAct::Patch(acme().name, patch)))
    }

    #[test]
    fn a_create_needs_a_name_that_is_free() {
        assert_eq!((acme().version, acme().users_max), (1, Some(5)));
        let again = change(TenantAct::Create(draft(r#"{"name":"acme"}"#)));
        let taken = TenantRefusal::NameTaken { is_deleted: false };
        assert_eq!(decide_tenant(Some(&acme()), &again), Err(taken));
        let nameless = decide_tenant(None, &change(TenantAct::Create(draft("{}"))));
        assert!(matches!(nameless, Err(TenantRefusal::Invalid(_))), "{nameless:?}");
    }

    #[test]
    fn a_patch_changes_what_it_names_and_a_replacement_everything() {
        let patched = patch(r#"{"status":"suspended","users_max":null}"#).unwrap().tenant;
        assert_eq!((patched.status, patched.users_max), (Status::Suspended, None));
        assert_eq!((patched.display_name.as_deref(), patched.version), (Some("Acme"), 2));
        let replace = TenantAct::Replace(acme().name, draft(r#"{"external_id":"7"}"#));
        let replaced = decide_tenant(Some(&acme()), &change(replace)).unwrap().tenant;
        assert_eq!((replaced.display_name, replaced.users_max), (None, None));
        assert_eq!(replaced.external_id.as_deref(), Some("7"));
        let same = TenantAct::Replace(
            acme().name,
            TenantDraft::parse(&TenantDraft::tree_of(&acme())).unwrap(),
        );
        assert!(!decide_tenant(Some(&acme()), &change(same)).unwrap().changes);
    }

    #[test]
    fn a_name_never_changes_and_an_old_version_is_refused() {
        for name in [r#"{"name":"other"}"#, r#"{"name":null}"#, r#"{"colour":null}"#] {
            assert!(matches!(patch(name), Err(TenantRefusal::Invalid(_))), "{name}");
        }
        assert_eq!(patch(r#"{"version":7}"#), Err(TenantRefusal::VersionMismatch(1)));
        let if_match = Some(Tags::Versions(vec![2]));
        let preconditions = Preconditions { if_match, if_none_match: None };
        let act = TenantAct::Patch(acme().name, Json::Object(Vec::new()));
        let stale = TenantChange { preconditions, ..change(act) };
        assert_eq!(decide_tenant(Some(&acme()), &stale), Err(TenantRefusal::VersionMismatch(1)));
    }

    #[test]
    fn guards_require_a_precondition_where_something_would_be_lost() {
        let rules = Rules { put: Guard::On, delete: Guard::On, ..Rules::default() };
        let guarded = |act| TenantChange { rules, ..change(act) };
        let required = Err(TenantRefusal::PreconditionRequired);
        let deleted = Tenant { deleted_at: Some(Timestamp::from_millis(5)), ..acme() };
        let name = || acme().name;
        let clearing = || TenantAct::Replace(name(), draft(r#"{"users_max":5}"#));
        for (stored, act) in [
            (acme(), TenantAct::Delete(name())),
            (deleted.clone(), TenantAct::Purge(name())),
            (acme(), clearing()),
        ] {
            assert_eq!(decide_tenant(Some(&stored), &guarded(act.clone())), required);
            let if_match = Some(Tags::Versions(vec![1]));
            let preconditions = Preconditions { if_match, if_none_match: None };
            let conditional = TenantChange { preconditions, ..guarded(act) };
            assert!(decide_tenant(Some(&stored), &conditional).is_ok());
        }
        let whole = r#"{"display_name":"Acme Ltd","users_max":7}"#;
        for act in [
            TenantAct::Replace(name(), draft(whole)),
            TenantAct::Replace(name(), draft(r#"{"version":1}"#)),
            TenantAct::Patch(name(), json::read(br#"{"users_max":null}"#).unwrap()),
        ] {
            assert!(decide_tenant(Some(&acme()), &guarded(act.clone())).is_ok(), "{act:?}");
        }
        assert!(decide_tenant(Some(&deleted), &guarded(TenantAct::Restore(name()))).is_ok());
    }

    #[test]
    fn a_deleted_tenant_is_restored_or_purged_and_not_changed() {
        let decide = |stored: &Tenant, act| decide_tenant(Some(stored), &change(act));
        let name = || acme().name;
        let deleted = decide(&acme(), TenantAct::Delete(name())).unwrap().tenant;
        assert_eq!(deleted.deleted_at, Some(Timestamp::from_millis(1000)));
        assert_eq!(deleted.version, 2);
        for act in [
            TenantAct::Delete(name()),
            TenantAct::Replace(name(), TenantDraft::default()),
            TenantAct::Patch(name(), Json::Object(Vec::new())),
        ] {
            assert_eq!(decide(&deleted, act), Err(TenantRefusal::NotFound));
        }
        for act in [TenantAct::Restore(name()), TenantAct::Purge(name())] {
            assert_eq!(decide(&acme(), act), Err(TenantRefusal::NotFound));
        }
        let restored = decide(&deleted, TenantAct::Restore(name())).unwrap().tenant;
        assert_eq!(restored, Tenant { version: 3, ..acme() });
        let again = TenantAct::Create(draft(r#"{"name":"acme"}"#));
        let taken = TenantRefusal::NameTaken { is_deleted: true };
        assert_eq!(decide(&deleted, again), Err(taken));
        let if_match = Some(Tags::Versions(vec![1]));
        let preconditions = Preconditions { if_match, if_none_match: None };
        let stale = TenantChange { preconditions, ..change(TenantAct::Purge(name())) };
        let refused = decide_tenant(Some(&deleted), &stale);
        assert_eq!(refused, Err(TenantRefusal::VersionMismatch(2)));
    }

    #[test]
    fn a_name_is_a_plain_segment_of_a_url() {
        for name in ["a", "acme-2", "7", &"x".repeat(63)] {
            assert!(TenantName::parse(name).is_some(), "{name}");
        }
        for name in ["", "Acme", "a.b", "..", "%2e%2e", "a/b", "ä", "a b", &"x".repeat(64)] {
            assert_eq!(TenantName::parse(name), None, "{name}");
        }
    }

    #[test]
    fn all_violations_are_reported_together() {
        let body = r#"{"name":"A","display_name":7,"users_max":-1,"status":"gone","x":1}"#;
        let violations = TenantDraft::parse(&json::read(body.as_bytes()).unwrap()).unwrap_err();
        let pointers: Vec<_> = violations.into_iter().map(|one| one.pointer).collect();
        assert_eq!(pointers, ["/name", "/display_name", "/users_max", "/status", "/x"]);
    }
}
