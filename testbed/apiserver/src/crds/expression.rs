//! Type expressions: `int32 1..65535`, `hostname[..16] atomic`, `Exact|PathPrefix = Exact`, `map<string 0..63>[..8]`.

use super::error::Problem;

/// A type expression, read but not yet resolved.
#[derive(Debug, PartialEq, Eq)]
pub struct Expression<'a> {
    /// What the type is.
    pub form: Form<'a>,
    /// The text after ` = `.
    pub default: Option<&'a str>,
}

/// What a type expression says.
#[derive(Debug, PartialEq, Eq)]
pub enum Form<'a> {
    /// A builtin type or a definition, with bounds of length or value.
    Named { name: &'a str, bounds: Bounds },
    /// Values to choose from, marks still attached.
    Enum(Vec<&'a str>),
    /// A list of an inner type.
    List { of: &'a str, list: List<'a> },
    /// An object with free keys and values of an inner type.
    Map { of: &'a str, bounds: Bounds },
}

/// The size and the type of a list.
#[derive(Debug, PartialEq, Eq)]
pub struct List<'a> {
    pub bounds: Bounds,
    pub kind: ListKind<'a>,
}

/// The merge semantics of a list, `x-kubernetes-list-type`.
#[derive(Debug, PartialEq, Eq)]
pub enum ListKind<'a> {
    /// Nothing is said of it, which means atomic.
    Plain,
    Atomic,
    Set,
    /// Keyed by these fields of its elements.
    Map(Vec<&'a str>),
}

/// An interval whose ends may be open.
#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
pub struct Bounds {
    pub min: Option<i64>,
    pub max: Option<i64>,
}

/// Read a type expression.
pub fn parse(text: &str) -> Result<Expression<'_>, Problem> {
    let (text, default) = match text.split_once(" = ") {
        Some((text, default)) => (text, Some(default)),
        None => (text, None),
    };
    Ok(Expression { form: form(text.trim())?, default })
}

fn form(text: &str) -> Result<Form<'_>, Problem> {
    if let Some((of, rest)) = text.strip_prefix("map<").and_then(|rest| rest.rsplit_once('>')) {
        let bounds = match rest {
            "" => Bounds::default(),
            rest => {
                let inner = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
                bounds(inner.ok_or_else(|| Problem::Bounds(rest.to_owned()))?)?
            }
        };
        return Ok(Form::Map { of, bounds });
    }
    if text.contains('|') {
        return Ok(Form::Enum(text.split('|').collect()));
    }
    if let Some((of, rest)) = text.split_once('[') {
        let (size, kind) = rest.split_once("] ").ok_or_else(|| Problem::ListType(rest.to_owned()))?;
        return Ok(Form::List { of, list: List { bounds: bounds(size)?, kind: list_kind(kind)? } });
    }
    Ok(match text.split_once(' ') {
        Some((name, limits)) => Form::Named { name, bounds: bounds(limits)? },
        None => Form::Named { name: text, bounds: Bounds::default() },
    })
}

/// Read what stands in `$list`: `1..16 atomic`.
pub fn list(text: &str) -> Result<List<'_>, Problem> {
    let (size, kind) = text.split_once(' ').ok_or_else(|| Problem::ListType(text.to_owned()))?;
    Ok(List { bounds: bounds(size)?, kind: list_kind(kind)? })
}

fn list_kind(text: &str) -> Result<ListKind<'_>, Problem> {
    match text {
        "plain" => Ok(ListKind::Plain),
        "atomic" => Ok(ListKind::Atomic),
        "set" => Ok(ListKind::Set),
        _ => text
            .strip_prefix("map(")
            .and_then(|rest| rest.strip_suffix(')'))
            .map(|keys| ListKind::Map(keys.split(',').collect()))
            .ok_or_else(|| Problem::ListType(text.to_owned())),
    }
}

fn bounds(text: &str) -> Result<Bounds, Problem> {
    let wrong = || Problem::Bounds(text.to_owned());
    let end = |end: &str| if end.is_empty() { Ok(None) } else { end.parse().map(Some).map_err(|_| wrong()) };
    let (min, max) = text.split_once("..").ok_or_else(wrong)?;
    Ok(Bounds { min: end(min)?, max: end(max)? })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rstest::rstest;

    fn between(min: impl Into<Option<i64>>, max: impl Into<Option<i64>>) -> Bounds {
        Bounds { min: min.into(), max: max.into() }
    }

    #[rstest]
    #[case("hostname", Form::Named { name: "hostname", bounds: Bounds::default() })]
    #[case("string 1..253", Form::Named { name: "string", bounds: between(1, 253) })]
    #[case("int64 0..", Form::Named { name: "int64", bounds: between(0, None) })]
    #[case("Exact|*", Form::Enum(vec!["Exact", "*"]))]
    #[case("hostname[..16] atomic", Form::List { of: "hostname", list: List { bounds: between(None, 16), kind: ListKind::Atomic } })]
    #[case("hostname[..] plain", Form::List { of: "hostname", list: List { bounds: between(None, None), kind: ListKind::Plain } })]
    #[case("a[1..] map(x,y)", Form::List { of: "a", list: List { bounds: between(1, None), kind: ListKind::Map(vec!["x", "y"]) } })]
    #[case("map<string 0..63>[..8]", Form::Map { of: "string 0..63", bounds: between(None, 8) })]
    #[case("map<string>", Form::Map { of: "string", bounds: Bounds::default() })]
    fn forms(#[case] text: &str, #[case] form: Form<'_>) {
        assert_eq!(parse(text).unwrap(), Expression { form, default: None });
    }

    #[rstest]
    #[case("port = 80", Some("80"))]
    #[case("Exact|Prefix = Exact", Some("Exact"))]
    #[case("group = \"\"", Some("\"\""))]
    #[case("port", None)]
    fn defaults(#[case] text: &str, #[case] default: Option<&str>) {
        assert_eq!(parse(text).unwrap().default, default);
    }

    #[rstest]
    #[case("string 1-5")]
    #[case("string a..b")]
    #[case("hostname[..16]")]
    #[case("hostname[..16] sorted")]
    #[case("map<string>8")]
    fn mistakes(#[case] text: &str) {
        assert!(parse(text).is_err(), "{text}");
    }
}
