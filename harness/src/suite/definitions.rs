//! What the definitions of a dialect say of its other files: a misspelt plural or place would be looked for in vain.

use std::collections::BTreeSet;
use std::path::Path;

use gateproof_apiserver::crds::parse_bundle;
use serde_json::Value;

use super::error::SuiteError;
use super::{DEFINITIONS, File, and_of_edition};
use crate::cluster::schemas::Schemas;
use crate::dialects::{Addresses, Dialect, DialectKind, Entries, Generation, Scope};
use crate::judge::contract::{Contract, NamedPlace};
use crate::scenario::lint::{Missing, ObjectSchemas};
use crate::scenario::pointer::below;
use crate::scenario::{line_of, nearest, suggest};

/// Definitions, and the name of the file that they stand in; none of those that a target serves.
#[derive(Clone, Copy)]
pub(super) struct Named<'d>(pub(super) &'d [Value], pub(super) Option<&'d str>);

/// What stands for the file where a target tells of the definitions.
pub(super) const SERVED: &str = "the target";

/// Reads them.
pub(super) fn read((path, text): &File) -> Result<Vec<Value>, SuiteError> {
    match parse_bundle(text) {
        Ok(bundle) => Ok(bundle.definitions),
        Err(error) => Err(SuiteError::Definitions { path: path.clone(), error: Box::new(error) }),
    }
}

/// The edition whose definitions a file has by its name.
pub(super) fn edition_of(name: &str) -> Option<&str> {
    name.strip_prefix("crds.").and_then(|rest| rest.strip_suffix(".yaml"))
}

/// The files of a folder whose names are wanted, each with its name, in order of name.
pub(super) fn files_of(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<(String, File)>, SuiteError> {
    let wrong = |path: &Path| {
        let path = path.to_owned();
        move |source| SuiteError::Read { path, source }
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong(folder))? {
        let path = entry.map_err(wrong(folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if wanted(name) {
            let text = std::fs::read_to_string(&path).map_err(wrong(&path))?;
            found.push((name.to_owned(), (path.clone(), text)));
        }
    }
    found.sort();
    Ok(found)
}

/// The files of a folder with the definitions of an edition, `crds.EDITION.yaml`, each with the name of that, in order of name.
pub(super) fn of_editions(folder: &Path) -> Result<Vec<(String, File)>, SuiteError> {
    let files = files_of(folder, |name| edition_of(name).is_some())?;
    Ok(files.into_iter().filter_map(|(name, file)| Some((edition_of(&name)?.to_owned(), file))).collect())
}

/// All definitions of a folder: those of the edition that is meant, and sets of those that hold in others.
#[derive(Debug, Default)]
pub(super) struct Editions {
    pub(super) meant: Vec<Value>,
    pub(super) others: Vec<Vec<Value>>,
    /// The file of those that are meant; none of what a target serves.
    file: Option<String>,
}

impl Editions {
    /// What the files say, of which one holds wherever its edition has none of its own.
    ///
    /// # Errors
    /// One cannot be read, or is of an edition that there is not.
    pub(super) fn of(
        whole: Option<&File>,
        single: &[(String, File)],
        dialect: &Dialect,
        edition: Option<&str>,
    ) -> Result<Editions, SuiteError> {
        if let Some((name, (path, _))) = single.iter().find(|(name, _)| !dialect.editions().contains(name)) {
            let known = dialect.editions().join(", ");
            let known =
                if known.is_empty() { "it has one edition only".to_owned() } else { format!("there is {known}") };
            let problem = format!("the dialect `{}` has no edition `{name}`: {known}", dialect.name());
            return Err(SuiteError::Undefined { path: path.clone(), line: None, problem });
        }
        let mut all = Editions { file: Some(DEFINITIONS.to_owned()), ..Editions::default() };
        let own = single.iter().find(|(name, _)| Some(&**name) == edition);
        for (name, file) in single {
            let read = read(file)?;
            if own.is_some_and(|(own, _)| own == name) {
                (all.meant, all.file) = (read, Some(format!("crds.{name}.yaml")));
            } else {
                all.others.push(read);
            }
        }
        if let Some(whole) = whole {
            let read = read(whole)?;
            if own.is_some() {
                all.others.push(read);
            } else {
                all.meant = read;
            }
        }
        Ok(all)
    }

    /// Takes what a target serves for those that are meant.
    pub(super) fn take_served(&mut self, served: Vec<Value>) {
        (self.meant, self.file) = (served, None);
    }

    pub(super) fn named(&self) -> Named<'_> {
        Named(&self.meant, self.file.as_deref())
    }
}

/// Holds the kinds of a dialect against the definitions of their groups.
pub(super) fn hold(definitions: Named<'_>, dialect: &Dialect, path: &Path, text: &str) -> Result<(), SuiteError> {
    let of = |kind: &DialectKind| {
        let (field, problem) = problem(definitions, kind, dialect.group_of(&kind.kind))?;
        let line = line_of(text, &["spec", "kinds", &format!("kind={}", kind.kind), field].map(str::to_owned));
        Some(SuiteError::Undefined { path: path.to_owned(), line, problem })
    };
    dialect.kinds().find_map(of).map_or(Ok(()), Err)
}

/// The field of a kind that its definition has otherwise, and how.
fn problem(Named(definitions, file): Named<'_>, kind: &DialectKind, group: &str) -> Option<(&'static str, String)> {
    let mut of_group = definitions.iter().filter(|one| one["spec"]["group"] == group).peekable();
    // Who defines a group elsewhere, as Kubernetes does, need not do so here.
    of_group.peek()?;
    let DialectKind { kind, plural, scope, .. } = kind;
    let Some(found) = of_group.find(|one| one["spec"]["names"]["kind"] == kind.as_str()) else {
        // A target may leave some of them out: what needs them does not run there.
        return file.map(|file| ("kind", format!("{file} defines kinds of the group `{group}`, and no {kind}")));
    };
    let differs = |what: &'static str, said: &str, pointer: &str| {
        let defined = found.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let file = file.unwrap_or(SERVED);
        (defined != said).then(|| (what, format!("{kind} has the {what} `{said}` here, and `{defined}` in {file}")))
    };
    let scope = match scope {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster => "Cluster",
    };
    differs("plural", plural, "/spec/names/plural").or_else(|| differs("scope", scope, "/spec/scope"))
}

/// Holds the definition that tells of a release against those that there are: a run would ask for it in vain, and every kind be of no
/// release.
pub(super) fn hold_releases(
    Named(definitions, file): Named<'_>,
    dialect: &Dialect,
    path: &Path,
    text: &str,
) -> Result<(), SuiteError> {
    let Some(releases) = dialect.releases() else { return Ok(()) };
    let of_kinds = dialect.kinds().map(|kind| format!("{}.{}", kind.plural, dialect.group_of(&kind.kind)));
    let defined = definitions.iter().filter_map(|one| one["metadata"]["name"].as_str().map(str::to_owned));
    let known: BTreeSet<String> = of_kinds.chain(defined).collect();
    let wanted = &releases.definition;
    if known.contains(wanted) {
        return Ok(());
    }
    let near = suggest(wanted, known.iter().map(String::as_str));
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let file = file.unwrap_or(SERVED);
    let of = if definitions.is_empty() { String::new() } else { format!(", and {file} has none of that name") };
    let problem = format!("`{wanted}` in `releases` is the definition of none of the `kinds`{of}{near}");
    let line = line_of(text, &["spec", "releases", "definition"].map(str::to_owned));
    Err(SuiteError::Undefined { path: path.to_owned(), line, problem })
}

/// Holds what a run makes where traffic comes in against the schemas of its kind.
pub(super) fn hold_entries(
    definitions: &[Value],
    dialect: &Dialect,
    path: &Path,
    text: &str,
) -> Result<(), SuiteError> {
    let schemas = Schemas::with([definitions]);
    let mut manifests = dialect.entries().into_iter().flat_map(Entries::manifests);
    match manifests.find_map(|(protocol, manifest)| Some((protocol, misfit(&schemas, manifest)?))) {
        Some((protocol, misfit)) => {
            let protocol = protocol.listener();
            let line = line_of(text, &["spec", "entries", "manifests", protocol].map(str::to_owned));
            let problem = format!("the manifest `{protocol}` of `entries` {misfit}");
            Err(SuiteError::Undefined { path: path.to_owned(), line, problem })
        }
        None => Ok(()),
    }
}

fn misfit(schemas: &Schemas, manifest: &Value) -> Option<String> {
    let text = |field: &str| manifest[field].as_str().unwrap_or_default();
    if let Some((group, version)) = text("apiVersion").split_once('/')
        && schemas.served(group, text("kind")).is_some_and(|served| !served.contains(version))
    {
        return Some(format!("is of `{group}/{version}`, as which its definition does not serve it"));
    }
    let own = schemas.unknown_beside_releases(manifest).into_iter().map(|(field, _)| field);
    let (mut unknown, mut wrong) = (own.collect::<Vec<_>>(), schemas.wrong_types_beside_releases(manifest));
    // Kinds of Gateway API are built in, with all that they have in the last channel.
    if let Some((version, channel)) = schemas.releases().pop() {
        unknown.extend(schemas.unknown_fields(manifest, version, channel).unwrap_or_default());
        wrong.extend(schemas.wrong_types(manifest, version, channel));
    }
    let unknown = unknown.first().map(|field| format!("has the field `{field}`, which its definition has not"));
    let wrong = wrong.first();
    unknown.or_else(|| wrong.map(|one| format!("has {} in `{}`, which is to be {}", one.found, one.path, one.wanted)))
}

/// Holds the places of a contract against the schemas of its kinds.
pub(super) fn hold_places(
    definitions: Named<'_>,
    contract: &Contract,
    path: &Path,
    text: &str,
) -> Result<(), SuiteError> {
    let schemas = Schemas::with([definitions.0]);
    for NamedPlace { group, kind, pointer, at } in contract.places() {
        if let Some(missing) = schemas.missing_at(Some(group), kind, &pointer) {
            let line = nearest(text, &and_of_edition(at, contract.edition()));
            let problem = leads_nowhere(kind, &missing, definitions);
            return Err(SuiteError::Undefined { path: path.to_owned(), line, problem });
        }
    }
    Ok(())
}

fn leads_nowhere(kind: &str, missing: &Missing, Named(definitions, file): Named<'_>) -> String {
    let file = file.unwrap_or(SERVED);
    let is_here = definitions.iter().any(|one| one["spec"]["names"]["kind"] == kind);
    let here = if is_here { format!(" in {file}") } else { String::new() };
    let near = missing.near().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!("{kind} has nothing at `{}`, by its definition{here}{near}", missing.pointer)
}

/// Holds what a dialect looks for in objects against the schemas of its kinds: which generation a status is about, and how what traffic
/// comes in by can be reached.
pub(super) fn hold_pointers(
    definitions: Named<'_>,
    dialect: &Dialect,
    path: &Path,
    text: &str,
) -> Result<(), SuiteError> {
    let schemas = Schemas::with([definitions.0]);
    let missing_at = |kind: &str, pointer: &str| schemas.missing_at(Some(dialect.group_of(kind)), kind, pointer);
    let wrong = |at: &[&str], problem| {
        let at: Vec<_> = ["spec"].iter().chain(at).map(|step| (*step).to_owned()).collect();
        Err(SuiteError::Undefined { path: path.to_owned(), line: line_of(text, &at), problem })
    };
    for DialectKind { kind, .. } in dialect.kinds().filter(|kind| kind.generation == Generation::Status) {
        if missing_at(kind, "/status/observedGeneration").is_some() {
            let problem = format!(
                "{kind} has `generation: status` here, and no `status.observedGeneration` by its definition: leave `generation` \
                 out if its conditions say it, or let it be `unsaid`"
            );
            return wrong(&["kinds", &format!("kind={kind}"), "generation"], problem);
        }
    }
    // By that a run knows whose a class is, and which entries of a status are the target's.
    if let Some(DialectKind { kind, .. }) = dialect.class()
        && missing_at(kind, "/spec/controllerName").is_some()
    {
        let problem = format!(
            "{kind} has `role: class` here, and no `spec.controllerName` by its definition: a run could not know whose it is; leave \
             `role` out, or give it to the kind whose objects name their controller so"
        );
        return wrong(&["kinds", &format!("kind={kind}"), "role"], problem);
    }
    let (Some(entry), Some(entries)) = (dialect.entry(), dialect.entries()) else { return Ok(()) };
    let Addresses { at, values, type_ } = &entries.addresses;
    let in_address = |field: &str| below(&format!("{at}/0"), field);
    let list = (at.clone(), vec!["addresses", "at"]);
    let fields = values.iter().map(|value| (in_address(value), vec!["addresses", "values", value]));
    let type_ = type_.iter().map(|type_| (in_address(type_), vec!["addresses", "type"]));
    let port = entries.port.iter().map(|port| (port.clone(), vec!["port"]));
    for (pointer, within) in std::iter::once(list).chain(fields).chain(type_).chain(port) {
        if let Some(missing) = missing_at(&entry.kind, &pointer) {
            let at = [vec!["entries"], within].concat();
            return wrong(&at, leads_nowhere(&entry.kind, &missing, definitions));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gateproof_suites::dialects::OTHERS;
    use rstest::rstest;

    use super::*;
    use crate::judge::contract::GATEWAY_API;
    use crate::run::embedded;
    use crate::suite::{Suite, made};

    /// What is built in is not held at every start.
    #[rstest]
    #[case::gateway_api("gateway-api", None)]
    #[case::aso("aso", Some("current"))]
    #[case::aso_as_designed("aso", Some("design"))]
    #[case::kuadrant("kuadrant", Some("current"))]
    #[case::kuadrant_as_designed("kuadrant", Some("design"))]
    fn what_is_built_in_is_as_its_definitions_are(#[case] name: &str, #[case] edition: Option<&str>) {
        let suite = Suite::named_in(name, edition).unwrap().unwrap();
        let definitions = embedded::definitions(suite.reference().unwrap(), edition);
        hold(Named(&definitions, Some(DEFINITIONS)), &suite.dialect, Path::new(name), "").unwrap();
        made::hold(Named(&definitions, Some(DEFINITIONS)), &suite.dialect, Path::new(name), "").unwrap();
        hold_entries(&definitions, &suite.dialect, Path::new(name), "").unwrap();
        hold_pointers(Named(&definitions, Some(DEFINITIONS)), &suite.dialect, Path::new(name), "").unwrap();
        let schemas = Schemas::with([&definitions[..]]);
        let mut places = suite.contract.places();
        assert!(!places.is_empty());
        // What there was before the newest release.
        places.retain(|place| (place.kind, &*place.pointer) != ("XBackend", "/status/parents"));
        let missing: Vec<_> = places
            .iter()
            .filter_map(|place| schemas.missing_at(Some(place.group), place.kind, &place.pointer))
            .collect();
        assert_eq!(missing, []);
    }

    #[rstest]
    #[case::field("gatewayClassName: ${class}", "gatewayClass: ${class}", "has the field `spec.gatewayClass`")]
    #[case::type_(
        "port: \"${port}\"",
        "port: [80]",
        "has a list in `spec.listeners[0].port`, which is to be an integer"
    )]
    fn what_a_run_makes_fits_its_definition(#[case] from: &str, #[case] to: &str, #[case] told: &str) {
        let suite = Suite::named("kuadrant").unwrap().unwrap();
        let definitions = embedded::definitions(suite.reference().unwrap(), Some("current"));
        let text = OTHERS.iter().find(|one| one.name == "kuadrant").unwrap().dialect;
        assert!(text.contains(from));
        let text = text.replacen(from, to, 1);
        let line = text.lines().position(|line| line == "      http:").unwrap() + 1;
        let wrong = Dialect::parse(&text).unwrap();
        let error = hold_entries(&definitions, &wrong, Path::new("dialect.yaml"), &text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("dialect.yaml:{line}: ")) && error.contains(told), "{error}");
    }

    #[test]
    fn what_a_run_makes_is_served() {
        let text = include_str!("../../tests/doors/dialect.yaml")
            .replace("apiVersion: example.com/v1\n", "apiVersion: example.com/v2\n");
        let (path, crds) = (Path::new("dialect.yaml"), include_str!("../../tests/doors/crds.yaml"));
        let definitions = read(&(path.to_owned(), crds.to_owned())).unwrap();
        let error = hold_entries(&definitions, &Dialect::parse(&text).unwrap(), path, &text).unwrap_err().to_string();
        let told = "dialect.yaml:17: the manifest `http` of `entries` is of `example.com/v2`, as which its definition does not serve it";
        assert_eq!(error, told);
    }

    /// Fields that a contract names in conditions, in entries and in lists.
    #[rstest]
    #[case::count(
        "gateway-api",
        "counts: [attachedRoutes]",
        "counts: [attachedRoute]",
        ("Gateway", "/status/listeners/0/attachedRoute", "attachedRoutes")
    )]
    #[case::sorted(
        "gateway-api",
        "by: name}",
        "by: nam}",
        ("GatewayClass", "/status/supportedFeatures/0/nam", "name")
    )]
    #[case::grade("aso", "by: severity", "by: severty", ("ResourceGroup", "/status/conditions/0/severty", "severity"))]
    #[case::succession(
        "aso",
        "after: {severity:",
        "after: {severty:",
        ("ResourceGroup", "/status/conditions/0/severty", "severity")
    )]
    #[case::exception(
        "aso",
        "comes: {reason:",
        "comes: {reasn:",
        ("ResourceGroup", "/status/conditions/0/reasn", "reason")
    )]
    fn what_a_contract_names_leads_somewhere(
        #[case] name: &str,
        #[case] from: &str,
        #[case] to: &str,
        #[case] (kind, pointer, near): (&str, &str, &str),
    ) {
        let suite = Suite::named(name).unwrap().unwrap();
        let other = OTHERS.into_iter().find(|other| other.name == name);
        let text = other.map_or(GATEWAY_API, |other| other.contract);
        assert!(text.contains(from));
        let text = text.replacen(from, to, 1);
        let edition = other.map(|_| "current");
        let contract = Contract::of(suite.dialect.clone(), edition, &text).unwrap();
        let definitions = other.map(|_| embedded::definitions(suite.reference().unwrap(), edition)).unwrap_or_default();
        let path = Path::new("contract.yaml");
        let error =
            hold_places(Named(&definitions, Some(DEFINITIONS)), &contract, path, &text).unwrap_err().to_string();
        // Of a succession the list is told.
        let line = text.lines().position(|line| line.contains(to)).unwrap() + 1;
        let list = text.lines().position(|line| line.trim() == "never:").unwrap_or(line) + 1;
        let here = if other.is_some() { " in crds.yaml" } else { "" };
        let told = |line| {
            format!(
                "contract.yaml:{line}: {kind} has nothing at `{pointer}`, by its definition{here}; did you mean `{near}`?"
            )
        };
        assert!([told(line), told(list)].contains(&error), "{error}");
    }

    #[rstest]
    #[case::generation(
        "settles: entry",
        "settles: entry, generation: status",
        "9: Door has `generation: status` here, and no `status.observedGeneration` by its definition: leave"
    )]
    #[case::addresses("at: /status/places", "at: /status/place", "13: Door has nothing at `/status/place`, by")]
    #[case::value("[ip, hostname]", "[ip, hostnam]", "13: Door has nothing at `/status/places/0/hostnam`, by")]
    #[case::type_(
        "[ip, hostname]",
        "[ip, hostname], type: sort",
        "13: Door has nothing at `/status/places/0/sort`, by"
    )]
    #[case::port("port: /spec/port", "port: /spec/prot", "14: Door has nothing at `/spec/prot`, by")]
    fn what_a_dialect_looks_for_leads_somewhere(#[case] from: &str, #[case] to: &str, #[case] told: &str) {
        let text = include_str!("../../tests/doors/dialect.yaml");
        let (path, crds) = (Path::new("dialect.yaml"), include_str!("../../tests/doors/crds.yaml"));
        let definitions = read(&(path.to_owned(), crds.to_owned())).unwrap();
        let held = |text: &str| {
            hold_pointers(Named(&definitions, Some(DEFINITIONS)), &Dialect::parse(text).unwrap(), path, text)
        };
        held(text).unwrap();
        assert!(text.contains(from));
        let error = held(&text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("dialect.yaml:{told}")), "{error}");
    }
}
