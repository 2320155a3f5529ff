//! Scripts of services, and what is expected of their logs.

use std::time::Duration;

use super::super::model::{BodyExpectation, FieldTest, Gap, HoldFor, Level, Requests, Script, Since, Step, Verb};
use super::super::scope::is_of_scenario;
use super::check::Checker;
use super::field;
use super::hold::{duration, millis};
use super::read::{integer, level, text};
use super::tree::{Kind, Node};

/// Methods that a request to a service may have.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Reads a script.
pub(super) fn script(node: &Node, checker: &mut Checker<'_>) -> Option<Script> {
    let rules = node.get("rules")?.list().iter().map(Node::value).collect();
    Some(Script { service: service(node, checker)?, rules })
}

/// Reads an expectation of requests.
pub(super) fn requests(node: &Node, checker: &mut Checker<'_>) -> Option<Requests> {
    let service = service(node, checker)?;
    if let Some(method) = node.get("method")
        && let Some(unknown) = method.text().filter(|text| !METHODS.contains(text))
    {
        checker.unknown(method.mark, "method", unknown, METHODS.iter().copied());
    }
    if let Some(path) = node.get("path")
        && !path.text().is_some_and(is_of_scenario)
    {
        let help = "name something of its own in it, such as ${ns}, ${token} or ${host}";
        checker.report(path.mark, "requests of other scenarios would count too".to_owned(), Some(help.to_owned()));
    }
    let gap = node.get("gap").map(|node| gap(node, checker)).unwrap_or_default();
    let (at_least, at_most) = match node.get("count") {
        Some(count) => count_of(count, checker),
        // Of one request alone there is no gap to speak of.
        None => (if node.get("gap").is_some() { 2 } else { 1 }, None),
    };
    if ["count", "gap", "body"].into_iter().all(|part| node.get(part).is_none()) {
        let help = Some("say a `count`, a `gap`, a `body`, or several of them".to_owned());
        checker.report(node.mark, "nothing is expected of the requests".to_owned(), help);
    }
    if let Some(node) = node.get("gap").filter(|_| at_most.is_some_and(|most| most < 2)) {
        let help = Some("leave it out, or let there be two".to_owned());
        checker.report(node.mark, "there is no gap where there is one request at most".to_owned(), help);
    }
    let body = node.get("body").map(|node| body(node, checker)).unwrap_or_default();
    if let Some(node) = node.get("body").filter(|_| at_least == 0) {
        let help = Some("let there be one at least".to_owned());
        checker.report(node.mark, "there is nothing to look into where there may be no request".to_owned(), help);
    }
    let within = node.get("within").map_or(HoldFor::Quiet, |node| duration(node, checker));
    let read = Requests {
        service,
        method: text(node, "method").map(str::to_owned),
        path: text(node, "path").map(str::to_owned),
        caller: text(node, "caller").map(str::to_owned),
        at_least,
        at_most,
        gap,
        body,
        since: if text(node, "since") == Some("start") { Since::Start } else { Since::Step },
        within,
        level: level(node, "level").unwrap_or(Level::Must),
    };
    if let Some(node) = node.get("within").filter(|_| !read.is_bounded_above()) {
        let help = Some("leave it out: what only has to come is waited for as long as a status".to_owned());
        checker.report(node.mark, "`within` without anything that must stay out".to_owned(), help);
    }
    Some(read)
}

/// Reports an expectation of requests before which nothing was done from which on they could count.
pub(super) fn counts_something(step: &Step, before: &[Step], node: &Node, checker: &mut Checker<'_>) {
    if matches!(step.verb, Verb::Requests(_)) && before.iter().all(|step| matches!(step.verb, Verb::Requests(_))) {
        let help = Some("requests are counted since a step before; do something first".to_owned());
        checker.report(node.mark, "nothing was done before this step".to_owned(), help);
    }
}

fn service(node: &Node, checker: &mut Checker<'_>) -> Option<String> {
    let node = node.get("service")?;
    let name = node.text()?;
    let known = checker.vocabulary;
    if known.services.contains(name) {
        return Some(name.to_owned());
    }
    if known.services.is_empty() {
        let help = Some("list it under `services` of the dialect".to_owned());
        let message = format!("the dialect `{}` has no services, so none `{name}`", known.dialect.name());
        checker.report(node.mark, message, help);
    } else {
        checker.unknown(node.mark, "service", name, known.services.iter().map(String::as_str));
    }
    None
}

/// The lower and the upper bound of a number.
pub(super) fn count_of(node: &Node, checker: &mut Checker<'_>) -> (u64, Option<u64>) {
    if let Kind::Number(number) = &node.kind {
        let exact = number.as_u64().unwrap_or_default();
        return (exact, Some(exact));
    }
    let bound = |name: &str| integer(node, name).and_then(|number| u64::try_from(number).ok());
    let (least, most) = (bound("atLeast"), bound("atMost"));
    if let Some(most) = most.filter(|most| *most < least.unwrap_or_default()) {
        checker.report(node.mark, format!("there is no number from {} to {most}", least.unwrap_or_default()), None);
    }
    if least.unwrap_or_default() == 0 && most.is_none() {
        let help = Some("say `atLeast` above 0, `atMost`, or both".to_owned());
        checker.report(node.mark, "any number is right".to_owned(), help);
    }
    (least.unwrap_or_default(), most)
}

fn body(node: &Node, checker: &mut Checker<'_>) -> Vec<BodyExpectation> {
    field::nothing_asked(node, "place", checker);
    let mut all = Vec::new();
    for (key, given) in node.entries() {
        field::is_pointer(&key.name, key.mark, "/properties/name", checker);
        let secret = text(given, "secret").map(|text| FieldTest::Equals(text.into()));
        let is_secret = secret.is_some();
        if let Some(test) = secret.or_else(|| field::value(given, checker)) {
            all.push(BodyExpectation { pointer: key.name.clone(), test, is_secret });
        }
    }
    all
}

fn gap(node: &Node, checker: &mut Checker<'_>) -> Gap {
    let mut bound = |name: &str| {
        let given = node.get(name)?;
        let found = given.text().and_then(millis).map(Duration::from_millis);
        if found.is_none() {
            checker.report(given.mark, "not a time".to_owned(), Some("such as 500ms or 2s".to_owned()));
        }
        found
    };
    let gap = Gap { at_least: bound("atLeast"), at_most: bound("atMost") };
    if node.entries().is_empty() {
        checker.report(node.mark, "any gap is right".to_owned(), Some("say `atLeast`, `atMost`, or both".to_owned()));
    }
    if let (Some(least), Some(most)) = (gap.at_least, gap.at_most)
        && most < least
    {
        checker.report(node.mark, format!("no time is from {least:?} to {most:?}"), None);
    }
    gap
}

#[cfg(test)]
#[path = "service_tests.rs"]
mod tests;
