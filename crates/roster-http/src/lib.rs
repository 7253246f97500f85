//! The faces of Roster over HTTP.
//!
//! What arrives at a socket is turned into calls of the directory, and its outcomes into answers.
//! This crate must not know how anything is stored, nor where settings come from.

pub mod body;
pub mod front;
