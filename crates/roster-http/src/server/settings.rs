//! The limits of the server, each named with its unit.
//!
//! The defaults are chosen so that a slow or silent caller is gone within 15 seconds and an
//! honest caller on a poor line is not. This module must not know where values come from.

use std::time::Duration;

use crate::proxies::TrustedProxies;

/// The limits that every connection is held to. All times are in milliseconds.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// How long a request head may take from its first byte; the first head of a connection
    /// counts from the accept, so that silence and the TLS handshake are bounded too. Default
    /// 10,000.
    pub header_timeout_ms: u32,
    /// How long a connection may rest between two requests. Longer than the 60 s after which
    /// common load balancers drop an idle connection, so that they close first. Default 75,000.
    pub idle_timeout_ms: u32,
    /// The least average of a request body. Default 1,024.
    pub body_floor_bytes_per_s: u32,
    /// The window over which the average of a request body is taken; also what a stalled body is
    /// granted. Default 8,000.
    pub body_grace_ms: u32,
    /// The least average at which a caller must take answers. Default 1,024.
    pub write_floor_bytes_per_s: u32,
    /// The window over which that average is taken. Default 8,000.
    pub write_grace_ms: u32,
    /// How long the peer may leave sent data unacknowledged or its window shut before the kernel
    /// drops the connection, also one that is already closed on our side. Default 12,000.
    pub stall_timeout_ms: u32,
    /// How long we wait for the peer's end after we have closed ours, discarding what still
    /// arrives: an early refusal reaches a caller who is still sending. Default 3,000.
    pub close_timeout_ms: u32,
    /// How many connections may be open at once; further ones get a bare 503. Default 10,000.
    pub connections_max: usize,
    /// How many of these may come from one address, or one /64 of IPv6; further ones get a bare
    /// 503; 0 is no limit. Default 1,000.
    pub connections_per_address_max: usize,
    /// Whether that holds for loopback addresses too, behind which a proxy on the same machine has
    /// all of its callers. Default no.
    pub caps_loopback: bool,
    /// Proxies, whose connections are those of many callers and are not counted by address.
    /// Default none.
    pub trusted_proxies: TrustedProxies,
    /// The largest request head in bytes (431 above it). At least 8,192. hyper answers 414 for a
    /// target of more than 65,534 bytes when the whole head fits in here. Default 98,304.
    pub header_bytes_max: usize,
    /// The most header fields of a request (431 above it). Default 100.
    pub headers_max: usize,
    /// How many HTTP/2 requests one connection may have open. Default 100.
    pub streams_max: u32,
    /// How long connections are still accepted after the signal to stop, each answer being the
    /// last of its connection: time for those who balance loads to hear of it. Default 0, which is
    /// a tenth of a second while connections are open.
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
    /// What a request body is held to.
    pub fn body_floor(&self) -> Floor {
        Floor { bytes_per_s: self.body_floor_bytes_per_s, grace_ms: self.body_grace_ms }
    }

    /// What the taking of answers is held to.
    pub(super) fn write_floor(&self) -> Floor {
        Floor { bytes_per_s: self.write_floor_bytes_per_s, grace_ms: self.write_grace_ms }
    }

    /// How often the connections are looked at: often enough that a limit is overrun by a
    /// quarter at most, and never more than 0.5 s.
    pub(super) fn tick(&self) -> Duration {
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

/// A least average: in every window of `grace_ms`, `bytes_per_s` must have come through.
#[derive(Debug, Clone, Copy)]
pub struct Floor {
    /// The least average in bytes per second.
    pub bytes_per_s: u32,
    /// The window in milliseconds.
    pub grace_ms: u32,
}

impl Floor {
    /// The length of a window.
    pub(super) fn window(self) -> Duration {
        milliseconds(self.grace_ms)
    }

    /// What must come through in one window; never nothing.
    pub(super) fn bytes_per_window(self) -> u64 {
        (u64::from(self.bytes_per_s) * u64::from(self.grace_ms) / 1_000).max(1)
    }
}

/// A setting as a duration.
pub(super) fn milliseconds(value: u32) -> Duration {
    Duration::from_millis(u64::from(value))
}
