//! What takes longer to settle, with the statistics to say so.
//!
//! Of all scenarios together, a sign test over the steps that both sides have: were both as fast, each would be slower on one
//! side or the other by the toss of a coin. Of one scenario, the rank test of Mann and Whitney, where both sides have
//! executed it often enough. Steps of one run share a machine, so a busy one makes all of them slower: the tests say that a run was
//! slower, not why.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF as _};
use statrs::stats_tests::Alternative;
use statrs::stats_tests::mannwhitneyu::{MannWhitneyUMethod, mannwhitneyu};

use super::side::Side;
use crate::record::Outcome;

/// The chance at most to call a run slower that is not, for all tests of a comparison together.
const FALSE_ALARM: f64 = 0.001;
/// How much longer it must take for anybody to mind.
const RATIO: f64 = 1.25;
/// And by how many milliseconds.
const MARGIN_MS: f64 = 20.0;
/// How many executions each side needs before anything is said of one scenario.
const EXECUTIONS: usize = 5;

/// Something that takes longer than it did.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Slower {
    /// The stage, such as `programmed`.
    pub stage: String,
    /// The scenario, and the step of it; nothing if it is said of all scenarios together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<(String, usize)>,
    /// The median before, in milliseconds; of all scenarios, the median of their medians.
    pub before_ms: f64,
    /// The median now.
    pub here_ms: f64,
    /// How many steps, or executions of one, were compared.
    pub compared: usize,
    /// The chance that as much of a difference is none.
    pub chance: f64,
}

/// A stage of a step of a scenario.
type Place<'a> = (&'a str, usize, &'a str);

/// Everything that takes longer; first what is said of all scenarios.
pub(super) fn slower(before: &Side<'_>, here: &Side<'_>) -> Vec<Slower> {
    let (was, is) = (times(before), times(here));
    let both: Vec<(Place<'_>, &Vec<f64>, &Vec<f64>)> =
        is.iter().filter_map(|(place, now)| Some((*place, was.get(place)?, now))).collect();
    let mut stages: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for ((_, _, stage), was, is) in &both {
        stages.entry(stage).or_default().push((median(was), median(is)));
    }
    let often: Vec<_> = both.iter().filter(|(_, was, is)| was.len().min(is.len()) >= EXECUTIONS).collect();
    let allowed = FALSE_ALARM / (stages.len() + often.len()).max(1) as f64;
    let whole = stages.iter().filter_map(|(stage, pairs)| of_all(stage, pairs, allowed));
    let single = often.iter().filter_map(|(place, was, is)| of_one(*place, was, is, allowed));
    whole.chain(single).collect()
}

/// How long each stage took in each execution that passed, in milliseconds.
fn times<'a>(side: &Side<'a>) -> BTreeMap<Place<'a>, Vec<f64>> {
    let mut times: BTreeMap<Place<'_>, Vec<f64>> = BTreeMap::new();
    for name in side.names() {
        let passed = side.executions(name).iter().filter(|one| one.outcome == Outcome::Passed);
        for stage in passed.flat_map(|one| &one.stages) {
            times.entry((name, stage.step, &*stage.stage)).or_default().push(stage.reached_ms as f64);
        }
    }
    times
}

fn of_all(stage: &str, pairs: &[(f64, f64)], allowed: f64) -> Option<Slower> {
    let slower = pairs.iter().filter(|(was, is)| is > was).count() as u64;
    let faster = pairs.iter().filter(|(was, is)| is < was).count() as u64;
    let tosses = Binomial::new(0.5, slower + faster).ok()?;
    let chance = if slower == 0 { 1.0 } else { tosses.sf(slower - 1) };
    let middle = |of: fn(&(f64, f64)) -> f64| median(&pairs.iter().map(of).collect::<Vec<_>>());
    let (before_ms, here_ms) = (middle(|pair| pair.0), middle(|pair| pair.1));
    let found = Slower { stage: stage.to_owned(), step: None, before_ms, here_ms, compared: pairs.len(), chance };
    (chance <= allowed && matters(before_ms, here_ms)).then_some(found)
}

fn of_one((name, step, stage): Place<'_>, was: &[f64], is: &[f64], allowed: f64) -> Option<Slower> {
    // The approximation takes ties, and says too much rather than too little where almost all are slower.
    let method = MannWhitneyUMethod::AsymptoticInclContinuityCorrection;
    let (_, chance) = mannwhitneyu(is, was, method, Alternative::Greater).ok()?;
    let (before_ms, here_ms) = (median(was), median(is));
    let compared = was.len() + is.len();
    let step = Some((name.to_owned(), step));
    let found = Slower { stage: stage.to_owned(), step, before_ms, here_ms, compared, chance };
    (chance <= allowed && matters(before_ms, here_ms)).then_some(found)
}

fn matters(before: f64, here: f64) -> bool {
    here >= before * RATIO && here - before >= MARGIN_MS
}

/// The middle of at least one value.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
    f64::midpoint(low, high)
}
