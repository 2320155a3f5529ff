//! Keys with marks: `name!` is required, `name @experimental` and `name @v1,v1beta1` hold only there.

use super::Channel;
use super::error::Problem;

/// Which of the differing definitions is being expanded.
#[derive(Clone, Copy, Debug)]
pub struct Variant<'a> {
    /// The release channel.
    pub channel: Channel,
    /// The version of the kind, such as `v1beta1`.
    pub version: &'a str,
}

/// A key of a source, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// The name alone.
    pub name: &'a str,
    /// Whether the name is followed by an exclamation mark.
    pub required: bool,
    /// Whether the key holds in the variant that was asked about.
    pub applies: bool,
}

/// Take a key apart for a variant.
pub fn key<'a>(text: &'a str, variant: Variant<'_>) -> Result<Key<'a>, Problem> {
    let (name, applies) = match text.split_once(" @") {
        Some((name, marks)) => (name, holds(marks, variant)?),
        None => (text, true),
    };
    let (name, required) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
    Ok(Key { name, required, applies })
}

/// A word with its marks attached, as in `served@experimental`: the word, and whether it holds.
pub fn word<'a>(text: &'a str, variant: Variant<'_>) -> Result<(&'a str, bool), Problem> {
    match text.split_once('@') {
        Some((word, marks)) => Ok((word, holds(marks, variant)?)),
        None => Ok((text, true)),
    }
}

fn holds(marks: &str, variant: Variant<'_>) -> Result<bool, Problem> {
    let mut any = false;
    for mark in marks.split(',') {
        any |= match mark {
            "standard" => variant.channel == Channel::Standard,
            "experimental" => variant.channel == Channel::Experimental,
            version if is_version(version) => variant.version == version,
            other => return Err(Problem::UnknownMark(other.to_owned())),
        };
    }
    Ok(any)
}

/// Whether a name reads as a version of an API: `v1`, `v1beta1`, `v1alpha3`, `v1api20230101`.
pub fn is_version(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    name.strip_prefix('v').is_some_and(|rest| {
        number(rest)
            || ["alpha", "beta", "api"]
                .iter()
                .any(|stage| rest.split_once(stage).is_some_and(|(major, minor)| number(major) && number(minor)))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rstest::rstest;

    const V1: Variant<'_> = Variant { channel: Channel::Standard, version: "v1" };

    #[rstest]
    #[case("name", "name", false, true)]
    #[case("name!", "name", true, true)]
    #[case("name @experimental", "name", false, false)]
    #[case("name @standard", "name", false, true)]
    #[case("name! @v1,v1alpha3", "name", true, true)]
    #[case("name! @v1alpha2", "name", true, false)]
    fn keys(#[case] text: &str, #[case] name: &str, #[case] required: bool, #[case] applies: bool) {
        assert_eq!(key(text, V1).unwrap(), Key { name, required, applies });
    }

    #[rstest]
    #[case("name @v")]
    #[case("name @v1,exprimental")]
    #[case("name @")]
    fn unknown_marks(#[case] text: &str) {
        assert!(matches!(key(text, V1), Err(Problem::UnknownMark(_))));
    }

    #[rstest]
    #[case("served", "served", true)]
    #[case("served@experimental", "served", false)]
    fn words(#[case] text: &str, #[case] name: &str, #[case] applies: bool) {
        assert_eq!(word(text, V1).unwrap(), (name, applies));
    }
}
