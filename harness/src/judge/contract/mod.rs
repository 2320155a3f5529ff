//! The status contract: always on, for every version of every object that a scenario touches.
//!
//! What a kind's status must look like is data (`suites/contracts/*.yaml`, read by [`Contract::parse`]); what the rules
//! mean is code, one function a rule. [`ContractState`] folds over events and collects breaches.

mod data;
mod foreign;
mod list;
mod rule;
mod state;
mod times;

use std::sync::Arc;

use gateproof_report::record::{Breach, ContractRecord};

use super::env::severity;
use crate::log::Event;
use crate::scenario::Version;

pub use data::{Contract, ContractError};
pub use rule::Rule;
pub use state::ContractState;

/// The built-in contract of Gateway API.
pub const GATEWAY_API: &str = include_str!("../../../../suites/contracts/gateway-api.yaml");

/// Holds a whole log against the contract, with no scenario to say when something was settled: the rules about a
/// settled state are left out.
pub fn over_log(contract: &Arc<Contract>, version: Version, controller: &str, events: &[Event]) -> Vec<ContractRecord> {
    let mut state = ContractState::new(contract.clone(), version, controller.to_owned());
    for event in events {
        state.observe(event);
    }
    records(contract, &[(state.breaches(), state.checked())])
}

/// Breaches, and how many times each rule was held against something; each under `contract/<kind>/<rule>`.
pub type Part = (Vec<(String, Breach)>, Vec<(String, u64)>);

/// One record a kind and rule, in order of name, from the parts that scenarios and pool Gateways contributed.
pub fn records(contract: &Contract, parts: &[Part]) -> Vec<ContractRecord> {
    let mut records: std::collections::BTreeMap<String, ContractRecord> = std::collections::BTreeMap::new();
    for (breaches, checked) in parts {
        for (name, count) in checked {
            if let Some(record) = entry(contract, &mut records, name) {
                record.checked += count;
            }
        }
        for (name, breach) in breaches {
            if let Some(record) = entry(contract, &mut records, name) {
                record.breaches.push(breach.clone());
            }
        }
    }
    records.into_values().collect()
}

fn entry<'a>(
    contract: &Contract,
    records: &'a mut std::collections::BTreeMap<String, ContractRecord>,
    name: &str,
) -> Option<&'a mut ContractRecord> {
    let rule = Rule::named(name.rsplit('/').next()?)?;
    let terms = contract.rule(rule)?;
    Some(records.entry(name.to_owned()).or_insert_with(|| ContractRecord {
        name: name.to_owned(),
        clauses: terms.clauses.clone(),
        severity: severity(terms.level),
        checked: 0,
        breaches: Vec::new(),
    }))
}
