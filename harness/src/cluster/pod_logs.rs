//! Logs of the controller's Pods, as evidence beside a failure: what they said while the scenario ran, up to a size.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde_json::Value;

use super::api::{Api, ApiError, encode};

/// Most containers that are read for one failure.
const MOST: usize = 8;
/// Most bytes of one container's log that are kept, the last ones.
const LONGEST: usize = 64 * 1024;
/// Most lines that are asked for.
const LINES: u32 = 2000;
/// Most bytes that are asked for.
const ASKED: usize = 1024 * 1024;
/// What clocks may differ by, and what the controller may take to begin or end.
const AROUND: Duration = Duration::from_secs(2);

/// Whose logs: a namespace, and a label selector of Pods in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSource {
    /// Namespace.
    pub namespace: String,
    /// Label selector, as the API server reads it.
    pub selector: String,
}

/// Not a source of logs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no Pods; write it like NAMESPACE/KEY=VALUE")]
pub struct LogSourceError(pub String);

impl FromStr for LogSource {
    type Err = LogSourceError;

    fn from_str(text: &str) -> Result<LogSource, LogSourceError> {
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let (namespace, selector) = text.split_once('/').ok_or_else(|| LogSourceError(text.to_owned()))?;
        if namespace.is_empty() || !namespace.chars().all(legal) || selector.trim().is_empty() {
            return Err(LogSourceError(text.to_owned()));
        }
        Ok(LogSource { namespace: namespace.to_owned(), selector: selector.to_owned() })
    }
}

/// As it is read back.
impl fmt::Display for LogSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.selector)
    }
}

/// What one container said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodLog {
    /// `POD.CONTAINER`, or the source where no Pod is known.
    pub name: String,
    /// The last of it, or why there is nothing.
    pub text: Result<String, String>,
}

impl PodLog {
    /// Stands for logs that are not kept, as those of so many other executions of the scenario are.
    pub fn left_out(scenario: &str, kept: usize) -> PodLog {
        PodLog { name: scenario.to_owned(), text: Err(format!("not kept, as those of {kept} executions of it are")) }
    }
}

/// What the containers of a source said in the last while. Never fails: what went wrong stands in its place.
pub async fn last(api: &Api, source: &LogSource, span: Duration) -> Vec<PodLog> {
    let pods = match containers(api, source).await {
        Ok(pods) if pods.is_empty() => Err("no Pod matches".to_owned()),
        Ok(pods) => Ok(pods),
        Err(error) => Err(error.to_string()),
    };
    let pods = match pods {
        Ok(pods) => pods,
        Err(why) => return vec![PodLog { name: source.to_string(), text: Err(why) }],
    };
    let seconds = (span + AROUND).as_secs().max(1);
    let logs = pods.into_iter().take(MOST).map(|(pod, container)| async move {
        let path = format!(
            "/api/v1/namespaces/{}/pods/{pod}/log?container={}&sinceSeconds={seconds}&tailLines={LINES}&limitBytes={ASKED}&timestamps=true",
            source.namespace,
            encode(&container),
        );
        let text = api.text(&path).await.map(|text| end(&text).to_owned()).map_err(|error| error.to_string());
        PodLog { name: format!("{pod}.{container}"), text }
    });
    futures::future::join_all(logs).await
}

/// Pods and their containers.
async fn containers(api: &Api, source: &LogSource) -> Result<Vec<(String, String)>, ApiError> {
    let path = format!("/api/v1/namespaces/{}/pods?labelSelector={}", source.namespace, encode(&source.selector));
    let list = api.get(&path).await?;
    let name = |value: &Value| value.get("name").and_then(Value::as_str).map(str::to_owned);
    let mut found = Vec::new();
    for pod in list.get("items").and_then(Value::as_array).into_iter().flatten() {
        let Some(pod_name) = pod.get("metadata").and_then(name) else { continue };
        let all = pod.pointer("/spec/containers").and_then(Value::as_array);
        found.extend(all.into_iter().flatten().filter_map(name).map(|container| (pod_name.clone(), container)));
    }
    Ok(found)
}

/// The last of a text, from the beginning of a line on.
fn end(text: &str) -> &str {
    let Some(from) = text.len().checked_sub(LONGEST) else { return text };
    let from = (from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let rest = &text[from..];
    rest.split_once('\n').map_or(rest, |(_, whole)| whole)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("system/app=a", "system", "app=a")]
    #[case("system/app.kubernetes.io/name=a,b in (c, d)", "system", "app.kubernetes.io/name=a,b in (c, d)")]
    fn a_source_is_a_namespace_and_a_selector(#[case] text: &str, #[case] namespace: &str, #[case] selector: &str) {
        let source: LogSource = text.parse().unwrap();
        assert_eq!((source.namespace.as_str(), source.selector.as_str()), (namespace, selector));
        assert_eq!(source.to_string(), text);
    }

    #[rstest]
    #[case("system")]
    #[case("/app=a")]
    #[case("system/ ")]
    #[case("Sys tem/app=a")]
    fn other_texts_are_none(#[case] text: &str) {
        assert!(text.parse::<LogSource>().is_err());
    }

    #[test]
    fn the_last_whole_lines_are_kept() {
        let line = format!("{}ü\n", "x".repeat(97));
        let text = line.repeat(2000);
        let kept = end(&text);
        assert!(kept.len() <= LONGEST && kept.len() > LONGEST - line.len(), "{}", kept.len());
        assert_eq!(kept.len() % line.len(), 0);
        assert_eq!(end("short"), "short");
    }
}
