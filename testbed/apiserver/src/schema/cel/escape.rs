//! Property names as CEL identifiers.

use std::borrow::Cow;

/// Words that CEL keeps for itself.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// How a rule spells a property: reserved words and the characters `__`, `.`, `-`, `/` are written out.
pub(crate) fn escape(name: &str) -> Cow<'_, str> {
    if RESERVED.contains(&name) {
        return Cow::Owned(format!("__{name}__"));
    }
    if !name.contains("__") && !name.contains(['.', '-', '/']) {
        return Cow::Borrowed(name);
    }
    let escaped = name.replace("__", "__underscores__");
    Cow::Owned(escaped.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("name", "name")]
    #[case("snake_case", "snake_case")]
    #[case("namespace", "__namespace__")]
    #[case("a__b", "a__underscores__b")]
    #[case("a.b-c/d", "a__dot__b__dash__c__slash__d")]
    fn names(#[case] name: &str, #[case] escaped: &str) {
        assert_eq!(escape(name), escaped);
    }
}
