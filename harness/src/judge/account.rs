//! What a judge has taken in of what happened, whichever step it is at; and how it stands with what executions share before they begin.
//!
//! A Gateway of the pool serves scenario after scenario, and each of them needs to know how it stands, and not how it came to that. So
//! what is shared is folded once for all of them, and a judge begins with what that came to ([`Judge::behind`](super::Judge::behind)).

use std::collections::HashMap;
use std::sync::Arc;

use super::contract::{Contract, ContractState};
use super::history::History;
use super::others::Others;
use super::stirred::Stirred;
use crate::dialects::Dialect;
use crate::log::{Body, Event, Scope};
use crate::scenario::Basis;

/// What was seen, and what is known by it.
#[derive(Debug, Clone)]
pub struct Account {
    dialect: Arc<Dialect>,
    pub(super) history: History,
    pub(super) others: Others,
    pub(super) stirred: Stirred,
    pub(super) contract: ContractState,
}

impl Account {
    /// Nothing was seen yet.
    pub(super) fn new(dialect: &Arc<Dialect>, contract: ContractState) -> Account {
        Account {
            dialect: Arc::clone(dialect),
            history: History::default(),
            others: Others::of(Arc::clone(dialect)),
            stirred: Stirred::default(),
            contract,
        }
    }

    /// Takes in an event.
    pub(super) fn observe(&mut self, event: &Event) {
        self.history.observe(event, &self.dialect);
        self.others.observe(event);
        self.stirred.observe(event, &self.dialect);
        // Pool Gateways and the GatewayClass are held against the contract once for the run, not for each scenario.
        if matches!(event.scope, Scope::Scenario(_)) || matches!(event.body, Body::Gap { .. }) {
            self.contract.observe(event);
        } else {
            self.contract.around(event);
        }
    }

    /// Takes in what was seen in another scope, of other objects.
    pub(super) fn join(&mut self, other: &Account) {
        self.history.join(&other.history);
        self.others.join(&other.others);
        self.stirred.join(&other.stirred);
        self.contract.join(&other.contract);
    }
}

/// How it stands with each scope that executions share.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    fresh: Account,
    scopes: HashMap<Scope, Account>,
}

impl Checkpoints {
    /// Of a run that has not begun. Only entries of `controller_name` are judged.
    pub fn new(contract: &Arc<Contract>, controller_name: &str) -> Checkpoints {
        // What is shared is held against no rule here, so that no release makes a difference.
        let state = ContractState::new(Arc::clone(contract), Basis::default(), controller_name.to_owned());
        Checkpoints { fresh: Account::new(contract.dialect(), state), scopes: HashMap::new() }
    }

    /// Takes in an event: every one of the log, in its order.
    pub fn observe(&mut self, event: &Event) {
        if !matches!(event.scope, Scope::Scenario(_)) {
            let account = self.scopes.entry(event.scope.clone()).or_insert_with(|| self.fresh.clone());
            account.observe(event);
        }
    }

    /// How it stands with all of these.
    pub fn of(&self, scopes: &[Scope]) -> Account {
        let mut account = self.fresh.clone();
        scopes.iter().filter_map(|scope| self.scopes.get(scope)).for_each(|one| account.join(one));
        account
    }
}
