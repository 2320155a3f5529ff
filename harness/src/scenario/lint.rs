//! Embedded Kubernetes objects, held against the schema of every release that the scenario is bound to.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

mod places;
mod said;
mod scripts;
mod walk;

pub use said::{Saying, Sayings, said};
pub use scripts::{ScriptSchemas, WrongRule, scripts};

use crate::dialects::Dialect;

use super::diagnostic::{Diagnostic, Report, Source};
use super::model::{Basis, Bounds, Channel, Version};
use super::parse::read::bounds;
use super::parse::tree::{self, Document, Key, Mark, Node};
use super::scope::defined;
use super::vocabulary::suggest;

/// What the schemas of the known releases say of objects.
pub trait ObjectSchemas {
    /// The releases whose schemas are known, oldest first.
    fn releases(&self) -> Vec<(Version, Channel)>;

    /// Paths such as `spec.rules[0].filterz` of fields that the object has and its schema in this release has not.
    /// `None` if the kind is not in that release, or not one of the Gateway API.
    ///
    /// Placeholders are not replaced: a string may stand where a mapping or number belongs.
    fn unknown_fields(&self, object: &Value, version: Version, channel: Channel) -> Option<Vec<String>>;

    /// Values of another type than the schema has in their place. Placeholders count as what they stand for.
    fn wrong_types(&self, _object: &Value, _version: Version, _channel: Channel) -> Vec<WrongType> {
        Vec::new()
    }

    /// The names that the schema has in the place of an unknown field. Empty if that is not known.
    fn fields_beside(&self, _object: &Value, _path: &str, _version: Version, _channel: Channel) -> Vec<String> {
        Vec::new()
    }

    /// The names of all definitions.
    fn definitions(&self) -> Vec<String> {
        Vec::new()
    }

    /// Paths of fields that an object of a kind of Kubernetes itself or of the dialect's own definitions has and its schema has not,
    /// each with the names that the schema has in that place. Empty for other kinds.
    fn unknown_beside_releases(&self, _object: &Value) -> Vec<(String, Vec<String>)> {
        Vec::new()
    }

    /// Values of another type than the schema has in their place, of a kind of the dialect's own definitions.
    fn wrong_types_beside_releases(&self, _object: &Value) -> Vec<WrongType> {
        Vec::new()
    }

    /// Paths of fields that a merge patch of an object of this kind has and no known schema of the kind, each with the names that the
    /// schema has in that place. Empty for kinds that are not known. Without a group the kind is that of any.
    fn unknown_in_patch(&self, _group: Option<&str>, _kind: &str, _patch: &Value) -> Vec<(String, Vec<String>)> {
        Vec::new()
    }

    /// The versions in which the dialect's own definitions serve a kind; none if they do not define it.
    fn served(&self, _group: &str, _kind: &str) -> Option<BTreeSet<String>> {
        None
    }

    /// What of a value is of another type than every known schema of this kind has at a JSON pointer; `None` if one takes it, or nothing
    /// is known of what stands there. Its path is within the value. Without a group the kind is that of any.
    fn wrong_type_at(&self, _group: Option<&str>, _kind: &str, _pointer: &str, _value: &Value) -> Option<WrongType> {
        None
    }

    /// Where a JSON pointer leads to nothing that a known schema of this kind has; `None` if one has a place for all of it, or the kind
    /// is not known. Without a group the kind is that of any.
    fn missing_at(&self, _group: Option<&str>, _kind: &str, _pointer: &str) -> Option<Missing> {
        None
    }
}

/// Where a JSON pointer leads to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The part of it up to the first token that there is no place for.
    pub pointer: String,
    /// The names that there are instead of that token.
    pub known: Vec<String>,
}

impl Missing {
    /// The name that may have been meant.
    pub fn near(&self) -> Option<&str> {
        let written = self.pointer.rsplit('/').next().unwrap_or_default();
        suggest(written, self.known.iter().map(String::as_str))
    }
}

/// A value of another type than its schema has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongType {
    /// Where, such as `spec.rules[0].backendRefs[0].port`.
    pub path: String,
    /// What it must be, such as `an integer`.
    pub wanted: &'static str,
    /// What it is, such as `a string`.
    pub found: &'static str,
}

/// Fields of the embedded objects of a file that no schema has, or has with another type, in order of place. Syntax and the harness's own fields are
/// the business of [`parse`](super::parse).
pub fn objects(file: &str, text: &str, schemas: &dyn ObjectSchemas, dialect: &Dialect) -> Vec<Diagnostic> {
    let source = Source::new(file, text);
    let mut problems = Vec::new();
    let documents = tree::read(&source, &mut problems);
    problems.clear();
    for document in &documents {
        let mut reported = BTreeSet::new();
        for Embedded { object, bounds: bound, may_be_refused } in embedded(document) {
            let value = object.value();
            let kind = value["kind"].as_str().unwrap_or_default().to_owned();
            for (path, known) in schemas.unknown_beside_releases(&value) {
                let help = near(&path, &known);
                problems.push(source.problem(locate(object, &path), format!("{kind} has no field `{path}`"), help));
            }
            problems.extend(unserved(object, &source, schemas));
            for wrong in schemas.wrong_types_beside_releases(&value).into_iter().filter(|_| !may_be_refused) {
                problems.push(source.problem(locate(object, &wrong.path), wrong_type(&kind, &wrong), None));
            }
            let definitions = schemas.definitions();
            if let Some(name) = defined(&value).filter(|name| definitions.iter().all(|known| known != name)) {
                let help = suggest(name, definitions.iter().map(String::as_str));
                let help = help.map(|near| format!("did you mean `{near}`?"));
                let message = format!("no release that is known has a definition `{name}`");
                problems.push(source.problem(locate(object, "metadata.name"), message, help));
            }
            let mut known_somewhere = false;
            let mut releases = schemas.releases();
            // What is bound to releases that are not known is held against the newest: fields hardly ever go.
            let newest = releases.last().copied();
            releases.retain(|(version, channel)| bound.admits(Basis::release(*version, *channel)));
            if releases.is_empty() {
                releases.extend(newest);
            }
            for (version, channel) in releases {
                let Some(unknown) = schemas.unknown_fields(&value, version, channel) else { continue };
                known_somewhere = true;
                for path in unknown {
                    let mark = locate(object, &path);
                    if reported.insert((mark.offset, path.clone())) {
                        let known = schemas.fields_beside(&value, &path, version, channel);
                        let channel = format!("{channel:?}").to_lowercase();
                        let message = format!("{kind} has no field `{path}` in {version} {channel}");
                        let bind = || "bind the step with `since` or `channel` if other releases have it".to_owned();
                        let help = near(&path, &known).unwrap_or_else(bind);
                        problems.push(source.problem(mark, message, Some(help)));
                    }
                }
                for wrong in schemas.wrong_types(&value, version, channel) {
                    let mark = locate(object, &wrong.path);
                    if !may_be_refused && reported.insert((mark.offset, wrong.path.clone())) {
                        problems.push(source.problem(mark, wrong_type(&kind, &wrong), None));
                    }
                }
            }
            let is_own = value["apiVersion"].as_str().is_some_and(|version| dialect.has_version(version));
            // What the dialect's own definitions have is of every release: theirs are not told apart.
            let group =
                value["apiVersion"].as_str().and_then(|version| version.split_once('/')).map_or("", |(group, _)| group);
            let is_defined = schemas.served(group, &kind).is_some();
            if is_own && !known_somewhere && !is_defined && dialect.releases().is_some() {
                let message = format!("no release that the scenario is bound to has the kind `{kind}`");
                problems.push(source.problem(object.mark, message, None));
            }
        }
    }
    let made = documents.iter().filter_map(|document| document.root.get("spec")?.get("made")).flat_map(Node::list);
    problems.extend(made.filter_map(|object| unserved(object, &source, schemas)));
    problems.extend(documents.iter().flat_map(|document| places::problems(document, &source, schemas, dialect)));
    problems.sort_by_key(|p| (p.line, p.column));
    problems
}

/// An object of a kind that the dialect's definitions have in other versions alone: nothing is known of that one, and no cluster has it.
fn unserved(object: &Node, source: &Arc<Source>, schemas: &dyn ObjectSchemas) -> Option<Diagnostic> {
    let (at, kind) = (object.get("apiVersion")?, object.get("kind")?.text()?);
    let (group, version) = at.text()?.split_once('/')?;
    let served = schemas.served(group, kind).filter(|served| !served.contains(version))?;
    let versions: Vec<String> = served.iter().map(|version| format!("`{group}/{version}`")).collect();
    let help = if versions.is_empty() { "none is".to_owned() } else { format!("there is {}", versions.join(", ")) };
    let message = format!("{kind} is not served as `{group}/{version}`, by its definition");
    Some(source.problem(at.mark, message, Some(help)))
}

fn wrong_type(kind: &str, WrongType { path, wanted, found }: &WrongType) -> String {
    let article = if kind.starts_with(['A', 'E', 'H', 'I', 'O']) { "an" } else { "a" };
    format!("`{path}` of {article} {kind} must be {wanted}, found {found}")
}

/// The scenario in whose document of a file a line, from 1, stands.
pub fn scenario_at(file: &str, text: &str, line: usize) -> Option<String> {
    let source = Source::new(file, text);
    let documents = tree::read(&source, &mut Vec::new());
    let before = |document: &&Document| document.root.mark.place.line <= line;
    let document = documents.iter().rfind(before)?;
    document.root.get("metadata")?.get("name")?.text().map(str::to_owned)
}

/// The declared name that an unknown field may have been meant to have.
fn near(path: &str, known: &[String]) -> Option<String> {
    let written = path.rsplit('.').next().unwrap_or_default();
    suggest(written, known.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`?"))
}

/// An embedded object.
struct Embedded<'n> {
    object: &'n Node,
    /// The bounds that it stands under.
    bounds: Bounds,
    /// Whether a refusal is a legal end of its write, so that what is wrong with it may be meant.
    may_be_refused: bool,
}

fn embedded(document: &Document) -> Vec<Embedded<'_>> {
    let Some(spec) = document.root.get("spec") else { return Vec::new() };
    let mut found = Vec::new();
    embed(spec.get("steps"), bounds(spec), &mut found);
    found
}

/// Adds the objects of steps, those in ends of writes too.
fn embed<'n>(steps: Option<&'n Node>, around: Bounds, found: &mut Vec<Embedded<'n>>) {
    for step in steps.map(Node::list).unwrap_or_default() {
        let bounds_of_step = around.and(bounds(step));
        let either = step.get("either");
        let may_be_refused = step.get("refused").is_some() || either.is_some();
        let objects = step.get("apply").map(Node::list).unwrap_or_default();
        found.extend(objects.iter().map(|object| Embedded { object, bounds: bounds_of_step, may_be_refused }));
        for end in either.map(Node::list).unwrap_or_default() {
            embed(end.get("then"), bounds_of_step.and(bounds(end)), found);
        }
    }
}

/// Where a path points to: the key if it ends in one.
fn locate(object: &Node, path: &str) -> Mark {
    let mut node = object;
    let mut mark = object.mark;
    for segment in path.split('.') {
        let (name, indices) = segment.split_once('[').map_or((segment, None), |(n, i)| (n, Some(i)));
        if !name.is_empty() {
            let Some((key, value)) = entry(node, name) else { return mark };
            mark = key.mark;
            node = value;
        }
        for index in indices.into_iter().flat_map(|i| i.split('[')) {
            let item = index.trim_end_matches(']').parse::<usize>().ok().and_then(|i| node.list().get(i));
            let Some(item) = item else { return mark };
            node = item;
        }
    }
    mark
}

fn entry<'n>(node: &'n Node, name: &str) -> Option<&'n (Key, Node)> {
    node.entries().iter().find(|(key, _)| key.name == name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Knows HTTPRoute since 1.0 and its `spec.later` since 1.5, and TCPRoute in the experimental channel alone.
    struct Two;

    impl ObjectSchemas for Two {
        fn releases(&self) -> Vec<(Version, Channel)> {
            let versions = ["1.4", "1.6"].map(|v| v.parse().unwrap());
            versions.into_iter().flat_map(|v| [(v, Channel::Standard), (v, Channel::Experimental)]).collect()
        }

        fn unknown_fields(&self, object: &Value, version: Version, channel: Channel) -> Option<Vec<String>> {
            let kind = object["kind"].as_str()?;
            if kind != "HTTPRoute" && (kind != "TCPRoute" || channel == Channel::Standard) {
                return None;
            }
            let mut unknown = Vec::new();
            if object["spec"].get("later").is_some() && version < "1.5".parse().unwrap() {
                unknown.push("spec.later".to_owned());
            }
            if object["spec"]["rules"][0].get("filterz").is_some() {
                unknown.push("spec.rules[0].filterz".to_owned());
            }
            Some(unknown)
        }
    }

    fn lint(step: &str, bounds: &str) -> Vec<(usize, usize, String)> {
        let text = format!("spec:\n  steps:\n    - apply:\n{step}\n{bounds}");
        objects("a.yaml", &text, &Two, &Dialect::gateway_api())
            .into_iter()
            .map(|d| (d.line, d.column, d.message))
            .collect()
    }

    const ROUTE: &str =
        "        - apiVersion: gateway.networking.k8s.io/v1\n          kind: HTTPRoute\n          spec:\n            ";

    #[test]
    fn unknown_fields_are_pointed_at() {
        let found = lint(&format!("{ROUTE}rules:\n              - filterz: []"), "");
        assert_eq!(found, [(8, 17, "HTTPRoute has no field `spec.rules[0].filterz` in v1.4.0 standard".to_owned())]);
    }

    #[test]
    fn bounds_decide_which_releases_count() {
        assert_eq!(lint(&format!("{ROUTE}later: 1"), "").len(), 1);
        assert!(lint(&format!("{ROUTE}later: 1"), "      since: \"1.5\"").is_empty());
        assert!(lint(&format!("{ROUTE}later: 1"), "  since: \"1.5\"").is_empty());
    }

    #[test]
    fn what_is_bound_to_unknown_releases_is_held_against_the_newest() {
        let until = "      until: \"1.4\"";
        assert!(lint(&format!("{ROUTE}later: 1"), until).is_empty());
        assert_eq!(lint(&format!("{ROUTE}rules:\n              - filterz: []"), until).len(), 1);
    }

    #[test]
    fn a_kind_of_no_bound_release_is_reported() {
        let grpc = ROUTE.replace("HTTPRoute", "XRoute");
        assert_eq!(lint(&format!("{grpc}a: 1"), "").len(), 1);
        let tcp = ROUTE.replace("HTTPRoute", "TCPRoute");
        assert!(lint(&format!("{tcp}a: 1"), "").is_empty());
    }
}
