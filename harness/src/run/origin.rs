//! What a run is of: digests by which it can be told whether another run was of the same. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use gateproof_report::record::{Digests, ShardRecord};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::options::{Part, RunOptions};
use crate::cluster::discover::Facts;
use crate::log::Timing;
use crate::scenario::Scenario;

/// What the record says of a part. `left_out` are the scenarios that it leaves out: those of other parts among them.
pub fn shard(part: &Part, left_out: &[Arc<Scenario>]) -> ShardRecord {
    let in_no_part = left_out.iter().filter(|scenario| !part.whole.contains_key(&scenario.name));
    ShardRecord {
        part: part.part,
        parts: part.parts,
        selected: part.whole.len(),
        selection: digest(&json!(part.whole)),
        left_out: in_no_part.map(|scenario| scenario.name.clone()).collect(),
    }
}

/// Name and digest of scenarios.
pub fn manifests<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>) -> BTreeMap<String, String> {
    scenarios.into_iter().map(|scenario| (scenario.name.clone(), scenario.digest.clone())).collect()
}

/// The digests of a run, if it was told what its targets are judged by.
pub fn digests(options: &RunOptions, facts: &Facts, scenarios: &[Arc<Scenario>], timing: &Timing) -> Option<Digests> {
    Some(Digests {
        suite: options.suite.clone()?,
        manifests: manifests(scenarios.iter().map(|scenario| &**scenario)),
        target: digest(&of_target(facts)),
        environment: digest(&json!({
            "harness": env!("CARGO_PKG_VERSION"),
            "arguments": options.arguments,
            "repeat": options.repeat,
            "timing": timing,
        })),
    })
}

/// What a target says of itself, whichever scenarios are run on it: kinds that these define are none of its own.
fn of_target(facts: &Facts) -> Value {
    let kinds = facts.kinds.own().filter(|kind| !kind.later).map(|kind| (kind.resource(), kind.versions.clone()));
    json!({
        "dialect": facts.kinds.dialect().name(),
        "class": facts.class_name(),
        "controller": facts.controller_name(),
        "release": facts.bundle.as_ref().map(|bundle| [bundle.name.as_str(), bundle.channel()]),
        "definitions": facts.definitions().map(|definitions| &definitions.release),
        "features": facts.features,
        "kinds": kinds.collect::<BTreeMap<_, _>>(),
    })
}

/// The digest of a value, in hexadecimal.
pub fn digest(value: &Value) -> String {
    of_text(&value.to_string())
}

/// The digest of a text, in hexadecimal.
pub fn of_text(text: &str) -> String {
    format!("{:x}", Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::dialects::Reference;
    use crate::judge::contract::{Contract, GATEWAY_API};
    use crate::run::TargetChoice;
    use crate::run::fixtures::{facts, scenario};

    fn options() -> RunOptions {
        let contract = Arc::new(Contract::parse(GATEWAY_API).unwrap());
        let target = TargetChoice::embedded(Reference::GatewayApi, None);
        RunOptions { suite: Some("s".to_owned()), ..RunOptions::new(target, contract) }
    }

    fn of(options: &RunOptions, facts: &Facts, scenarios: &[Arc<Scenario>]) -> Digests {
        digests(options, facts, scenarios, &options.timing()).unwrap()
    }

    #[test]
    fn each_digest_is_of_its_own() {
        let scenarios = [Arc::new(scenario("a"))];
        let first = of(&options(), &facts(), &scenarios);
        assert_eq!(of(&options(), &facts(), &scenarios), first);

        let other = RunOptions { suite: Some("t".to_owned()), ..options() };
        assert_eq!(Digests { suite: first.suite.clone(), ..of(&other, &facts(), &scenarios) }, first);

        let other = [Arc::new(Scenario { digest: "edited".to_owned(), ..scenario("a") })];
        let found = of(&options(), &facts(), &other);
        assert_eq!(found.manifests["a"], "edited");
        assert_eq!(Digests { manifests: first.manifests.clone(), ..found }, first);

        let mut claims = facts();
        claims.features.push("Another".to_owned());
        let found = of(&options(), &claims, &scenarios);
        assert_ne!(found.target, first.target);
        assert_eq!(Digests { target: first.target.clone(), ..found }, first);

        let slower = RunOptions { timeout_scale: 2.0, ..options() };
        let found = of(&slower, &facts(), &scenarios);
        assert_ne!(found.environment, first.environment);
        assert_eq!(Digests { environment: first.environment.clone(), ..found }, first);
    }

    #[test]
    fn nobody_says_what_a_run_of_no_suite_is_judged_by() {
        let options = RunOptions { suite: None, ..options() };
        assert_eq!(digests(&options, &facts(), &[], &options.timing()), None);
    }

    #[test]
    fn what_other_parts_have_is_not_left_out() {
        let whole = manifests(&[scenario("a"), scenario("b")]);
        let part = |part, whole: &BTreeMap<String, String>| Part { part, parts: 2, whole: whole.clone() };
        let left_out = [Arc::new(scenario("b")), Arc::new(scenario("c"))];
        let record = shard(&part(1, &whole), &left_out);
        assert_eq!((record.part, record.parts, record.selected), (1, 2, 2));
        assert_eq!(record.left_out, ["c"]);
        assert_eq!(record.selection, shard(&part(2, &whole), &[]).selection);
        let edited = manifests(&[scenario("a"), Scenario { digest: "edited".to_owned(), ..scenario("b") }]);
        assert_ne!(record.selection, shard(&part(1, &edited), &left_out).selection);
    }
}
