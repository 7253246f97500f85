//! Opens the port, and says in plain words why it could not.
//!
//! A port that is in use may become free: that is told apart, for those who wait.

use std::io;
use std::net::SocketAddr;

use anyhow::anyhow;
use tokio::net::{TcpListener, TcpSocket};

use super::turn::Tried;

/// Connections that the system keeps until they are taken; its own setting may make them fewer.
/// Whoever finds no room there tries again after a second: many at once should find it.
const BACKLOG: u32 = 4_096;

/// Listens on `address`; port 0 gets a free one, to be asked of the listener.
pub(super) fn bind(address: SocketAddr) -> anyhow::Result<Tried<TcpListener>> {
    match listen(address) {
        Ok(listener) => Ok(Tried::Done(listener)),
        Err(error) => {
            let reason = anyhow!(reason(address, &error));
            let taken = error.kind() == io::ErrorKind::AddrInUse;
            if taken { Ok(Tried::Taken(reason)) } else { Err(reason) }
        }
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A port that this program left a moment ago is free.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// What went wrong and what would help.
fn reason(address: SocketAddr, error: &io::Error) -> String {
    let (host, port) = (address.ip(), address.port());
    let kind = error.kind();
    if kind == io::ErrorKind::AddrInUse {
        format!(
            "port {port} on {host} is in use by another program: stop that program, or choose \
             another port with --listen (port 0 takes a free one)"
        )
    } else if kind == io::ErrorKind::PermissionDenied {
        format!("this user may not listen on port {port}: choose one from 1024 up with --listen")
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
    async fn a_port_in_use_is_named_with_the_flag_that_helps() {
        let Tried::Done(first) = bind("127.0.0.1:0".parse().unwrap()).unwrap() else {
            panic!("no port is free");
        };
        let address = first.local_addr().unwrap();
        let Tried::Taken(error) = bind(address).unwrap() else { panic!("bound twice") };
        let error = error.to_string();
        assert!(error.contains(&format!("port {} on 127.0.0.1 is in use", address.port())));
        assert!(error.contains("--listen"), "{error}");
    }

    #[tokio::test]
    async fn an_address_of_another_machine_is_named() {
        // 192.0.2.0/24 is kept for documentation (RFC 5737): no machine has it.
        let error = bind("192.0.2.1:0".parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("no address 192.0.2.1"), "{error}");
    }
}
