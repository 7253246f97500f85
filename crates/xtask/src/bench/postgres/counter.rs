//! Counts what a bare loop gets done, as the load generator counts answers over HTTP.
//!
//! Every asker has a counter of its own and asks again as soon as it was answered, until the time
//! is over.

use std::time::{Duration, Instant};

use anyhow::Result;
use hdrhistogram::Histogram;

/// What all askers of a loop got done.
#[derive(Clone, Copy)]
pub(super) struct Done {
    /// Answers.
    pub(super) answers: u32,
    /// Answers in a second.
    pub(super) rate: f64,
    /// Half of the answers took at most this long.
    pub(super) p50: Duration,
    /// 99 of 100 answers took at most this long.
    pub(super) p99: Duration,
}

/// What one asker counts.
#[derive(Clone)]
pub(super) struct Counter {
    since: Instant,
    until: Instant,
    latency_ns: Histogram<u64>,
}

impl Counter {
    /// Counts from now on, for so long.
    pub(super) fn start(measure: Duration) -> Result<Self> {
        let since = Instant::now();
        // One nanosecond to one minute, three significant digits.
        let latency_ns = Histogram::new_with_bounds(1, 60_000_000_000, 3)?;
        Ok(Self { since, until: since + measure, latency_ns })
    }

    /// The moment of the next question, or `None` when the time is over.
    pub(super) fn ask(&self) -> Option<Instant> {
        Some(Instant::now()).filter(|now| *now < self.until)
    }

    /// Counts the answer to a question of that moment.
    pub(super) fn answered(&mut self, asked: Instant) {
        let nanoseconds = u64::try_from(asked.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.latency_ns.saturating_record(nanoseconds);
    }

    /// What those who were started from this counter got done together, until now.
    pub(super) fn sum(mut self, counters: Vec<Self>) -> Result<Done> {
        let elapsed = self.since.elapsed();
        for counter in counters {
            self.latency_ns.add(counter.latency_ns)?;
        }
        let answers = u32::try_from(self.latency_ns.len())?;
        let at = |quantile| Duration::from_nanos(self.latency_ns.value_at_quantile(quantile));
        let rate = f64::from(answers) / elapsed.as_secs_f64();
        Ok(Done { answers, rate, p50: at(0.5), p99: at(0.99) })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Counter;

    #[test]
    fn answers_of_all_askers_count_until_the_time_is_over() {
        let all = Counter::start(Duration::from_hours(1)).unwrap();
        assert_eq!(all.clone().sum(vec![all.clone()]).unwrap().answers, 0);
        let askers = [all.clone(), all.clone()].map(|mut asker| {
            let asked = asker.ask().unwrap();
            asker.answered(asked);
            asker
        });
        let done = all.sum(askers.into()).unwrap();
        assert_eq!(done.answers, 2);
        assert!(done.p50 <= done.p99 && done.rate > 0.0);
        assert!(Counter::start(Duration::ZERO).unwrap().ask().is_none());
    }
}
