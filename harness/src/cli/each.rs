//! A verb for each of several dialects (`--dialect A,B`): one after the other, with a heading for each, or one document about all of them.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::dialect::DialectArg;
use super::options::Selection;
use super::output::{self, Format, say};
use super::{Failure, Outcome};
use crate::exit_codes;

/// What a verb with `--format json` writes of one of several dialects. The document is an array of these, in the order of
/// `--dialect`; one that could not be asked is missing there, and standard error says why.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OfDialect {
    /// Name of the dialect.
    dialect: String,
    /// What the verb writes of one dialect alone, whose schema is another subject of `gateproof schema`.
    document: Value,
}

/// Where the documents of a verb go: to standard output at once, or together once all of several dialects were asked.
#[derive(Debug, Default)]
pub(super) struct Documents {
    /// The dialect that is asked, if it is one of several.
    of: Option<String>,
    found: Vec<OfDialect>,
    /// What the dialects lack that have nothing of what was asked for.
    lacking: Vec<Failure>,
}

impl Documents {
    /// Of one of several dialects, which is asked while others are.
    pub(super) fn about(dialect: &str) -> Documents {
        Documents { of: Some(dialect.to_owned()), ..Documents::default() }
    }

    /// Adds those of another dialect.
    pub(super) fn join(&mut self, other: Documents) {
        self.found.extend(other.found);
        self.lacking.extend(other.lacking);
    }

    /// Writes what was found of several dialects as one document.
    pub(super) fn written(&self) -> Result<(), Failure> {
        output::json(&self.found)
    }

    /// A value as JSON.
    pub(super) fn json<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        match &self.of {
            None => output::json(value),
            Some(dialect) => {
                self.found.push(OfDialect { dialect: dialect.clone(), document: output::value(value)? });
                Ok(())
            }
        }
    }

    /// Says that this dialect has nothing of what was asked for. That is a failure if none has.
    pub(super) fn nothing(&mut self, why: Failure, format: Format) -> Result<(), Failure> {
        if self.of.is_none() {
            return Err(why);
        }
        match format {
            Format::Json => self.json(&[(); 0])?,
            Format::Text => say!("{}", why.message()),
        }
        self.lacking.push(why);
        Ok(())
    }
}

/// Runs a verb for each of the dialects that are named, and exits with the gravest of what came of it.
pub(super) async fn dialect(
    named: &DialectArg,
    format: Format,
    mut verb: impl AsyncFnMut(DialectArg, &mut Documents) -> Outcome,
) -> Outcome {
    if !named.are_several() {
        return verb(named.clone(), &mut Documents::default()).await;
    }
    // Whatever is wrong with one is said before any of them is asked.
    let each = named.each()?.into_iter().map(|(dialect, suite)| (suite.dialect.name().to_owned(), dialect));
    one_by_one(each.collect(), format, verb).await
}

/// The same for each of the dialects of a selection that have something of it.
pub(super) async fn selection(
    named: &Selection,
    format: Format,
    mut verb: impl AsyncFnMut(Selection, &mut Documents) -> Outcome,
) -> Outcome {
    if !named.dialect.are_several() {
        return verb(named.clone(), &mut Documents::default()).await;
    }
    one_by_one(named.each()?, format, verb).await
}

/// The same with other arguments, given the name of the dialect that each of them are about.
pub(super) async fn one_by_one<A>(
    each: Vec<(String, A)>,
    format: Format,
    mut verb: impl AsyncFnMut(A, &mut Documents) -> Outcome,
) -> Outcome {
    let (mut documents, mut codes, count) = (Documents::default(), Vec::new(), each.len());
    for (name, args) in each {
        if format == Format::Text {
            say!("{}== {name} ==", if codes.is_empty() { "" } else { "\n" });
        }
        documents.of = Some(name.clone());
        let code = verb(args, &mut documents).await.unwrap_or_else(|failure| failure.tell_of(&name));
        codes.push(code);
        // Whoever breaks off one does not wait for the others.
        if code == exit_codes::INTERRUPTED {
            break;
        }
    }
    if documents.lacking.len() == count
        && let Some(why) = documents.lacking.drain(..).next()
    {
        return Err(why);
    }
    if format == Format::Json {
        documents.written()?;
    }
    Ok(gravest(codes))
}

/// What several exit codes come to: the first in the order of how much they ask of whoever reads them.
pub(super) fn gravest(codes: impl IntoIterator<Item = u8>) -> u8 {
    let found: Vec<u8> = codes.into_iter().collect();
    [exit_codes::INTERRUPTED, exit_codes::USAGE, exit_codes::FAILED, exit_codes::INCONCLUSIVE]
        .into_iter()
        .find(|code| found.contains(code))
        .unwrap_or(exit_codes::PASSED)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::good(&[0, 0], 0)]
    #[case::inconclusive(&[0, 3], 3)]
    #[case::failed(&[3, 1, 0], 1)]
    #[case::usage(&[1, 2], 2)]
    #[case::interrupted(&[130, 1], 130)]
    fn the_gravest_counts(#[case] codes: &[u8], #[case] exit: u8) {
        assert_eq!(gravest(codes.iter().copied()), exit);
    }

    fn parts(codes: &[u8]) -> Vec<(String, u8)> {
        codes.iter().map(|code| (format!("dialect-{code}"), *code)).collect()
    }

    #[tokio::test]
    async fn one_that_fails_keeps_no_other_from_being_asked() {
        let mut asked = Vec::new();
        let ended = one_by_one(parts(&[2, 0, 3]), Format::Json, async |code, documents| {
            asked.push(code);
            documents.json(&code)?;
            if code == 2 { Err(Failure::usage("this", "that")) } else { Ok(code) }
        });
        assert_eq!(ended.await.unwrap(), 2);
        assert_eq!(asked, [2, 0, 3]);
    }

    #[tokio::test]
    async fn what_is_interrupted_ends_all() {
        let mut asked = 0;
        let ended = one_by_one(parts(&[130, 0]), Format::Json, async |code, _| {
            asked += 1;
            Ok(code)
        });
        assert_eq!((ended.await.unwrap(), asked), (130, 1));
    }

    #[rstest]
    #[case::none(&[1, 1], None)]
    #[case::one(&[1, 0], Some(0))]
    #[tokio::test]
    async fn what_no_dialect_has_is_an_error(#[case] lacks: &[u8], #[case] code: Option<u8>) {
        let ended = one_by_one(parts(lacks), Format::Json, async |lacks, documents| {
            if lacks == 1 {
                documents.nothing(Failure::usage("it has none", ""), Format::Json)?;
            }
            Ok(0)
        });
        assert_eq!(ended.await.ok(), code);
    }
}
