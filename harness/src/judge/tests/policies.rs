//! Conditions that build on one another, in a dialect whose statuses say their generation once, and call things by names of their own.

use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};

use crate::dialects::Dialect;
use crate::judge::contract::{Contract, ContractError, ContractState, Rule, Watched, records};
use crate::log::{Body, Change, Elapsed, Event, ObjectKey, Scope, Timing, TimingProfile};
use crate::scenario::{Basis, ObjectRef};

const DIALECT: &str = r"
apiVersion: gateproof.dev/v1alpha1
kind: Dialect
metadata: {name: seals}
spec:
  title: Seals
  groups: [seals.example]
  kinds:
    - {kind: Seal, plural: seals, role: entry, generation: status}
    - {kind: Maker, plural: makers, scope: Cluster, role: class}
    - {kind: Door, plural: doors, conditions: parents}
  conditions: [Taken, Tight, Marked]
  accepted: Taken
  entries: {ready: Tight, addresses: {at: /status/places, values: [ip]}}
";

const CONTRACT: &str = r#"
apiVersion: gateproof.dev/v1alpha1
kind: StatusContract
metadata: {name: seals}
spec:
  transitionTime: either
  messageRequired: false
  forms: {reason: '.', reasonLint: '.', type: '.'}
  rules:
    needs-met: {level: MUST, clauses: [S-1]}
    programmed-after-accepted: {level: MUST, clauses: [S-1]}
    supported-version-present: {level: MUST, clauses: [S-1]}
    reasons-stay: {level: MUST, clauses: [S-2]}
    message-does-not-grow: {level: MUST, clauses: [S-3]}
    reason-closed: {level: MUST, clauses: [S-4]}
    observed-generation-present: {level: MUST, clauses: [S-5]}
    observed-generation-not-ahead: {level: MUST, clauses: [S-5]}
    observed-generation-not-backwards: {level: MUST, clauses: [S-5]}
    observed-generation-current: {level: MUST, clauses: [S-5]}
    always-present: {level: MUST, clauses: [S-6]}
    reason-listed: {level: MUST, clauses: [S-4]}
  conditions:
    seal:
      Taken: {presence: always, configured: true, reasons: {"True": [Taken], "False": [Lost, Torn]}}
      Tight: {presence: optional, needs: [Taken]}
      Marked: {presence: withAccepted}
    door:
      seals.example/Sealed: {presence: optional, closed: true, reasons: {"True": [Sealed]}}
  kinds:
    - {kind: Seal, group: seals.example, subjects: [{at: object, conditions: seal}]}
    - {kind: Door, group: seals.example, subjects: [{at: parents, conditions: door, controller: seals.example/other}]}
"#;

/// The contract of seals.
pub(super) fn contract() -> Arc<Contract> {
    Arc::new(Contract::of(Arc::new(Dialect::parse(DIALECT).unwrap()), None, CONTRACT).unwrap())
}

/// What an edition has otherwise is a merge patch of the rest, and as strict.
#[rstest]
#[case::otherwise("drawn", "{conditions: {seal: {Taken: {reasons: {\"False\": [Gone]}}}}}", Ok(false))]
#[case::left_out("drawn", "{rules: {reason-closed: null}}", Ok(true))]
#[case::unknown_edition("drawm", "{}", Err("no edition `drawm`"))]
#[case::unknown_rule(
    "drawn",
    "{rules: {reason-close: {level: MUST, clauses: []}}}",
    Err("did you mean `reason-closed`?")
)]
#[case::nothing_to_take("drawn", "{conditions: {seal: {Takn: null}}}", Err("there is no `conditions.seal.Takn`"))]
#[case::unknown_field("drawn", "{rulse: {}}", Err("in the edition `drawn`: unknown field `rulse`"))]
fn an_edition_has_it_otherwise(
    #[case] named: &str,
    #[case] otherwise: &str,
    #[case] is_without_the_rule: Result<bool, &str>,
) {
    let dialect = DIALECT.trim_end().to_owned() + "\n  editions: [shipped, drawn]\n";
    let dialect = Arc::new(Dialect::parse(&dialect).unwrap());
    let text = format!("{}\n  editions: {{{named}: {otherwise}}}\n", CONTRACT.trim_end());
    let of = |edition: &str| Contract::of(Arc::clone(&dialect), Some(edition), &text);
    let closed = Rule::named("reason-closed").unwrap();
    match is_without_the_rule {
        Ok(without) => {
            assert_eq!(of("drawn").unwrap().rule(closed).is_none(), without);
            assert!(of("shipped").unwrap().rule(closed).is_some());
            assert_eq!(of("drawn").unwrap().edition(), Some("drawn"));
        }
        Err(told) => {
            let error = of("drawn").unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}

/// The rules that a history breaks: versions, each so many milliseconds after the one before. It stands still at the end.
fn breaches(history: &[(u64, Value)]) -> Vec<String> {
    breaches_of(contract(), history)
}

fn breaches_of(contract: Arc<Contract>, history: &[(u64, Value)]) -> Vec<String> {
    let mut state = ContractState::new(contract, Basis::default(), "seals.example/ours".to_owned())
        .limits(&Timing::of(TimingProfile::Embedded));
    let mut now = 0;
    for (seq, (after, object)) in history.iter().enumerate() {
        now += after * 1000;
        let key = ObjectKey::of(object).unwrap();
        let body = Body::Observed { key, change: Change::Modified, object: Arc::new(object.clone()) };
        state.observe(&Event { seq: seq as u64, at: Elapsed(now), scope: Scope::Scenario("s".into()), body });
    }
    let (_, last) = history.last().unwrap();
    let ObjectKey { kind, namespace, name, .. } = ObjectKey::of(last).unwrap();
    state.settled(&ObjectRef { kind, namespace, name, pool: false }, None);
    let mut rules: Vec<String> =
        state.breaches().into_iter().map(|(name, _)| name.rsplit('/').next().unwrap().to_owned()).collect();
    rules.dedup();
    rules
}

/// `Type=Status:Reason:Message`.
fn condition(text: &str) -> Value {
    let (type_, rest) = text.split_once('=').unwrap();
    let words: Vec<&str> = rest.splitn(3, ':').collect();
    json!({"type": type_, "status": words[0], "reason": words[1], "message": words.get(2).unwrap_or(&""),
        "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

fn seal_at(generation: i64, observed: Option<i64>, conditions: &[&str]) -> Value {
    let conditions: Vec<Value> = conditions.iter().map(|text| condition(text)).collect();
    let mut object = json!({
        "apiVersion": "seals.example/v1", "kind": "Seal",
        "metadata": {"name": "x", "namespace": "n", "uid": "u", "generation": generation},
        "status": {"conditions": conditions},
    });
    if let Some(observed) = observed {
        object["status"]["observedGeneration"] = json!(observed);
    }
    object
}

fn seal(conditions: &[&str]) -> Value {
    seal_at(1, Some(1), conditions)
}

fn door(controller: &str, status: &str) -> Value {
    let mut sealed = condition(&format!("seals.example/Sealed={status}:Sealed"));
    sealed["observedGeneration"] = json!(1);
    json!({
        "apiVersion": "seals.example/v1", "kind": "Door",
        "metadata": {"name": "x", "namespace": "n", "uid": "u", "generation": 1},
        "status": {"parents": [{"parentRef": {"name": "p"}, "controllerName": controller, "conditions": [sealed]}]},
    })
}

const GOOD: [&str; 3] = ["Taken=True:Taken", "Tight=True:Tight", "Marked=False:Blank"];
const LOST: &str = "Taken=False:Lost:gone";

/// A history that breaks a rule, and one that is as near to it as can be and does not.
#[rstest]
#[case::false_beside(Rule::NeedsMet,
    vec![(0, seal(&[LOST, GOOD[1]]))], vec![(0, seal(&[LOST]))])]
#[case::alone(Rule::NeedsMet,
    vec![(0, seal(&[GOOD[1]]))], vec![(0, seal(&["Taken=True:Taken", "Tight=False:Loose"]))])]
#[case::too_late(Rule::NeedsMet,
    vec![(0, seal(&GOOD)), (5, seal(&[LOST, GOOD[1]])), (5, seal(&[LOST]))], vec![(0, seal(&GOOD)), (5, seal(&[LOST]))])]
#[case::calm(Rule::ReasonsStay,
    vec![(0, seal(&[LOST])), (5000, seal(&["Taken=False:Torn"]))], vec![(0, seal(&[LOST])), (4999, seal(&["Taken=False:Torn"]))])]
#[case::asked_again(Rule::ReasonsStay,
    vec![(0, seal(&[LOST])), (5000, seal(&["Taken=False:Torn"]))], vec![(0, seal(&[LOST])), (5000, seal_at(2, Some(2), &["Taken=False:Torn"]))])]
#[case::flips_are_another_rules(Rule::ReasonsStay,
    vec![(0, seal(&[LOST])), (5000, seal(&[LOST])), (9, seal(&["Taken=False:Torn"]))], vec![(0, seal(&[LOST])), (5000, seal(&GOOD))])]
#[case::quotes(Rule::MessageDoesNotGrow,
    vec![(0, seal(&[LOST])), (5, seal(&["Taken=False:Lost:oh, gone"])), (5, seal(&["Taken=False:Lost:oh, oh, gone"]))],
    vec![(0, seal(&[LOST])), (5, seal(&["Taken=False:Lost:oh, gone"]))])]
#[case::quotes_another(Rule::MessageDoesNotGrow,
    vec![(0, seal(&[LOST])), (5, seal(&["Taken=False:Lost:oh, gone"])), (5, seal(&["Taken=False:Lost:oh, gone"])), (5, seal(&["Taken=False:Lost:oh, oh, gone"]))],
    vec![(0, seal(&[LOST])), (5, seal(&["Taken=False:Lost:oh, gone"])), (5, seal(&["Taken=False:Lost:oh, lost"]))])]
#[case::ahead(Rule::ObservedGenerationNotAhead,
    vec![(0, seal_at(1, Some(2), &GOOD))], vec![(0, seal_at(2, Some(2), &GOOD))])]
#[case::missing(Rule::ObservedGenerationPresent,
    vec![(0, seal_at(1, None, &GOOD))], vec![(0, seal(&GOOD))])]
#[case::backwards(Rule::ObservedGenerationNotBackwards,
    vec![(0, seal_at(2, Some(2), &GOOD)), (5, seal_at(2, Some(1), &GOOD))], vec![(0, seal_at(2, Some(1), &GOOD)), (5, seal_at(2, Some(2), &GOOD))])]
#[case::behind(Rule::ObservedGenerationCurrent,
    vec![(0, seal_at(2, Some(1), &GOOD))], vec![(0, seal_at(2, Some(1), &GOOD)), (5, seal_at(2, Some(2), &GOOD))])]
#[case::serves_too_soon(Rule::ProgrammedAfterAccepted,
    vec![(0, seal(&[LOST, GOOD[1]]))], vec![(0, seal(&[LOST, "Tight=False:Loose"]))])]
#[case::serves_unaccepted(Rule::ProgrammedAfterAccepted,
    vec![(0, seal(&[GOOD[1]]))], vec![(0, seal(&GOOD))])]
#[case::unmarked(Rule::SupportedVersionPresent,
    vec![(0, seal(&GOOD[..2]))], vec![(0, seal(&[LOST]))])]
#[case::of_another_controller(Rule::ReasonClosed,
    vec![(0, door("seals.example/other", "False"))], vec![(0, door("seals.example/ours", "False"))])]
fn a_history_of_seals(#[case] rule: Rule, #[case] bad: Vec<(u64, Value)>, #[case] good: Vec<(u64, Value)>) {
    let seen = breaches(&bad);
    assert!(seen.iter().any(|r| r == rule.name()), "{seen:?}");
    let seen = breaches(&good);
    assert!(!seen.iter().any(|r| r == rule.name()), "{seen:?}");
}

/// What traffic comes in by, and no scenario settles, is settled once it says of its newest generation that it serves: where the whole
/// status says that, nothing in a condition need.
#[rstest]
#[case::of_the_newest(2, true)]
#[case::of_the_one_before(1, false)]
fn what_is_shared_is_settled_by_what_its_status_says(#[case] observed: i64, #[case] is_settled: bool) {
    // It lacks what is always there: who has settled is told so.
    let object = seal_at(2, Some(observed), &[GOOD[1]]);
    let timing = Timing::of(TimingProfile::Embedded);
    let mut state = ContractState::new(contract(), Basis::default(), "seals.example/ours".to_owned());
    let key = ObjectKey::of(&object).unwrap();
    let seen = Body::Observed { key, change: Change::Modified, object: Arc::new(object) };
    let late = Elapsed::default() + timing.quiet;
    for (seq, (at, body)) in
        [(Elapsed::default(), seen), (late, Body::RunEnded { interrupted: false })].into_iter().enumerate()
    {
        state.observe_shared(&Event { seq: seq as u64, at, scope: Scope::Run, body }, &timing);
    }
    let told = format!("contract/Seal/{}", Rule::AlwaysPresent.name());
    assert_eq!(state.breaches().iter().any(|(name, _)| *name == told), is_settled, "{:?}", state.breaches());
}

#[test]
fn healthy_seals_break_nothing() {
    let watched = Watched::of(&[ObjectKey::of(&seal(&GOOD)).unwrap()].into(), |_| false);
    let held: Vec<String> =
        records(&contract(), Basis::default(), &watched, []).into_iter().map(|one| one.name).collect();
    for rule in [Rule::ProgrammedAfterAccepted, Rule::SupportedVersionPresent] {
        assert!(held.contains(&format!("contract/Seal/{}", rule.name())), "{held:?}");
    }
    assert_eq!(breaches(&[(0, seal(&[LOST])), (5, seal(&GOOD))]), Vec::<String>::new());
}

#[rstest]
#[case::always("needs: [Taek]")]
#[case::while_true("needsWhenTrue: [Taek]")]
fn what_is_needed_has_to_be_there(#[case] needs: &str) {
    let dialect = Arc::new(Dialect::parse(DIALECT).unwrap());
    let error = Contract::of(dialect, None, &CONTRACT.replace("needs: [Taken]", needs)).unwrap_err();
    assert!(matches!(error, ContractError::UnknownNeed { .. }), "{error}");
}

/// A pattern is no condition of its own, so the dialect need not list it.
#[test]
fn what_is_like_another_says_what_that_says() {
    let spelt = "      seals.example/Sealed: {presence: optional, closed: true, reasons: {\"True\": [Sealed]}}\n";
    let alike = "      Pattern: {presence: optional, reasons: {\"True\": [Sealed]}}\n      seals.example/Sealed: {like: Pattern, closed: true}\n";
    assert!(CONTRACT.contains(spelt));
    let read = |text: &str| Contract::of(Arc::new(Dialect::parse(DIALECT).unwrap()), None, text);
    let contract = Arc::new(read(&CONTRACT.replace(spelt, alike)).unwrap());
    let broken = |status| breaches_of(Arc::clone(&contract), &[(0, door("seals.example/other", status))]);
    assert_eq!((broken("True"), broken("False")), (Vec::new(), vec![Rule::ReasonClosed.name().to_owned()]));
    for like in ["Patern", "seals.example/Sealed"] {
        let error =
            read(&CONTRACT.replace(spelt, &alike.replace("like: Pattern", &format!("like: {like}")))).unwrap_err();
        assert!(matches!(error, ContractError::UnknownLike { .. }), "{error}");
    }
}

/// What says that it is not so may say that of something lost, too.
#[rstest]
#[case::always("needs", "False", true)]
#[case::while_true_and_not("needsWhenTrue", "False", false)]
#[case::while_true_and_so("needsWhenTrue", "True", true)]
fn what_it_needs_while_true_it_needs_then_alone(#[case] word: &str, #[case] status: &str, #[case] is_broken: bool) {
    let dialect = Arc::new(Dialect::parse(DIALECT).unwrap());
    let text = CONTRACT.replace("needs: [Taken]", &format!("{word}: [Taken]"));
    let contract = Contract::of(dialect, None, &text).unwrap();
    let broken = breaches_of(Arc::new(contract), &[(0, seal(&[LOST, &format!("Tight={status}:Tight:no")]))]);
    assert_eq!(broken.iter().any(|rule| rule.contains("needs-met")), is_broken, "{broken:?}");
}
