//! A dialect from a folder that does not say how its kinds are defined, held against the definitions that the target serves.

use std::path::PathBuf;

use serde_json::Value;

use super::Failure;
use super::dialect::unreadable;
use super::options::{check, connect_failure, load_failure, texts};
use crate::cluster::connect::connect;
use crate::cluster::served::DEFINITIONS;
use crate::run::{FeatureChoice, RunOptions, TargetChoice};
use crate::scenario::load::LoadError;
use crate::scenario::{Scenario, lint};
use crate::suite::Suite;

/// Refuses what no definition of the target has, in the files of the dialect and in the manifests of what is to run, before anything is
/// applied. Whom the target does not let read its definitions learns of it when a scenario is written.
pub(crate) async fn hold(
    suite: &Suite,
    files: &[PathBuf],
    scenarios: &[Scenario],
    options: &RunOptions,
) -> Result<(), Failure> {
    let TargetChoice::Cluster { source, .. } = &options.target else { return Ok(()) };
    if !suite.is_undefined() {
        return Ok(());
    }
    let api = connect(source).await.map_err(|error| connect_failure(&error))?;
    let Ok(mut list) = api.get(DEFINITIONS).await else { return Ok(()) };
    let Value::Array(mut served) = list["items"].take() else { return Ok(()) };
    served.retain(|one| suite.dialect.groups().iter().any(|group| one["spec"]["group"] == group.as_str()));
    let held = suite.held_against(served).map_err(unreadable)?;
    let texts = if files.is_empty() { suite.manifests().map_err(load_failure)? } else { texts(files)? };
    let (_, mut problems) = check(&texts, &held)?;
    problems.retain(|problem| {
        let text = texts.iter().find(|(file, _)| *file == problem.file);
        let name = text.and_then(|(file, text)| lint::scenario_at(file, text, problem.line));
        name.is_none_or(|name| scenarios.iter().any(|one| one.name == name && is_supported(one, options)))
    });
    if problems.is_empty() { Ok(()) } else { Err(load_failure(LoadError::Manifests(problems))) }
}

/// Whether a target has the features of a scenario, by what the user says of it: nothing else tells of those of such a dialect.
fn is_supported(scenario: &Scenario, options: &RunOptions) -> bool {
    let said = match &options.features {
        FeatureChoice::Claimed => &[][..],
        FeatureChoice::Only(features) => features,
    };
    scenario.features.iter().all(|feature| said.contains(feature))
}
