//! Conditions of includes and routes: which are well-formed, and what several of them come to.

use gateproof_proxy::config::{FieldMatch, PathMatch, RequestMatch, ValueMatch};
use regex::Regex;

use crate::api::{Condition, HeaderCondition, QueryCondition};

/// What is wrong with the paths of a block of conditions, if anything.
pub(super) fn paths(conditions: &[Condition]) -> Result<(), String> {
    let mut count = 0;
    for condition in conditions {
        for (kind, path) in [("prefix", &condition.prefix), ("exact", &condition.exact), ("regex", &condition.regex)] {
            if path.is_empty() {
                continue;
            }
            count += 1;
            if !path.starts_with('/') {
                return Err(format!("a path begins with /, and the {kind} condition is {path}"));
            }
            if kind == "regex"
                && let Err(error) = Regex::new(path)
            {
                return Err(format!("{path} is no regular expression: {error}"));
            }
        }
    }
    if count > 1 { Err("one block of conditions has several paths".to_owned()) } else { Ok(()) }
}

/// The same of an include, which takes prefixes alone.
pub(super) fn paths_of_include(conditions: &[Condition]) -> Result<(), String> {
    if conditions.iter().any(|condition| !condition.exact.is_empty() || !condition.regex.is_empty()) {
        return Err("an include takes prefixes, and neither exact paths nor regular expressions".to_owned());
    }
    paths(conditions)
}

/// What contradicts or repeats itself in conditions about headers.
pub(super) fn headers(conditions: &[Condition]) -> Result<(), String> {
    let mut seen: Vec<&HeaderCondition> = Vec::new();
    for header in conditions.iter().filter_map(|condition| condition.header.as_ref()) {
        let name = &header.name;
        let same = |other: &&&HeaderCondition| other.name.eq_ignore_ascii_case(name);
        let clashes = |clash: &dyn Fn(&HeaderCondition) -> bool| seen.iter().filter(same).any(|other| clash(other));
        let opposite = |a: &str, b: &str| !a.is_empty() && a == b;
        if !header.exact.is_empty() && clashes(&|other| !other.exact.is_empty()) {
            return Err(format!("header {name} is to have two exact values"));
        }
        let contradicts = clashes(&|other| {
            (header.present && other.notpresent)
                || (header.notpresent && other.present)
                || opposite(&header.exact, &other.notexact)
                || opposite(&header.notexact, &other.exact)
                || opposite(&header.contains, &other.notcontains)
                || opposite(&header.notcontains, &other.contains)
        });
        if contradicts {
            return Err(format!("two conditions about header {name} contradict each other"));
        }
        if Regex::new(&header.regex).is_err() {
            return Err(format!("the condition about header {name} is no regular expression"));
        }
        seen.push(header);
    }
    Ok(())
}

/// What is wrong with conditions about query parameters.
pub(super) fn queries(conditions: &[Condition]) -> Result<(), String> {
    let mut exact: Vec<String> = Vec::new();
    for query in conditions.iter().filter_map(|condition| condition.query_parameter.as_ref()) {
        let name = &query.name;
        let values = [&query.exact, &query.prefix, &query.suffix, &query.regex, &query.contains];
        match values.iter().filter(|value| !value.is_empty()).count() + usize::from(query.present) {
            0 => return Err(format!("the condition about query parameter {name} says nothing")),
            1 => {}
            _ => return Err(format!("one condition about query parameter {name} says several things")),
        }
        if !query.exact.is_empty() {
            if exact.contains(&name.to_lowercase()) {
                return Err(format!("query parameter {name} is to have two exact values"));
            }
            exact.push(name.to_lowercase());
        }
        if Regex::new(&query.regex).is_err() {
            return Err(format!("the condition about query parameter {name} is no regular expression"));
        }
    }
    Ok(())
}

/// What all conditions from the root down come to. Prefixes are put behind each other, and the last path says of which sort the whole
/// is, unless one is a regular expression.
pub(super) fn merged(conditions: &[Condition]) -> RequestMatch {
    let mut path = String::new();
    let mut is_regex = false;
    for condition in conditions {
        let [part] = [&condition.prefix, &condition.exact, &condition.regex]
            .into_iter()
            .filter(|part| !part.is_empty())
            .take(1)
            .collect::<Vec<_>>()[..]
        else {
            continue;
        };
        path.push_str(part);
        is_regex |= !condition.regex.is_empty();
    }
    while path.contains("//") {
        path = path.replace("//", "/");
    }
    let is_exact = conditions.last().is_some_and(|last| !last.exact.is_empty());
    RequestMatch {
        path: match path {
            path if path.is_empty() => PathMatch::Text("/".to_owned()),
            path if is_regex => PathMatch::Regex(path),
            path if is_exact => PathMatch::Exact(path),
            path => PathMatch::Text(path),
        },
        headers: together(conditions.iter().filter_map(|condition| condition.header.as_ref()).filter_map(header)),
        query: together(conditions.iter().filter_map(|condition| condition.query_parameter.as_ref()).map(query)),
        method: None,
    }
}

/// All conditions about one name as one.
fn together(fields: impl Iterator<Item = FieldMatch>) -> Vec<FieldMatch> {
    let mut together: Vec<FieldMatch> = Vec::new();
    for field in fields {
        match together.iter_mut().find(|other| other.name.eq_ignore_ascii_case(&field.name)) {
            None => together.push(field),
            Some(other) => match &mut other.value {
                ValueMatch::All(all) => all.push(field.value),
                value => *value = ValueMatch::All(vec![value.clone(), field.value]),
            },
        }
    }
    together
}

/// What an include is told from another by: its prefix, and what it asks of headers and queries, in any order.
pub(super) fn identity(conditions: &[Condition]) -> (PathMatch, Vec<String>) {
    let merged = merged(conditions);
    let mut fields: Vec<String> =
        merged.headers.iter().chain(&merged.query).map(|field| format!("{field:?}")).collect();
    fields.sort();
    (merged.path, fields)
}

fn text(pattern: &str, ignores_case: bool) -> ValueMatch {
    ValueMatch::Regex(format!("(?s{}){pattern}", if ignores_case { "i" } else { "" }))
}

/// What a condition about a header asks; nothing if it says nothing.
fn header(header: &HeaderCondition) -> Option<FieldMatch> {
    let exactly = |value: &str| text(&regex::escape(value), header.ignore_case);
    let within = |value: &str| text(&format!(".*{}.*", regex::escape(value)), header.ignore_case);
    let not = |value: ValueMatch| ValueMatch::Not { value: Box::new(value), absent: header.treat_missing_as_empty };
    let value = if header.present {
        text(".*", false)
    } else if header.notpresent {
        ValueMatch::Absent
    } else if !header.contains.is_empty() {
        within(&header.contains)
    } else if !header.notcontains.is_empty() {
        not(within(&header.notcontains))
    } else if !header.exact.is_empty() {
        exactly(&header.exact)
    } else if !header.notexact.is_empty() {
        not(exactly(&header.notexact))
    } else if !header.regex.is_empty() {
        ValueMatch::Regex(header.regex.clone())
    } else {
        return None;
    };
    Some(FieldMatch { name: header.name.clone(), value })
}

fn query(query: &QueryCondition) -> FieldMatch {
    let escaped = |value: &str, before: &str, after: &str| {
        text(&format!("{before}{}{after}", regex::escape(value)), query.ignore_case)
    };
    let value = if !query.exact.is_empty() {
        escaped(&query.exact, "", "")
    } else if !query.prefix.is_empty() {
        escaped(&query.prefix, "", ".*")
    } else if !query.suffix.is_empty() {
        escaped(&query.suffix, ".*", "")
    } else if !query.contains.is_empty() {
        escaped(&query.contains, ".*", ".*")
    } else if !query.regex.is_empty() {
        ValueMatch::Regex(query.regex.clone())
    } else {
        text(".*", false)
    };
    FieldMatch { name: query.name.clone(), value }
}
