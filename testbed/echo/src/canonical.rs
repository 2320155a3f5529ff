//! Header names the way readers of the answer expect them.

/// The name with the first letter and each letter after a hyphen in upper case, and all others in lower case.
pub fn canonical(name: &str) -> String {
    let mut start = true;
    name.chars()
        .map(|letter| {
            let canonical = if start { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() };
            start = letter == '-';
            canonical
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("x-header-set", "X-Header-Set")]
    #[case("X-UPPERCASE-ADD", "X-Uppercase-Add")]
    #[case("accept", "Accept")]
    #[case("", "")]
    fn names(#[case] name: &str, #[case] expected: &str) {
        assert_eq!(super::canonical(name), expected);
    }
}
