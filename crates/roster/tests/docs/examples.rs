//! The curl examples of a document: `console` blocks of `$ curl` lines with their responses.

use crate::answer::{Words, folded};
use roster_testkit::process::{Place, Process};

use crate::service::output;

/// A document, split at its examples.
pub(crate) struct Examples {
    parts: Vec<Part>,
}

enum Part {
    /// Text that is not an example.
    Prose(String),
    /// A command, possibly on several lines, and the response in the document.
    Example { command: String, told: String },
}

/// The result of running the examples.
pub(crate) struct Outcome {
    /// The number of examples.
    pub(crate) count: usize,
    /// The first difference between the document and the run.
    pub(crate) difference: Option<String>,
    /// The document, with the responses of this run where they differ.
    pub(crate) text: String,
}

impl Examples {
    /// Splits a document.
    pub(crate) fn of(document: &str) -> Self {
        let mut parts = vec![Part::Prose(String::new())];
        let mut inside = false;
        let mut continued = false;
        for line in document.split_inclusive('\n') {
            if line.starts_with("```") {
                inside = !inside && line.trim_end() == "```console";
                parts.push(Part::Prose(line.to_owned()));
                continue;
            }
            if inside && line.starts_with("$ ") {
                let known = ["$ curl ", "$ jq ", "$ python3 ", "$ roster ", "$ printf "];
                let known = known.iter().any(|one| line.starts_with(one));
                assert!(known, "this does not run in a console block: {line}");
                parts.push(Part::Example { command: String::new(), told: String::new() });
                continued = true;
            }
            match parts.last_mut() {
                Some(Part::Example { command, .. }) if continued => {
                    command.push_str(line);
                    continued = goes_on(command);
                }
                Some(Part::Example { told, .. }) => told.push_str(line),
                Some(Part::Prose(text)) => text.push_str(line),
                None => {}
            }
        }
        Self { parts }
    }

    /// Runs the examples in order.
    pub(crate) fn run(self, place: &Place, service: &Process) -> Outcome {
        let mut words = Words::default();
        let mut outcome = Outcome { count: 0, difference: None, text: String::new() };
        for part in self.parts {
            match part {
                Part::Prose(text) => outcome.text.push_str(&text),
                Part::Example { command, told } => {
                    outcome.count += 1;
                    let line = command.trim_start_matches("$ ").trim_end();
                    let answer = output(place, service, &words.translated(line));
                    let is_table = line.starts_with("roster ");
                    let difference = if is_table {
                        words.compare_text(&told, &answer)
                    } else {
                        words.compare(&told, &answer)
                    };
                    outcome.text.push_str(&command);
                    if let Some(difference) = difference {
                        let again = words.told_again(&answer);
                        outcome.text.push_str(&if is_table { again } else { folded(&again) });
                        let report = format!("$ {line}\n{difference}\nanswered:\n{answer}");
                        outcome.difference.get_or_insert(report);
                    } else {
                        outcome.text.push_str(&told);
                    }
                }
            }
        }
        outcome
    }
}

/// Whether a command continues on the next line: after a backslash, or inside quotation marks.
fn goes_on(command: &str) -> bool {
    command.trim_end().ends_with('\\') || command.matches('\'').count() % 2 == 1
}

#[test]
fn a_document_is_cut_at_its_examples() {
    let text = "a\n```console\n$ curl x \\\n  y\nHTTP\n\n{}\n$ curl z\n```\n```sh\n$ ls\n```\n";
    let examples: Vec<_> = Examples::of(text)
        .parts
        .into_iter()
        .filter_map(|part| match part {
            Part::Prose(_) => None,
            Part::Example { command, told } => Some((command, told)),
        })
        .collect();
    let quoted = Examples::of("```console\n$ curl -d 'a\nb' \\\n  x\nc\n```\n");
    assert!(matches!(
        quoted.parts.get(2),
        Some(Part::Example { command, told }) if command.ends_with("b' \\\n  x\n") && told == "c\n"
    ));
    let pair = |command: &str, told: &str| (command.to_owned(), told.to_owned());
    let expected = vec![pair("$ curl x \\\n  y\n", "HTTP\n\n{}\n"), pair("$ curl z\n", "")];
    assert_eq!(examples, expected);
}
