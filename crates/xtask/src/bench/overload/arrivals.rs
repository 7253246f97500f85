//! When requests are due: at random moments of a fixed mean rate, settled beforehand.
//!
//! Callers who do not know of each other come like that. What the service does has no influence on
//! when the next one comes: that makes the loop an open one.

use std::time::Duration;

use super::super::people::Random;

/// How finely chances are drawn.
const STEPS: usize = 1 << 30;

/// Moments from the start on, in order.
pub(super) struct Arrivals {
    mean: Duration,
    at: Duration,
    random: Random,
}

impl Arrivals {
    /// So many a second on average; the same for the same seed.
    pub(super) fn new(rate: f64, seed: u64) -> Self {
        let mean = Duration::from_secs_f64(1.0 / rate.max(0.001));
        Self { mean, at: Duration::ZERO, random: Random::new(seed) }
    }

    /// The next moment.
    pub(super) fn next(&mut self) -> Duration {
        let drawn = self.random.index(STEPS).and_then(|step| u32::try_from(step).ok());
        let steps = u32::try_from(STEPS).unwrap_or(u32::MAX);
        // Between 0, exclusive, and 1.
        let chance = (f64::from(drawn.unwrap_or(0)) + 1.0) / f64::from(steps);
        self.at += self.mean.mul_f64(-chance.ln());
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_their_rate_and_are_no_clockwork() {
        let mut arrivals = Arrivals::new(1_000.0, 7);
        let all: Vec<_> = (0..100_000).map(|_| arrivals.next()).collect();
        assert!(all.is_sorted());
        let took = all.last().unwrap().as_secs_f64();
        assert!((98.0..102.0).contains(&took), "{took}");
        let gaps = all.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
        let long = gaps.filter(|gap| *gap > Duration::from_millis(3)).count();
        // exp(-3) of them.
        assert!((4_500..5_500).contains(&long), "{long}");
        let again = Arrivals::new(1_000.0, 7).next();
        assert_eq!(again, all[0]);
    }
}
