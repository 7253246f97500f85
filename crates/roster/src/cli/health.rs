//! `roster health`: requests `/readyz` of the service with these settings.
//!
//! It is an ordinary client: it opens no file of the service. It serves as the health check of a
//! container that contains no other HTTP client.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};

use super::{flags::SettingFlags, unverified_tls};

/// Time limit for each step of the request. `/readyz` responds after 4 s if the database does not.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a response in bytes; a problem is much shorter.
const RESPONSE_BYTES_MAX: u64 = 16 * 1024;

/// Sends the request; success if the response is 200.
pub(super) fn run(flags: &SettingFlags) -> anyhow::Result<ExitCode> {
    let (config, _) = flags.load()?;
    let address = reachable(config.listen);
    if address.port() == 0 {
        bail!("the port is unknown because the system chose it: name it with --listen");
    }
    let tls = config.tls_certificate.is_some();
    let response = request(address, tls).map_err(|error| {
        // A socket says this of its time limit.
        let is_late = error.kind() == io::ErrorKind::WouldBlock;
        if is_late { io::ErrorKind::TimedOut.into() } else { error }
    });
    let response = response.with_context(|| format!("no response from {address}"))?;
    match response.split_whitespace().nth(1) {
        Some("200") => {
            writeln!(io::stdout().lock(), "ready")?;
            Ok(ExitCode::SUCCESS)
        }
        Some(status) => {
            let body = response.split_once("\r\n\r\n").map_or("", |(_, body)| body);
            bail!("the service at {address} is not ready: {status} {body}")
        }
        None => bail!("the server at {address} does not use HTTP"),
    }
}

/// The address at which programs on the same machine reach a service with this listening address.
fn reachable(mut listening: SocketAddr) -> SocketAddr {
    if listening.ip().is_unspecified() {
        listening.set_ip(match listening {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    listening
}

fn request(address: SocketAddr, tls: bool) -> io::Result<String> {
    let connection = TcpStream::connect_timeout(&address, TIMEOUT)?;
    connection.set_read_timeout(Some(TIMEOUT))?;
    connection.set_write_timeout(Some(TIMEOUT))?;
    if tls {
        return exchange(unverified_tls::connect(connection)?, address);
    }
    exchange(connection, address)
}

fn exchange(mut connection: impl Read + Write, address: SocketAddr) -> io::Result<String> {
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes())?;
    let mut response = Vec::new();
    connection.take(RESPONSE_BYTES_MAX).read_to_end(&mut response)?;
    Ok(String::from_utf8_lossy(&response).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_on_all_addresses_is_reached_on_loopback() {
        let reached = |listening: &str| reachable(listening.parse().unwrap()).to_string();
        assert_eq!(reached("0.0.0.0:8080"), "127.0.0.1:8080");
        assert_eq!(reached("[::]:8080"), "[::1]:8080");
        assert_eq!(reached("192.0.2.1:8080"), "192.0.2.1:8080");
    }
}
