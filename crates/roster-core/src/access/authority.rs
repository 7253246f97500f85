//! Permits: proof that a caller may do something.
//!
//! An [`Authority`] is a caller and its scopes. It creates a [`Permit`] only for a right that the
//! scopes grant. Functions of the directory that read or change data for a caller require a permit,
//! so a handler that does not check the scope does not compile.

use std::marker::PhantomData;

use super::{
    api_key::Reach,
    scope::{Scope, Scopes},
};
use crate::{
    tenant::TenantId,
    timestamp::Timestamp,
    write::command::{Actor, Caller},
};

/// A caller and its scopes.
#[derive(Clone, Debug)]
pub struct Authority {
    actor: Actor,
    scopes: Scopes,
    reach: Reach,
    expires_at: Option<Timestamp>,
}

/// A right, as a type.
pub trait Right: Send + Sync + 'static {
    /// The scopes that together grant it.
    const SCOPES: &'static [Scope];
}

macro_rules! rights {
    ($($(#[$doc:meta])* $right:ident $($scope:ident)+,)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub enum $right {}

            impl Right for $right {
                const SCOPES: &'static [Scope] = &[$(Scope::$scope),+];
            }
        )*
    };
}

rights! {
    /// To read users.
    ReadUsers UsersRead,
    /// To change users.
    WriteUsers UsersWrite,
    /// To read deleted users.
    ReadDeletedUsers UsersRead UsersWrite,
    /// To read the deleted user that a purge would erase.
    PreviewPurges UsersRead UsersPurge,
    /// To purge deleted users.
    PurgeUsers UsersPurge,
    /// To read the change log.
    ReadEvents EventsRead,
    /// To read the metrics.
    ReadMetrics MetricsRead,
    /// To create, list, rotate and revoke keys.
    RunKeys KeysAdmin,
    /// To replace the schema of users.
    WriteSchema SchemaWrite,
    /// To create, read and change tenants.
    RunTenants TenantsAdmin,
    /// To create, read and change webhooks.
    RunWebhooks WebhooksAdmin,
    /// To create users with ids that the caller chooses.
    RestoreIds UsersWrite UsersRestoreIds,
}

/// A right that includes reading one deleted user.
pub trait SeesDeleted: Right {}

impl SeesDeleted for ReadDeletedUsers {}
impl SeesDeleted for PreviewPurges {}

/// The proof that a caller has a right. For a caller, only [`Authority::permit`] creates one.
#[derive(Debug)]
pub struct Permit<R>(PhantomData<fn() -> R>);

impl<R> Clone for Permit<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Permit<R> {}

impl<R> Permit<R> {
    /// A permit for the work of the service itself, which needs no scope.
    pub const fn of_the_service() -> Self {
        Self(PhantomData)
    }
}

/// Which audit events of a log a caller may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditView {
    /// None.
    Nothing,
    /// Those of the keys of the tenant; in the default tenant, also those of the policy and of the
    /// settings.
    Own,
    /// All.
    Everything,
}

impl AuditView {
    /// Its number in a store.
    pub const fn number(self) -> i64 {
        match self {
            Self::Nothing => 0,
            Self::Own => 1,
            Self::Everything => 2,
        }
    }

    /// The view with this number.
    pub fn of_number(number: i64) -> Option<Self> {
        let all = [Self::Nothing, Self::Own, Self::Everything];
        all.into_iter().find(|one| one.number() == number)
    }
}

/// The caller lacks one of these scopes, which an operation needs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingScope(pub &'static [Scope]);

impl Authority {
    /// A caller with these scopes in the default tenant.
    pub const fn new(actor: Actor, scopes: Scopes) -> Self {
        let reach = Reach::Tenant(TenantId::DEFAULT);
        Self { actor, scopes, reach, expires_at: None }
    }

    /// The same caller, with its scopes in these tenants.
    pub fn reaching(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// The same caller, whose credential expires at this time, if at all.
    pub fn expiring(self, expires_at: Option<Timestamp>) -> Self {
        Self { expires_at, ..self }
    }

    /// An unknown caller without any scope.
    pub const fn nobody() -> Self {
        Self::new(Actor::Anonymous, Scopes::NONE)
    }

    /// An anonymous caller with all scopes, while no key exists. It may create the first key of the
    /// operator; the service has no other tenant then.
    pub fn anybody() -> Self {
        Self::new(Actor::Anonymous, Scopes::all()).reaching(Reach::All)
    }

    /// The service itself.
    pub fn of_the_service() -> Self {
        Self::new(Actor::System, Scopes::all()).reaching(Reach::All)
    }

    /// Whether it is the operator: a known caller with its scopes in all tenants.
    pub fn is_operator(&self) -> bool {
        self.reach == Reach::All && self.actor != Actor::Anonymous
    }

    /// Whether the caller has a scope.
    pub const fn may(&self, scope: Scope) -> bool {
        self.scopes.hold(scope)
    }

    /// Fails if the caller lacks one of these scopes.
    pub fn check(&self, scopes: &'static [Scope]) -> Result<(), MissingScope> {
        let has_all = scopes.iter().all(|scope| self.may(*scope));
        if has_all { Ok(()) } else { Err(MissingScope(scopes)) }
    }

    /// A permit, if the caller has the scopes of the right.
    pub fn permit<R: Right>(&self) -> Result<Permit<R>, MissingScope> {
        self.check(R::SCOPES)?;
        Ok(Permit(PhantomData))
    }

    /// The same caller in the SCIM interface, where the scope `scim` includes reading and changing
    /// users.
    pub fn through_scim(self) -> Self {
        if !self.may(Scope::Scim) {
            return self;
        }
        let users = [Scope::UsersRead, Scope::UsersWrite];
        Self { scopes: self.scopes.iter().chain(users).collect(), ..self }
    }

    /// Which audit events the caller may read.
    pub fn audit_view(&self) -> AuditView {
        match (self.may(Scope::AuditRead), self.is_operator()) {
            (false, _) => AuditView::Nothing,
            (true, false) => AuditView::Own,
            (true, true) => AuditView::Everything,
        }
    }

    /// The tenants in which the caller has its scopes.
    pub const fn reach(&self) -> Reach {
        self.reach
    }

    /// The scopes.
    pub const fn scopes(&self) -> Scopes {
        self.scopes
    }

    /// When the credential expires; `None` if it does not.
    pub const fn expires_at(&self) -> Option<Timestamp> {
        self.expires_at
    }

    /// The actor.
    pub const fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The actor with the id of its request.
    pub fn caller(&self, request_id: &str) -> Caller {
        Caller { actor: self.actor.clone(), request_id: request_id.to_owned() }
    }
}
