//! Reading groups, their members, and the groups of users.
//!
//! A page takes several statements, which are read in one snapshot on a connection of their own; a
//! single group and the groups of users are one statement each.

pub(crate) mod members;
pub(crate) mod page;
pub(crate) mod single;

pub(crate) use single::{DIRECT, GroupsOfUsers, OneGroup};

use roster_core::{Group, StoreError, Stored};
use tokio_postgres::Row;

use crate::columns::{column, corrupt, id_column, record_column};

/// A group of a row whose columns from that one on are id, version and record.
pub(crate) fn stored_at(row: &Row, first: usize) -> Result<Stored, StoreError> {
    let id = id_column(row, first, "groups.id")?;
    let version = column(row, first + 1, "groups.version")?;
    let record = record_column(row, first + 2, "groups.record")?;
    Ok(Stored { id, version, record })
}

/// The group of a stored record.
pub(crate) fn group_of(stored: &Stored) -> Result<Group, StoreError> {
    Group::from_record(&stored.record)
        .map_err(|fault| corrupt(&format!("groups.record of {}, {}", stored.id, fault.member)))
}
