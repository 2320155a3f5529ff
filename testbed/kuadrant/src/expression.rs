//! CEL expressions of predicates and counters, and the patterns that stand beside them.

use kube_cel::KubeCelExt;
use kube_cel::cel::{Context, Program, Value as Cel};
use serde_json::{Map, Value};

/// What is wrong with an expression, if it does not compile.
#[must_use]
pub fn problem(source: &str) -> Option<String> {
    Program::compile(source).err().map(|error| format!("{source:?}: {}", error.to_string().replace('\n', " ")))
}

fn evaluate(source: &str, facts: &Map<String, Value>) -> Result<Cel, String> {
    let program = Program::compile(source).map_err(|error| error.to_string())?;
    let mut context = Context::default().with_all();
    for (name, value) in facts {
        context.add_variable(name.as_str(), value).map_err(|error| error.to_string())?;
    }
    program.execute(&context).map_err(|error| error.to_string())
}

/// Whether a predicate holds of the facts of a request.
///
/// # Errors
/// Why it cannot be told: it does not compile, does not evaluate, or comes to something else than a truth value.
pub fn holds(source: &str, facts: &Map<String, Value>) -> Result<bool, String> {
    match evaluate(source, facts)? {
        Cel::Bool(truth) => Ok(truth),
        other => Err(format!("{source:?} comes to {other:?}, which is no truth value")),
    }
}

/// The value of a counter as text.
///
/// # Errors
/// Why there is none.
pub fn counter(source: &str, facts: &Map<String, Value>) -> Result<String, String> {
    evaluate(source, facts).map(|value| match value {
        Cel::String(text) => text.to_string(),
        other => format!("{other:?}"),
    })
}

/// Whether a pattern holds: a predicate, a comparison of a selected value, a named pattern, or several of them.
///
/// # Errors
/// Why it cannot be told.
pub fn matches(pattern: &Value, named: &Map<String, Value>, facts: &Map<String, Value>) -> Result<bool, String> {
    if let Some(predicate) = pattern["predicate"].as_str() {
        return holds(predicate, facts);
    }
    if let Some(name) = pattern["patternRef"].as_str() {
        let found = named.get(name).ok_or_else(|| format!("there is no pattern {name:?}"))?;
        return all(found["allOf"].as_array().map_or(&[], Vec::as_slice), named, facts);
    }
    if let Some(patterns) = pattern["all"].as_array() {
        return all(patterns, named, facts);
    }
    if let Some(patterns) = pattern["any"].as_array() {
        return patterns.iter().try_fold(false, |any, one| Ok(any || matches(one, named, facts)?));
    }
    let selector = pattern["selector"].as_str().ok_or("a pattern needs a predicate or a selector")?;
    let found = select(selector, facts);
    let text = found.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).unwrap_or_default();
    let wanted = pattern["value"].as_str().unwrap_or_default();
    let includes = || found.and_then(Value::as_array).is_some_and(|items| items.iter().any(|item| item == wanted));
    match pattern["operator"].as_str() {
        Some("eq") => Ok(text == wanted),
        Some("neq") => Ok(text != wanted),
        Some("incl") => Ok(includes()),
        Some("excl") => Ok(!includes()),
        Some("matches") => holds(
            "text.matches(pattern)",
            &Map::from_iter([("text".to_owned(), text.into()), ("pattern".to_owned(), wanted.into())]),
        ),
        other => Err(format!("{other:?} is no operator of a pattern")),
    }
}

/// Whether all of the patterns hold.
///
/// # Errors
/// Why it cannot be told.
pub fn all(patterns: &[Value], named: &Map<String, Value>, facts: &Map<String, Value>) -> Result<bool, String> {
    patterns.iter().try_fold(true, |so_far, one| Ok(so_far && matches(one, named, facts)?))
}

/// The value at a dotted path, in which `\.` is a dot of a name.
fn select<'a>(selector: &str, facts: &'a Map<String, Value>) -> Option<&'a Value> {
    let escaped = selector.replace("\\.", "\u{0}");
    let mut parts = escaped.split('.').map(|part| part.replace('\u{0}', "."));
    let first = facts.get(&parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

/// Every CEL expression below a value, wherever `predicate` or `expression` stands.
#[must_use]
pub fn expressions(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| match value {
                Value::String(text) if name == "predicate" || name == "expression" => vec![text.as_str()],
                other => expressions(other),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(expressions).collect(),
        _ => Vec::new(),
    }
}
