//! From a checked tree to a scenario. Wrong types were reported before; what cannot be read is left out here.

use std::sync::Arc;

use indexmap::IndexMap;
use sha2::{Digest, Sha256};

use super::super::model::{
    ApiVersion, Apply, BackendDecl, BackendProtocol, Bounds, Branch, CertificateDecl, Delete, Ending, Isolation,
    NamespaceDecl, ObjectRef, Patch, PatchKind, Refusal, Scenario, Settle, Step, Verb,
};
use super::super::suite::suite_of;
use super::check::Checker;
use super::client::protocols;
use super::names::Names;
use super::read::{boolean, bounds, bounds_of, clauses, entries, integer, strings, text, texts_by_key};
use super::tree::{Document, Key, Kind, Node};
use super::{authorities, component, editions, expect, hold, made, made_for, probe, service};

/// Reads one document; problems go to the checker.
pub(super) fn scenario(document: &Document, file: &str, checker: &mut Checker<'_>) -> Option<Scenario> {
    let root = &document.root;
    let spec = root.get("spec")?;
    let name = root.get("metadata").and_then(|m| m.get("name")).and_then(Node::text).unwrap_or_default();
    let mut names = Names::of(Arc::clone(&checker.vocabulary.dialect));
    let gateways = entries(spec, "gateways")
        .filter_map(|(alias, shape)| Some((alias.to_owned(), shape.text()?.to_owned())))
        .collect::<IndexMap<_, _>>();
    names.gateways = gateways.keys().cloned().collect();
    let namespaces = entries(spec, "namespaces")
        .map(|(alias, node)| (alias.to_owned(), NamespaceDecl { labels: texts_by_key(node.get("labels")) }))
        .collect::<IndexMap<_, _>>();
    names.namespaces = namespaces.keys().cloned().collect();
    names.changes_cluster = text(spec, "isolation") == Some("cluster");
    reserved_aliases(spec, checker);
    let backends = backends(spec, &mut names, checker);
    let made = made::read(spec, &mut names, checker);
    let mut steps = Vec::new();
    let list = spec.get("steps").map(Node::list).unwrap_or_default();
    list.iter().for_each(|node| names.check_placeholders(node, checker));
    read_steps(list, None, &mut steps, &mut names, checker);
    authorities::check(spec, checker);
    if spec.get("steps").is_some_and(|s| s.list().is_empty()) {
        checker.report(spec.mark, "a scenario without steps proves nothing".to_owned(), None);
    }
    let bounds = editions::bind(spec, &mut steps, checker);
    Some(Scenario {
        name: name.to_owned(),
        suite: suite_of(file).to_owned(),
        dialect: Arc::clone(&names.dialect),
        file: file.to_owned(),
        summary: text(spec, "summary").unwrap_or_default().to_owned(),
        features: strings(spec.get("features")),
        without: without(spec, checker),
        bounds,
        isolation: match text(spec, "isolation") {
            Some("lane") => Isolation::Lane,
            Some("cluster") => Isolation::Cluster,
            _ => Isolation::Shared,
        },
        namespaces,
        gateways,
        backends,
        made,
        steps,
        digest: format!("{:x}", Sha256::digest(document.text.as_bytes())),
        labels: IndexMap::new(),
    })
}

/// The features that a target must lack. One that it must claim too would leave no target.
fn without(spec: &Node, checker: &mut Checker<'_>) -> Vec<String> {
    let needed = strings(spec.get("features"));
    for node in spec.get("without").map(Node::list).unwrap_or_default() {
        if let Some(name) = node.text().filter(|name| needed.iter().any(|one| one == name)) {
            let help = Some("a target claims a feature or does not".to_owned());
            checker.report(node.mark, format!("`{name}` is among `features` too"), help);
        }
    }
    strings(spec.get("without"))
}

fn reserved_aliases(spec: &Node, checker: &mut Checker<'_>) {
    let reserved = super::super::template::WORDS;
    let entry = checker.vocabulary.dialect.entry_kind().to_owned();
    for (field, what) in [("gateways", entry.as_str()), ("namespaces", "namespace")] {
        for (key, _) in spec.get(field).map(Node::entries).unwrap_or_default() {
            let taken = if field == "gateways" { reserved.contains(&key.name.as_str()) } else { key.name == "ns" };
            if taken {
                let message = format!("`{}` has a meaning of its own and cannot be an alias of a {what}", key.name);
                checker.report(key.mark, message, None);
            }
        }
    }
}

fn backends(spec: &Node, names: &mut Names, checker: &mut Checker<'_>) -> Vec<BackendDecl> {
    let mut all: Vec<BackendDecl> = Vec::new();
    for node in spec.get("backends").map(Node::list).unwrap_or_default() {
        let Some(name) = node.text().or_else(|| text(node, "name")) else { continue };
        let namespace = text(node, "namespace").unwrap_or("ns");
        if namespace != "ns" && !names.namespaces.iter().any(|n| n == namespace) {
            let mark = node.get("namespace").map_or(node.mark, |n| n.mark);
            checker.unknown(mark, "namespace", namespace, names.namespaces.iter().map(String::as_str));
        }
        if all.iter().any(|b| b.name == name) {
            let help = Some("names of backends are unique in a scenario, whatever their namespace".to_owned());
            checker.report(node.mark, format!("there are two backends `{name}`"), help);
        }
        let service = node.get("service");
        if let Some((service, mark)) = service.and_then(|node| Some((node.text()?, node.mark))) {
            let known = all.iter().filter(|b| b.service.is_none() && b.namespace == namespace).map(|b| b.name.as_str());
            if !known.clone().any(|name| name == service) {
                checker.unknown(mark, "backend above in the same namespace", service, known);
            }
        }
        names.backends.push(name.to_owned());
        let alias = (namespace != "ns").then(|| namespace.to_owned());
        let object =
            |kind: &str, name: String| ObjectRef { kind: kind.to_owned(), namespace: alias.clone(), name, pool: false };
        if service.is_none() {
            names.objects.push(object("Service", name.to_owned()));
        }
        names.objects.push(object("EndpointSlice", BackendDecl::slice(name)));
        let greets = boolean(node, "greets").unwrap_or(false);
        if let Some(given) = node.get("greets").filter(|_| greets && text(node, "protocol") != Some("tcp")) {
            let help = Some("add `protocol: tcp`".to_owned());
            checker.report(given.mark, "only over TCP a backend may speak first".to_owned(), help);
        }
        let alpn = node.get("alpn").map(|list| protocols(list, checker)).unwrap_or_default();
        if let Some(given) = node.get("alpn").filter(|_| text(node, "protocol") != Some("tls")) {
            let help = Some("add `protocol: tls`".to_owned());
            checker.report(given.mark, "only one that speaks nothing but TLS agrees on protocols".to_owned(), help);
        }
        all.push(BackendDecl {
            alpn,
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            port: integer(node, "port").and_then(|p| u16::try_from(p).ok()).unwrap_or(8080),
            protocol: match text(node, "protocol") {
                Some("tcp") => BackendProtocol::Tcp,
                Some("tls") => BackendProtocol::Tls,
                Some("udp") => BackendProtocol::Udp,
                Some("h2c") => BackendProtocol::H2c,
                _ => BackendProtocol::Http,
            },
            service: service.and_then(Node::text).map(str::to_owned),
            ready: boolean(node, "ready").unwrap_or(true),
            headless: boolean(node, "headless").unwrap_or(false),
            greets,
            port_name: text(node, "portName").map(str::to_owned),
            tls: node.get("tls").map(|tls| CertificateDecl {
                names: super::client::certified(tls, checker),
                common_name: text(tls, "commonName").map(str::to_owned),
                authority: text(tls, "authority").unwrap_or("ca").to_owned(),
                expired: boolean(tls, "expired").unwrap_or(false),
                future: super::client::is_to_come(tls, checker),
                chain: super::client::chain(tls),
                clients: text(tls, "clients").map(str::to_owned),
            }),
        });
        if let Some(tls) = node.get("tls").filter(|_| matches!(text(node, "protocol"), Some("tcp" | "udp"))) {
            checker.report(tls.mark, "a backend over TCP or UDP has no TLS".to_owned(), None);
        }
    }
    all
}

/// Reads steps, and behind each write those of its ends; `within` is the end that they stand in, with its bounds.
fn read_steps(
    list: &[Node],
    within: Option<(Branch, Bounds)>,
    steps: &mut Vec<Step>,
    names: &mut Names,
    checker: &mut Checker<'_>,
) {
    for node in list {
        let known = names.objects.clone();
        let Some(mut step) = step(node, steps.len(), names, checker) else { continue };
        step.within = within.map(|(branch, _)| branch);
        step.bounds = within.map_or(step.bounds, |(_, bounds)| bounds.and(step.bounds));
        service::counts_something(&step, steps, node, checker);
        hold::comes_before_the_rest(&step, steps, node, checker);
        let (index, bounds, ends) = (step.index, step.bounds, step.either.clone());
        steps.push(step);
        let written = node.get("either").map(Node::list).unwrap_or_default();
        if let (Some((key, _)), false) =
            (node.entries().iter().find(|(key, _)| key.name == "refused"), written.is_empty())
        {
            let help = Some("make it one of the ends".to_owned());
            checker.report(key.mark, "`refused` beside `either`".to_owned(), help);
            continue;
        }
        for ((ending, end), node) in ends.iter().enumerate().zip(written) {
            let Some(then) = node.get("then") else { continue };
            if then.list().is_empty() {
                checker.report(then.mark, "nothing is done in `then`".to_owned(), Some("leave it out".to_owned()));
            }
            // What is made in one end is not there in the others, nor behind them; and what was refused is not there at all.
            let admitted = names.objects.clone();
            if let Ending::Refused(..) = end {
                names.objects.clone_from(&known);
            }
            let branch = (Branch { step: index, ending }, bounds.and(end.bounds()));
            read_steps(then.list(), Some(branch), steps, names, checker);
            names.objects = admitted;
        }
    }
}

fn step(node: &Node, index: usize, names: &mut Names, checker: &mut Checker<'_>) -> Option<Step> {
    let verb = verb(node, names, checker)?;
    let writes = matches!(verb, Verb::Apply(_) | Verb::Patch(_) | Verb::Delete(_));
    let mut either = Vec::new();
    for (field, value) in node.entries().iter().filter(|(k, _)| ["refused", "either", "admitted"].contains(&&*k.name)) {
        if field.name == "admitted" {
            either.extend(admitted(node, &verb, field, value, checker));
        } else if !writes {
            let help = Some("only apply, patch and delete can be refused".to_owned());
            checker.report(field.mark, format!("`{}` without a write", field.name), help);
        } else if field.name == "refused" {
            either.push(Ending::Refused(refusal(value), Bounds::default()));
        } else {
            either.extend(value.list().iter().filter_map(|e| ending(e, names, checker)));
        }
    }
    let place = node.mark.place;
    let (bounds, proves) = (bounds_of(node, &checker.vocabulary.edition), clauses(node));
    Some(Step { index, verb, either, within: None, bounds, proves, place })
}

fn verb(node: &Node, names: &mut Names, checker: &mut Checker<'_>) -> Option<Verb> {
    if let Some(list) = node.get("apply") {
        for object in list.list() {
            let Some(known) = names.applied(object, checker) else { continue };
            if names.made.contains(&known) {
                let message = format!("`{known}` stands in `made` as what the target makes, and this step applies it");
                let help = "take it out of `made` if the scenario makes it, or let the target make it".to_owned();
                checker.report(object.mark, message, Some(help));
            } else if !names.objects.contains(&known) {
                names.objects.push(known);
            }
        }
        let at = if boolean(node, "asWritten") == Some(true) { ApiVersion::AsWritten } else { ApiVersion::Newest };
        return Some(Verb::Apply(Apply { objects: list.list().iter().map(Node::value).collect(), at }));
    }
    for (word, verb, help) in [
        ("asWritten", "apply", "only what is applied has an apiVersion of its own"),
        ("awaited", "delete", "only what is deleted goes in its own time"),
        ("atOnce", "settle", "only a state that is settled stands still first"),
    ] {
        let given = node.entries().iter().find(|(field, _)| field.name == word);
        if let (Some((field, _)), None) = (given, node.get(verb)) {
            checker.report(field.mark, format!("`{word}` without `{verb}`"), Some(help.to_owned()));
        }
    }
    if let Some(patch) = node.get("patch") {
        let target = patch.get("target")?;
        let (kind, body) = match (patch.get("merge"), patch.get("json")) {
            (Some(body), _) => (PatchKind::Merge, body),
            (None, Some(body)) => (PatchKind::Json, body),
            (None, None) => return None,
        };
        let component = component::plays(patch, checker);
        let target = names.patched(target.text()?, target.mark, checker).map(|object| (object, target.mark));
        let (target, mark) = target?;
        if component && target.pool {
            let help = Some("apply an object of your own and write its status".to_owned());
            checker.report(mark, "the status of what scenarios share is for the target alone".to_owned(), help);
        }
        return Some(Verb::Patch(Patch {
            target,
            component,
            subresource: text(patch, "subresource").map(str::to_owned),
            kind,
            patch: body.value(),
        }));
    }
    if let Some(list) = node.get("delete") {
        let objects = list.list().iter().filter_map(|item| names.deleted(item.text()?, item.mark, checker)).collect();
        return Some(Verb::Delete(Delete { objects, awaited: boolean(node, "awaited").unwrap_or(true) }));
    }
    if let Some(settle) = node.get("settle") {
        let subjects = expect::subjects(settle, names, checker);
        let at_once = boolean(node, "atOnce").unwrap_or(false);
        return Some(Verb::Settle(Settle { subjects, same_age: None, at_once }));
    }
    if let Some(hold) = node.get("hold") {
        return Some(Verb::Hold(hold::hold(hold, names, checker)));
    }
    if let Some(script) = node.get("script") {
        return Some(Verb::Script(service::script(script, checker)?));
    }
    if let Some(requests) = node.get("requests") {
        return Some(Verb::Requests(Box::new(service::requests(requests, checker)?)));
    }
    if let Some(made) = node.get("made") {
        return Some(Verb::Made(Box::new(made_for::made_for(made, names, checker)?)));
    }
    Some(Verb::Probe(Box::new(probe::probe(node.get("probe")?, names, checker)?)))
}

/// `admitted: true` of a step.
fn admitted(step: &Node, verb: &Verb, field: &Key, value: &Node, checker: &mut Checker<'_>) -> Option<Ending> {
    let (message, help) = if !matches!(verb, Verb::Apply(_) | Verb::Patch(_)) {
        ("`admitted` without a write of content", "only apply and patch can be admitted")
    } else if step.get("refused").is_some() || step.get("either").is_some() {
        ("`admitted` beside another end of the write", "it is the only legal end, or none")
    } else if boolean(step, "admitted") == Some(false) {
        ("`admitted: false` expects nothing", "write `refused: {}` if the write must be refused")
    } else {
        return Some(Ending::Admitted);
    };
    let mark = if value.kind == Kind::Bool(false) { value.mark } else { field.mark };
    checker.report(mark, message.to_owned(), Some(help.to_owned()));
    None
}

fn ending(node: &Node, names: &Names, checker: &mut Checker<'_>) -> Option<Ending> {
    if let Some(refused) = node.get("refused") {
        return Some(Ending::Refused(refusal(refused), bounds(node)));
    }
    let subjects = expect::subjects(node.get("settle")?, names, checker);
    let same_age = boolean(node, "sameAge");
    Some(Ending::Settle(Settle { subjects, same_age, at_once: false }, bounds(node)))
}

fn refusal(node: &Node) -> Refusal {
    Refusal {
        code: integer(node, "code").and_then(|c| u16::try_from(c).ok()).unwrap_or(422),
        reason: text(node, "reason").unwrap_or("Invalid").to_owned(),
        field: text(node, "field").map(str::to_owned),
    }
}
