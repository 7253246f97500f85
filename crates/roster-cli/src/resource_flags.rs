//! The flags that all commands of a resource have.

use clap::{Args, Subcommand};

use crate::connection::Remote;
use crate::output::Output;

/// A command of a resource, the service that it asks, and the form of its output.
#[derive(Debug, Args)]
pub struct ResourceFlags<A: Subcommand> {
    #[command(subcommand)]
    pub(crate) act: A,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) remote: Remote,
}
