//! What upstream calls things: folders of implementations, files of reports, and versions.

use std::collections::BTreeSet;

use super::types::Implementation;

/// What upstream's rules make the name of a report's file.
pub(super) fn file_name(channel: &str, version: &str, mode: &str) -> String {
    format!("{channel}-{version}-{mode}-report.yaml")
}

/// A version with and without `v`: upstream's folders mix both.
pub(super) fn same_versions(version: &str) -> [String; 2] {
    let bare = version.strip_prefix('v').unwrap_or(version);
    [bare.to_owned(), format!("v{bare}")]
}

/// Why a folder cannot be one of any implementation.
pub(super) fn misspelled(folder: &str, who: &Implementation) -> Option<String> {
    (slug(folder) != folder)
        .then(|| format!("is `{folder}`; small letters, digits and hyphens make it, as in `{}`", usual(who)))
}

/// Why a folder cannot be that of an implementation.
pub(super) fn unfit(folder: &str, who: &Implementation) -> Option<String> {
    if let Some(problem) = misspelled(folder, who) {
        return Some(problem);
    }
    let words = |text: &str| slug(text).split('-').map(str::to_owned).collect::<BTreeSet<_>>();
    let said = words(&format!("{} {}", who.organization, who.project));
    // Names in other scripts have no words here.
    let is_known = said.iter().any(|word| !word.is_empty());
    // Where one word ends and the next begins is a matter of taste: `NGINXGatewayFabric` is in `nginx-gateway-fabric`.
    let closed = |text: &str| slug(text).replace('-', "");
    let names = [&who.organization, &who.project].map(|name| closed(name));
    let is_within = |name: &String| !name.is_empty() && closed(folder).contains(name.as_str());
    (is_known && words(folder).is_disjoint(&said) && !names.iter().any(is_within))
        .then(|| format!("is `{folder}`, which names neither organization nor project, as in `{}`", usual(who)))
}

/// The folder that an implementation usually has.
pub(super) fn usual(who: &Implementation) -> String {
    let usual = folder(&who.organization, &who.project);
    if usual.is_empty() { "organization-project".to_owned() } else { usual }
}

/// `organization-project`, without saying one thing twice: how upstream names the folders of implementations.
pub(super) fn folder(organization: &str, project: &str) -> String {
    let [organization, project] = [organization, project].map(slug);
    let both = format!("{organization}-{project}");
    if organization.is_empty() || format!("{project}-").starts_with(&format!("{organization}-")) {
        project
    } else {
        both
    }
}

/// A text in small letters, digits and hyphens.
fn slug(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let text: String = text.chars().map(plain).collect();
    text.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}
