//! What executions wait for and since when, for whoever looks on. No verdict depends on it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::cluster::clock;
use crate::judge::{Awaited, Judge};

/// What each execution waits for, and since when.
type Known = HashMap<Arc<str>, (String, Instant)>;

/// The waits of all executions of a run. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Waits(Arc<Mutex<Known>>);

/// Something that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// The execution, by its name in the log.
    pub name: Arc<str>,
    /// Where in the scenario, and what.
    pub what: String,
    /// For how long already.
    pub lasts: Duration,
}

impl Waits {
    /// All of them, the longest first.
    pub fn longest(&self) -> Vec<Wait> {
        let now = clock::now();
        let of = |(name, (what, since)): (&Arc<str>, &(String, Instant))| Wait {
            name: Arc::clone(name),
            what: what.clone(),
            lasts: now.saturating_duration_since(*since),
        };
        let mut waits: Vec<Wait> = self.all().iter().map(of).collect();
        waits.sort_by(|a, b| b.lasts.cmp(&a.lasts).then_with(|| a.name.cmp(&b.name)));
        waits
    }

    fn all(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// By which an execution tells of its waits. Once it is dropped there are none.
pub struct Teller {
    waits: Waits,
    name: Arc<str>,
    told: Option<Awaited>,
}

impl Teller {
    /// Of this execution.
    pub fn of(waits: &Waits, name: &Arc<str>) -> Teller {
        Teller { waits: waits.clone(), name: Arc::clone(name), told: None }
    }

    /// Tells what its judge waits for, unless it was told already.
    pub fn tell(&mut self, judge: &Judge) {
        let awaited = judge.awaits();
        if awaited == self.told {
            return;
        }
        self.told = awaited;
        match awaited {
            Some(awaited) => self.begin(judge.awaits_in_words(awaited)),
            None => drop(self.waits.all().remove(&self.name)),
        }
    }

    /// Tells that it waits for something that is no matter of its judge, until that has more to tell.
    pub fn tell_of(&mut self, what: &str) {
        self.told = None;
        self.begin(what.to_owned());
    }

    fn begin(&self, what: String) {
        self.waits.all().insert(Arc::clone(&self.name), (what, clock::now()));
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.waits.all().remove(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_longest_comes_first_and_what_is_over_is_gone() {
        let waits = Waits::default();
        let mut tellers: Vec<Teller> = ["b", "a", "c"].map(|name| Teller::of(&waits, &Arc::from(name))).into();
        tellers[2].tell_of("backends");
        clock::until(clock::now() + Duration::from_secs(3)).await;
        tellers[0].tell_of("lanes");
        tellers[1].tell_of("lanes");
        clock::until(clock::now() + Duration::from_secs(1)).await;
        let told = || waits.longest().into_iter().map(|wait| format!("{} {:?} {}", wait.name, wait.lasts, wait.what));
        assert_eq!(told().collect::<Vec<_>>(), ["c 4s backends", "a 1s lanes", "b 1s lanes"]);
        tellers.remove(2);
        tellers[1].tell_of("something else");
        assert_eq!(told().collect::<Vec<_>>(), ["b 1s lanes", "a 0ns something else"]);
    }
}
