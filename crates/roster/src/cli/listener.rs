//! Opens the port, and explains why it could not.
//!
//! A port in use may become free, so that error is returned separately for callers that wait.

use std::io;
use std::net::SocketAddr;

use anyhow::anyhow;
use tokio::net::{TcpListener, TcpSocket};

use super::takeover::Attempt;

/// Number of connections that the system queues until they are accepted; a system setting may lower
/// it. A client that finds the queue full tries again after a second, so the queue is long.
const BACKLOG: u32 = 4_096;

/// Listens on `address`. With port 0 the system chooses a port.
pub(super) fn bind(address: SocketAddr) -> anyhow::Result<Attempt<TcpListener>> {
    match listen(address) {
        Ok(listener) => Ok(Attempt::Done(listener)),
        Err(error) => {
            let reason = anyhow!(reason(address, &error));
            let is_in_use = error.kind() == io::ErrorKind::AddrInUse;
            if is_in_use { Ok(Attempt::Blocked(reason)) } else { Err(reason) }
        }
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A port that this program closed a moment ago is free.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// What went wrong, and what to do.
fn reason(address: SocketAddr, error: &io::Error) -> String {
    let (host, port) = (address.ip(), address.port());
    let kind = error.kind();
    if kind == io::ErrorKind::AddrInUse {
        format!(
            "port {port} on {host} is in use by another program: stop that program, or choose \
             another port with --listen (port 0 lets the system choose)"
        )
    } else if kind == io::ErrorKind::PermissionDenied {
        format!("this user may not listen on port {port}: choose one from 1024 with --listen")
    } else if kind == io::ErrorKind::AddrNotAvailable {
        format!(
            "this machine has no address {host}: choose one that it has with --listen, as in \
             127.0.0.1:{port}"
        )
    } else {
        format!("cannot listen on {address}: {error}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_in_use_is_reported_with_the_flag_to_use() {
        let Attempt::Done(first) = bind("127.0.0.1:0".parse().unwrap()).unwrap() else {
            panic!("no port is free");
        };
        let address = first.local_addr().unwrap();
        let Attempt::Blocked(error) = bind(address).unwrap() else { panic!("bound twice") };
        let error = error.to_string();
        assert!(error.contains(&format!("port {} on 127.0.0.1 is in use", address.port())));
        assert!(error.contains("--listen"), "{error}");
    }

    #[tokio::test]
    async fn an_address_of_another_machine_is_reported() {
        // 192.0.2.0/24 is kept for documentation (RFC 5737): no machine has it.
        let error = bind("192.0.2.1:0".parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("no address 192.0.2.1"), "{error}");
    }
}
