//! Random turns of five tenants of one store: the default one, which is the first, and four others.

use proptest::{
    collection::vec,
    prop_oneof,
    strategy::{BoxedStrategy, Just, Strategy},
};

use super::steps::{Turn, Write, turn, write};

/// The tenants that execute a turn.
#[derive(Clone, Copy, Debug)]
pub enum Whose {
    /// The tenant with this index.
    One(usize),
    /// All of them, at the same time.
    All,
}

/// A turn, and the tenants that execute it.
#[derive(Clone, Debug)]
pub struct TenantTurn {
    /// The tenants.
    pub whose: Whose,
    /// The turn.
    pub turn: Turn,
}

/// A step of a sequence over five tenants. A tenant is given by its index.
#[derive(Clone, Debug)]
pub enum TurnOfFive {
    /// A turn of one of them, or the same turn of each.
    Turn(TenantTurn),
    /// A tenant is deleted, rejects these writes, and is restored after these turns.
    Restore(usize, Vec<Write>, Vec<TenantTurn>),
    /// A tenant is deleted, purged, and, after these turns, in which a new tenant has its name,
    /// erased. Each time it rejects some of these writes.
    Purge(usize, Vec<Write>, Vec<TenantTurn>),
}

fn tenant_turn() -> BoxedStrategy<TenantTurn> {
    // The same turns make users with the same ids, names and idempotency keys in all tenants.
    let whose = prop_oneof![(0_usize..5).prop_map(Whose::One), Just(Whose::All)];
    (whose, turn()).prop_map(|(whose, turn)| TenantTurn { whose, turn }).boxed()
}

/// A sequence of turns of five tenants.
pub fn turns_of_five() -> BoxedStrategy<Vec<TurnOfFive>> {
    // The default tenant cannot be deleted.
    let deleted = || (1_usize..5, vec(write(), 3..7), vec(tenant_turn(), 0..6));
    let turn = prop_oneof![
        40 => tenant_turn().prop_map(TurnOfFive::Turn),
        2 => deleted().prop_map(|(tenant, rejected, turns)| {
            TurnOfFive::Restore(tenant, rejected, turns)
        }),
        1 => deleted().prop_map(|(tenant, rejected, turns)| {
            TurnOfFive::Purge(tenant, rejected, turns)
        }),
    ];
    vec(turn, 1..100).boxed()
}
