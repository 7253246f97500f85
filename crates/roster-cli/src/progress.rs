//! The progress of a long command on stderr: a bar on a terminal, else a line at intervals.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Interval of lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// The format of the bar.
const BAR: &str = "{prefix} {wide_bar} {human_pos}/{human_len} ({percent}%) {msg} {eta}";

/// The progress of one step.
#[derive(Debug)]
pub struct Progress {
    step: &'static str,
    output: Output,
    done: u64,
    all: u64,
    begun: Instant,
    /// The count at the start.
    before: u64,
}

#[derive(Debug)]
enum Output {
    Bar(ProgressBar),
    /// With the time of the last line.
    Lines(Instant),
}

impl Progress {
    /// Starts a step of `all` items, of which `done` are done.
    #[must_use]
    pub fn begin(step: &'static str, all: u64, done: u64) -> Self {
        let begun = Instant::now();
        let output = if io::stderr().is_terminal() {
            let style = ProgressStyle::with_template(BAR);
            let bar = ProgressBar::new(all)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
                .with_prefix(step)
                .with_position(done);
            bar.reset_eta();
            Output::Bar(bar)
        } else {
            Output::Lines(begun)
        };
        let progress = Self { step, output, done, all, begun, before: done };
        if done > 0 {
            progress.say(&format!("{step}: continuing after {done} of {all}"));
        }
        progress
    }

    /// Adds `count` items, the last of them in `what`.
    pub fn add(&mut self, count: u64, what: &str) {
        self.done += count;
        match &mut self.output {
            Output::Bar(bar) => {
                bar.set_message(what.to_owned());
                bar.set_position(self.done);
            }
            Output::Lines(last) if last.elapsed() >= LINE_EVERY => {
                *last = Instant::now();
                self.say(&format!("{}: {} of {}, {what}", self.step, self.done, self.all));
            }
            Output::Lines(_) => {}
        }
    }

    /// Sets how many items are done, the last of them in `what`.
    pub fn reach(&mut self, done: u64, what: &str) {
        self.add(done.saturating_sub(self.done), what);
    }

    /// Ends the step.
    pub fn end(self) {
        if let Output::Bar(bar) = &self.output {
            bar.finish_and_clear();
        }
        let took = self.begun.elapsed();
        let count = self.done - self.before;
        self.say(&format!("{}: {count} in {:.1} s", self.step, took.as_secs_f64()));
    }

    /// Writes a line. Errors are ignored.
    fn say(&self, line: &str) {
        match &self.output {
            Output::Bar(bar) => bar.suspend(|| write_line(line)),
            Output::Lines(_) => write_line(line),
        }
    }
}

fn write_line(line: &str) {
    crate::say(line);
}
