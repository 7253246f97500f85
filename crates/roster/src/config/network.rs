//! The address of a proxy, or a network of addresses (CIDR notation).
//!
//! A network must start with its first address: `10.0.0.1/8` could mean one address or a network,
//! so it is rejected.

use std::net::IpAddr;

use ipnet::IpNet;

/// Parses an address or a network; the error says what is wrong.
pub(super) fn parse(text: &str) -> Result<IpNet, String> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(IpNet::from(address.to_canonical()));
    }
    let network: IpNet = text
        .parse()
        .map_err(|_| format!("{text:?} is not an address or a network, as in 10.0.0.0/8"))?;
    if network.prefix_len() == 0 {
        return Err(format!("{text} holds every address: name the networks that you mean"));
    }
    if network != network.trunc() {
        let whole = network.trunc();
        return Err(format!("{text} is not the start of its network; that is {whole}"));
    }
    if network.addr().is_ipv6() && network.addr().to_canonical().is_ipv4() {
        return Err(format!("{text}: write a network of IPv4 addresses as in 10.0.0.0/8"));
    }
    Ok(network)
}
