//! The protocols of a supervisor such as systemd: the listening socket and notifications.
//!
//! A supervisor that keeps the listening socket passes it to each process (`LISTEN_FDS`,
//! `LISTEN_PID`), so no connection between two processes is rejected. It is notified when the
//! service accepts connections and when it stops (`NOTIFY_SOCKET`). These variables belong to a
//! protocol. They are not settings, and the crates that implement the protocol read them. Without a
//! supervisor this module does nothing. It does not know what the socket is used for.

use std::net::TcpListener;

use anyhow::{Context, bail};
use listenfd::ListenFd;
use sd_notify::{NotifyState, notify};
use tokio::task::spawn_blocking;

/// The supervisor's socket, if there is one. Call once, while the process has one thread: this
/// removes the variables from the environment.
pub(super) fn socket() -> anyhow::Result<Option<TcpListener>> {
    let mut handed = ListenFd::from_env();
    if handed.len() > 1 {
        bail!("the supervisor passes {} sockets, but Roster listens on one", handed.len());
    }
    let socket = handed.take_tcp_listener(0);
    let socket = socket.context("the supervisor's socket is not a TCP socket that listens")?;
    if let Some(socket) = &socket {
        socket.set_nonblocking(true).context("the supervisor's socket cannot be used")?;
    }
    Ok(socket)
}

/// Notifies the supervisor that connections are accepted.
pub(super) fn notify_ready() {
    send(NotifyState::Ready);
}

/// Notifies the supervisor that the service stops.
pub(super) fn notify_stopping() {
    send(NotifyState::Stopping);
}

/// Notifies on a separate thread, because it blocks while the supervisor's socket is full. The
/// service does not need a supervisor that reads.
fn send(state: NotifyState<'static>) {
    drop(spawn_blocking(move || {
        if let Err(error) = notify(&[state]) {
            tracing::warn!(%error, "the supervisor cannot be notified");
        }
    }));
}
