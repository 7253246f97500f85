//! The progress of a long command on stderr: a bar on a terminal, else a line at intervals.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressStyle};

/// Interval of lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// The format of the bar.
const BAR: &str = "{prefix} {wide_bar} {human_pos}/{human_len} ({percent}%) {msg} {eta}";

/// The format of the bar if the items are bytes.
const BYTES: &str = "{prefix} {wide_bar} {bytes}/{total_bytes} ({percent}%) {msg}, {eta} left";

/// The format without a bar, if the number of items is unknown.
const COUNT: &str = "{prefix} {human_pos} {msg}";

/// The progress of one step.
#[derive(Debug)]
pub struct Progress {
    step: &'static str,
    output: Output,
    is_of_bytes: bool,
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
        let progress = Self::new(step, if all == 0 { COUNT } else { BAR }, all, done);
        if done > 0 {
            progress.say(&format!("{step}: continuing after {done} of {all}"));
        }
        progress
    }

    /// Starts a step over a file of `all` bytes, of which `done` are done.
    #[must_use]
    pub fn of_bytes(step: &'static str, all: u64, done: u64) -> Self {
        Self { is_of_bytes: true, ..Self::new(step, BYTES, all, done) }
    }

    fn new(step: &'static str, format: &str, all: u64, done: u64) -> Self {
        let begun = Instant::now();
        let output = if io::stderr().is_terminal() {
            let style = ProgressStyle::with_template(format);
            let bar = ProgressBar::new(all)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
                .with_prefix(step)
                .with_position(done);
            bar.reset_eta();
            Output::Bar(bar)
        } else {
            Output::Lines(begun)
        };
        Self { step, output, is_of_bytes: false, done, all, begun, before: done }
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
                self.say(&self.line(what));
            }
            Output::Lines(_) => {}
        }
    }

    fn line(&self, what: &str) -> String {
        let Self { step, done, all, .. } = self;
        if !self.is_of_bytes {
            let of_all = if *all == 0 { String::new() } else { format!(" of {all}") };
            return format!("{step}: {done}{of_all}, {what}");
        }
        let percent = (done * 100).checked_div(*all).unwrap_or(100);
        let left = self.left().map(|left| format!(", {} left", HumanDuration(left)));
        let (done, all) = (HumanBytes(*done), HumanBytes(*all));
        format!("{step}: {done} of {all} ({percent}%), {what}{}", left.unwrap_or_default())
    }

    /// How long the rest takes at the rate so far.
    fn left(&self) -> Option<Duration> {
        let took = u64::try_from(self.begun.elapsed().as_millis()).ok()?;
        let ms = took.checked_mul(self.all.saturating_sub(self.done))?;
        Some(Duration::from_millis(ms.checked_div(self.done - self.before)?))
    }

    /// Sets how many items are done, the last of them in `what`.
    pub fn reach(&mut self, done: u64, what: &str) {
        self.add(done.saturating_sub(self.done), what);
    }

    /// Removes the bar.
    pub fn clear(&self) {
        if let Output::Bar(bar) = &self.output {
            bar.finish_and_clear();
        }
    }

    /// Ends the step.
    pub fn end(self) {
        self.clear();
        let took = self.begun.elapsed();
        let count = self.done - self.before;
        self.say(&format!("{}: {count} in {:.1} s", self.step, took.as_secs_f64()));
    }

    /// Writes a line above the bar. Errors are ignored.
    pub fn say(&self, line: &str) {
        match &self.output {
            Output::Bar(bar) => bar.suspend(|| write_line(line)),
            Output::Lines(_) => write_line(line),
        }
    }
}

fn write_line(line: &str) {
    crate::say(line);
}
