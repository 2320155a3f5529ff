//! What a ConformanceReport says wrongly, by upstream's submission rules.

use super::types::{ConformanceReport, Status, TestResult};

/// Something in a report that a submission may not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// Which field, such as `profiles[GATEWAY-HTTP].core.result`.
    pub field: String,
    /// What is wrong with it, and what to do.
    pub problem: String,
}

/// A test of upstream's suite.
#[derive(Debug, Clone, Copy)]
pub struct KnownTest<'a> {
    /// Its name.
    pub name: &'a str,
    /// The first minor release that has it, such as `v1.4`.
    pub since: &'a str,
}

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
    if report.api_version != "gateway.networking.k8s.io/v1" {
        say("apiVersion", format!("is `{}`; current reports say `gateway.networking.k8s.io/v1`", report.api_version));
    }
    if report.date.parse::<jiff::Timestamp>().is_err() {
        say("date", format!("`{}` is not an RFC 3339 time", report.date));
    }
    match report.gateway_api_channel.as_deref() {
        Some("standard" | "experimental") => {}
        Some(other) => say("gatewayAPIChannel", format!("is `{other}`; must be `standard` or `experimental`")),
        None => say("gatewayAPIChannel", "is missing; required since v1.1".to_owned()),
    }
    if !report.gateway_api_version.starts_with('v') {
        let version = &report.gateway_api_version;
        say("gatewayAPIVersion", format!("is `{version}`; must be a release such as `v1.6.1`"));
    }
    if report.mode.as_deref().unwrap_or("").is_empty() {
        say("mode", "is missing; write `default` if there is only one".to_owned());
    }
    let who = &report.implementation;
    for (field, value) in [("organization", &who.organization), ("project", &who.project), ("url", &who.url)] {
        if value.is_empty() {
            say(&format!("implementation.{field}"), "is empty".to_owned());
        }
    }
    let release = minor(&report.gateway_api_version);
    if !who.url.is_empty()
        && release >= Some((1, 7))
        && let Err(problem) = home_page(&who.url)
    {
        say("implementation.url", format!("is `{}`, {problem}", who.url));
    }
    if who.contact.iter().all(String::is_empty) {
        say("implementation.contact", "names nobody".to_owned());
    }
    if matches!(who.version.as_str(), "" | "main" | "master" | "latest" | "nightly" | "dev") {
        let version = &who.version;
        say("implementation.version", format!("is `{version}`; must be a snapshot, not a moving name"));
    }
    if report.profiles.is_empty() {
        say("profiles", "is empty: nothing was tested".to_owned());
    }
    for profile in &report.profiles {
        let at = format!("profiles[{}]", profile.name);
        let mut half = |at: &str, counted: &Status| {
            status(at, counted, &mut say);
            by_release(at, counted, release, tests, &mut say);
        };
        half(&format!("{at}.core"), &profile.core);
        if let Some(extended) = &profile.extended {
            half(&format!("{at}.extended"), &extended.status());
            if extended.status.is_some() {
                say(&format!("{at}.extended.status"), "is not a field; its content belongs one level up".to_owned());
            }
            if let Some(feature) =
                extended.supported_features.iter().find(|f| extended.unsupported_features.contains(f))
            {
                say(&format!("{at}.extended"), format!("`{feature}` is both supported and unsupported"));
            }
        }
    }
    defects
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
    for (field, listed, counted) in [
        ("failedTests", status.failed_tests.len(), status.statistics.failed),
        ("skippedTests", status.skipped_tests.len(), status.statistics.skipped),
    ] {
        if listed != counted as usize {
            say(&format!("{at}.{field}"), format!("lists {listed}, but the statistics count {counted}"));
        }
    }
}

/// What hangs on the release that a report is about.
fn by_release(
    at: &str,
    status: &Status,
    release: Option<(u16, u16)>,
    tests: &[KnownTest<'_>],
    say: &mut impl FnMut(&str, String),
) {
    let Some(release) = release else { return };
    let skipped = status.statistics.skipped;
    if release >= (1, 7) && skipped > SKIPS {
        let problem = format!("is {skipped}; from v1.7 on nobody is conformant who skips more than {SKIPS}");
        say(&format!("{at}.statistics.skipped"), problem);
    }
    for (field, listed) in [("failedTests", &status.failed_tests), ("skippedTests", &status.skipped_tests)] {
        for name in listed {
            let Some(test) = tests.iter().find(|test| test.name == name) else { continue };
            if minor(test.since).is_some_and(|since| since > release) {
                let problem = format!("lists `{name}`, a test of {} and later, which the release has not", test.since);
                say(&format!("{at}.{field}"), problem);
            }
        }
    }
}

/// The major and minor number of a release such as `v1.6.1`.
fn minor(release: &str) -> Option<(u16, u16)> {
    let mut parts = release.strip_prefix('v')?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// From v1.7 on upstream takes absolute addresses of pages alone (`Implementation.Validate`).
fn home_page(text: &str) -> Result<(), &'static str> {
    match url::Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(()),
        Ok(_) => Err("which is no page; begin it with `https://`"),
        Err(_) => Err("which is no absolute address; begin it with `https://`"),
    }
}
