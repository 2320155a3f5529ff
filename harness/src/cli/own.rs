//! Options that have a meaning in some dialects alone: for one that has a class, a place where traffic comes in, or releases.
//!
//! With one dialect, what has no meaning in it is refused. With several, each takes what is its own, and what is nobody's is refused.

use super::Failure;
use crate::dialects::{Dialect, Profile};
use crate::run::releases::minor;
use crate::scenario::{Version, suggest};
use crate::suite::Suite;

/// What a dialect has to have for an option to mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// A kind that says whose objects are.
    Class,
    /// A kind where traffic comes in.
    Entry,
    /// Releases.
    Releases,
    /// ConformanceReports.
    Reports,
}

impl Needs {
    fn are_met_by(self, dialect: &Dialect) -> bool {
        match self {
            Needs::Class => dialect.class().is_some(),
            Needs::Entry => dialect.entry().is_some(),
            Needs::Releases => dialect.releases().is_some(),
            // Reports are of the conformance profiles of that one.
            Needs::Reports => *dialect == *Dialect::gateway_api(),
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Needs::Class => "it has no kind with the role `class`",
            Needs::Entry => "it has no kind with the role `entry`, where traffic comes in",
            Needs::Releases => "it has no releases",
            Needs::Reports => "it has no ConformanceReports",
        }
    }
}

/// An option of a group of arguments.
pub(super) struct Own<A> {
    /// What the user calls it.
    pub(super) name: &'static str,
    /// In which dialects it means something.
    pub(super) needs: Needs,
    pub(super) is_given: fn(&A) -> bool,
    /// Leaves it out.
    pub(super) leave: fn(&mut A),
}

/// Refuses the first of these options that is given, and means nothing in a dialect.
pub(super) fn foreign<A>(options: &[Own<A>], args: &A, dialect: &Dialect) -> Result<(), Failure> {
    match options.iter().find(|own| !own.needs.are_met_by(dialect) && (own.is_given)(args)) {
        Some(own) => {
            let message =
                format!("{} means nothing in the dialect `{}`: {}", own.name, dialect.name(), own.needs.in_words());
            Err(Failure::usage(message, "leave it out; nothing was applied"))
        }
        None => Ok(()),
    }
}

/// Refuses an option about releases of a dialect that has none.
pub(super) fn releases(option: &'static str, suite: &Suite) -> Result<(), Failure> {
    let own = Own { name: option, needs: Needs::Releases, is_given: |()| true, leave: |()| () };
    foreign(&[own], &(), &suite.dialect)
}

/// Refuses a release that the user names and that there is not, in a dialect that says which there are.
pub(super) fn known_release(option: &str, version: Version, suite: &Suite) -> Result<(), Failure> {
    let known = suite.dialect.releases().map(|releases| &*releases.known).unwrap_or_default();
    if known.is_empty() || known.contains(&minor(version)) {
        return Ok(());
    }
    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
    let message = format!("{option}: there is no release {version} of {}", suite.dialect.title());
    Err(Failure::usage(message, format!("known are {}, and every patch of these", known.join(", "))))
}

/// The profiles of a dialect; an error if it has none.
pub(super) fn profiles(suite: &Suite) -> Result<&[Profile], Failure> {
    let all = &suite.vocabulary.profiles;
    if all.is_empty() {
        let message = format!("the dialect `{}` has no profiles", suite.dialect.name());
        let help = "a dialect from a folder has those of its profiles.yaml; `gateproof list features` shows what its targets may have";
        return Err(Failure::usage(message, help));
    }
    Ok(all)
}

/// Those of these names.
pub(super) fn profiles_named<'s>(names: &[String], suite: &'s Suite) -> Result<Vec<&'s Profile>, Failure> {
    let all = profiles(suite)?;
    let named = |name: &String| {
        all.iter().find(|profile| profile.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|profile| profile.name.as_str()).collect();
            let near = suggest(name, known.iter().copied()).map(|near| format!("did you mean `{near}`?"));
            let message =
                format!("--profile {name}: the dialect `{}` has no profile of this name", suite.dialect.name());
            Failure::usage(message, near.unwrap_or_else(|| format!("there is {}", known.join(", "))))
        })
    };
    names.iter().map(named).collect()
}

/// What of these words one of several dialects knows, given who knows what; nothing if all are others'. A word that nobody knows is
/// an error.
///
/// # Errors
/// The first word that nobody knows.
pub(super) fn words<'w>(
    words: &'w [String],
    own: usize,
    all: &[impl Fn(&str) -> bool],
) -> Result<Option<Vec<String>>, &'w str> {
    if let Some(nobodys) = words.iter().find(|word| !all.iter().any(|knows| knows(word))) {
        return Err(nobodys);
    }
    let kept: Vec<String> = words.iter().filter(|word| all[own](word)).cloned().collect();
    Ok((words.is_empty() || !kept.is_empty()).then_some(kept))
}

/// Leaves to one of several dialects what means something in it. What means nothing in any of them stays, and is refused.
pub(super) fn keep<A>(options: &[Own<A>], args: &mut A, own: &Suite, all: &[&Suite]) {
    for option in options {
        let is_anothers = all.iter().any(|suite| option.needs.are_met_by(&suite.dialect));
        if is_anothers && !option.needs.are_met_by(&own.dialect) {
            (option.leave)(args);
        }
    }
}

/// Whether it is for one of several dialects to take what only some of them know. What nobody knows is for each to refuse.
pub(super) fn is_ours(own: &Suite, all: &[&Suite], known: impl Fn(&Suite) -> bool) -> bool {
    known(own) || !all.iter().any(|suite| known(suite))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use clap::Parser;
    use rstest::rstest;

    use super::super::run_args::Args;
    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn suite(name: &str) -> Suite {
        Suite::named(name).unwrap().unwrap()
    }

    fn args(words: &str) -> Args {
        Line::parse_from(std::iter::once("run").chain(words.split_whitespace())).args
    }

    #[rstest]
    #[case::class("aso", "--single-gateway-class a", Some("--single-gateway-class"))]
    #[case::release("kuadrant", "--gateway-api-version v1.6", Some("--gateway-api-version"))]
    #[case::release_of_its_own("gateway-api", "--gateway-api-version v1.6", None)]
    #[case::traffic("aso", "--ports http=80", Some("--ports"))]
    #[case::forward("aso", "--port-forward", Some("--port-forward"))]
    #[case::traffic_of_its_own("kuadrant", "--ports http=80 --dial *:80=127.0.0.1:+1", None)]
    #[case::gateways("aso", "--max-gateways 1", Some("--max-gateways"))]
    #[case::of_everybody("aso", "--jobs 2 --timing real", None)]
    fn what_means_nothing_is_refused(#[case] dialect: &str, #[case] words: &str, #[case] refused: Option<&str>) {
        match (args(words).tuning.is_of(&suite(dialect)), refused) {
            (Ok(()), None) => {}
            (Err(Failure::Usage(report)), Some(option)) => {
                let expected = format!("{option} means nothing in the dialect `{dialect}`");
                assert!(report.to_string().starts_with(&expected), "{report}");
            }
            (outcome, _) => panic!("{outcome:?}"),
        }
    }

    #[rstest]
    #[case::first("v1.0", true)]
    #[case::newest("1.7", true)]
    #[case::patch("v1.7.3", true)]
    #[case::to_come("v9.9", false)]
    #[case::mistyped("v1.70", false)]
    #[case::before("v0.5", false)]
    fn releases_that_there_are_not_are_refused(#[case] version: &str, #[case] known: bool) {
        let args = args(&format!("--gateway-api-version {version}"));
        match args.tuning.is_of(&suite("gateway-api")) {
            Ok(()) => assert!(known),
            Err(Failure::Usage(report)) => {
                assert!(!known && report.to_string().contains("there is no release"), "{report}")
            }
            Err(other) => panic!("{other:?}"),
        }
    }

    #[rstest]
    #[case::aso("aso", [false, false, true, false, false])]
    #[case::gateway_api("gateway-api", [true, true, false, true, true])]
    #[case::kuadrant("kuadrant", [true, false, false, true, false])]
    fn of_several_each_takes_its_own(#[case] dialect: &str, #[case] expected: [bool; 5]) {
        let words = "--gateway-class a --gateway-api-version v1.6 --service arm=http://127.0.0.1:1 --ports http=80 --organization b";
        let all = ["gateway-api", "kuadrant", "aso"].map(suite);
        let all: Vec<&Suite> = all.iter().collect();
        let mut args = args(words);
        args.target.keep(&suite(dialect), &all);
        args.tuning.keep(&suite(dialect), &all);
        args.identity.keep(&suite(dialect), &all);
        let kept = [
            args.target.gateway_class.is_some(),
            args.tuning.gateway_api_version.is_some(),
            !args.target.services.service.is_empty(),
            !args.tuning.ports.is_empty(),
            args.identity.is_given(),
        ];
        assert_eq!(kept, expected);
    }

    #[test]
    fn what_is_nobodys_is_refused_by_each() {
        let mut args = args("--gateway-api-version v1.6 --service armm=http://127.0.0.1:1");
        let all = ["kuadrant", "aso"].map(suite);
        args.target.keep(&all[1], &all.each_ref());
        args.tuning.keep(&all[1], &all.each_ref());
        assert!(args.tuning.gateway_api_version.is_some() && !args.target.services.service.is_empty());
    }

    #[rstest]
    #[case::none(&[], 0, Ok(Some("")))]
    #[case::its_own(&["a", "b"], 0, Ok(Some("a")))]
    #[case::of_both(&["c"], 1, Ok(Some("c")))]
    #[case::anothers(&["a"], 1, Ok(None))]
    #[case::nobodys(&["a", "d"], 0, Err("d"))]
    fn words_go_to_those_that_know_them(
        #[case] given: &[&str],
        #[case] own: usize,
        #[case] expected: Result<Option<&str>, &str>,
    ) {
        let given: Vec<String> = given.iter().map(|word| (*word).to_owned()).collect();
        let known = ["ac", "bc"].map(|known| move |word: &str| known.contains(word));
        let found = words(&given, own, &known).map(|found| found.map(|found| found.join(" ")));
        assert_eq!(found, expected.map(|words| words.map(str::to_owned)));
    }
}
