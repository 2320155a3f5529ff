//! The kinds that the corpus uses, brought to a server before a run.

use std::path::Path;
use std::time::Duration;

use gateproof_apiserver::crds::{Channel, gateway_api_ref};
use serde_json::Value;

use crate::corpus::CorpusError;
use crate::path;
use crate::run::ask;
use crate::server::{Subject, SubjectError};

/// How long a definition may take until its objects can be asked for.
const PATIENCE: Duration = Duration::from_secs(60);
const AGAIN: Duration = Duration::from_millis(25);

/// Reads the definitions of a folder, and adds those of Gateway API.
///
/// # Errors
/// [`CorpusError`]: a file cannot be read.
pub fn read(folder: &Path) -> Result<Vec<Value>, CorpusError> {
    let failed = |source| CorpusError::Read { path: folder.to_owned(), source };
    let mut definitions = gateway_api_ref(Channel::Standard).to_vec();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_none_or(|ending| ending != "yaml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(failed)?;
        let malformed = |message: String| CorpusError::Malformed { path: path.clone(), message };
        definitions.push(serde_yaml::from_str(&text).map_err(|error| malformed(error.to_string()))?);
    }
    Ok(definitions)
}

/// Brings definitions to a server and waits until it serves them.
///
/// # Errors
/// [`SubjectError`]: the server cannot be asked, or does not take one.
pub async fn install(subject: &Subject, definitions: &[Value]) -> Result<(), SubjectError> {
    for definition in definitions {
        let name = path::find(definition, "metadata.name").and_then(Value::as_str).unwrap_or_default();
        let uri = format!(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}?fieldManager=differential&force=true"
        );
        let mut request = ask("PATCH", &uri, &definition.to_string());
        request.headers.pop();
        request.headers.push((http::header::CONTENT_TYPE, "application/apply-patch+yaml".to_owned()));
        let answer = subject.ask(&request).await?;
        if answer.code >= 300 {
            let message = format!("{}: {}", answer.code, answer.body);
            return Err(SubjectError::NoAnswer { name: subject.name.clone(), request: uri, message });
        }
    }
    for definition in definitions {
        served(subject, definition).await?;
    }
    Ok(())
}

/// Takes definitions away from a server and waits until they are gone.
///
/// # Errors
/// [`SubjectError`]: the server cannot be asked, or keeps one.
pub async fn remove(subject: &Subject, definitions: &[Value]) -> Result<(), SubjectError> {
    let uri = |definition: &Value| {
        let name = path::find(definition, "metadata.name").and_then(Value::as_str).unwrap_or_default();
        format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
    };
    for definition in definitions {
        subject.ask(&ask("DELETE", &uri(definition), "")).await?;
    }
    for definition in definitions {
        answers(subject, &uri(definition), 404).await?;
    }
    Ok(())
}

/// Waits until a path answers with a code.
async fn answers(subject: &Subject, uri: &str, code: u16) -> Result<(), SubjectError> {
    let limit = tokio::time::Instant::now() + PATIENCE;
    let mut beat = tokio::time::interval(AGAIN);
    while subject.ask(&ask("GET", uri, "")).await?.code != code {
        if tokio::time::Instant::now() > limit {
            let message = format!("it was not answered with {code} within {PATIENCE:?}");
            let request = format!("GET {uri}");
            return Err(SubjectError::NoAnswer { name: subject.name.clone(), request, message });
        }
        beat.tick().await;
    }
    Ok(())
}

async fn served(subject: &Subject, definition: &Value) -> Result<(), SubjectError> {
    let text = |at: &str| path::find(definition, at).and_then(Value::as_str).unwrap_or_default().to_owned();
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    for version in versions.filter(|version| version["served"] == true) {
        let version = version["name"].as_str().unwrap_or_default();
        let uri = format!("/apis/{}/{version}/{}?limit=1", text("spec.group"), text("spec.names.plural"));
        answers(subject, &uri, 200).await?;
    }
    Ok(())
}
