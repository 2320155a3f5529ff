//! Events of YAML and where they stand.
//!
//! The parser is generic, so it is compiled wherever it is used, as slow as a debug build is there. Every start of the
//! program reads all manifests: here it is compiled once, optimised in debug builds too (`Cargo.toml`).

pub use granit_parser::{Event, ScalarStyle, ScanError, Span};
use granit_parser::{Parser, StrInput};

/// The events of a text, up to the first that is not YAML.
pub struct Events<'t>(Parser<'t, StrInput<'t>>);

/// Reads the events of a text one by one.
#[must_use]
pub fn events(text: &str) -> Events<'_> {
    Events(Parser::new_from_str(text))
}

impl<'t> Iterator for Events<'t> {
    type Item = Result<(Event<'t>, Span), ScanError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    #[test]
    fn events_know_their_places() {
        let scalars = events("a: 1\nb: [x, 'y']\n").filter_map(|next| match next.unwrap() {
            (Event::Scalar(text, style, ..), span) => {
                Some((text.into_owned(), style, span.start.line(), span.start.col()))
            }
            _ => None,
        });
        let plain = ScalarStyle::Plain;
        let expected = [("a", plain, 1, 0), ("1", plain, 1, 3), ("b", plain, 2, 0), ("x", plain, 2, 4)];
        let expected = expected.into_iter().chain([("y", ScalarStyle::SingleQuoted, 2, 7)]);
        assert!(scalars.eq(expected.map(|(text, style, line, column)| (text.to_owned(), style, line, column))));
    }

    #[rstest]
    #[case("a: [1", 1)]
    #[case("a: 1\n b: 2\n", 2)]
    fn what_is_no_yaml_ends_it(#[case] text: &str, #[case] line: usize) {
        let last = events(text).last().unwrap();
        assert_eq!(last.unwrap_err().marker().line(), line);
    }
}
