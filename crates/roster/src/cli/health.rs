//! `roster health`: asks the service of these settings whether it is ready.
//!
//! It is a caller like any other: it reads no data and opens no file of the service. What it is
//! told goes to the health check of a container, which has no other program to ask with.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};

use super::{flags::SettingFlags, whoever};

/// How long each step of the question may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// The most bytes of an answer that are read; a problem is much shorter.
const ANSWER_BYTES_MAX: u64 = 16 * 1024;

/// Asks, and ends with success if the answer is yes.
pub(super) fn run(flags: &SettingFlags) -> anyhow::Result<ExitCode> {
    let (config, _) = flags.load()?;
    let address = reachable(config.listen);
    if address.port() == 0 {
        bail!("which port is asked? The system chose it for the service: name it with --listen");
    }
    let tls = config.tls_certificate.is_some();
    let answer = ask(address, tls).with_context(|| format!("nobody answers at {address}"))?;
    match answer.split_whitespace().nth(1) {
        Some("200") => {
            writeln!(io::stdout().lock(), "ready")?;
            Ok(ExitCode::SUCCESS)
        }
        Some(status) => {
            let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
            bail!("the service at {address} is not ready: {status} {body}")
        }
        None => bail!("what answers at {address} does not speak HTTP"),
    }
}

/// Where a service that listens on this address can be reached from its own machine.
fn reachable(mut listening: SocketAddr) -> SocketAddr {
    if listening.ip().is_unspecified() {
        listening.set_ip(match listening {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    listening
}

fn ask(address: SocketAddr, tls: bool) -> io::Result<String> {
    let connection = TcpStream::connect_timeout(&address, PATIENCE)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    if tls {
        return converse(whoever::protect(connection)?, address);
    }
    converse(connection, address)
}

fn converse(mut connection: impl Read + Write, address: SocketAddr) -> io::Result<String> {
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    connection.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_on_all_addresses_is_asked_on_loopback() {
        let asked = |listening: &str| reachable(listening.parse().unwrap()).to_string();
        assert_eq!(asked("0.0.0.0:8080"), "127.0.0.1:8080");
        assert_eq!(asked("[::]:8080"), "[::1]:8080");
        assert_eq!(asked("192.0.2.1:8080"), "192.0.2.1:8080");
    }
}
