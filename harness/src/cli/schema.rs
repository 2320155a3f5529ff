//! `gateproof schema`: JSON Schema of what people write and of what programs read.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Value, json};

use gateproof_report::badge::Badge;
use gateproof_report::compare::Comparison;
use gateproof_report::diff::Diff;
use gateproof_report::matrix;
use gateproof_report::record::RunRecord;
use gateproof_report::requirements::Account;
use gateproof_report::trend::Trend;

use super::output::{self, Format, FormatArg};
use super::{Failure, Outcome, clean, each, explain, list, plan, replay, report_lint, testbed, verify};
use crate::diagnosis::Diagnosis;
use crate::exit_codes;
use crate::kill::{Matrix, Proof, Varied};
use crate::log::codec::Line;
use crate::run::Preflight;
use crate::run::releases::Difference;
use crate::scenario::{self, Diagnostic, Vocabulary};

/// Print the JSON Schema of scenario manifests, or of what a verb writes for programs
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gateproof schema manifest > scenario.schema.json
  gateproof schema --list
  gateproof schema record")]
pub(crate) struct Args {
    /// Of what; `--list` shows what there is
    #[arg(value_name = "SUBJECT", default_value = "manifest")]
    subject: String,
    /// Show what has a schema
    #[arg(long, conflicts_with = "subject")]
    list: bool,
    #[command(flatten)]
    format: FormatArg,
}

/// Something that has a schema.
struct Subject {
    /// How it is asked for.
    name: &'static str,
    /// What it is.
    about: &'static str,
    /// Makes the schema, given the name.
    schema: fn(&str) -> Value,
}

/// Everything that has a schema.
const SUBJECTS: &[Subject] = &[
    Subject { name: "manifest", about: "a scenario manifest", schema: manifest },
    Subject { name: "known-failures", about: "a file for run --known-failures", schema: known_failures },
    Subject { name: "events", about: "a line of events.jsonl", schema: of::<Line> },
    Subject {
        name: "record",
        about: "record.json, and run, replay and report merge --format json",
        schema: of::<RunRecord>,
    },
    Subject { name: "plan", about: "plan --format json", schema: of::<Vec<plan::Row>> },
    Subject { name: "plan-compare", about: "plan --compare --format json", schema: of::<Vec<Difference>> },
    Subject { name: "replay-at", about: "replay --gateway-api-version --format json", schema: of::<replay::AtRelease> },
    Subject { name: "preflight", about: "preflight --format json", schema: of::<Preflight> },
    Subject { name: "list-scenarios", about: "list scenarios --format json", schema: of::<Vec<list::ScenarioItem>> },
    Subject { name: "list-features", about: "list features --format json", schema: of::<Vec<list::FeatureItem>> },
    Subject { name: "list-profiles", about: "list profiles --format json", schema: of::<Vec<list::ProfileItem>> },
    Subject {
        name: "list-requirements",
        about: "list requirements --format json",
        schema: of::<Vec<list::RequirementItem<'static>>>,
    },
    Subject { name: "list-faults", about: "list faults --format json", schema: of::<Vec<list::FaultItem>> },
    Subject { name: "list-variants", about: "list variants --format json", schema: of::<Vec<list::VariantItem>> },
    Subject { name: "explain", about: "explain --format json", schema: of::<Vec<explain::Explanation>> },
    Subject { name: "lint", about: "lint --format json", schema: of::<Vec<Diagnostic>> },
    Subject { name: "faults", about: "faults --format json", schema: of::<Matrix> },
    Subject {
        name: "faults-proof",
        about: "faults --pinpoint and faults --inversion --format json",
        schema: of::<Proof>,
    },
    Subject { name: "faults-variants", about: "faults --variants --format json", schema: of::<Varied> },
    Subject { name: "testbed", about: "testbed --format json", schema: of::<testbed::Served> },
    Subject { name: "report-lint", about: "report lint --format json", schema: of::<Vec<report_lint::FileDefect>> },
    Subject { name: "report-compare", about: "report compare --format json", schema: of::<Comparison> },
    Subject { name: "report-diagnose", about: "report diagnose --format json", schema: of::<Option<Diagnosis>> },
    Subject { name: "report-matrix", about: "report matrix --as json", schema: of::<matrix::Matrix> },
    Subject { name: "report-trend", about: "report trend --as json", schema: of::<Trend> },
    Subject { name: "report-diff", about: "report diff --format json", schema: of::<Diff> },
    Subject { name: "report-badge", about: "report badge --as json", schema: of::<Badge> },
    Subject { name: "report-requirements", about: "report requirements --as json", schema: of::<Account> },
    Subject { name: "report-verify", about: "report verify --format json", schema: of::<verify::Verified> },
    Subject { name: "clean", about: "clean --format json", schema: of::<clean::Document> },
    Subject {
        name: "of-dialects",
        about: "plan, preflight, list, explain, lint and faults --format json of several dialects",
        schema: of::<Vec<each::OfDialect>>,
    },
    Subject { name: "schema-list", about: "schema --list --format json", schema: of::<Vec<Item>> },
];

/// Something that has a schema, as it is listed.
#[derive(Debug, Serialize, JsonSchema)]
struct Item {
    /// How it is asked for.
    name: &'static str,
    /// What it is.
    about: &'static str,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Outcome {
    if args.list {
        let items: Vec<Item> = SUBJECTS.iter().map(|s| Item { name: s.name, about: s.about }).collect();
        match args.format.format {
            Format::Json => output::json(&items)?,
            Format::Text => {
                output::columns(&items.iter().map(|i| [i.name, i.about].map(str::to_owned)).collect::<Vec<_>>())
            }
        }
        return Ok(exit_codes::PASSED);
    }
    let subject = SUBJECTS.iter().find(|subject| subject.name == args.subject).ok_or_else(|| unknown(&args.subject))?;
    output::json(&(subject.schema)(subject.name))?;
    Ok(exit_codes::PASSED)
}

fn unknown(name: &str) -> Failure {
    let near = scenario::suggest(name, SUBJECTS.iter().map(|subject| subject.name));
    let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    Failure::usage(format!("there is no schema of `{name}`"), format!("{near}`gateproof schema --list` shows all"))
}

fn manifest(_: &str) -> Value {
    scenario::schema::manifest(&Vocabulary::builtin())
}

fn known_failures(_: &str) -> Value {
    scenario::schema::known_failures(&Vocabulary::builtin())
}

/// The schema of what is written of a type: draft 2020-12, and closed, so that no field goes unnamed.
fn of<T: JsonSchema>(name: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(RecursiveTransform(close));
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("$id".to_owned(), json!(format!("https://gateproof.dev/schemas/v1alpha1/{name}.json")));
    schema.to_value()
}

/// The schema admits no fields beside those that it names.
fn close(schema: &mut Schema) {
    if schema.get("properties").is_some() && schema.get("additionalProperties").is_none() {
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::kill::{Blamed, Survivor};

    /// A whole proof takes too long to be run for its output.
    #[test]
    fn the_schemas_of_proofs_are_closed() {
        let word = || "a".to_owned();
        let survivor = Survivor { scenario: word(), expectation: word(), outcome: word(), why: word() };
        is_closed(&Proof { survivors: vec![survivor], ..Proof::default() }, "survivors");
        let blamed = Blamed { variant: word(), by: word(), why: word() };
        is_closed(&Varied { runs: 1, blamed: vec![blamed] }, "blamed");
    }

    fn is_closed<T: Serialize + JsonSchema>(found: &T, list: &str) {
        let mut document = serde_json::to_value(found).unwrap();
        let validator = jsonschema::validator_for(&of::<T>("proof")).unwrap();
        assert!(validator.is_valid(&document), "{document}");
        document[list][0]["more"] = json!(1);
        assert!(!validator.is_valid(&document));
    }
}
