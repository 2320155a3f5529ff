//! A fault beside a legal variant, as a record: how others' implementations fail, which are no reference with one mistake.

use gateproof_report::record::{ContractRecord, Outcome, RunRecord, ScenarioRecord};
use gateproof_testbed::{KnownFault, KnownVariant};
use rand::seq::IndexedRandom;

use super::drive::{JOBS, LOOKS, chosen, draw};
use super::plan::{Extent, Plan};
use super::shown_by::ShownBy;
use crate::run::{self, RunError, Silent, embedded};
use crate::scenario::scope::by_lacking;
use crate::scenario::select;

/// Runs a fault beside a variant that is drawn, with the scenarios of the plan's extent; nothing if that has none. Both are in the
/// name of the record's target.
///
/// # Errors
/// If the embedded target cannot be tested at all.
pub async fn record(plan: &Plan, fault: &KnownFault, shown_by: &ShownBy) -> Result<Option<RunRecord>, RunError> {
    let seed = match plan.extent {
        Extent::Sample(seed) | Extent::Declared(seed) => seed,
        Extent::Again(_) | Extent::Full => 0,
    };
    let clauses: Vec<_> = plan.scenarios.iter().map(select::clauses).collect();
    let scenarios = chosen(plan, &clauses, fault, shown_by.of(fault.name));
    let variants = embedded::variants(plan.reference);
    let variant: Option<&KnownVariant> = variants.choose(&mut draw(seed, fault));
    let beside = variant.map(|variant| format!("+variant:{}", variant.name)).unwrap_or_default();
    let mut options = plan.run_on(Some(format!("{}{beside}", fault.name)));
    options.jobs = JOBS;
    options.features = embedded::held_to(plan.reference);
    let mut found: Option<RunRecord> = None;
    let mut next = scenarios;
    for _ in 0..LOOKS {
        // There is a target for each group of scenarios that no other one is right for.
        for (lacking, scenarios) in by_lacking(next.iter().map(|&index| plan.scenarios[index].clone())) {
            let options = options.clone().lacking(lacking);
            let record = run::run(options, scenarios, &mut Silent).await?.record;
            match &mut found {
                None => found = Some(record),
                Some(known) => {
                    add_rules(&mut known.contract, &record.contract);
                    known.scenarios.retain(|one| record.scenarios.iter().all(|again| again.name != one.name));
                    known.scenarios.extend(record.scenarios);
                }
            }
        }
        // What the machine was too busy to tell is asked once more.
        let doubtful = |index: &usize| {
            let of_it = |one: &ScenarioRecord| one.name == plan.scenarios[*index].name;
            let mut records = found.iter().flat_map(|record| &record.scenarios);
            records.any(|one| of_it(one) && one.outcome == Outcome::Inconclusive)
        };
        next.retain(doubtful);
    }
    Ok(found)
}

/// Puts what rules of the contract came to in one run to what they came to in another.
pub fn add_rules(known: &mut Vec<ContractRecord>, more: &[ContractRecord]) {
    for rule in more {
        match known.iter_mut().find(|one| one.name == rule.name) {
            None => known.push(rule.clone()),
            Some(one) => {
                one.objects += rule.objects;
                one.breaches.extend_from_slice(&rule.breaches);
            }
        }
    }
}
