//! The proof that a caller may do something.
//!
//! An [`Authority`] says who calls and with which scopes; a [`Permit`] of the right kind is made
//! of it or not at all, and the directory asks for one wherever it reads or changes anything. So
//! no handler reaches a user without having asked whether its caller may.

use std::marker::PhantomData;

use super::scope::{Scope, Scopes};
use crate::command::{Actor, Caller};

/// Who calls, and what they may do.
#[derive(Clone, Debug)]
pub struct Authority {
    actor: Actor,
    scopes: Scopes,
}

/// A right, told apart by its type.
pub trait Right: Send + Sync + 'static {
    /// The scope that grants it.
    const SCOPE: Scope;
}

macro_rules! rights {
    ($($(#[$doc:meta])* $right:ident $scope:ident,)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub enum $right {}

            impl Right for $right {
                const SCOPE: Scope = Scope::$scope;
            }
        )*
    };
}

rights! {
    /// To read the users.
    ReadUsers UsersRead,
    /// To change users, and to read those who were deleted.
    WriteUsers UsersWrite,
    /// To forget deleted users for good.
    PurgeUsers UsersPurge,
    /// To read the change log.
    ReadEvents EventsRead,
    /// To read the metrics.
    ReadMetrics MetricsRead,
    /// To make, list, rotate and revoke keys.
    RunKeys KeysAdmin,
}

/// A right whose holder may see a user who was deleted.
pub trait SeesDeleted: Right {}

impl SeesDeleted for WriteUsers {}
impl SeesDeleted for PurgeUsers {}

/// The proof that somebody may do something. For a caller, only [`Authority::permit`] makes one.
#[derive(Debug)]
pub struct Permit<R>(PhantomData<fn() -> R>);

impl<R> Clone for Permit<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Permit<R> {}

impl<R> Permit<R> {
    /// What the service does of its own accord needs nobody's leave.
    pub const fn of_the_service() -> Self {
        Self(PhantomData)
    }
}

/// The caller lacks a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingScope(pub Scope);

impl Authority {
    /// Somebody who may do what the scopes say.
    pub const fn new(actor: Actor, scopes: Scopes) -> Self {
        Self { actor, scopes }
    }

    /// Somebody of whom nothing is known, who may do nothing.
    pub const fn nobody() -> Self {
        Self::new(Actor::Anonymous, Scopes::NONE)
    }

    /// Anybody, while the service is open.
    pub fn anybody() -> Self {
        Self::new(Actor::Anonymous, Scopes::all())
    }

    /// The service itself.
    pub fn of_the_service() -> Self {
        Self::new(Actor::System, Scopes::all())
    }

    /// Whether they may.
    pub const fn may(&self, scope: Scope) -> bool {
        self.scopes.hold(scope)
    }

    /// The proof that they may.
    pub const fn permit<R: Right>(&self) -> Result<Permit<R>, MissingScope> {
        if self.scopes.hold(R::SCOPE) {
            Ok(Permit(PhantomData))
        } else {
            Err(MissingScope(R::SCOPE))
        }
    }

    /// The same caller at the SCIM face, whose one scope lets users be read and changed there.
    pub fn through_scim(self) -> Self {
        if !self.may(Scope::Scim) {
            return self;
        }
        let users = [Scope::UsersRead, Scope::UsersWrite];
        Self { scopes: self.scopes.iter().chain(users).collect(), ..self }
    }

    /// Who they are.
    pub const fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Who they are, in a request.
    pub fn caller(&self, request_id: &str) -> Caller {
        Caller { actor: self.actor.clone(), request_id: request_id.to_owned() }
    }
}
