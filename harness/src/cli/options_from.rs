//! `--options-from`: words of a command line out of a file, one a line. Lines that begin with `#` say something to people.

use std::ffi::{OsStr, OsString};

use super::Failure;

/// The option, which stays on the line.
const OPTION: &str = "--options-from";
/// The verbs that take the options of a run as they stand in such a file.
const VERBS: [&str; 2] = ["run", "rbac"];
/// How long a line of options may be before a file has to hold them.
const LONGEST_LINE: usize = 120;
const HEAD: &str = "# Options of a run for `gateproof run NAME --options-from FILE`, one word a line.";

/// The words of this process with those of the file that they name, which come before them.
pub(super) fn expanded(mut words: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    if words.get(1).is_none_or(|verb| !VERBS.iter().any(|one| verb == one)) {
        return Ok(words);
    }
    let Some(file) = named(&words) else { return Ok(words) };
    let text = std::fs::read_to_string(&file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display()), "check the path"))?;
    let more = read(&text);
    if more.iter().any(|word| word.starts_with(OPTION)) {
        let help = "name one file on the command line, and none in it";
        return Err(Failure::usage(format!("{} names further options with {OPTION}", file.display()), help));
    }
    words.splice(2..2, more.into_iter().map(OsString::from));
    Ok(words)
}

fn named(words: &[OsString]) -> Option<OsString> {
    let mut words = words.iter().take_while(|word| *word != "--").skip(2);
    while let Some(word) = words.next() {
        if word == OPTION {
            return words.next().cloned();
        }
        let value = word.to_str().and_then(|word| word.strip_prefix(OPTION)?.strip_prefix('='));
        if let Some(value) = value {
            return Some(OsStr::new(value).to_owned());
        }
    }
    None
}

fn read(text: &str) -> Vec<String> {
    text.lines().filter(|line| is_word(line)).map(str::to_owned).collect()
}

fn is_word(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with('#')
}

/// The text of a file that holds these words, if they are too many for a line and a file can hold them.
pub(super) fn file(words: &[String]) -> Option<String> {
    let length: usize = words.iter().map(|word| word.len() + 1).sum();
    let fit = words.iter().all(|word| is_word(word) && !word.contains(['\n', '\r']));
    (length > LONGEST_LINE && fit).then(|| format!("{HEAD}\n{}\n", words.join("\n")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[rstest]
    #[case::few("--target embedded:deaf".to_owned(), false)]
    #[case::many(format!("--features {}", "HTTPRoute,".repeat(42)), true)]
    #[case::more_than_lines(format!("--context a\nb --features {}", "HTTPRoute,".repeat(42)), false)]
    #[case::nothing(format!("--context  --features {}", "HTTPRoute,".repeat(42)), false)]
    fn too_many_words_go_into_a_file(#[case] line: String, #[case] expected: bool) {
        let given = words(&line);
        let text = file(&given);
        assert_eq!(text.is_some(), expected);
        if let Some(text) = text {
            assert_eq!(read(&text), given);
        }
    }

    #[rstest]
    #[case::apart("gateproof run a --options-from FILE --jobs 2")]
    #[case::together("gateproof run a --options-from=FILE --jobs 2")]
    #[case::for_the_role("gateproof rbac a --options-from=FILE --namespace ci")]
    fn the_words_of_the_file_come_first(#[case] line: &str) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "# A word a line.\n--context\nmy context\n\n").unwrap();
        let line = line.replace("FILE", file.path().to_str().unwrap());
        let given: Vec<OsString> = words(&line).into_iter().map(OsString::from).collect();
        let mut expected = given.clone();
        expected.splice(2..2, ["--context", "my context"].map(OsString::from));
        assert_eq!(expanded(given).unwrap(), expected);
    }

    #[rstest]
    #[case::another_verb("gateproof list --options-from nothing")]
    #[case::no_option("gateproof run -- --options-from nothing")]
    #[case::none("gateproof run a")]
    #[case::nothing_at_all("gateproof")]
    fn other_lines_stay(#[case] line: &str) {
        let given: Vec<OsString> = words(line).into_iter().map(OsString::from).collect();
        assert_eq!(expanded(given.clone()).unwrap(), given);
    }

    #[test]
    fn a_file_names_no_other() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "--options-from=other\n").unwrap();
        let given = ["gateproof", "run", OPTION].map(OsString::from).into_iter().chain([file.path().into()]);
        assert!(matches!(expanded(given.collect()), Err(Failure::Usage(_))));
    }
}
