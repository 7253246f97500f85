//! Questions to the person at the terminal.

use std::io::{self, IsTerminal as _, Write as _};

use crate::failure::{Failure, exit};

/// Asks whether to go on. Without a terminal the answer must be given by `--yes`.
pub(crate) fn confirm(question: &str, is_yes: bool) -> Result<(), Failure> {
    if is_yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::usage(format!("there is no terminal to ask: {question}"))
            .next("--yes confirms it, --dry-run shows what would change"));
    }
    write!(io::stderr().lock(), "{question} [y/N] ").and_then(|()| io::stderr().flush())?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    if matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(Failure::new(exit::OTHER, "nothing was changed"))
}
