//! What a plain scalar means, and whether every YAML reader agrees.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Number;

static INTEGER: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[-+]?(0|[1-9][0-9]*)$"));
static FLOAT: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[-+]?(0|[1-9][0-9]*)\.[0-9]+$"));
static DOUBTFUL_NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)^[-+]?( 0[0-9_]+            # 07: octal for some
                    | [0-9]+(_[0-9]+)+    # 1_000: a number for some
                    | [0-9]+(:[0-5]?[0-9])+(\.[0-9]*)? # 1:30: base 60 for some
                    | 0[xob][0-9A-Fa-f_]+
                    | [0-9]*\.?[0-9]+[eE][-+]?[0-9]+
                    | [0-9]+\. | \.[0-9]+ | \.(inf|Inf|INF) )$ | ^\.(nan|NaN|NAN)$",
    )
});

fn pattern(text: &str) -> Regex {
    #[expect(clippy::expect_used, reason = "the patterns are literals, and a test compiles each")]
    Regex::new(text).expect("pattern is a literal")
}

/// What a plain scalar is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
}

/// The meaning of a plain scalar; with a message and help if YAML readers differ on it.
pub(super) fn plain(text: &str) -> (Scalar, Option<(String, String)>) {
    let kind = match text {
        "" | "~" | "null" => Scalar::Null,
        "true" => Scalar::Bool(true),
        "false" => Scalar::Bool(false),
        // No number for any reader begins with anything else, and most of what manifests say is none.
        _ if !text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first)) => {
            return (Scalar::Text(text.to_owned()), is_doubtful(text).then(|| doubt(text)));
        }
        _ if INTEGER.is_match(text) => match text.trim_start_matches('+').parse::<i64>() {
            Ok(number) => Scalar::Number(number.into()),
            Err(_) => return (Scalar::Text(text.to_owned()), Some(doubt(text))),
        },
        _ if FLOAT.is_match(text) => match text.parse::<f64>().ok().and_then(Number::from_f64) {
            Some(number) => Scalar::Number(number),
            None => return (Scalar::Text(text.to_owned()), Some(doubt(text))),
        },
        _ => Scalar::Text(text.to_owned()),
    };
    let problem = DOUBTFUL_NUMBER.is_match(text).then(|| doubt(text));
    (kind, problem)
}

/// Whether some readers take a text for a boolean or for nothing.
fn is_doubtful(text: &str) -> bool {
    ["y", "n", "yes", "no", "on", "off", "true", "false", "null"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn doubt(text: &str) -> (String, String) {
    (
        format!("`{text}` means different things to different YAML readers"),
        format!("quote it: \"{text}\", or write the number or true/false that you mean"),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("on")]
    #[case("Yes")]
    #[case("n")]
    #[case("True")]
    #[case("07")]
    #[case("1_000")]
    #[case("12:30")]
    #[case("0x1F")]
    #[case("1e3")]
    #[case(".5")]
    #[case("99999999999999999999")]
    fn doubtful_scalars_are_reported(#[case] text: &str) {
        assert!(plain(text).1.is_some(), "{text}");
    }

    #[rstest]
    #[case("8080", Scalar::Number(8080.into()))]
    #[case("-3", Scalar::Number((-3).into()))]
    #[case("0", Scalar::Number(0.into()))]
    #[case("1.5", Scalar::Number(Number::from_f64(1.5).unwrap()))]
    #[case("true", Scalar::Bool(true))]
    #[case("~", Scalar::Null)]
    #[case("v1", Scalar::Text("v1".into()))]
    #[case("1.2.3", Scalar::Text("1.2.3".into()))]
    #[case("once", Scalar::Text("once".into()))]
    #[case("True/Accepted", Scalar::Text("True/Accepted".into()))]
    fn clear_scalars_are_read(#[case] text: &str, #[case] kind: Scalar) {
        assert_eq!(plain(text), (kind, None));
    }
}
