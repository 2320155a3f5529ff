//! Official bundles of Gateway API: both servers must take the same definitions, and judge objects of them alike.

use std::collections::BTreeMap;
use std::path::Path;

use futures::StreamExt;
use serde_json::{Value, json};

use crate::compare::{Divergence, compare};
use crate::corpus::{CorpusError, Sequence, Step};
use crate::fixtures;
use crate::normal::Recorded;
use crate::run::{ask, run_sequence};
use crate::server::{Subject, SubjectError};

/// How many kinds are asked about at a time.
const AT_ONCE: usize = 6;

/// Objects of kinds of Gateway API, good and bad.
const OBJECTS: &str = include_str!("../corpus/fixtures/objects.json");

/// Reads the definitions of a bundle.
///
/// # Errors
/// [`CorpusError`]: the file cannot be read.
pub fn definitions(path: &Path) -> Result<Vec<Value>, CorpusError> {
    let text = std::fs::read_to_string(path).map_err(|source| CorpusError::Read { path: path.to_owned(), source })?;
    let malformed = |message: String| CorpusError::Malformed { path: path.to_owned(), message };
    let documents: Vec<Value> = serde_yaml::from_multiple(&text).map_err(|error| malformed(error.to_string()))?;
    Ok(documents.into_iter().filter(|document| document["kind"] == "CustomResourceDefinition").collect())
}

/// Brings a bundle to both servers, sends the objects, and takes the bundle away again. Returns how many objects were
/// judged and where the answers diverge.
///
/// # Errors
/// [`SubjectError`]: a server cannot be asked, or does not take a definition.
pub async fn hold(
    left: &Subject,
    right: &Subject,
    definitions: &[Value],
) -> Result<(usize, Vec<Divergence>), SubjectError> {
    let sequences: Vec<Sequence> = definitions.iter().flat_map(objects).collect();
    let (left, right) = tokio::join!(judge(left, definitions, &sequences), judge(right, definitions, &sequences));
    Ok((sequences.iter().map(|sequence| sequence.steps.len()).sum(), compare(&left?, &right?)))
}

async fn judge(subject: &Subject, definitions: &[Value], sequences: &[Sequence]) -> Result<Recorded, SubjectError> {
    fixtures::remove(subject, definitions).await?;
    fixtures::install(subject, definitions).await?;
    let mut running = futures::stream::iter(sequences)
        .map(|sequence| async move {
            Ok::<_, SubjectError>((sequence.name.clone(), run_sequence(subject, sequence).await?))
        })
        .buffer_unordered(AT_ONCE);
    let mut answers = BTreeMap::new();
    while let Some(done) = running.next().await {
        let (name, answered) = done?;
        answers.insert(name, answered);
    }
    let recorded = Recorded::from([("bundles".to_owned(), answers)]);
    fixtures::remove(subject, definitions).await?;
    Ok(recorded)
}

/// The sequences for one definition: every object of its kind, at every version served.
fn objects(definition: &Value) -> Vec<Sequence> {
    let known: Value = serde_json::from_str(OBJECTS).unwrap_or_default();
    let text = |at: &str| definition.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (group, plural, kind) = (text("/spec/group"), text("/spec/names/plural"), text("/spec/names/kind"));
    let place = if definition["spec"]["scope"] == "Cluster" { String::new() } else { "/namespaces/${ns}".to_owned() };
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    let served = versions.filter(|version| version["served"] == true).filter_map(|version| version["name"].as_str());
    let of_version = |version: &str| {
        let specs = known[&kind].as_array().into_iter().flatten();
        let steps = specs.map(|spec| Step {
            request: format!("POST /apis/{group}/{version}{place}/{plural}?dryRun=All&fieldValidation=Strict"),
            body: Some(json!({
                "apiVersion": format!("{group}/{version}"), "kind": kind, "metadata": {"name": "x"}, "spec": spec,
            })),
            ..Step::default()
        });
        Sequence { name: format!("{kind}-{version}"), steps: steps.collect() }
    };
    served.map(of_version).filter(|sequence| !sequence.steps.is_empty()).collect()
}

/// Whether a server takes every definition by itself, none of the others being there: the codes of its answers.
///
/// # Errors
/// [`SubjectError`]: the server cannot be asked.
pub async fn codes(subject: &Subject, definitions: &[Value]) -> Result<Vec<u16>, SubjectError> {
    fixtures::remove(subject, definitions).await?;
    let mut codes = Vec::new();
    for definition in definitions {
        let uri = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
        codes.push(subject.ask(&ask("POST", uri, &definition.to_string())).await?.code);
    }
    Ok(codes)
}
