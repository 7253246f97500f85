//! What the supervisor of this process, as systemd, hands over and is told.
//!
//! A supervisor that keeps the listening socket hands it to each process in turn (`LISTEN_FDS`,
//! `LISTEN_PID`), so that nobody who comes between two of them is refused. It is told when the
//! service takes connections and when it stops (`NOTIFY_SOCKET`). These three variables are a
//! protocol, no settings, and read by the crates that speak it. Without a supervisor nothing here
//! does anything. It must not know what the socket is for.

use std::net::TcpListener;

use anyhow::{Context, bail};
use listenfd::ListenFd;
use sd_notify::{NotifyState, notify};
use tokio::task::spawn_blocking;

/// The socket that was handed over, if one was. To be asked once, while there is one thread: what
/// was taken is taken out of the environment too.
pub(super) fn socket() -> anyhow::Result<Option<TcpListener>> {
    let mut handed = ListenFd::from_env();
    if handed.len() > 1 {
        bail!("the supervisor hands over {} sockets, but Roster listens on one", handed.len());
    }
    let socket = handed.take_tcp_listener(0);
    let socket = socket.context("the supervisor's socket is none that Roster can listen on")?;
    if let Some(socket) = &socket {
        socket.set_nonblocking(true).context("the supervisor's socket cannot be used")?;
    }
    Ok(socket)
}

/// Tells that connections are taken.
pub(super) fn tell_ready() {
    tell(NotifyState::Ready);
}

/// Tells that the service stops.
pub(super) fn tell_stopping() {
    tell(NotifyState::Stopping);
}

/// A supervisor that does not listen is no reason not to serve: where its socket is full, telling
/// takes as long as it does not read, on a thread that nobody waits for.
fn tell(state: NotifyState<'static>) {
    drop(spawn_blocking(move || {
        if let Err(error) = notify(&[state]) {
            tracing::warn!(%error, "the supervisor cannot be told how the service is");
        }
    }));
}
