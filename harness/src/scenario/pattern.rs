//! Patterns of names.

/// Whether a name fits a pattern in which `*` stands for any characters.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(previous) = last.replace(part) {
            let Some(at) = rest.find(previous) else { return false };
            rest = &rest[at + previous.len()..];
        }
    }
    last.map_or(rest.is_empty(), |part: &str| rest.ends_with(part))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a", "a", true)]
    #[case("a", "ab", false)]
    #[case("a*", "ab", true)]
    #[case("*b", "ab", true)]
    #[case("*b", "abc", false)]
    #[case("a*c*e", "abcde", true)]
    #[case("a*c*e", "abde", false)]
    #[case("a*a", "a", false)]
    #[case("*", "", true)]
    fn patterns_match(#[case] pattern: &str, #[case] name: &str, #[case] expected: bool) {
        assert_eq!(matches(pattern, name), expected);
    }
}
