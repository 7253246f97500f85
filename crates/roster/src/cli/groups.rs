//! The groups of commands in the help of the program.
//!
//! clap lists all commands below one heading. Here the group of a command follows from its
//! definition, so that no second list of commands can differ from the first.

use std::fmt::Write as _;

use clap::builder::{StyledStr, Styles};
use clap::{Command, Subcommand as _};

use super::Other;

/// The groups, in the order of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Ask,
    Run,
    Other,
}

pub(super) const GROUPS: [Group; 3] = [Group::Ask, Group::Run, Group::Other];

impl Group {
    /// The group of a command: it asks a service if it belongs to the client or takes --url.
    pub(super) fn of(command: &Command) -> Self {
        let name = command.get_name();
        let takes_url = command.get_arguments().any(|flag| flag.get_id() == "url");
        if takes_url || roster_cli::Command::has_subcommand(name) {
            Self::Ask
        } else if name == "help" || Other::has_subcommand(name) {
            Self::Other
        } else {
            Self::Run
        }
    }

    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::Ask => "Ask a service",
            Self::Run => "Run a service",
            Self::Other => "Other",
        }
    }

    /// The commands of this group that the help shows.
    pub(super) fn members(self, program: &Command) -> impl Iterator<Item = &Command> {
        let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
        shown.filter(move |command| Self::of(command) == self)
    }
}

/// The template of the program's help, with its commands in groups.
pub(super) fn template() -> StyledStr {
    let program = super::Command::augment_subcommands(Command::new("roster"));
    let help = Command::new("help").about("Show this help, or the help of a command");
    let program = program.subcommand(help);
    let header = *Styles::styled().get_header();
    let literal = *Styles::styled().get_literal();
    let names = program.get_subcommands().filter(|command| !command.is_hide_set());
    let width = names.map(|command| command.get_name().len()).max().unwrap_or_default();
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for group in GROUPS {
        writeln!(text, "\n{header}{}:{header:#}", group.heading()).unwrap_or_default();
        for command in group.members(&program) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let name = command.get_name();
            writeln!(text, "  {literal}{name:width$}{literal:#}  {about}").unwrap_or_default();
        }
    }
    write!(text, "\n{header}Options:{header:#}\n{{options}}{{after-help}}").unwrap_or_default();
    StyledStr::from(text)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_command_is_in_exactly_one_group_of_the_help() {
        let mut program = super::super::Cli::command();
        program.build();
        let help = program.render_help().to_string();
        for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
            let line = format!("\n  {} ", command.get_name());
            assert_eq!(help.matches(&line).count(), 1, "{}", command.get_name());
        }
        for group in GROUPS {
            assert!(help.contains(&format!("\n{}:\n", group.heading())), "{group:?}");
            assert!(group.members(&program).count() > 0, "{group:?}");
        }
        let named = |name: &str| Group::of(program.find_subcommand(name).unwrap());
        assert_eq!(named("login"), Group::Ask);
        assert_eq!(named("serve"), Group::Run);
        assert_eq!(named("version"), Group::Other);
    }
}
