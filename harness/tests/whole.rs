//! Runs on the embedded target that are broken off.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use async_trait::async_trait;
use gateproof::dialects::Reference;
use gateproof::judge::contract::{Contract, GATEWAY_API};
use gateproof::run::interrupt::Interrupt;
use gateproof::run::{Bystander, RunError, RunOptions, Silent, TargetChoice, run};
use gateproof::scenario::{Scenario, Vocabulary, load};
use gateproof_report::record::Outcome;

fn scenarios() -> Vec<Scenario> {
    load::builtin(&Vocabulary::builtin()).unwrap()
}

fn options() -> RunOptions {
    let contract = Arc::new(Contract::parse(GATEWAY_API).unwrap());
    RunOptions::new(TargetChoice::embedded(Reference::GatewayApi, None), contract)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_run_cleans_up_and_says_so() {
    let mut options = options();
    options.jobs = 1;
    options.bystander = Some(Arc::new(BreaksOff(options.interrupt.clone())));
    let output = run(options, scenarios(), &mut Silent).await.unwrap();
    assert!(output.record.interrupted);
    assert_eq!(output.leftovers, vec![]);
    assert!(output.record.scenarios.iter().all(|s| s.outcome != Outcome::Passed));
}

/// Breaks the run off at the first step.
#[derive(Debug)]
struct BreaksOff(Interrupt);

#[async_trait]
impl Bystander for BreaksOff {
    async fn at_step(&self, _: &Scenario, _: usize) {
        self.0.trigger();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_broken_off_before_it_begins_applies_nothing() {
    let options = options();
    options.interrupt.trigger();
    assert!(matches!(run(options, scenarios(), &mut Silent).await, Err(RunError::Interrupted)));
}
