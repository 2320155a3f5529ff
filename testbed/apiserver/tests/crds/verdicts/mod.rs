//! Rules: equal to the official ones by verdict.
//!
//! Every field that has rules gets a corpus of values on both sides of each rule; ours and the official ones must refuse the same values
//! there. The verdicts' digest is committed, so ours are held to them where the official bundles are not at hand.

mod corpus;
mod fields;
mod gateways;
mod routes;
mod telemetry;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

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

/// The rules that fail for a sample.
type Verdict = BTreeSet<String>;

/// The verdicts of distinct fields, each judged once: versions, kinds and channels share many.
type Known = BTreeMap<String, Arc<OnceLock<Arc<Vec<Verdict>>>>>;

/// The verdicts of a field's rules on all its samples.
fn verdicts(field: &Field) -> Arc<Vec<Verdict>> {
    static KNOWN: Mutex<Known> = Mutex::new(BTreeMap::new());
    let key = format!("{} {}", corpus::name(field), field.schema);
    let cell = Arc::clone(KNOWN.lock().unwrap().entry(key).or_default());
    Arc::clone(cell.get_or_init(|| {
        let compiled = compile_schema(&field.schema);
        assert!(!compiled.has_errors(), "{}: {:?}", field.at, compiled.compilation_errors());
        let validator = Validator::new();
        Arc::new(samples(field).iter().map(|sample| verdict(&validator, &compiled, sample, &field.at)).collect())
    }))
}

fn verdict(validator: &Validator, schema: &CompiledSchema, sample: &Sample, at: &str) -> Verdict {
    let result = validator.validate_compiled(schema, &sample.new, sample.old.as_ref());
    let failed = result.err().into_iter().flatten().map(|error| {
        let evaluated = matches!(error.kind, ErrorKind::ValidationFailure | ErrorKind::EvaluationError);
        assert!(evaluated && error.field_path.is_empty(), "{at}: {error:?} on {}", sample.new);
        error.rule
    });
    failed.collect()
}

/// A digest of which samples each definition's rules refuse.
fn lines(definitions: &[Value], channel: Channel) -> Vec<String> {
    let digest = |definition| {
        let mut hash = Sha256::new();
        for field in fields::with_rules(definition) {
            let verdicts = verdicts(&field);
            let answers: String = verdicts.iter().map(|failed| if failed.is_empty() { '+' } else { '-' }).collect();
            hash.update(format!("{} {answers}\n", field.at));
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    definitions.iter().map(|each| format!("{} {channel} {}", digest(each), official::name(each))).collect()
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
    let mut differences = Vec::new();
    for (ours, theirs) in gateway_api(channel).iter().zip(&official) {
        let (ours, theirs) = (fields::with_rules(ours), fields::with_rules(theirs));
        let names = |fields: &[Field]| fields.iter().map(|field| field.at.clone()).collect::<Vec<_>>();
        assert_eq!(names(&ours), names(&theirs), "the same fields have rules");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let (we, they) = (verdicts(ours), verdicts(theirs));
            let differing: Vec<_> =
                (0..we.len()).filter(|index| we[*index].is_empty() != they[*index].is_empty()).collect();
            if let Some(first) = differing.first() {
                let (count, sample) = (differing.len(), &samples(ours)[*first].new);
                let (we, they) = (&we[*first], &they[*first]);
                differences.push(format!("{}: {count}, first {sample}\n  ours {we:?}\n  official {they:?}", ours.at));
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{}",
        differences.join(
            "
"
        )
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
    let mut idle = Vec::new();
    for field in definitions.iter().flat_map(fields::with_rules) {
        let verdicts = verdicts(&field);
        for rule in field.rules() {
            let refused = verdicts.iter().filter(|failed| failed.contains(rule)).count();
            if refused == 0 || refused == verdicts.len() {
                idle.push(format!("{}: {refused} of {} refused by {rule}", field.at, verdicts.len()));
            }
        }
    }
    assert!(idle.is_empty(), "{}", idle.join("\n"));
}
