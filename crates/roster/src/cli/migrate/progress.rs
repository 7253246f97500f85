//! How far a long command is, on stderr: a bar for people who watch, else a line now and then.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How often a line is written where nobody watches.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// What the bar looks like.
const BAR: &str = "{prefix} {wide_bar} {human_pos}/{human_len} ({percent}%) {msg} {eta}";

/// How far one step of a command is.
pub(super) struct Progress {
    step: &'static str,
    shown: Shown,
    done: u64,
    all: u64,
    begun: Instant,
    /// How much was done when it began.
    before: u64,
}

enum Shown {
    Bar(ProgressBar),
    /// When the last line was written.
    Lines(Instant),
}

impl Progress {
    /// Begins a step of so many things, some of which are done already.
    pub(super) fn begin(step: &'static str, all: u64, done: u64) -> Self {
        let begun = Instant::now();
        let shown = if io::stderr().is_terminal() {
            let style = ProgressStyle::with_template(BAR);
            let bar = ProgressBar::new(all)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
                .with_prefix(step)
                .with_position(done);
            bar.reset_eta();
            Shown::Bar(bar)
        } else {
            Shown::Lines(begun)
        };
        let progress = Self { step, shown, done, all, begun, before: done };
        if done > 0 {
            progress.say(&format!("{step}: going on after {done} of {all}"));
        }
        progress
    }

    /// So many more are done, the last of them of that name.
    pub(super) fn add(&mut self, count: u64, what: &str) {
        self.done += count;
        match &mut self.shown {
            Shown::Bar(bar) => {
                bar.set_message(what.to_owned());
                bar.set_position(self.done);
            }
            Shown::Lines(last) if last.elapsed() >= LINE_EVERY => {
                *last = Instant::now();
                self.say(&format!("{}: {} of {}, {what}", self.step, self.done, self.all));
            }
            Shown::Lines(_) => {}
        }
    }

    /// The step is done.
    pub(super) fn end(self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
        let took = self.begun.elapsed();
        let count = self.done - self.before;
        self.say(&format!("{}: {count} in {:.1} s", self.step, took.as_secs_f64()));
    }

    /// Writes a line; that it cannot be written is no reason to stop.
    fn say(&self, line: &str) {
        match &self.shown {
            Shown::Bar(bar) => bar.suspend(|| write_line(line)),
            Shown::Lines(_) => write_line(line),
        }
    }
}

fn write_line(line: &str) {
    writeln!(io::stderr().lock(), "{line}").unwrap_or_default();
}
