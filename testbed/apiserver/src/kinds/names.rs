//! What names, keys and values of labels look like.

use crate::resource::NameRule;

/// Why a name is refused, or nothing.
pub fn bad_name(rule: NameRule, name: &str) -> Option<&'static str> {
    match rule {
        NameRule::Subdomain if name.len() > 253 || !name.split('.').all(|part| is_label(part, usize::MAX)) => Some(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
        ),
        NameRule::Label if !is_label(name, 63) => Some(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
        ),
        NameRule::PathSegment if [".", "..", ""].contains(&name) || name.contains(['/', '%']) => {
            Some("may not be '.' or '..' or contain '/' or '%'")
        }
        _ => None,
    }
}

fn is_label(text: &str, longest: usize) -> bool {
    let bytes = text.as_bytes();
    let inner = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-';
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => {
            bytes.len() <= longest && bytes.iter().all(inner) && *first != b'-' && *last != b'-'
        }
        _ => false,
    }
}

fn is_name_part(text: &str) -> bool {
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= 63
        && edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
}

/// Whether a text is a key of labels, annotations or finalizers.
pub fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        None => is_name_part(text),
        Some((prefix, name)) => bad_name(NameRule::Subdomain, prefix).is_none() && is_name_part(name),
    }
}

/// Whether a text is a label's value.
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name_part(text)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(NameRule::Subdomain, "a.b-c.9", true)]
    #[case(NameRule::Subdomain, "A", false)]
    #[case(NameRule::Subdomain, "a..b", false)]
    #[case(NameRule::Subdomain, "", false)]
    #[case(NameRule::Label, "9a", true)]
    #[case(NameRule::Label, "a.b", false)]
    #[case(NameRule::PathSegment, "system:x", true)]
    #[case(NameRule::PathSegment, "a/b", false)]
    fn names(#[case] rule: NameRule, #[case] name: &str, #[case] good: bool) {
        assert_eq!(bad_name(rule, name).is_none(), good);
    }

    #[rstest]
    #[case("app", true)]
    #[case("example.dev/app", true)]
    #[case("example.dev/", false)]
    #[case("a/b/c", false)]
    #[case("-a", false)]
    fn keys(#[case] key: &str, #[case] good: bool) {
        assert_eq!(is_qualified_name(key), good);
    }
}
