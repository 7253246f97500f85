//! The commands that ask a running service: its clients in a shell.
//!
//! Data goes to stdout; everything else, such as what to do next, to stderr. [`exit`] has the exit
//! statuses. A key is read from a file or without an echo, and never from the command line or a
//! variable.
#![allow(rustdoc::bare_urls, reason = "the comments of flags are their help")]

mod ask;
mod assign;
mod connection;
mod deleted_users;
mod environment;
mod events;
mod export;
mod failure;
mod find;
mod groups;
mod history;
mod import;
mod interrupt;
mod keys;
mod lines;
mod login;
mod matching;
mod output;
mod profiles;
mod progress;
mod records;
mod resource_flags;
mod schema;
mod strict_json;
mod table;
mod tenants;
mod text;
mod users;
mod webhooks;

use std::process::ExitCode;

use clap::Subcommand;

pub use connection::Remote;
pub use environment::VARIABLES;
pub use failure::{Failure, exit};
pub use import::ImportFlags;
pub use keys::{Days, Keys, KeysFlags, NewKey, SCOPES};
pub use output::Record;
pub use progress::Progress;
pub use text::{print, printable, say};

use failure::Outcome;
use resource_flags::ResourceFlags;

/// The commands that ask a service.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Store the URL and the key of a service, for the commands that ask it
    ///
    /// Asks for the key without showing it, or reads it from --key-file. The profile is stored in
    /// the configuration directory of this user, who alone can read it. The last service that
    /// you logged in to is asked; --profile names another one.
    Login(login::LoginFlags),
    /// Remove the stored key of a service
    Logout(login::LogoutFlags),
    /// Show which service is asked, and what the key permits
    Whoami(login::WhoamiFlags),
    /// List, get, create, change, delete, restore and purge users
    #[command(alias = "user", subcommand_required = true, arg_required_else_help = true)]
    Users(ResourceFlags<users::Act>),
    /// List and get deleted users
    #[command(visible_alias = "deleted", alias = "deleted-user")]
    #[command(subcommand_required = true, arg_required_else_help = true)]
    DeletedUsers(ResourceFlags<deleted_users::Act>),
    /// List, get, create, change and delete groups, and change their members
    #[command(alias = "group", subcommand_required = true, arg_required_else_help = true)]
    Groups(ResourceFlags<groups::Act>),
    /// List, get, create, change, delete, restore and purge tenants
    ///
    /// A tenant is a directory of its own within the service. These commands need a key for all
    /// tenants.
    #[command(alias = "tenant", subcommand_required = true, arg_required_else_help = true)]
    Tenants(ResourceFlags<tenants::Act>),
    /// List, get, create, change, test and delete webhooks, to which the service sends changes
    #[command(alias = "webhook", subcommand_required = true, arg_required_else_help = true)]
    Webhooks(ResourceFlags<webhooks::Act>),
    /// Show and change the schema of users: what the members of attributes may be
    #[command(alias = "schemas", subcommand_required = true, arg_required_else_help = true)]
    Schema(ResourceFlags<schema::Act>),
    /// Show the last changes, or follow them
    ///
    /// The change log has every change of users and groups and, for keys that may read them, of
    /// keys, tenants, webhooks and the policy. Once it has reached the service, --follow waits
    /// while that restarts or cannot be reached, and goes on where it was: no event is lost, and
    /// none comes twice.
    #[command(alias = "event", alias = "log")]
    Events(events::EventsFlags),
    /// Write all users, groups or deleted users into a file
    ///
    /// The file gets its name once it is complete. The format is that of its name, NDJSON or CSV;
    /// an export of users can be imported. A spreadsheet opens CSV that is written with --bom.
    Export(export::ExportFlags),
    /// Undo the last change of a user, or all changes of a request
    ///
    /// Users that were changed again since then stay as they are.
    Undo(history::UndoFlags),
}

/// Runs a command, and returns its exit status.
#[must_use]
pub fn run(command: Command) -> ExitCode {
    finish(execute(command))
}

/// Imports a file into a service, and returns the exit status.
#[must_use]
pub fn import(flags: ImportFlags) -> ExitCode {
    finish(import::run(flags))
}

/// Runs `roster keys` on the service that is named, or else on this store, which gets the tenant
/// that is named. `names_store` says whether flags name the store.
#[must_use]
pub fn keys<K: Keys>(
    flags: KeysFlags,
    names_store: bool,
    store: impl FnOnce(Option<String>) -> K,
) -> ExitCode {
    finish(keys::run(flags, names_store, store))
}

fn finish(command: impl Future<Output = Outcome>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            say(&format!("error: threads cannot be started: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(command);
    // A thread may still wait for stdin.
    runtime.shutdown_background();
    failure::report(outcome)
}

async fn execute(command: Command) -> Outcome {
    match command {
        Command::Login(flags) => login::login(flags).await,
        Command::Logout(flags) => login::logout(&flags),
        Command::Whoami(flags) => login::whoami(flags).await,
        Command::Users(flags) => users::run(flags).await,
        Command::DeletedUsers(flags) => deleted_users::run(flags).await,
        Command::Groups(flags) => groups::run(flags).await,
        Command::Tenants(flags) => tenants::run(flags).await,
        Command::Webhooks(flags) => webhooks::run(flags).await,
        Command::Schema(flags) => schema::run(flags).await,
        Command::Events(flags) => events::run(flags).await,
        Command::Export(flags) => export::run(flags).await,
        Command::Undo(flags) => history::undo(flags).await,
    }
}
