//! The status contract: always on, for every version of every object that a scenario touches.
//!
//! What a kind's status must look like is data (`suites/dialects/*/contract.yaml`, read by [`Contract::parse`]); what the rules
//! mean is code, one function a rule. [`ContractState`] folds over events and collects breaches.

mod data;
mod definitions;
mod document;
mod error;
mod finding;
mod foreign;
mod graded;
mod list;
mod merged;
mod needs;
mod places;
mod read;
mod rule;
mod sayings;
mod scope;
mod state;
mod steady;
mod terms;
mod times;
mod typed;
mod version;
mod watched;
mod whole;
mod wording;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

use gateproof_report::record::{Breach, ContractRecord};

use super::miss::severity;
use crate::log::Event;
use crate::scenario::Basis;
use crate::scenario::scope::DEFINITION;

pub use data::Contract;
pub use error::ContractError;
pub use places::NamedPlace;
pub use rule::Rule;
pub use state::ContractState;
pub use watched::Watched;
#[cfg(test)]
pub(crate) use words::{BESIDE, READ_BY};

/// The built-in contract of Gateway API.
pub use gateproof_suites::contracts::GATEWAY_API;

/// Holds a whole log against the contract, with no scenario to say when something was settled: the rules about a
/// settled state are left out.
pub fn over_log(contract: &Arc<Contract>, basis: Basis, controller: &str, events: &[Event]) -> Vec<ContractRecord> {
    let mut state = ContractState::new(contract.clone(), basis, controller.to_owned());
    for event in events {
        state.observe(event);
    }
    records(contract, basis, &Watched::of(state.watched(), |_| false), state.breaches())
}

/// One record a kind and rule, in order of name, from what scenarios and pool Gateways contributed: the objects that were watched, and
/// breaches, each under `contract/<kind>/<rule>`. Every rule that the contract has for a kind is there if an object of the kind was
/// watched, whatever its controller did meanwhile.
pub fn records(
    contract: &Contract,
    basis: Basis,
    watched: &Watched,
    breaches: impl IntoIterator<Item = (String, Breach)>,
) -> Vec<ContractRecord> {
    let mut records: BTreeMap<String, ContractRecord> = BTreeMap::new();
    for ((group, name), count) in watched.totals() {
        if name == DEFINITION
            && definitions::are_held(contract, basis)
            && let Some(record) = entry(contract, &mut records, &definitions::name())
        {
            record.objects += count;
        }
        let Some(kind) = contract.kind(group, name) else { continue };
        for rule in Rule::ALL.into_iter().filter(|rule| contract.holds(*rule, kind, basis)) {
            if let Some(record) = entry(contract, &mut records, &format!("contract/{name}/{}", rule.name())) {
                record.objects += count;
            }
        }
    }
    for (name, breach) in breaches {
        if let Some(record) = entry(contract, &mut records, &name) {
            record.breaches.push(breach);
        }
    }
    records.into_values().collect()
}

fn entry<'a>(
    contract: &Contract,
    records: &'a mut BTreeMap<String, ContractRecord>,
    name: &str,
) -> Option<&'a mut ContractRecord> {
    let rule = Rule::named(name.rsplit('/').next()?)?;
    let terms = contract.rule(rule)?;
    Some(records.entry(name.to_owned()).or_insert_with(|| ContractRecord {
        name: name.to_owned(),
        clauses: terms.clauses.clone(),
        severity: severity(terms.level),
        objects: 0,
        known: None,
        breaches: Vec::new(),
    }))
}
