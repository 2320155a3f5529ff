//! A dialect from a folder that does not say how its kinds are defined, held against the definitions that the target serves.

use std::path::PathBuf;

use serde_json::Value;

use super::Failure;
use super::dialect::unreadable;
use super::options::{check, load_failure, texts};
use super::run::connect_failure;
use crate::cluster::connect::connect;
use crate::run::{RunOptions, TargetChoice};
use crate::scenario::load::LoadError;
use crate::suite::Suite;

/// Where an API server lists the definitions.
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Refuses what no definition of the target has, in the files of the dialect and in the manifests, before anything is applied. Whom the
/// target does not let read its definitions learns of it when a scenario is written.
pub(crate) async fn hold(suite: &Suite, files: &[PathBuf], options: &RunOptions) -> Result<(), Failure> {
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
    let (_, problems) = check(&texts, &held)?;
    if problems.is_empty() { Ok(()) } else { Err(load_failure(LoadError::Manifests(problems))) }
}
