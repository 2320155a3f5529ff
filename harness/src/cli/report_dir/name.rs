//! Names of files, made from texts that others chose. Pure.

use sha2::{Digest, Sha256};

/// How long a name may be. File systems take 255 bytes, and what comes before and after has to fit too.
const LONGEST: usize = 120;
/// What no name of ours begins with for other reasons: it marks those that are not the text itself.
const MARK: char = '~';
/// Digits of the digest that keeps names of different texts apart.
const DIGITS: usize = 16;
/// Devices of Windows, whatever comes after a dot: an archive of reports may be unpacked there.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

/// The text itself if it is a plain name of a file on every system, and else what of it can be one, and a digest. It names
/// something right within a folder, never the folder itself or one above it; different texts have different names, also where
/// capital letters are the same as small ones.
pub(crate) fn file_name(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let legible: String = text.chars().take(LONGEST).map(|c| if is_letter(c) { c } else { '_' }).collect();
    let digest = format!("{:x}", Sha256::digest(text.as_bytes()));
    // The letter before it all keeps the name from being hidden, from being an option, and from being a device.
    let kept = LONGEST - DIGITS - 2;
    format!("_{}{MARK}{}", &legible[..legible.len().min(kept)], &digest[..DIGITS])
}

/// Whether it is a name that [`file_name`] can have given.
pub(super) fn is_file_name(name: &str) -> bool {
    let made = name.strip_prefix('_').and_then(|rest| rest.split_once(MARK));
    is_plain(name) || made.is_some_and(|(text, digest)| text.chars().all(is_letter) && digest.chars().all(is_letter))
}

fn is_letter(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.#".contains(c)
}

fn is_plain(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    begins && !text.ends_with('.') && text.len() <= LONGEST && text.chars().all(is_letter) && !is_device(text)
}

fn is_device(text: &str) -> bool {
    let stem = text.split('.').next().unwrap_or_default();
    let numbered = |device: &str| stem.strip_prefix(device).is_some_and(|rest| rest.len() == 1);
    DEVICES.contains(&stem) || NUMBERED_DEVICES.into_iter().any(numbered)
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("httproute-missing-backend")]
    #[case("httproute-missing-backend#2")]
    #[case("envoy-7d9f.envoy-gateway.log")]
    #[case("no-logs.txt")]
    fn plain_names_stay(#[case] text: &str) {
        assert_eq!(file_name(text), text);
    }

    #[rstest]
    #[case::up("../../../escaped", "_.._.._.._escaped~")]
    #[case::nothing("", "_~")]
    #[case::this(".", "_.~")]
    #[case::above("..", "_..~")]
    #[case::root("/etc/passwd", "__etc_passwd~")]
    #[case::device("nul.log", "_nul.log~")]
    #[case::numbered("com1", "_com1~")]
    #[case::option("-rf", "_-rf~")]
    #[case::capital("A", "__~")]
    #[case::backslash(r"a\b", "_a_b~")]
    #[case::zero("a\0b", "_a_b~")]
    #[case::marked("_a~0123456789abcdef", "__a_0123456789abcdef~")]
    fn others_are_told_apart(#[case] text: &str, #[case] begin: &str) {
        let name = file_name(text);
        assert!(name.starts_with(begin) && name.len() == begin.len() + DIGITS, "{name}");
    }

    #[rstest]
    fn what_leads_elsewhere_is_no_name(
        #[values("", ".", "..", "a/b", "_..", "~", "/a", ".a", "_/~a", "a\\b")] name: &str,
    ) {
        assert!(!is_file_name(name));
    }

    /// Texts that are likely to go wrong.
    fn texts() -> impl Strategy<Value = String> {
        prop_oneof![
            ".*",
            "[./\\\\]{0,8}",
            "[/:A]{1,2}",
            "[a-cA-C.#~_-]{0,4}",
            "_[a-b_]{0,2}~[0-9a-f]{16}",
            "[a-z.]{100,400}",
            "(con|lpt1|a)[.a]{0,2}"
        ]
    }

    proptest! {
        #[test]
        fn a_name_is_right_within_its_folder(text in texts()) {
            let name = file_name(&text);
            let mut parts = Path::new(&name).components();
            prop_assert!(matches!(parts.next(), Some(Component::Normal(part)) if part == name.as_str()));
            prop_assert!(parts.next().is_none());
            prop_assert!(name.len() <= LONGEST && !name.ends_with('.') && !name.starts_with('.'));
            prop_assert!(name.chars().all(|c| is_letter(c) || c == MARK), "{}", name);
            prop_assert!(!is_device(&name));
        }

        #[test]
        fn different_texts_have_different_names(one in texts(), other in texts()) {
            let same = file_name(&one).eq_ignore_ascii_case(&file_name(&other));
            prop_assert_eq!(same, one == other);
        }

        #[test]
        fn every_name_is_known_as_one(text in texts()) {
            prop_assert!(is_file_name(&file_name(&text)));
        }

        /// What was made of a text is no plain name, so no text can take its place.
        #[test]
        fn a_made_name_is_nobody_elses(text in texts()) {
            let name = file_name(&text);
            prop_assert!(name == text || file_name(&name) != name);
        }
    }
}
