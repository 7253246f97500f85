//! `roster man`: writes the man pages of the program and of each command.
//!
//! Names, synopses and options come from the definition of the command line. What the definition
//! does not contain, such as files and exit statuses, is here.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::builder::PossibleValue;
use clap::{Arg, Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};

use super::Cli;
use super::groups::{GROUPS, Group};
use crate::config::EXIT_CONFIG;

/// The exit statuses of commands that work on a store or on settings.
const STATUSES: [(u8, &str); 4] = [
    (0, "Success."),
    (1, "Any other error; also if a check finds faults, or the service is not ready."),
    (2, "The command line is not valid."),
    (EXIT_CONFIG, "The settings are not valid. All errors are listed."),
];

/// Files, and what they contain.
const PROFILES: (&str, &str) = (
    "~/.config/roster/profiles.toml",
    "The services that you logged in to, with their keys. Nobody else may read it. XDG_CONFIG_HOME \
     replaces ~/.config.",
);
const SETTINGS: (&str, &str) = (
    "/etc/roster/roster.toml",
    "The settings of the service that the Debian package runs. Another service reads the file of \
     --config or ROSTER_CONFIG.",
);

/// Variables of commands that ask a service.
const VARIABLES: &str = "Without the flag, --url comes from ROSTER_URL, --profile from \
    ROSTER_PROFILE, --key-file from ROSTER_KEY_FILE and --tenant from ROSTER_TENANT. NO_COLOR \
    switches colours off.";
const SETTING_VARIABLES: &str = "Each setting has a variable, which its option names. The flag \
    counts more than the variable, and the variable more than the file.";

/// Writes a page for each command.
pub(super) fn run(directory: &Path) -> anyhow::Result<ExitCode> {
    fs::create_dir_all(directory)
        .with_context(|| format!("{} cannot be created", directory.display()))?;
    for (name, page) in pages()? {
        let file = directory.join(name);
        fs::write(&file, page).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// All pages, with the names of their files.
fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let mut pages = vec![(file_name(&program), program_page(&program)?)];
    for command in shown(&program) {
        let group = Group::of(command);
        let mut open = vec![(command, &program)];
        while let Some((command, parent)) = open.pop() {
            pages.push((file_name(command), command_page(command, parent, group)?));
            open.extend(shown(command).map(|below| (below, command)));
        }
    }
    Ok(pages)
}

fn program_page(program: &Command) -> io::Result<Vec<u8>> {
    let mut page = start(program)?;
    let mut roff = Roff::new();
    for group in GROUPS {
        roff.control("SH", [group.heading().to_uppercase().as_str()]);
        list(&mut roff, group.members(program));
    }
    let statuses = &roster_cli::exit::ALL;
    finish(&mut roff, &[VARIABLES, SETTING_VARIABLES], &[PROFILES, SETTINGS], statuses);
    let grouped = GROUPS.iter().flat_map(|group| group.members(program));
    see_also(&mut roff, grouped.map(page_name));
    roff.to_writer(&mut page)?;
    Ok(page)
}

fn command_page(command: &Command, parent: &Command, group: Group) -> io::Result<Vec<u8>> {
    let mut page = start(command)?;
    let mut roff = Roff::new();
    if shown(command).count() > 0 {
        roff.control("SH", ["COMMANDS"]);
        list(&mut roff, shown(command));
    }
    let takes = |flag: &str| command.get_arguments().any(|argument| argument.get_id() == flag);
    let mut variables = Vec::new();
    let mut files = Vec::new();
    if takes("url") {
        variables.push(VARIABLES);
        files.push(PROFILES);
    }
    if takes("listen") {
        variables.push(SETTING_VARIABLES);
        files.push(SETTINGS);
    }
    let statuses = match group {
        Group::Ask => &roster_cli::exit::ALL[..],
        Group::Run => &STATUSES[..],
        Group::Other => &STATUSES[..3],
    };
    finish(&mut roff, &variables, &files, statuses);
    let siblings = shown(parent).filter(|other| other.get_name() != command.get_name());
    let near = if parent.get_name() == "roster" { Vec::new() } else { siblings.collect() };
    let near = near.into_iter().chain(shown(command));
    see_also(&mut roff, std::iter::once(parent).chain(near).map(page_name));
    roff.to_writer(&mut page)?;
    Ok(page)
}

/// What the definition contains: name, synopsis, description and options.
fn start(command: &Command) -> io::Result<Vec<u8>> {
    let mut command = command.clone();
    // The one of clap_mangen lists all options, which are a hundred of `roster serve`.
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    let command = command.override_usage(usage).mut_args(with_values);
    let source = concat!("roster ", env!("CARGO_PKG_VERSION"));
    // Without the blank, the arguments after the date would take its place.
    let man = Man::new(command.clone()).date(" ").source(source).manual("Roster");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    // Names of options and variables are not divided at the end of a line.
    let mut roff = Roff::new();
    roff.control("nh", []).control("ad", ["l"]);
    roff.to_writer(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_after_help().is_some() {
        let mut roff = Roff::new();
        examples(&mut roff, &command);
        roff.to_writer(&mut page)?;
    }
    Ok(page)
}

/// The flag with its possible values in its text, as in the help, instead of a list of them.
fn with_values(flag: Arg) -> Arg {
    let values = flag.get_possible_values();
    let is_plain = values.iter().all(|value| value.get_help().is_none());
    let takes_values = flag.get_num_args().is_some_and(|number| number.takes_values());
    if values.is_empty() || !is_plain || !takes_values {
        return flag;
    }
    let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
    let text = flag.get_help().map(ToString::to_string).unwrap_or_default();
    let text = format!("{text} [possible values: {}]", names.join(", "));
    flag.help(text).hide_possible_values(true)
}

/// The examples of the help, as they are.
fn examples(roff: &mut Roff, command: &Command) {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    roff.control("SH", ["EXAMPLES"]);
    roff.control("nf", []);
    for line in text.lines().skip(1) {
        roff.text([roman(line.trim_start())]);
    }
    roff.control("fi", []);
}

/// The commands with what they do.
fn list<'a>(roff: &mut Roff, commands: impl Iterator<Item = &'a Command>) {
    for command in commands {
        roff.control("TP", []);
        roff.text([bold(page_name(command)), roman("(1)")]);
        roff.text([roman(command.get_about().map(ToString::to_string).unwrap_or_default())]);
    }
}

/// The sections that are the same for many commands.
fn finish(roff: &mut Roff, variables: &[&str], files: &[(&str, &str)], statuses: &[(u8, &str)]) {
    if !variables.is_empty() {
        roff.control("SH", ["ENVIRONMENT"]);
    }
    for text in variables {
        roff.control("PP", []);
        roff.text([roman(*text)]);
    }
    if !files.is_empty() {
        roff.control("SH", ["FILES"]);
    }
    for (name, text) in files {
        roff.control("TP", []);
        roff.text([italic(*name)]);
        roff.text([roman(*text)]);
    }
    roff.control("SH", ["EXIT STATUS"]);
    for (status, text) in statuses {
        roff.control("TP", []);
        roff.text([bold(status.to_string())]);
        roff.text([roman(*text)]);
    }
}

fn see_also(roff: &mut Roff, names: impl Iterator<Item = String>) {
    roff.control("SH", ["SEE ALSO"]);
    let mut texts = Vec::new();
    for name in names {
        if !texts.is_empty() {
            texts.push(roman(", "));
        }
        texts.extend([bold(name), roman("(1)")]);
    }
    roff.text(texts);
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set())
}

/// `roster-users-list`.
fn page_name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

fn file_name(command: &Command) -> String {
    format!("{}.1", page_name(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_page_with_its_options() {
        let pages = pages().unwrap();
        let page = |name: &str| {
            let (_, page) = pages.iter().find(|(file, _)| file == name).unwrap();
            String::from_utf8(page.clone()).unwrap()
        };
        for section in ["ASK A SERVICE", "ENVIRONMENT", "FILES", "EXIT STATUS", "SEE ALSO"] {
            assert!(page("roster.1").contains(section), "{section}");
        }
        let list = page("roster-users-list.1");
        for text in [r"\-\-filter", r"\-\-key\-file", "ROSTER_URL", "profiles.toml"] {
            assert!(list.contains(text), "{text}");
        }
        let serve = page("roster-serve.1");
        for text in [r"\-\-listen", "ROSTER_LISTEN", "/etc/roster/roster.toml", "78"] {
            assert!(serve.contains(text), "{text}");
        }
        assert!(!pages.iter().any(|(file, _)| file.contains("help")));
    }
}
