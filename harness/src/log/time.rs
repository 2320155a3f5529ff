//! The log's own clock reading: time since the run began.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Time since the run began, in microseconds, read from a monotonic clock by the shell that wrote the event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Elapsed(pub u64);

impl Elapsed {
    /// The time from `earlier` to this; zero if `earlier` is the later of the two.
    pub fn since(self, earlier: Elapsed) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// What it was so long before; the beginning of the run at the earliest.
    #[must_use]
    pub fn before(self, by: Duration) -> Elapsed {
        Elapsed(self.0.saturating_sub(u64::try_from(by.as_micros()).unwrap_or(u64::MAX)))
    }
}

impl Add<Duration> for Elapsed {
    type Output = Elapsed;
    fn add(self, rhs: Duration) -> Elapsed {
        Elapsed(self.0.saturating_add(u64::try_from(rhs.as_micros()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Elapsed> for Elapsed {
    type Output = Duration;
    fn sub(self, rhs: Elapsed) -> Duration {
        self.since(rhs)
    }
}

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} s", Duration::from_micros(self.0).as_secs_f64())
    }
}
