//! Rules: equal to the official ones by verdict.
//!
//! Every field that has rules gets a corpus of values on both sides of each rule. Ours and the official ones must refuse the same values at
//! the same fields. The verdicts' digest is committed, so ours are held to them where the official bundles are not at hand.

mod corpus;
mod fields;
mod gateways;
mod routes;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gateproof_apiserver::crds::{Channel, gateway_api};
use kube_cel::{CompiledSchema, ErrorKind, Validator, compile_schema};
use rstest::rstest;
use serde_json::Value;
use sha2::{Digest, Sha256};

use self::corpus::{Sample, samples};
use self::fields::Field;
use super::official;

/// Digests of the official verdicts on the corpus: digest, channel and name on each line.
const COMMITTED: &str = include_str!("../../../crds/verdicts.txt");

/// What a set of rules says about one sample: field (below the one that the sample stands at) to the rules that fail there.
type Verdict = BTreeMap<String, BTreeSet<String>>;

struct Judge {
    validator: Validator,
    known: HashMap<String, Vec<Verdict>>,
}

impl Judge {
    fn new() -> Self {
        Self { validator: Validator::new(), known: HashMap::new() }
    }

    /// The verdicts of a field's rules on all its samples.
    fn verdicts(&mut self, field: &Field, samples: &[Sample]) -> Vec<Verdict> {
        // Versions and kinds share many fields: each distinct one is judged once.
        let key = format!("{} {}", corpus::name(&field.path), field.schema);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let compiled = compile_schema(&field.schema);
        assert!(!compiled.has_errors(), "{}: {:?}", field.at, compiled.compilation_errors());
        let verdicts: Vec<_> = samples.iter().map(|sample| self.verdict(&compiled, sample, &field.at)).collect();
        self.known.insert(key, verdicts.clone());
        verdicts
    }

    fn verdict(&self, schema: &CompiledSchema, sample: &Sample, at: &str) -> Verdict {
        let mut verdict = Verdict::new();
        let result = self.validator.validate_compiled(schema, &sample.new, sample.old.as_ref());
        for error in result.err().into_iter().flatten() {
            let evaluated = matches!(error.kind, ErrorKind::ValidationFailure | ErrorKind::EvaluationError);
            assert!(evaluated, "{at}: {error:?} on {}", sample.new);
            verdict.entry(error.field_path).or_default().insert(error.rule);
        }
        verdict
    }
}

fn fields_alone(verdicts: &[Verdict]) -> Vec<Vec<&String>> {
    verdicts.iter().map(|verdict| verdict.keys().collect()).collect()
}

/// A digest of which fields each definition's rules refuse.
fn lines(definitions: &[Value], channel: Channel) -> Vec<String> {
    let mut judge = Judge::new();
    let mut lines = Vec::new();
    for definition in definitions {
        let mut hash = Sha256::new();
        for field in fields::with_rules(definition) {
            let verdicts = judge.verdicts(&field, &samples(&field));
            hash.update(format!("{} {:?}\n", field.at, fields_alone(&verdicts)));
        }
        let digest: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        lines.push(format!("{digest} {channel} {}", official::name(definition)));
    }
    lines
}

fn committed(channel: Channel) -> Vec<&'static str> {
    COMMITTED.lines().filter(|line| line.split(' ').nth(1) == Some(channel.as_str())).collect()
}

#[rstest]
fn ours_give_the_committed_verdicts(#[values(Channel::Standard, Channel::Experimental)] channel: Channel) {
    assert_eq!(
        lines(&gateway_api(channel), channel),
        committed(channel),
        "run with the official bundles to see what differs"
    );
}

#[rstest]
fn the_official_ones_give_the_committed_verdicts(#[values(Channel::Standard, Channel::Experimental)] channel: Channel) {
    let Some(official) = official::definitions(channel) else { return };
    let theirs = lines(&official, channel);
    assert_eq!(theirs, committed(channel), "crds/verdicts.txt should hold\n{}", theirs.join("\n"));
}

#[rstest]
fn ours_refuse_what_the_official_ones_refuse(#[values(Channel::Standard, Channel::Experimental)] channel: Channel) {
    let Some(official) = official::definitions(channel) else { return };
    let mut judge = Judge::new();
    let mut differences = Vec::new();
    for (ours, theirs) in gateway_api(channel).iter().zip(&official) {
        let (ours, theirs) = (fields::with_rules(ours), fields::with_rules(theirs));
        let names = |fields: &[Field]| fields.iter().map(|field| field.at.clone()).collect::<Vec<_>>();
        assert_eq!(names(&ours), names(&theirs), "the same fields have rules");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let samples = samples(ours);
            let verdicts = judge.verdicts(ours, &samples).into_iter().zip(judge.verdicts(theirs, &samples));
            for (sample, (ours_say, theirs_say)) in samples.iter().zip(verdicts) {
                if !ours_say.keys().eq(theirs_say.keys()) {
                    differences
                        .push(format!("{}: {}\n  ours {ours_say:?}\n  official {theirs_say:?}", ours.at, sample.new));
                }
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{} differences\n{}",
        differences.len(),
        differences[..differences.len().min(10)].join("\n")
    );
}

#[rstest]
#[case::ours(false)]
#[case::official(true)]
fn each_rule_refuses_one_sample_and_admits_another(
    #[case] of_official: bool,
    #[values(Channel::Standard, Channel::Experimental)] channel: Channel,
) {
    let definitions = if of_official { official::definitions(channel) } else { Some(gateway_api(channel)) };
    let Some(definitions) = definitions else { return };
    let mut judge = Judge::new();
    let mut idle = Vec::new();
    for field in definitions.iter().flat_map(fields::with_rules) {
        let verdicts = judge.verdicts(&field, &samples(&field));
        for rule in field.rules() {
            let refused =
                verdicts.iter().filter(|verdict| verdict.get("").is_some_and(|failed| failed.contains(rule))).count();
            if refused == 0 || refused == verdicts.len() {
                idle.push(format!("{}: {refused} of {} refused by {rule}", field.at, verdicts.len()));
            }
        }
    }
    assert!(idle.is_empty(), "{}", idle.join("\n"));
}
