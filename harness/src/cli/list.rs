//! `gateproof list`: what there is.

mod profiles;
mod requirements;

use clap::Subcommand;
use gateproof_suites::{Feature, Membership, features};
use gateproof_testbed::{KnownFault, KnownVariant};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use self::profiles::ProfileItem;
pub(crate) use self::requirements::RequirementItem;
use super::dialect::DialectArg;
use super::options::{Selected, Selection, counts, scenarios_of};
use super::output::{self, Format, FormatArg, say};
use super::{Failure, Outcome};
use crate::dialects::{DialectFeature, Reference};
use crate::exit_codes;
use crate::kill::ShownBy;
use crate::run::embedded;
use crate::scenario::{Scenario, select};
use crate::suite::Suite;

/// List scenarios, features, profiles, requirements, faults or variants
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  gateproof list scenarios HTTPRoute\n  gateproof list requirements --format json\n  gateproof list faults --dialect kuadrant"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Scenarios, with what they prove
    Scenarios {
        #[command(flatten)]
        selection: Selection,
        #[command(flatten)]
        format: FormatArg,
    },
    /// Features that an implementation may claim, with the profiles that count them
    Features(Of),
    /// Profiles, of Gateway API those of conformance, with the features and scenarios that count in them
    Profiles(Of),
    /// Clauses of the specification and blind spots of upstream's tests, with who proves them
    Requirements(Of),
    /// Named misbehaviours of the embedded reference
    Faults(Of),
    /// Named ways of the embedded reference to differ that the specification allows
    Variants(Of),
}

/// Of which dialect, and how.
#[derive(Debug, clap::Args)]
struct Of {
    #[command(flatten)]
    dialect: DialectArg,
    #[command(flatten)]
    format: FormatArg,
}

/// A scenario.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ScenarioItem {
    /// Its name.
    name: String,
    /// Its suite.
    suite: String,
    /// File of the manifest.
    file: String,
    /// Its sentence.
    summary: String,
    /// Features that it needs.
    features: Vec<String>,
    /// The first release at which it has a meaning.
    since: Option<String>,
    /// The first release at which it has none any more.
    until: Option<String>,
    /// The profiles that it counts in, and as what.
    profiles: IndexMap<String, Membership>,
    /// What it proves.
    proves: Vec<String>,
}

/// A feature: of Gateway API, or of another dialect.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum FeatureItem {
    /// Of Gateway API.
    GatewayApi(Feature),
    /// Of another.
    Other(DialectFeature),
}

impl FeatureItem {
    fn of(suite: &Suite) -> Vec<FeatureItem> {
        match suite.dialect.releases() {
            Some(_) => features().iter().cloned().map(FeatureItem::GatewayApi).collect(),
            None => suite.features.iter().cloned().map(FeatureItem::Other).collect(),
        }
    }

    fn cells(&self) -> [String; 5] {
        match self {
            FeatureItem::GatewayApi(feature) => profiles::cells(feature),
            FeatureItem::Other(DialectFeature { name, about }) => {
                [name.clone(), about.clone(), String::new(), String::new(), String::new()]
            }
        }
    }
}

/// A named misbehaviour of the embedded reference.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FaultItem {
    /// Its name.
    name: &'static str,
    /// The seam that it replaces.
    seam: &'static str,
    /// What it does.
    summary: &'static str,
    /// Clauses that it breaks.
    clauses: &'static [&'static str],
    /// Where such a mistake of a real controller was reported, as `OWNER/NAME#NUMBER`; left out if none is known.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    reported: &'static [&'static str],
}

impl FaultItem {
    /// What it does, with who did so.
    fn sentence(&self) -> String {
        match self.reported {
            [] => self.summary.to_owned(),
            reported => format!("{} As in {}.", self.summary, reported.join(", ")),
        }
    }
}

/// A named way of the embedded reference to differ that the specification allows.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VariantItem {
    /// Its name.
    name: &'static str,
    /// What it does.
    summary: &'static str,
    /// Why it may.
    source: &'static str,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Outcome {
    match &args.what {
        What::Scenarios { selection, format } => {
            let Selected { suite, chosen, .. } = selection.among_all()?;
            let items: Vec<ScenarioItem> = chosen.iter().map(|one| scenario(one, &suite)).collect();
            list(*format, &items, |item| [item.name.clone(), item.features.join(", "), item.summary.clone()])
        }
        What::Features(Of { dialect, format }) => {
            list(*format, &FeatureItem::of(&dialect.suite()?), FeatureItem::cells)
        }
        What::Profiles(Of { dialect, format }) => {
            let suite = dialect.suite()?;
            let all = super::own::profiles(&suite)?;
            let scenarios = scenarios_of(&suite, &[])?;
            list(*format, &profiles::all(&suite, &scenarios), ProfileItem::cells)?;
            note(*format, profiles::outside(all, &scenarios));
            Ok(())
        }
        What::Requirements(Of { dialect, format }) => {
            let suite = dialect.suite()?;
            let items = requirements::all(&suite)?;
            list(*format, &items, RequirementItem::cells)?;
            note(*format, Some(requirements::counts(&items)));
            Ok(())
        }
        What::Variants(Of { dialect, format }) => {
            list(*format, &variants_of(dialect)?, |item| [item.name.to_owned(), item.summary.to_owned()])
        }
        What::Faults(Of { dialect, format }) => {
            list(*format, &faults_of(dialect)?, |item| [item.name.to_owned(), item.seam.to_owned(), item.sentence()])
        }
    }?;
    Ok(exit_codes::PASSED)
}

fn list<T: Serialize, const N: usize>(
    format: FormatArg,
    items: &[T],
    cells: impl Fn(&T) -> [String; N],
) -> Result<(), Failure> {
    if format.format == Format::Json {
        return output::json(items);
    }
    output::columns(&items.iter().map(cells).collect::<Vec<_>>());
    Ok(())
}

/// Says something about a whole list, to people.
fn note(format: FormatArg, text: Option<String>) {
    if let (Format::Text, Some(text)) = (format.format, text) {
        say!("\n{text}");
    }
}

fn scenario(scenario: &Scenario, suite: &Suite) -> ScenarioItem {
    let counted = suite.vocabulary.profiles.iter();
    let counted = counted.filter_map(|profile| Some((profile.name.clone(), counts(scenario, profile)?)));
    ScenarioItem {
        name: scenario.name.clone(),
        suite: scenario.suite.clone(),
        file: scenario.file.clone(),
        summary: scenario.summary.clone(),
        features: scenario.features.clone(),
        since: scenario.bounds.since.map(|version| version.to_string()),
        until: scenario.bounds.until.map(|version| version.to_string()),
        profiles: counted.collect(),
        proves: select::clauses(scenario).iter().map(ToString::to_string).collect(),
    }
}

/// The reference of a dialect.
fn reference(dialect: &DialectArg) -> Result<Reference, Failure> {
    let suite = dialect.suite()?;
    suite.reference().ok_or_else(|| {
        let message = format!("the dialect `{}` has no embedded reference", suite.dialect.name());
        Failure::usage(message, "a folder says what a target is judged by, and nothing that could misbehave")
    })
}

fn faults_of(dialect: &DialectArg) -> Result<Vec<FaultItem>, Failure> {
    let item = |fault: KnownFault| FaultItem {
        name: fault.name,
        seam: fault.seam,
        summary: fault.summary,
        clauses: fault.clauses,
        reported: fault.reported,
    };
    let (reference, suite) = (reference(dialect)?, dialect.suite()?);
    let faults = ShownBy::faults(reference, suite.other_edition());
    let faults = faults.map_err(|error| Failure::usage(error, "this is a mistake of gateproof; please report it"))?;
    Ok(faults.into_iter().map(item).collect())
}

fn variants_of(dialect: &DialectArg) -> Result<Vec<VariantItem>, Failure> {
    let item = |one: KnownVariant| VariantItem { name: one.name, summary: one.summary, source: one.source };
    Ok(embedded::variants(reference(dialect)?).into_iter().map(item).collect())
}
