//! What a ConformanceReport says wrongly, by upstream's submission rules.

use std::collections::BTreeSet;

use super::claims::current_name;
use super::names::{Minor, minor, release};
use super::types::{ConformanceReport, Defect, ProfileReport, Statistics, Status, TestResult};

/// A test of upstream's suite.
#[derive(Debug, Clone, Copy)]
pub struct KnownTest<'a> {
    /// Its name.
    pub name: &'a str,
    /// The first minor release that has it, such as `v1.4`.
    pub since: &'a str,
}

/// The first release to which upstream's rules for submissions hold (`conformance/reports/README.md`, rules exceptions).
pub(super) const RULES: Minor = (1, 1);
/// The first release of which a program says who is conformant (`IsConformant` and `Implementation.Validate` of upstream's report).
const CONFORMANT: Minor = (1, 7);
/// How many tests may be skipped in each half of a profile from v1.7 on (`IsConformant` of upstream's report).
const SKIPS: u32 = 5;

/// Every defect of a report, in order of its fields. Empty: fit for submission as far as the file and the tests that are known can
/// tell.
pub fn lint(report: &ConformanceReport, tests: &[KnownTest<'_>]) -> Vec<Defect> {
    let mut defects = Vec::new();
    let mut say = |field: &str, problem: String| defects.push(Defect { field: field.to_owned(), problem });
    if report.kind != "ConformanceReport" {
        say("kind", format!("is `{}`; must be `ConformanceReport`", report.kind));
    }
    let about = minor(&report.gateway_api_version).or_else(|| minor(&format!("v{}", report.gateway_api_version)));
    let is_before = |bound: Minor| about.is_some_and(|about| about < bound);
    let is_of_its_time = is_before((1, 2)) && report.api_version == "gateway.networking.k8s.io/v1alpha1";
    if report.api_version != "gateway.networking.k8s.io/v1" && !is_of_its_time {
        say("apiVersion", format!("is `{}`; current reports say `gateway.networking.k8s.io/v1`", report.api_version));
    }
    if report.date.parse::<jiff::Timestamp>().is_err() {
        say("date", format!("`{}` is not an RFC 3339 time", report.date));
    }
    match report.gateway_api_channel.as_deref() {
        Some("standard" | "experimental") => {}
        Some(other) => say("gatewayAPIChannel", format!("is `{other}`; must be `standard` or `experimental`")),
        None if is_before(RULES) => {}
        None => say("gatewayAPIChannel", "is missing; required since v1.1".to_owned()),
    }
    if release(&report.gateway_api_version).is_none() {
        let version = &report.gateway_api_version;
        say("gatewayAPIVersion", format!("is `{version}`; must be a release such as `v1.6.1`"));
    }
    if report.mode.as_deref().unwrap_or("").is_empty() && !is_before(RULES) {
        say("mode", "is missing; write `default` if there is only one".to_owned());
    }
    let who = &report.implementation;
    for (field, value) in [("organization", &who.organization), ("project", &who.project), ("url", &who.url)] {
        if value.is_empty() {
            say(&format!("implementation.{field}"), "is empty".to_owned());
        }
    }
    if !who.url.is_empty()
        && about >= Some(CONFORMANT)
        && let Err(problem) = home_page(&who.url)
    {
        say("implementation.url", format!("is `{}`, {problem}", who.url));
    }
    if who.contact.iter().all(String::is_empty) {
        say("implementation.contact", "names nobody".to_owned());
    }
    if matches!(who.version.as_str(), "" | "main" | "master" | "latest" | "nightly" | "dev") && !is_before(RULES) {
        let version = &who.version;
        say("implementation.version", format!("is `{version}`; must be a snapshot, not a moving name"));
    }
    if report.profiles.is_empty() {
        say("profiles", "is empty: nothing was tested".to_owned());
    }
    let mut before = BTreeSet::new();
    for profile in &report.profiles {
        if !before.insert(current_name(&profile.name)) {
            let problem = "is given twice; a profile has one result, so make the report of one run".to_owned();
            say(&format!("profiles[{}]", profile.name), problem);
        }
        of_profile(profile, about, tests, &mut say);
    }
    defects
}

fn of_profile(
    profile: &ProfileReport,
    about: Option<Minor>,
    tests: &[KnownTest<'_>],
    say: &mut impl FnMut(&str, String),
) {
    let at = format!("profiles[{}]", profile.name);
    let mut half = |at: &str, counted: &Status| {
        status(at, counted, say);
        by_release(at, counted, about, tests, say);
    };
    half(&format!("{at}.core"), &profile.core);
    if let Some(extended) = &profile.extended {
        half(&format!("{at}.extended"), &extended.status());
    }
    if about >= Some(CONFORMANT) && profile.summary.as_deref().unwrap_or("").is_empty() {
        say(&format!("{at}.summary"), "is missing; from v1.7 on nobody is conformant without one".to_owned());
    }
    let Some(extended) = &profile.extended else { return };
    let at = format!("{at}.extended");
    if extended.status.is_some() {
        say(&format!("{at}.status"), "is not a field; its content belongs one level up".to_owned());
    }
    let (supported, unsupported) = (&extended.supported_features, &extended.unsupported_features);
    for (field, names) in [("supportedFeatures", supported), ("unsupportedFeatures", unsupported)] {
        once(&format!("{at}.{field}"), names, say);
    }
    for feature in in_both(supported, unsupported) {
        say(&at, format!("`{feature}` is both supported and unsupported"));
    }
}

/// Says which names a list has more than once.
fn once(at: &str, names: &[String], say: &mut impl FnMut(&str, String)) {
    let (mut before, mut twice) = (BTreeSet::new(), BTreeSet::new());
    for name in names {
        if !before.insert(name) && twice.insert(name) {
            say(at, format!("lists `{name}` twice; once is enough"));
        }
    }
}

/// The names that both lists have, in order.
fn in_both<'n>(one: &'n [String], other: &[String]) -> Vec<&'n String> {
    let other: BTreeSet<&String> = other.iter().collect();
    one.iter().collect::<BTreeSet<_>>().into_iter().filter(|name| other.contains(name)).collect()
}

fn status(at: &str, status: &Status, say: &mut impl FnMut(&str, String)) {
    let counted = status.statistics.result();
    if status.result != counted {
        let problem = format!("is `{:?}`, but the statistics make it `{counted:?}`", status.result);
        say(&format!("{at}.result"), problem.to_lowercase());
    }
    if status.result == TestResult::Failure {
        say(&format!("{at}.result"), "is `failure`; upstream takes no report with failed tests".to_owned());
    }
    if status.statistics == Statistics::default() {
        let problem = "counts no test, and nothing that was not run has a result; run it, or leave it out".to_owned();
        say(&format!("{at}.statistics"), problem);
    }
    for (field, names, counted) in [
        ("failedTests", &status.failed_tests, status.statistics.failed),
        ("skippedTests", &status.skipped_tests, status.statistics.skipped),
    ] {
        let field = format!("{at}.{field}");
        if names.len() != counted as usize {
            say(&field, format!("lists {}, but the statistics count {counted}", names.len()));
        }
        once(&field, names, say);
    }
    for test in in_both(&status.failed_tests, &status.skipped_tests) {
        say(at, format!("`{test}` is both failed and skipped"));
    }
}

/// What hangs on the release that a report is about.
fn by_release(
    at: &str,
    status: &Status,
    about: Option<Minor>,
    tests: &[KnownTest<'_>],
    say: &mut impl FnMut(&str, String),
) {
    let Some(about) = about else { return };
    let skipped = status.statistics.skipped;
    if about >= CONFORMANT && skipped > SKIPS {
        let problem = format!("is {skipped}; from v1.7 on nobody is conformant who skips more than {SKIPS}");
        say(&format!("{at}.statistics.skipped"), problem);
    }
    for (field, listed) in [("failedTests", &status.failed_tests), ("skippedTests", &status.skipped_tests)] {
        for name in listed {
            let Some(test) = tests.iter().find(|test| test.name == name) else { continue };
            if minor(test.since).is_some_and(|since| since > about) {
                let problem = format!("lists `{name}`, a test of {} and later, which the release has not", test.since);
                say(&format!("{at}.{field}"), problem);
            }
        }
    }
}

/// From v1.7 on upstream takes absolute addresses of pages alone (`Implementation.Validate`).
fn home_page(text: &str) -> Result<(), &'static str> {
    match url::Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(()),
        Ok(_) => Err("which is no page; begin it with `https://`"),
        Err(_) => Err("which is no absolute address; begin it with `https://`"),
    }
}

#[cfg(test)]
#[path = "lint_tests.rs"]
mod tests;
