//! The limits of the server, each with its unit in its name.
//!
//! With the defaults, a slow or silent client is disconnected within 15 seconds, and an ordinary
//! client on a poor line is not. This module does not know where the values come from.

use std::time::Duration;

use crate::proxies::TrustedProxies;

/// The limits of every connection. All times are in milliseconds.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// How long a request head may take from its first byte; the first head of a connection
    /// counts from the accept, so that silence and the TLS handshake are bounded too. Default
    /// 10,000.
    pub header_timeout_ms: u32,
    /// How long a connection may be idle between two requests. It is longer than the 60 s after
    /// which common load balancers drop an idle connection, so that they close first. Default
    /// 75,000.
    pub idle_timeout_ms: u32,
    /// The minimum average speed of a request body. Default 1,024.
    pub body_floor_bytes_per_s: u32,
    /// The window over which the average of a request body is computed; a stalled body gets this
    /// time too. Default 8,000.
    pub body_grace_ms: u32,
    /// The minimum average speed at which a client must read responses. Default 1,024.
    pub write_floor_bytes_per_s: u32,
    /// The window over which that average is computed. Default 8,000.
    pub write_grace_ms: u32,
    /// How long the peer may leave sent data unacknowledged or keep its window closed before the
    /// kernel drops the connection, even after the sending side was closed. Default 12,000.
    pub stall_timeout_ms: u32,
    /// How long to wait until the peer closes its side after the sending side was closed. Data that
    /// arrives is discarded, so that an early error response reaches a client that is still
    /// sending. Default 3,000.
    pub close_timeout_ms: u32,
    /// How many connections may be open at once; further ones get a bare 503. Default 10,000.
    pub connections_max: usize,
    /// How many of these may come from one address, or one /64 of IPv6; further ones get a bare
    /// 503. 0 means no limit. Default 1,000.
    pub connections_per_address_max: usize,
    /// Whether that limit applies to loopback addresses too. All clients of a proxy on the same
    /// machine share one loopback address. Default no.
    pub caps_loopback: bool,
    /// Proxies, whose connections belong to many clients and are not counted by address. Default
    /// none.
    pub trusted_proxies: TrustedProxies,
    /// The maximum size of a request head in bytes (431 above it). At least 8,192. hyper returns
    /// 414 for a target of more than 65,534 bytes if the head is within this size. Default 98,304.
    pub header_bytes_max: usize,
    /// The maximum number of header fields of a request (431 above it). Default 100.
    pub headers_max: usize,
    /// How many HTTP/2 requests one connection may have open. Default 100.
    pub streams_max: u32,
    /// How long connections are still accepted after the signal to stop, so that load balancers
    /// notice it. Each response is the last of its connection. Default 0, which means a tenth of a
    /// second while connections are open.
    pub drain_delay_ms: u32,
    /// How long open requests may then take to finish. Default 25,000.
    pub drain_timeout_ms: u32,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            header_timeout_ms: 10_000,
            idle_timeout_ms: 75_000,
            body_floor_bytes_per_s: 1_024,
            body_grace_ms: 8_000,
            write_floor_bytes_per_s: 1_024,
            write_grace_ms: 8_000,
            stall_timeout_ms: 12_000,
            close_timeout_ms: 3_000,
            connections_max: 10_000,
            connections_per_address_max: 1_000,
            caps_loopback: false,
            trusted_proxies: TrustedProxies::default(),
            header_bytes_max: 98_304,
            headers_max: 100,
            streams_max: 100,
            drain_delay_ms: 0,
            drain_timeout_ms: 25_000,
        }
    }
}

impl ServerSettings {
    /// The size of the buffer for a request head of HTTP/1.
    pub(crate) fn buffer_bytes_max(&self) -> usize {
        self.header_bytes_max.max(8_192)
    }

    /// The minimum speed of request bodies.
    pub fn body_floor(&self) -> Floor {
        Floor { bytes_per_s: self.body_floor_bytes_per_s, grace_ms: self.body_grace_ms }
    }

    /// The minimum speed at which clients read responses.
    pub(crate) fn write_floor(&self) -> Floor {
        Floor { bytes_per_s: self.write_floor_bytes_per_s, grace_ms: self.write_grace_ms }
    }

    /// The interval between checks of the connections: short enough that a limit is exceeded by at
    /// most a quarter, and at most 0.5 s.
    pub(crate) fn tick(&self) -> Duration {
        let shortest = [
            self.header_timeout_ms,
            self.idle_timeout_ms,
            self.write_grace_ms,
            self.close_timeout_ms,
        ]
        .into_iter()
        .min()
        .unwrap_or_default();
        milliseconds((shortest / 4).clamp(5, 500))
    }
}

/// A minimum average: in every window of `grace_ms`, `bytes_per_s` must be reached.
#[derive(Debug, Clone, Copy)]
pub struct Floor {
    /// The minimum average in bytes per second.
    pub bytes_per_s: u32,
    /// The window in milliseconds.
    pub grace_ms: u32,
}

impl Floor {
    /// The length of a window.
    pub(crate) fn window(self) -> Duration {
        milliseconds(self.grace_ms)
    }

    /// The minimum number of bytes in one window: 0, or at least 1.
    pub(crate) fn bytes_per_window(self) -> u64 {
        let bytes = u64::from(self.bytes_per_s) * u64::from(self.grace_ms) / 1_000;
        if self.bytes_per_s == 0 { 0 } else { bytes.max(1) }
    }
}

/// A setting as a duration.
pub(crate) fn milliseconds(value: u32) -> Duration {
    Duration::from_millis(u64::from(value))
}
