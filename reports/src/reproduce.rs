//! How to run one scenario again, as a line for a shell.

use std::borrow::Cow;

/// The command line that runs just this scenario as it was run: `arguments` are those of the run that decide verdicts.
/// The number of a repeat is left out, since it is no part of the scenario's name.
pub fn command(arguments: &[String], scenario: &str) -> String {
    let name = scenario.split('#').next().unwrap_or_default();
    line(["gateproof", "run", name].into_iter().chain(arguments.iter().map(String::as_str)))
}

/// Words as a line for a shell.
pub fn line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// A word as a POSIX shell reads it back.
fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain(&[], "a", "gateproof run a")]
    #[case::repeat(&[], "a#3", "gateproof run a")]
    #[case::flags(&["--target", "embedded:deaf"], "a", "gateproof run a --target embedded:deaf")]
    #[case::equals(&["--dial", "h:80=127.0.0.1:+1"], "a", "gateproof run a --dial h:80=127.0.0.1:+1")]
    #[case::glob(&["--dial", "*:80=a:80"], "a", "gateproof run a --dial '*:80=a:80'")]
    #[case::space(&["-f", "my scenarios"], "a", "gateproof run a -f 'my scenarios'")]
    #[case::quote(&["-f", "it's"], "a", r"gateproof run a -f 'it'\''s'")]
    #[case::empty(&["--context", ""], "a", "gateproof run a --context ''")]
    #[case::substitution(&["--context", "$(id)`id`;\n"], "a", "gateproof run a --context '$(id)`id`;\n'")]
    #[case::home(&["-f", "~/x"], "a", "gateproof run a -f '~/x'")]
    fn words_reach_the_program_as_they_are(#[case] arguments: &[&str], #[case] name: &str, #[case] line: &str) {
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(command(&arguments, name), line);
    }
}
