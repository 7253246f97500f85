//! Who a request is charged to.

use std::net::IpAddr;

use roster_core::Actor;
use roster_server::Identity;

/// The identity to which a request of this actor from this address is charged.
pub(crate) fn identity(actor: &Actor, address: IpAddr) -> Identity<'_> {
    match actor {
        Actor::Anonymous | Actor::System | Actor::Expiry => Identity::of_address(address),
        Actor::Key(id) => Identity::Key(id.as_str()),
        Actor::Subject { issuer, subject } => Identity::Subject { issuer, subject },
    }
}
