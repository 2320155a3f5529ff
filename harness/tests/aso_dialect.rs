//! The dialect of Azure Service Operator as a folder: it reads, and its scenarios and contract prove what its clauses ask.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;

use gateproof::scenario::lint::ScriptSchemas;
use gateproof::scenario::load;
use gateproof::scenario::select::clauses;
use gateproof::suite::Suite;
use gateproof_suites::{Requirement, TestKind};
use serde_json::{Value, json};

const DIALECT: &str = "aso";

/// The dialect with its manifests inside, as users name it.
fn folder() -> tempfile::TempDir {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in ["dialect.yaml", "contract.yaml", "requirements.yaml", "features.yaml", "services.yaml", "canary.yaml"]
    {
        std::fs::copy(root.join("suites/dialects").join(DIALECT).join(name), folder.path().join(name)).unwrap();
    }
    for (file, text) in gateproof_suites::manifests_of(DIALECT) {
        let path = folder.path().join("manifests").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// Whether a scenario or a rule of the contract has to show it.
fn is_to_be_proven(one: &Requirement) -> bool {
    one.untested.is_none() && one.later.is_none() && one.tests.iter().any(|kind| *kind != TestKind::C)
}

/// What one edition shows excuses no other.
#[rstest::rstest]
#[case::current("current", 80)]
#[case::design("design", 40)]
fn every_clause_is_proven_in_its_edition_or_says_why_not(#[case] edition: &str, #[case] at_least: usize) {
    let folder = folder();
    let suite = Suite::read(folder.path(), Some(edition)).unwrap();
    let scenarios = load::parsed(&suite.manifests().unwrap(), &suite.vocabulary).unwrap();
    assert!(scenarios.len() > at_least, "{}", scenarios.len());
    let named = scenarios.iter().flat_map(clauses).collect::<BTreeSet<_>>();
    let proven = |id: &str| named.contains(id) || !suite.contract.rules_proving(id).is_empty();
    let all = suite.requirements.iter().filter(|one| !suite.vocabulary.edition.is_elsewhere(&one.id));
    let wrong: Vec<&str> =
        all.filter(|one| proven(&one.id) != is_to_be_proven(one)).map(|one| one.id.as_str()).collect();
    // What is allowed is proven by no failure.
    assert_eq!(wrong, Vec::<&str>::new());
}

#[test]
fn every_clause_that_a_rule_names_is_there() {
    let folder = folder();
    let suite = Suite::read(folder.path(), None).unwrap();
    let text = std::fs::read_to_string(folder.path().join("contract.yaml")).unwrap();
    let named = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).filter(|word| word.starts_with("ASO-"));
    let unknown: BTreeSet<&str> = named.filter(|id| suite.requirement(id).is_none()).collect();
    assert_eq!(unknown, BTreeSet::new());
}

#[test]
fn clauses_are_told_and_sourced() {
    let suite = Suite::read(folder().path(), None).unwrap();
    let mut texts = BTreeSet::new();
    for one in &suite.requirements {
        assert!(texts.insert(&one.text), "{} repeats another", one.id);
        assert!(one.source.starts_with("https://"), "{}", one.id);
        let editions = one.editions.iter().flatten();
        assert!(editions.clone().all(|edition| ["design", "current"].contains(&edition.as_str())), "{}", one.id);
        assert_eq!(one.tests == [TestKind::N], one.untested.is_some(), "{}", one.id);
    }
    let numbered: Vec<&str> = suite.requirements.iter().map(|one| one.id.as_str()).take(41).collect();
    let expected: Vec<String> = (1..=41).map(|number| format!("ASO-{number:02}")).collect();
    assert_eq!(numbered, expected);
}

/// The schema of the rules and the service itself take the same ones, and refuse the same ones.
#[rstest::rstest]
#[case::least(json!({"path": "/a"}), true)]
#[case::all(json!({"method": "PUT", "path": "**/a", "times": 2, "status": 429, "code": "A", "message": "b", "headers": {"A": "b"},
    "retryAfter": 1, "delay": 0.5, "accepted": true, "operation": {"kind": "location", "seconds": 1, "end": "Failed", "code": "A",
    "message": "b", "status": 409}, "provisioningState": "Failed", "behind": "delete"}), true)]
#[case::body(json!({"path": "/a", "status": 200, "body": "{}"}), true)]
#[case::changed(json!({"path": "/a", "behind": {"change": {"tags": null}}}), true)]
#[case::polls(json!({"path": "/a", "method": "DELETE", "operation": {"kind": "provisioning-state", "polls": 0}}), true)]
#[case::nothing(json!({}), false)]
#[case::field(json!({"path": "/a", "retryafter": 1}), false)]
#[case::method(json!({"path": "/a", "method": "put"}), false)]
#[case::half_a_path(json!({"path": "a"}), false)]
#[case::less_than_none(json!({"path": "/a", "times": -1}), false)]
#[case::status(json!({"path": "/a", "status": 302}), false)]
#[case::status_as_text(json!({"path": "/a", "status": "400"}), false)]
#[case::high_status(json!({"path": "/a", "status": 600}), false)]
#[case::code_of_success(json!({"path": "/a", "status": 200, "code": "A"}), false)]
#[case::message_of_success(json!({"path": "/a", "message": "a"}), false)]
#[case::accepted_success(json!({"path": "/a", "accepted": true}), false)]
#[case::body_and_code(json!({"path": "/a", "status": 400, "body": "a", "code": "A"}), false)]
#[case::header(json!({"path": "/a", "headers": {"A": 1}}), false)]
#[case::long_delay(json!({"path": "/a", "delay": 601}), false)]
#[case::refused_operation(
    json!({"path": "/a", "method": "PUT", "status": 409, "operation": {"kind": "location", "polls": 1}}),
    false
)]
#[case::operation_of_a_read(json!({"path": "/a", "method": "GET", "operation": {"kind": "location", "polls": 1}}), false)]
#[case::endless(json!({"path": "/a", "method": "PUT", "operation": {"kind": "location"}}), false)]
#[case::two_ends(
    json!({"path": "/a", "method": "PUT", "operation": {"kind": "location", "polls": 1, "seconds": 1}}),
    false
)]
#[case::code_of_its_success(
    json!({"path": "/a", "method": "PUT", "operation": {"kind": "azure-async", "polls": 1, "code": "A"}}),
    false
)]
#[case::code_of_a_state(
    json!({"path": "/a", "method": "PUT", "operation": {"kind": "provisioning-state", "polls": 1, "end": "Failed", "code": "A"}}),
    false
)]
#[case::status_of_another_way(
    json!({"path": "/a", "method": "PUT", "operation": {"kind": "azure-async", "polls": 1, "end": "Failed", "status": 409}}),
    false
)]
#[case::state_of_a_read(json!({"path": "/a", "method": "GET", "provisioningState": "Failed"}), false)]
#[case::behind(json!({"path": "/a", "behind": "deleted"}), false)]
#[case::behind_nothing(json!({"path": "/a", "behind": {}}), false)]
fn rules_are_described_as_the_service_takes_them(#[case] rule: Value, #[case] is_taken: bool) {
    let suite = Suite::named(DIALECT).unwrap().unwrap();
    let told = suite.wrong_rules("arm", std::slice::from_ref(&rule));
    let read = gateproof_arm::Script::parse(json!({"rules": [rule]}).to_string().as_bytes());
    assert_eq!((told.is_empty(), read.is_ok()), (is_taken, is_taken), "{told:?} {read:?}");
}

/// What stands beside its groups is of the same cloud.
#[rstest::rstest]
#[case::a_neighbour("keyvault.azure.com", true)]
#[case::below_a_neighbour("secrets.keyvault.azure.com", true)]
#[case::one_that_ends_alike("notazure.com", false)]
#[case::somebody_else("keyvault.example.com", false)]
fn a_group_of_its_domain_needs_a_canary(#[case] group: &str, #[case] is_guarded: bool) {
    let folder = tempfile::tempdir().unwrap();
    let lamps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/lamps/dialect");
    for file in std::fs::read_dir(lamps).unwrap().map(|file| file.unwrap().path()).filter(|file| file.is_file()) {
        let text = std::fs::read_to_string(&file).unwrap().replace("examples.gateproof.dev", group);
        std::fs::write(folder.path().join(file.file_name().unwrap()), text).unwrap();
    }
    let read = Suite::read(folder.path(), None).map(|_| ()).map_err(|error| error.to_string());
    assert_eq!(read.as_ref().is_err_and(|error| error.contains("a run needs a canary here")), is_guarded, "{read:?}");
    assert_eq!(read.is_err(), is_guarded, "{read:?}");
}

/// A canary that asks after something else passes wherever its first object makes something real.
#[rstest::rstest]
#[case::of_another(
    "resourceGroups/${ns}*",
    "resourceGroups/${token}*",
    "canary.yaml:29",
    "is not about ResourceGroup/canary, which is applied first, in line 11"
)]
#[case::of_one_that_starts_alike(
    "resourceGroups/${ns}*",
    "resourceGroups/${ns}-b*",
    "canary.yaml:29",
    "is not about ResourceGroup/canary"
)]
#[case::of_all(
    ", path: \"/subscriptions/0badc0de-0000-4000-8000-00000000cafe/resourceGroups/${ns}*\"",
    "",
    "canary.yaml:29",
    "is not about ResourceGroup/canary"
)]
#[case::of_nothing(
    "resources.azure.com/v1api20200601",
    "example.com/v1",
    "canary.yaml:29",
    "no object of such a group is applied before"
)]
#[case::of_the_second(
    "    - requests:",
    "    - apply:\n        - {apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: more}, spec: {location: westeurope}}\n    - requests:",
    "canary.yaml:29",
    "a second object is applied before the request for the first one"
)]
fn it_asks_for_its_first_object(#[case] from: &str, #[case] to: &str, #[case] place: &str, #[case] told: &str) {
    let folder = folder();
    let path = folder.path().join("canary.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from));
    std::fs::write(path, text.replacen(from, to, 1)).unwrap();
    let error = Suite::read(folder.path(), None).unwrap_err().to_string();
    assert!(error.contains(&format!("{place}: ")) && error.contains(told), "{error}");
}

/// By the name of the object it may ask as well.
#[test]
fn it_may_ask_by_name() {
    let folder = folder();
    let path = folder.path().join("canary.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, text.replacen("resourceGroups/${ns}*", "resourceGroups/${ns}-b/canary", 1)).unwrap();
    assert!(Suite::read(folder.path(), None).is_ok());
}

/// Whoever copies the dialect copies what guards it.
#[test]
fn it_is_not_read_without_its_canary() {
    let folder = folder();
    assert!(Suite::read(folder.path(), None).unwrap().canary.is_some());
    std::fs::remove_file(folder.path().join("canary.yaml")).unwrap();
    assert!(Suite::read(folder.path(), None).unwrap_err().to_string().contains("canary.yaml"));
    // One that asks nobody passes wherever it is applied.
    let canary = folder.path().join("canary.yaml");
    std::fs::write(
        &canary,
        "apiVersion: gateproof.dev/v1alpha1\nkind: Scenario\nmetadata: {name: quiet}\nspec:\n  summary: It is there.\n  features: []\n  steps:\n    \
         - apply: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\n    - requests: {service: arm, count: 0}\n",
    )
    .unwrap();
    let error = Suite::read(folder.path(), None).unwrap_err().to_string();
    assert!(error.contains("canary.yaml") && error.contains("atLeast") && error.contains("`aso`"), "{error}");
    std::fs::remove_file(canary).unwrap();
    // By another name it would make the same.
    for file in ["dialect.yaml", "contract.yaml"] {
        let text = std::fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(text.contains("{name: aso}"), "{file}");
        std::fs::write(folder.path().join(file), text.replace("{name: aso}", "{name: my-own}")).unwrap();
    }
    assert!(Suite::read(folder.path(), None).unwrap_err().to_string().contains("canary.yaml"));
}
