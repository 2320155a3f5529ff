//! From the file of a kind to its CustomResourceDefinition.

use serde_json::{Map, Value, json};

use super::error::{Problem, SourceError};
use super::mark::{self, Variant};
use super::rules::Fragments;
use super::schema::Expander;
use super::source::{self, Column, Kind, Scope, Shared};
use super::{BUNDLE_VERSION, BUNDLE_VERSION_ANNOTATION, CHANNEL_ANNOTATION, Channel};

/// Where the names under `*.k8s.io` were approved: kube-apiserver refuses definitions of such groups without it.
const APPROVAL: (&str, &str) =
    ("api-approved.kubernetes.io", "https://github.com/kubernetes-sigs/gateway-api/pull/5371");

/// Every kind of a channel, ordered by name.
pub fn expand_all(channel: Channel) -> Result<Vec<Value>, SourceError> {
    let shared = source::shared()?;
    let mut definitions = Vec::new();
    for kind in source::kinds()? {
        if in_channel(&kind, channel)? {
            let mut definition = expand(&kind, &shared, channel)?;
            definition["metadata"]["annotations"] = json!({
                APPROVAL.0: APPROVAL.1,
                BUNDLE_VERSION_ANNOTATION: BUNDLE_VERSION,
                CHANNEL_ANNOTATION: channel.as_str(),
            });
            definition["spec"]["names"]["categories"] = json!(["gateway-api"]);
            definitions.push((format!("{}.{}", kind.plural, kind.group), definition));
        }
    }
    definitions.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(definitions.into_iter().map(|(_, definition)| definition).collect())
}

/// The kinds of sources that do not belong to Gateway API, in the order given. Without channels, marks have nothing to tell apart.
pub fn expand_sources(shared: &str, kinds: &[&str]) -> Result<Vec<Value>, SourceError> {
    let shared = source::shared_with(shared)?;
    kinds.iter().map(|text| expand(&source::read_kind(text)?, &shared, Channel::Standard)).collect()
}

fn in_channel(kind: &Kind, channel: Channel) -> Result<bool, SourceError> {
    let Some(channels) = &kind.channels else { return Ok(true) };
    if let Some(other) = channels.iter().find(|name| !Channel::ALL.iter().any(|known| known.as_str() == *name)) {
        return Err(Problem::UnknownMark(other.clone()).at(&kind.kind));
    }
    Ok(channels.iter().any(|name| name == channel.as_str()))
}

fn expand(kind: &Kind, shared: &Shared, channel: Channel) -> Result<Value, SourceError> {
    let mut metadata = json!({"name": format!("{}.{}", kind.plural, kind.group)});
    if let Some(labels) = &kind.labels {
        metadata["labels"] = Value::Object(labels.clone());
    }
    let mut names = json!({
        "kind": kind.kind,
        "listKind": format!("{}List", kind.kind),
        "plural": kind.plural,
        "singular": kind.kind.to_ascii_lowercase(),
    });
    if !kind.short_names.is_empty() {
        names["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        names["categories"] = json!(kind.categories);
    }
    let versions =
        kind.versions.iter().map(|(name, words)| version(kind, shared, Variant { channel, version: name }, words));
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": kind.group,
            "names": names,
            "scope": match kind.scope { Scope::Namespaced => "Namespaced", Scope::Cluster => "Cluster" },
        },
    });
    definition["spec"]["versions"] = Value::Array(versions.collect::<Result<_, _>>()?);
    Ok(definition)
}

fn version(kind: &Kind, shared: &Shared, variant: Variant<'_>, words: &str) -> Result<Value, SourceError> {
    let at = format!("{}/{}", kind.kind, variant.version);
    if !mark::is_version(variant.version) {
        return Err(Problem::UnknownMark(variant.version.to_owned()).at(&at));
    }
    let mut version = json!({"name": variant.version, "served": false, "storage": false});
    for text in words.split_whitespace() {
        let (word, applies) = mark::word(text, variant).map_err(|problem| problem.at(&at))?;
        match word {
            "served" | "storage" => version[word] = json!(applies),
            "deprecated" if applies => {
                version["deprecated"] = json!(true);
                version["deprecationWarning"] = json!(format!(
                    "{}/{} {} is deprecated: use {}/v1",
                    kind.group, variant.version, kind.kind, kind.group
                ));
            }
            "deprecated" => {}
            other => return Err(Problem::UnknownKey(other.to_owned()).at(&at)),
        }
    }
    let columns = columns(kind, variant).map_err(|problem| problem.at(&at))?;
    if !columns.is_empty() {
        version["additionalPrinterColumns"] = json!(columns);
    }
    if !kind.selectable.is_empty() {
        let fields = kind.selectable.iter().map(|path| json!({"jsonPath": path}));
        version["selectableFields"] = fields.collect();
    }
    version["subresources"] = if kind.status.is_some() { json!({"status": {}}) } else { json!({}) };
    // Moved in, never named within `json!`, which would copy all of it by serializing.
    version["schema"] =
        Value::Object(Map::from_iter([("openAPIV3Schema".to_owned(), root(kind, shared, variant, &at)?)]));
    Ok(version)
}

fn columns(kind: &Kind, variant: Variant<'_>) -> Result<Vec<Value>, Problem> {
    let mut columns = Vec::new();
    for (text, column) in &kind.columns {
        let key = mark::key(text, variant)?;
        let (path, priority, of_type) = match column {
            Column::Path(path) => (path, &None, None),
            Column::Detailed { path, priority, of_type } => (path, priority, of_type.as_deref()),
        };
        let usual = if path == ".metadata.creationTimestamp" { "date" } else { "string" };
        let of_type = of_type.unwrap_or(usual);
        let mut column = json!({"name": key.name, "type": of_type, "jsonPath": path});
        if let Some(priority) = priority {
            column["priority"] = json!(priority);
        }
        if key.applies {
            columns.push(column);
        }
    }
    Ok(columns)
}

fn root(kind: &Kind, shared: &Shared, variant: Variant<'_>, at: &str) -> Result<Value, SourceError> {
    let fragments = Fragments { own: &kind.fragments, shared: &shared.fragments };
    let expander = Expander::new(variant, fragments, [&kind.defs, &shared.defs]).map_err(|problem| problem.at(at))?;
    let mut fields = Map::new();
    for name in ["apiVersion", "kind"] {
        fields.insert(name.to_owned(), json!({"type": "string"}));
    }
    fields.insert("metadata".to_owned(), json!({"type": "object"}));
    let (spec, required) = match (&kind.required_spec, &kind.spec) {
        (Some(spec), None) => (spec, true),
        (None, Some(spec)) => (spec, false),
        _ => return Err(Problem::Shape("a kind has either spec or spec!").at(at)),
    };
    fields.insert("spec".to_owned(), Value::Object(expander.expand(spec, &format!("{at}.spec"))?));
    if let Some(status) = &kind.status {
        fields.insert("status".to_owned(), Value::Object(expander.expand(status, &format!("{at}.status"))?));
    }
    let mut schema = json!({"type": "object"});
    if required {
        schema["required"] = json!(["spec"]);
    }
    schema["properties"] = Value::Object(fields);
    Ok(schema)
}
