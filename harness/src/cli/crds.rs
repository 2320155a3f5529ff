//! `--crds FILE|URL`: definitions of another release, or of another dialect.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use gateproof_apiserver::OPTIONAL;
use gateproof_apiserver::crds::{Bundle, parse_bundle};
use serde_json::Value;

use super::Failure;
use super::output::tell;
use crate::cluster::definitions;
use crate::scenario::suggest;

/// Where definitions come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file.
    File(PathBuf),
    /// A page.
    Url(url::Url),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(path) => write!(f, "{}", path.display()),
            Source::Url(url) => write!(f, "{url}"),
        }
    }
}

impl FromStr for Source {
    type Err = String;
    fn from_str(text: &str) -> Result<Source, String> {
        if !text.starts_with("https://") && !text.starts_with("http://") {
            return Ok(Source::File(PathBuf::from(text)));
        }
        text.parse().map(Source::Url).map_err(|error| format!("`{text}` is not a URL: {error}"))
    }
}

/// The names of definitions that are left out of these, or of the built-in ones if there are none: each must be one of them, or what of
/// Kubernetes not every cluster serves.
pub(crate) fn left_out(names: &[String], crds: &[Value]) -> Result<Vec<String>, Failure> {
    let mut served: Vec<&str> = match crds {
        [] => definitions::names().collect(),
        crds => crds.iter().filter_map(|crd| crd.pointer("/metadata/name")?.as_str()).collect(),
    };
    served.extend(OPTIONAL);
    match names.iter().find(|name| !served.contains(&name.as_str())) {
        None => Ok(names.to_vec()),
        Some(name) => {
            let near = suggest(name, served.iter().copied());
            let help = near
                .map_or_else(|| format!("there is {}", served.join(", ")), |near| format!("did you mean `{near}`?"));
            Err(Failure::usage(format!("there is no definition `{name}` to leave out"), help))
        }
    }
}

/// Reads a bundle for the reference implementation, and says what of it is left out.
pub(crate) async fn read(source: &Source) -> Result<Vec<Value>, Failure> {
    let bundle = read_any(source).await?;
    if bundle.has_gateway_api() {
        return Ok(bundle.into_objects());
    }
    let found = bundle.definitions.len();
    let message = format!("{source}: none of its {found} CustomResourceDefinitions is of Gateway API");
    Err(Failure::usage(
        message,
        "the reference implementation needs those; `gateproof testbed --no-controller` serves any",
    ))
}

/// Reads a bundle of whatever definitions, and says what of it is left out.
pub(crate) async fn read_any(source: &Source) -> Result<Bundle, Failure> {
    let (name, text) = match source {
        Source::File(path) => {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path).map_err(|error| {
                Failure::usage(format!("cannot read {name}: {error}"), "check the path given to --crds")
            })?;
            (name, text)
        }
        Source::Url(url) => (url.to_string(), fetch(url).await?),
    };
    let bundle = parse_bundle(&text).map_err(|error| {
        Failure::usage(
            format!("{name}: {error}"),
            "definitions are expected, such as those of an official standard-install.yaml or experimental-install.yaml",
        )
    })?;
    for note in &bundle.notes {
        tell!("{name}: {note}");
    }
    Ok(bundle)
}

async fn fetch(url: &url::Url) -> Result<String, Failure> {
    let failure = |error: reqwest::Error| {
        Failure::environment(format!("cannot fetch {url}: {error}"), "download it and name the file instead")
    };
    let client = reqwest::Client::builder().build().map_err(failure)?;
    let answer = client.get(url.clone()).send().await.map_err(failure)?.error_for_status().map_err(failure)?;
    answer.text().await.map_err(failure)
}
