//! The query of an import.

use roster_core::{Mode, OnConflict};

use crate::{
    extract::{invalid, read_each, unknown},
    problem::Problem,
};

/// How the lines of an import are executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ImportQuery {
    pub(super) on_conflict: OnConflict,
    pub(super) mode: Mode,
}

impl ImportQuery {
    pub(super) fn read(query: Option<&str>) -> Result<Self, Problem> {
        let mut read = Self::default();
        read_each(query, |parameter| {
            match (parameter.name.as_ref(), parameter.value().as_ref()) {
                ("on_conflict", "fail") => read.on_conflict = OnConflict::Fail,
                ("on_conflict", "skip") => read.on_conflict = OnConflict::Skip,
                ("on_conflict", "replace") => read.on_conflict = OnConflict::Replace,
                ("on_conflict", _) => return Err(invalid("give fail, skip or replace")),
                ("dry_run", "true") => read.mode = Mode::DryRun,
                ("dry_run", "false") => read.mode = Mode::Write,
                ("dry_run", _) => return Err(invalid("give true or false")),
                _ => return Err(unknown()),
            }
            Ok(())
        })?;
        Ok(read)
    }
}
