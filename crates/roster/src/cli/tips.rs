//! Tips for command lines that other programs would accept, below the error that refuses them.
//!
//! clap suggests the flag or command whose name is similar. These are the ones whose names are not.

use clap::error::{ContextKind, ContextValue, Error};
use clap::{Command, CommandFactory as _};

use super::Cli;

/// A tip, and the commands that it is for.
struct Tip {
    /// The flags, commands or values that were not accepted; `:` is for a port or an address.
    given: &'static [&'static str],
    /// A flag that the command takes. The program itself takes none.
    takes: Option<&'static str>,
    text: &'static str,
}

const PORTS: &[&str] =
    &["--port", "-p", "--host", "--bind", "--address", "--addr", "--server", ":"];
const KEYS: &[&str] = &["--key", "--api-key", "--token", "--password", "-k"];

/// The first tip that fits is shown.
const TIPS: &[Tip] = &[
    Tip {
        given: PORTS,
        takes: Some("listen"),
        text: "use --listen ADDRESS:PORT, such as --listen 127.0.0.1:8080",
    },
    Tip {
        given: PORTS,
        takes: Some("url"),
        text: "use --url, such as --url :9000 or --url https://directory.example.com; --profile \
               NAME is a service that you logged in to",
    },
    Tip {
        given: PORTS,
        takes: None,
        text: "the command comes first: roster serve --listen 127.0.0.1:9000, or roster users list \
               --url :9000",
    },
    Tip {
        given: &["--url", "--profile", "--key-file", "--tenant", "--output", "-o"],
        takes: None,
        text: "the command comes first, such as roster users list --url :9000 --output json",
    },
    Tip {
        given: &["--data", "--database", "--listen", "--config", "--dev"],
        takes: None,
        text: "the command comes first, such as roster serve --data DIR",
    },
    Tip {
        given: KEYS,
        takes: Some("key_file"),
        text: "use --key-file FILE, or store the key by roster login: other users of this machine \
               can read a command line",
    },
    Tip {
        given: &["--json", "--csv", "--ndjson", "--format", "-f"],
        takes: Some("output"),
        text: "use -o json, -o ndjson or -o csv",
    },
    Tip {
        given: &["ls", "list", "show", "find", "search"],
        takes: None,
        text: "use roster users list, or roster users list WORD to find some",
    },
    Tip { given: &["get", "view"], takes: None, text: "use roster users get USER" },
    Tip { given: &["create", "add", "new"], takes: None, text: "use roster users create" },
    Tip {
        given: &["set", "update", "edit"],
        takes: None,
        text: "use roster users set USER MEMBER=VALUE",
    },
    Tip { given: &["delete", "rm", "remove"], takes: None, text: "use roster users delete USER" },
    Tip {
        given: &["start", "run", "server", "daemon", "up"],
        takes: None,
        text: "use roster serve, or roster serve --dev for sample users",
    },
    Tip { given: &["status", "ping", "ready"], takes: None, text: "use roster health" },
    Tip { given: &["config", "settings"], takes: None, text: "use roster check-config" },
    Tip { given: &["init", "setup"], takes: None, text: "use roster serve: it creates its data" },
];

/// Adds the tip for what was refused, if there is one.
pub(super) fn with_tip(mut error: Error) -> Error {
    let refused = [ContextKind::InvalidArg, ContextKind::InvalidSubcommand];
    let Some(given) = refused.iter().find_map(|kind| error.get(*kind)) else { return error };
    let given = given.to_string();
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    let mut program = Cli::command();
    program.build();
    let command = command(&program, &usage);
    if let Some(text) = tip(&given, command) {
        // A similar name, which is also in the usage, is not what was meant.
        for kind in [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand] {
            error.remove(kind);
        }
        let usage = command.clone().render_usage();
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
        let text = ContextValue::StyledStrs(vec![text.into()]);
        error.insert(ContextKind::Suggested, text);
    }
    error
}

/// The command whose usage this is.
fn command<'a>(program: &'a Command, usage: &str) -> &'a Command {
    let words = usage.split_whitespace().skip_while(|word| *word != program.get_name()).skip(1);
    let mut command = program;
    for word in words {
        let Some(next) = command.find_subcommand(word) else { break };
        command = next;
    }
    command
}

fn tip(given: &str, command: &Command) -> Option<&'static str> {
    let is_program = command.get_name() == "roster";
    let takes = |flag: &str| command.get_arguments().any(|argument| argument.get_id() == flag);
    let fits = |tip: &&Tip| {
        let is_given =
            tip.given.contains(&given) || (tip.given.contains(&":") && is_address(given));
        is_given && tip.takes.map_or(is_program, takes)
    };
    TIPS.iter().find(fits).map(|tip| tip.text)
}

/// Whether it is a port, or ends with one: `:8080`, `8080`, `localhost:8080`.
fn is_address(text: &str) -> bool {
    let port = text.rsplit(':').next().unwrap_or_default();
    !text.starts_with('-') && port.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn refused(line: &str) -> String {
        let error = Cli::try_parse_from(line.split_whitespace()).unwrap_err();
        with_tip(error).to_string()
    }

    #[test]
    fn a_line_that_others_accept_gets_a_tip() {
        for (line, tip) in [
            ("roster --port 9000", "roster serve --listen 127.0.0.1:9000"),
            ("roster :9000", "roster serve --listen 127.0.0.1:9000"),
            ("roster serve --port 9000", "use --listen ADDRESS:PORT"),
            ("roster serve -p 9000", "use --listen ADDRESS:PORT"),
            ("roster serve :8080", "use --listen ADDRESS:PORT"),
            ("roster serve localhost:8080", "use --listen ADDRESS:PORT"),
            ("roster health 8080", "use --listen ADDRESS:PORT"),
            ("roster check-config --host 0.0.0.0", "use --listen ADDRESS:PORT"),
            ("roster users list --port 9000", "use --url, such as --url :9000"),
            ("roster users list -p 9000", "use --url, such as --url :9000"),
            ("roster users --port 9000 list", "use --url, such as --url :9000"),
            ("roster whoami :9000", "use --url, such as --url :9000"),
            ("roster users list --json", "use -o json"),
            ("roster user ls --csv", "or -o csv"),
            ("roster users list --key rk_1", "use --key-file FILE"),
            ("roster --url :9000 users list", "the command comes first"),
            ("roster --data x serve", "the command comes first"),
            ("roster ls", "use roster users list"),
            ("roster get ada", "use roster users get USER"),
            ("roster start", "use roster serve"),
            ("roster status", "use roster health"),
        ] {
            let refused = refused(line);
            assert_eq!(refused.matches("tip: ").count(), 1, "{line}: {refused}");
            assert!(refused.contains(tip), "{line}: {refused}");
        }
    }

    #[test]
    fn a_mistyped_name_gets_the_similar_one() {
        assert!(refused("roster usres list").contains("'users'"));
        assert!(refused("roster users list --prfile x").contains("'--profile'"));
        assert!(!refused("roster users get --frobnicate").contains("tip: use"));
    }

    #[test]
    fn short_forms_are_accepted() {
        for line in ["roster users list", "roster user ls", "roster users list :9000"] {
            Cli::try_parse_from(line.split_whitespace()).unwrap();
        }
    }

    #[test]
    fn each_tip_names_a_flag_that_exists() {
        let mut program = Cli::command();
        program.build();
        let takes = |command: &Command, flag: &str| {
            command.get_arguments().any(|argument| argument.get_id() == flag)
        };
        for flag in TIPS.iter().filter_map(|tip| tip.takes) {
            let mut commands = program.get_subcommands();
            assert!(commands.any(|command| takes(command, flag)), "{flag}");
        }
    }
}
