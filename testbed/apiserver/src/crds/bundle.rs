//! Reading a bundle of CustomResourceDefinitions that somebody else wrote.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{BUNDLE_VERSION_ANNOTATION, CHANNEL_ANNOTATION};
use crate::kinds::policies::is_one as is_policy;
use crate::schema::structural;

/// The group whose definitions say what release a bundle is of.
const GROUP: &str = "gateway.networking.k8s.io";

/// A bundle that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Bundle {
    /// Its CustomResourceDefinitions, in the order of the text.
    pub definitions: Vec<Value>,
    /// Admission policies and their bindings, which official bundles hold beside definitions since v1.5.
    pub policies: Vec<Value>,
    /// Its release, if the definitions of Gateway API agree on one.
    pub version: Option<String>,
    /// Its channel, if they agree on one.
    pub channel: Option<String>,
    /// What was left out or is odd, one sentence each, for the user to read.
    pub notes: Vec<String>,
}

impl Bundle {
    /// Whether it has definitions of Gateway API.
    pub fn has_gateway_api(&self) -> bool {
        self.definitions.iter().any(|definition| definition["spec"]["group"] == GROUP)
    }

    /// All that a server is to hold: definitions, and the policies behind them.
    pub fn into_objects(self) -> Vec<Value> {
        self.definitions.into_iter().chain(self.policies).collect()
    }
}

/// Why a text is no bundle. Documents are counted from 1, and lines from 1 over the whole text.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BundleError {
    /// A document is not YAML.
    #[error("document {document}, line {line}: not valid YAML: {message}")]
    Yaml {
        /// The document.
        document: usize,
        /// The line at which reading stopped.
        line: usize,
        /// What the reader said.
        message: String,
    },
    /// A document is no Kubernetes object.
    #[error("document {document}, line {line}: not a Kubernetes object: apiVersion and kind are needed")]
    NotAnObject {
        /// The document.
        document: usize,
        /// Its first line.
        line: usize,
    },
    /// A document is an object of a kind that does not belong into a bundle.
    #[error(
        "document {document}, line {line}: {api_version} {kind} is not a CustomResourceDefinition of apiextensions.k8s.io/v1"
    )]
    UnexpectedKind {
        /// The document.
        document: usize,
        /// Its first line.
        line: usize,
        /// Its apiVersion.
        api_version: String,
        /// Its kind.
        kind: String,
    },
    /// A definition lacks what the API server needs, or contradicts itself.
    #[error("document {document}, line {line}: CustomResourceDefinition {name:?}: {problem}")]
    Malformed {
        /// The document.
        document: usize,
        /// Its first line.
        line: usize,
        /// The name of the definition, empty if it has none.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// There is no definition.
    #[error("no CustomResourceDefinition among {found} document(s)")]
    Empty {
        /// How many documents there are.
        found: usize,
    },
}

/// Read a bundle of CustomResourceDefinitions: YAML or JSON, several documents or a `List`.
///
/// # Errors
///
/// The first document that is not YAML, not a definition, or malformed; or no definition at all.
pub fn parse_bundle(yaml: &str) -> Result<Bundle, BundleError> {
    let mut bundle =
        Bundle { definitions: Vec::new(), policies: Vec::new(), version: None, channel: None, notes: Vec::new() };
    let mut names = BTreeSet::new();
    let mut found = 0;
    for (number, part) in documents(yaml).into_iter().enumerate() {
        let place = Place { document: number + 1, line: part.line };
        let Some(value) = read(&part, place)? else { continue };
        found += 1;
        for object in flatten(value) {
            place.take(object, &mut bundle, &mut names)?;
        }
    }
    let ours: Vec<&Value> =
        bundle.definitions.iter().filter(|definition| definition["spec"]["group"] == GROUP).collect();
    if bundle.definitions.is_empty() {
        return Err(BundleError::Empty { found });
    }
    let (versions, channels) = (annotated(&ours, BUNDLE_VERSION_ANNOTATION), annotated(&ours, CHANNEL_ANNOTATION));
    for (what, values) in [("versions", &versions), ("channels", &channels)] {
        if values.len() > 1 {
            let values: Vec<_> = values.iter().map(|value| value.unwrap_or("none")).collect();
            bundle.notes.push(format!("the definitions are of different {what}: {}", values.join(", ")));
        }
    }
    let (version, channel) = (agreed(&versions), agreed(&channels));
    (bundle.version, bundle.channel) = (version, channel);
    Ok(bundle)
}

/// Where a document stands in the text.
#[derive(Clone, Copy)]
struct Place {
    document: usize,
    line: usize,
}

impl Place {
    /// Put one object of a document into the bundle.
    fn take(self, object: Value, bundle: &mut Bundle, names: &mut BTreeSet<String>) -> Result<(), BundleError> {
        let Place { document, line } = self;
        let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
        let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
            return Err(BundleError::NotAnObject { document, line });
        };
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if is_policy(&object) {
            bundle.policies.push(object);
            return Ok(());
        }
        if (api_version.as_str(), kind.as_str()) != ("apiextensions.k8s.io/v1", "CustomResourceDefinition") {
            return Err(BundleError::UnexpectedKind { document, line, api_version, kind });
        }
        let malformed = |problem: String| BundleError::Malformed { document, line, name: name.clone(), problem };
        check(&object).map_err(malformed)?;
        if !names.insert(name.clone()) {
            return Err(malformed("it is defined twice".to_owned()));
        }
        bundle.definitions.push(object);
        Ok(())
    }
}

/// What the API server needs of a definition before it can serve it.
fn check(definition: &Value) -> Result<(), String> {
    let text = |pointer: &str| {
        let value = definition.pointer(pointer).and_then(Value::as_str).filter(|value| !value.is_empty());
        value.ok_or_else(|| format!("{} is missing", pointer[1..].replace('/', ".")))
    };
    let (group, plural) = (text("/spec/group")?, text("/spec/names/plural")?);
    text("/spec/names/kind")?;
    let (name, scope) = (text("/metadata/name")?, text("/spec/scope")?);
    if name != format!("{plural}.{group}") {
        return Err(format!("its name must be {plural}.{group}"));
    }
    if !matches!(scope, "Namespaced" | "Cluster") {
        return Err(format!("spec.scope {scope:?} is neither Namespaced nor Cluster"));
    }
    let versions =
        definition.pointer("/spec/versions").and_then(Value::as_array).filter(|versions| !versions.is_empty());
    let versions = versions.ok_or("spec.versions is missing")?;
    for (index, version) in versions.iter().enumerate() {
        let at = format!("spec.versions[{index}]");
        if !version["name"].is_string() || !version["served"].is_boolean() || !version["storage"].is_boolean() {
            return Err(format!("{at} needs name, served and storage"));
        }
        if !version["schema"]["openAPIV3Schema"].is_object() {
            return Err(format!("{at} has no schema.openAPIV3Schema"));
        }
        if let Some(violation) = structural::check(&version["schema"]["openAPIV3Schema"]).first() {
            let dot = if violation.field.is_empty() { "" } else { "." };
            return Err(format!("{at}.schema.openAPIV3Schema{dot}{}: {}", violation.field, violation.message));
        }
    }
    match versions.iter().filter(|version| version["storage"] == true).count() {
        1 => Ok(()),
        count => Err(format!("exactly one version must be the storage version, not {count}")),
    }
}

/// One document of a text, and the line it begins at.
struct Part<'a> {
    text: &'a str,
    line: usize,
}

/// Split at document markers. They stand at the beginning of a line, where no scalar can hold one.
fn documents(yaml: &str) -> Vec<Part<'_>> {
    let mut parts = vec![Part { text: "", line: 1 }];
    let (mut start, mut offset) = (0, 0);
    for (index, line) in yaml.split_inclusive('\n').enumerate() {
        let end = offset + line.len();
        let marker = line.trim_end();
        if marker == "---" || marker.starts_with("--- ") || marker == "..." {
            // What stands on the line of the marker belongs to the document that it opens.
            start = if marker.starts_with("--- ") { offset + 3 } else { end };
            let line = if start == end { index + 2 } else { index + 1 };
            parts.push(Part { text: &yaml[start..end], line });
        } else if let Some(part) = parts.last_mut() {
            part.text = &yaml[start..end];
        }
        offset = end;
    }
    parts.retain(|part| part.text.lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')));
    parts
}

fn read(part: &Part<'_>, place: Place) -> Result<Option<Value>, BundleError> {
    let options = serde_yaml::options! { budget: None, with_snippet: false };
    match serde_yaml::from_str_with_options::<Value>(part.text, options) {
        Ok(Value::Null) => Ok(None),
        Ok(value) => Ok(Some(value)),
        Err(error) => {
            let within = error.location().and_then(|location| usize::try_from(location.line()).ok()).unwrap_or(1);
            let message = error.to_string();
            let message = message.lines().next().unwrap_or_default().to_owned();
            Err(BundleError::Yaml { document: place.document, line: part.line + within.saturating_sub(1), message })
        }
    }
}

/// The objects of a list, or the one object.
fn flatten(mut value: Value) -> Vec<Value> {
    let list = value["kind"].as_str().is_some_and(|kind| matches!(kind, "List" | "CustomResourceDefinitionList"));
    match value.get_mut("items").filter(|_| list).map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => vec![value],
    }
}

fn annotated<'a>(definitions: &[&'a Value], annotation: &str) -> BTreeSet<Option<&'a str>> {
    definitions.iter().map(|definition| definition["metadata"]["annotations"][annotation].as_str()).collect()
}

fn agreed(values: &BTreeSet<Option<&str>>) -> Option<String> {
    if values.len() == 1 { values.first().copied().flatten().map(str::to_owned) } else { None }
}
