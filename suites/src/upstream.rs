//! Names of upstream's conformance tests, by which scenarios can be selected.

use std::sync::OnceLock;

/// A test of the upstream suite at v1.7.0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamTest {
    /// Its short name.
    pub name: &'static str,
    /// The first minor release whose suite has it, such as `v1.5`.
    pub since: &'static str,
    /// Its file below `conformance/tests`.
    pub file: &'static str,
    /// The features that it needs.
    pub features: Vec<&'static str>,
}

impl UpstreamTest {
    /// A sentence for who knows its name alone.
    pub fn asks(&self) -> String {
        format!("What {} asks, a test of upstream's suite since {}.", self.name, self.since)
    }

    /// Where it stands: a URL.
    pub fn source(&self) -> String {
        format!("https://github.com/kubernetes-sigs/gateway-api/blob/v1.7.0/conformance/tests/{}", self.file)
    }
}

/// The test of this name.
pub fn upstream_test(name: &str) -> Option<&'static UpstreamTest> {
    upstream_tests().iter().find(|test| test.name == name)
}

/// Every upstream test, in order of name.
pub fn upstream_tests() -> &'static [UpstreamTest] {
    static TABLE: OnceLock<Vec<UpstreamTest>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let lines =
            include_str!("../dialects/gateway-api/upstream-tests.txt").lines().filter(|line| !line.starts_with('#'));
        lines
            .filter_map(|line| {
                let mut words = line.split_whitespace();
                let mut word = || words.next();
                let (name, since, file) = (word()?, word()?, word()?);
                Some(UpstreamTest { name, since, file, features: words.collect() })
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_there_in_order_with_known_features() {
        assert_eq!(upstream_tests().len(), 170);
        assert!(upstream_tests().is_sorted_by(|a, b| a.name < b.name));
        for test in upstream_tests() {
            assert!(matches!(test.since.as_bytes(), [b'v', b'0' | b'1', b'.', b'0'..=b'9']), "{test:?}");
            let name = test.file.strip_suffix(".go").unwrap_or_default();
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_/".contains(c);
            assert!(!name.is_empty() && name.chars().all(is_plain), "{test:?}");
            assert!(test.source().ends_with(&format!("/v1.7.0/conformance/tests/{}", test.file)));
            assert!(!test.features.is_empty(), "{}", test.name);
            for feature in &test.features {
                assert!(crate::features().iter().any(|f| f.name == *feature), "{feature}");
            }
        }
    }
}
