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

/// Every defect of a report, in order of its fields. Empty: fit for submission as far as the file itself can tell.
pub fn lint(report: &ConformanceReport) -> Vec<Defect> {
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
        status(&format!("{at}.core"), &profile.core, &mut say);
        if let Some(extended) = &profile.extended {
            if extended.status.is_some() {
                say(&format!("{at}.extended.status"), "is not a field; its content belongs one level up".to_owned());
            }
            status(&format!("{at}.extended"), &extended.status(), &mut say);
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
