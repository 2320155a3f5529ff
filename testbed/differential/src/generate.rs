//! Random sequences of requests on a few kinds, from a seed.

mod kinds;
mod shrink;

use futures::StreamExt;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::compare::{Divergence, compare};
use crate::corpus::Sequence;
use crate::list::{self, Entry};
use crate::normal::Recorded;
use crate::run::{run_sequence, version};
use crate::server::{Subject, SubjectError};
use kinds::KINDS;

/// How many requests a sequence has at most.
const LONGEST: usize = 8;
/// How many cases run at a time.
const AT_ONCE: usize = 4;

/// A case that two servers answer differently.
pub struct Finding {
    /// The number of the case; with the seed, it makes the same sequence again.
    pub case: u64,
    /// The requests, as few and as small as still diverge.
    pub sequence: Sequence,
    /// Where the answers diverge.
    pub divergences: Vec<Divergence>,
}

/// What came of a search.
#[derive(Default)]
pub struct Searched {
    /// The cases that diverge.
    pub found: Vec<Finding>,
    /// The cases that show nothing, since the right server broke off; it is somebody else's to mend.
    pub unanswered: Vec<(u64, SubjectError)>,
}

/// Why there are no findings.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A server cannot be asked.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The list of differences has a place that is no regular expression.
    #[error(transparent)]
    List(#[from] regex::Error),
}

/// Two servers, and what is known to differ between them.
pub struct Search<'a> {
    /// The one.
    pub left: &'a Subject,
    /// The other.
    pub right: &'a Subject,
    /// Differences that count as none; the place of a generated case is `generated/PLURAL#STEP POINTER`.
    pub known: &'a [Entry],
}

impl Search<'_> {
    /// Sends `cases` random sequences to both servers.
    ///
    /// # Errors
    /// [`SearchError`]; a right server that is gone is one.
    pub async fn run(&self, seed: u64, cases: u64) -> Result<Searched, SearchError> {
        let mut running = futures::stream::iter(0..cases)
            .map(async |case| (case, self.one(seed, case).await))
            .buffer_unordered(AT_ONCE);
        let mut searched = Searched::default();
        while let Some((case, done)) = running.next().await {
            match done {
                Ok(finding) => searched.found.extend(finding),
                Err(SearchError::Subject(error)) if error.is_silence_of(self.right) => {
                    searched.unanswered.push((case, error));
                }
                Err(error) => return Err(error),
            }
        }
        if !searched.unanswered.is_empty() {
            // Only a server that is still there has broken off single cases.
            version(self.right).await?;
        }
        searched.found.sort_by_key(|finding| finding.case);
        searched.unanswered.sort_by_key(|(case, _)| *case);
        Ok(searched)
    }

    async fn one(&self, seed: u64, case: u64) -> Result<Option<Finding>, SearchError> {
        let sequence = sequence(seed, case);
        let found = self.diverge(&sequence).await?;
        if found.is_empty() {
            return Ok(None);
        }
        let sequence = self.shrink(sequence, found).await?;
        let divergences = self.diverge(&sequence).await?;
        Ok(Some(Finding { case, sequence, divergences }))
    }

    async fn diverge(&self, sequence: &Sequence) -> Result<Vec<Divergence>, SearchError> {
        let (left, right) = tokio::join!(run_sequence(self.left, sequence), run_sequence(self.right, sequence));
        let one = |answers| Recorded::from([("generated".to_owned(), [(sequence.name.clone(), answers)].into())]);
        Ok(list::judge(compare(&one(left?), &one(right?)), self.known, &[])?.unexplained)
    }
}

/// The sequence of a seed and a number.
pub fn sequence(seed: u64, case: u64) -> Sequence {
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ case.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let kind = KINDS.choose(&mut random).unwrap_or(&KINDS[0]);
    let length = random.random_range(2..=LONGEST);
    let mut steps = vec![kind.create(&mut random)];
    while steps.len() < length {
        steps.extend(kind.step(&mut random));
    }
    Sequence { name: kind.plural.to_owned(), steps }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_again() {
        for case in 0..20 {
            assert_eq!(format!("{:?}", sequence(7, case)), format!("{:?}", sequence(7, case)));
        }
        assert_ne!(format!("{:?}", sequence(7, 0).steps), format!("{:?}", sequence(8, 0).steps));
    }
}
