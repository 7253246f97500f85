//! The query of an import.

use roster_core::{Capped, Mode, OnConflict};

use crate::{
    extract::{Parameter, parameters},
    problem::{Fault, Problem, ProblemCode},
};

/// How the lines of an import are carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ImportQuery {
    pub(super) on_conflict: OnConflict,
    pub(super) mode: Mode,
}

impl ImportQuery {
    pub(super) fn read(query: Option<&str>) -> Result<Self, Problem> {
        let given = parameters(query)?;
        let mut read = Self::default();
        let mut faults = Capped::default();
        for (index, parameter) in given.iter().enumerate() {
            let name = parameter.name.as_ref();
            let taken = if given.iter().take(index).any(|before| before.name == parameter.name) {
                Err(("duplicate-parameter", "give this parameter once"))
            } else {
                read.take(parameter)
            };
            if let Err((code, detail)) = taken {
                faults.push(|| Fault::of_parameter(name, code, detail));
            }
        }
        if faults.is_empty() {
            return Ok(read);
        }
        Err(Problem::listing(ProblemCode::InvalidQuery, "parameter", faults))
    }

    fn take(&mut self, parameter: &Parameter<'_>) -> Result<(), (&'static str, &'static str)> {
        match (parameter.name.as_ref(), parameter.value().as_ref()) {
            ("on_conflict", "fail") => self.on_conflict = OnConflict::Fail,
            ("on_conflict", "skip") => self.on_conflict = OnConflict::Skip,
            ("on_conflict", "replace") => self.on_conflict = OnConflict::Replace,
            ("on_conflict", _) => return Err(("invalid-value", "give fail, skip or replace")),
            ("dry_run", "true") => self.mode = Mode::DryRun,
            ("dry_run", "false") => self.mode = Mode::Write,
            ("dry_run", _) => return Err(("invalid-value", "give true or false")),
            _ => return Err(("unknown-parameter", "there is no such parameter")),
        }
        Ok(())
    }
}
