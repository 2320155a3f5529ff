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
use super::each::{self, Documents};
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
    after_help = "Examples:\n  gateproof list scenarios HTTPRoute\n  gateproof list requirements --format json\n  gateproof list faults --dialect kuadrant\n  gateproof list scenarios --dialect gateway-api,kuadrant,aso"
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
    /// Features that its target must not claim.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    without: Vec<String>,
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
            FeatureItem::Other(DialectFeature { name, about, .. }) => {
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
pub(crate) async fn run(args: &Args) -> Outcome {
    let of = match &args.what {
        What::Scenarios { selection, format } => {
            let format = format.format;
            return each::selection(selection, format, async |selection, documents| {
                let Selected { suite, chosen, .. } = selection.among_all()?;
                let items: Vec<ScenarioItem> = chosen.iter().map(|one| scenario(one, &suite)).collect();
                let cells = |item: &ScenarioItem| [item.name.clone(), item.features.join(", "), item.summary.clone()];
                list(format, documents, &items, cells)
            })
            .await;
        }
        What::Features(of) | What::Profiles(of) | What::Requirements(of) | What::Faults(of) | What::Variants(of) => of,
    };
    let format = of.format.format;
    each::dialect(&of.dialect, format, async |dialect, documents| {
        let suite = dialect.suite()?;
        match of_suite(&args.what, &suite, format, documents) {
            // What one of several does not have says nothing about the others.
            Err(Lacks::Nothing(why)) => documents.nothing(why, format).map(|()| exit_codes::PASSED),
            Err(Lacks::Failed(failure)) => Err(failure),
            Ok(code) => Ok(code),
        }
    })
    .await
}

/// Why there is no list.
enum Lacks {
    /// The dialect has nothing of it.
    Nothing(Failure),
    /// It could not be made.
    Failed(Failure),
}

impl From<Failure> for Lacks {
    fn from(failure: Failure) -> Lacks {
        Lacks::Failed(failure)
    }
}

fn of_suite(what: &What, suite: &Suite, format: Format, documents: &mut Documents) -> Result<u8, Lacks> {
    let code = match what {
        What::Features(_) | What::Scenarios { .. } => {
            let items = FeatureItem::of(suite);
            let code = list(format, documents, &items, FeatureItem::cells)?;
            if let (Format::Text, []) = (format, &items[..]) {
                // No error: nothing is missing.
                let name = suite.dialect.name();
                say!("the dialect `{name}` has no features: its scenarios ask the same of every target");
            }
            code
        }
        What::Profiles(_) => {
            let all = super::own::profiles(suite).map_err(Lacks::Nothing)?;
            let scenarios = scenarios_of(suite, &[])?;
            let code = list(format, documents, &profiles::all(suite, &scenarios), ProfileItem::cells)?;
            note(format, profiles::outside(all, &scenarios));
            code
        }
        What::Requirements(_) => {
            let items = requirements::all(suite)?;
            let code = list(format, documents, &items, RequirementItem::cells)?;
            note(format, Some(requirements::counts(&items)));
            code
        }
        What::Variants(_) => {
            let items = variants_of(reference(suite).map_err(Lacks::Nothing)?);
            list(format, documents, &items, |item| [item.name.to_owned(), item.summary.to_owned()])?
        }
        What::Faults(_) => {
            let items = faults_of(reference(suite).map_err(Lacks::Nothing)?, suite)?;
            list(format, documents, &items, |item| [item.name.to_owned(), item.seam.to_owned(), item.sentence()])?
        }
    };
    Ok(code)
}

fn list<T: Serialize, const N: usize>(
    format: Format,
    documents: &mut Documents,
    items: &[T],
    cells: impl Fn(&T) -> [String; N],
) -> Outcome {
    match format {
        Format::Json => documents.json(items)?,
        Format::Text => output::columns(&items.iter().map(cells).collect::<Vec<_>>()),
    }
    Ok(exit_codes::PASSED)
}

/// Says something about a whole list, to people.
fn note(format: Format, text: Option<String>) {
    if let (Format::Text, Some(text)) = (format, text) {
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
        without: scenario.without.clone(),
        since: scenario.bounds.since.map(|version| version.to_string()),
        until: scenario.bounds.until.map(|version| version.to_string()),
        profiles: counted.collect(),
        proves: select::clauses(scenario).iter().map(ToString::to_string).collect(),
    }
}

/// The reference of a dialect.
fn reference(suite: &Suite) -> Result<Reference, Failure> {
    suite.reference().ok_or_else(|| no_reference(suite))
}

/// Why a dialect has nothing that could misbehave.
pub(super) fn no_reference(suite: &Suite) -> Failure {
    let message = format!("the dialect `{}` has no embedded reference", suite.dialect.name());
    Failure::usage(message, "a folder says what a target is judged by, and nothing that could misbehave")
}

fn faults_of(reference: Reference, suite: &Suite) -> Result<Vec<FaultItem>, Failure> {
    let item = |fault: KnownFault| FaultItem {
        name: fault.name,
        seam: fault.seam,
        summary: fault.summary,
        clauses: fault.clauses,
        reported: fault.reported,
    };
    let faults = ShownBy::faults(reference, suite.other_edition());
    let faults = faults.map_err(|error| Failure::usage(error, "this is a mistake of gateproof; please report it"))?;
    Ok(faults.into_iter().map(item).collect())
}

fn variants_of(reference: Reference) -> Vec<VariantItem> {
    let item = |one: KnownVariant| VariantItem { name: one.name, summary: one.summary, source: one.source };
    embedded::variants(reference).into_iter().map(item).collect()
}
