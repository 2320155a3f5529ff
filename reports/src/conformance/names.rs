//! Names that releases of Gateway API have: of themselves, of profiles and of features.

use super::claims::current_name;
use super::types::{ConformanceReport, Defect};

/// A minor release, such as 1 and 6 of `v1.6.1`.
pub type Minor = (u32, u32);

/// A feature, as releases call it.
#[derive(Debug, Clone, Copy)]
pub struct FeatureName<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its name in older releases.
    pub formerly: Option<&'a str>,
    /// The minor release that it came with, such as `1.4`, if that is known.
    pub since: Option<&'a str>,
    /// The minor release that it is gone from.
    pub until: Option<&'a str>,
}

/// The names that are known.
#[derive(Debug, Clone)]
pub struct KnownNames<'a> {
    /// Profiles, by the names that they have today.
    pub profiles: Vec<&'a str>,
    /// Features, gone ones too.
    pub features: Vec<FeatureName<'a>>,
    /// The newest minor release whose names these are.
    pub newest: Minor,
}

/// Names of features that were changed before there was a table of them: reports up to v1.0 have these.
const OLDEST: [(&str, &str); 1] = [("HTTPResponseHeaderModification", "HTTPRouteResponseHeaderModification")];

/// What a feature of which reports up to v1.0 have another name is called today.
pub(crate) fn renamed_early(name: &str) -> Option<&'static str> {
    OLDEST.iter().find(|(old, _)| *old == name).map(|(_, new)| *new)
}

/// The numbers of a release such as `v1.6.1`, `v1.5` or `v1.6.0-rc.1`.
pub(crate) fn release(text: &str) -> Option<(u32, u32, u32)> {
    let numbers = text.strip_prefix('v')?.split(['-', '+']).next()?;
    let numbers: Vec<u32> = numbers.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    match numbers[..] {
        [major, minor] => Some((major, minor, 0)),
        [major, minor, patch] => Some((major, minor, patch)),
        _ => None,
    }
}

/// The minor release of one.
pub(super) fn minor(text: &str) -> Option<Minor> {
    release(text).map(|(major, minor, _)| (major, minor))
}

impl KnownNames<'_> {
    /// Whether every name of a release is known: of one that is newer than these tables nothing is.
    pub fn cover(&self, release: &str) -> bool {
        minor(release).is_none_or(|release| release <= self.newest)
    }

    /// A feature that a release does not have, with what is known of it.
    fn stranger(&self, name: &str, to: Option<Minor>) -> Option<String> {
        let is_called_so = |one: &&FeatureName<'_>| {
            one.name == name || one.formerly == Some(name) || renamed_early(name) == Some(one.name)
        };
        let Some(known) = self.features.iter().find(is_called_so) else { return Some(format!("`{name}`")) };
        let is_at_least = |bound: &str| Some(to? >= minor(&format!("v{bound}"))?);
        match (known.since, known.until) {
            (Some(since), _) if is_at_least(since) == Some(false) => Some(format!("`{name}` (of v{since} and later)")),
            (_, Some(until)) if is_at_least(until) == Some(true) => Some(format!("`{name}` (gone from v{until})")),
            _ => None,
        }
    }
}

/// Profiles and extended features of a report that its release does not have; nothing of a release that is newer than the tables.
pub fn strangers(report: &ConformanceReport, known: &KnownNames<'_>) -> Vec<Defect> {
    let mut defects = Vec::new();
    if !known.cover(&report.gateway_api_version) {
        return defects;
    }
    let mut say = |field: String, problem: String| defects.push(Defect { field, problem });
    let about = minor(&report.gateway_api_version);
    let newest = format!("v{}.{}", known.newest.0, known.newest.1);
    let whose = match about {
        Some((major, minor)) => format!("release v{major}.{minor}"),
        None => format!("any release up to {newest}"),
    };
    for profile in &report.profiles {
        let at = format!("profiles[{}]", profile.name);
        let today = current_name(&profile.name);
        if !known.profiles.contains(&today) {
            say(at.clone(), format!("is no profile of any release up to {newest}; check its name"));
        } else if today != profile.name && about.is_some_and(|about| about >= (1, 1)) {
            say(at.clone(), format!("is what `{today}` was called before v1.1; use that name"));
        }
        let Some(extended) = &profile.extended else { continue };
        for (field, names) in [
            ("supportedFeatures", &extended.supported_features),
            ("unsupportedFeatures", &extended.unsupported_features),
        ] {
            let strange: Vec<String> = names.iter().filter_map(|name| known.stranger(name, about)).collect();
            if !strange.is_empty() {
                let strange = strange.join(", ");
                let problem = format!(
                    "lists what is not known to {whose}: {strange}; check the names, and which release the suite was of"
                );
                say(format!("{at}.extended.{field}"), problem);
            }
        }
    }
    defects
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::types::{Extended, ProfileReport};
    use super::*;

    fn known() -> KnownNames<'static> {
        let feature = |name, formerly, since, until| FeatureName { name, formerly, since, until };
        KnownNames {
            profiles: vec!["GATEWAY-HTTP", "GATEWAY-TLS", "MESH-HTTP"],
            features: vec![
                feature("Always", None, None, None),
                feature("New", Some("Old"), None, None),
                feature("Late", None, Some("1.4"), None),
                feature("Gone", None, Some("1.6"), Some("1.7")),
                feature("HTTPRouteResponseHeaderModification", None, None, None),
            ],
            newest: (1, 7),
        }
    }

    fn report(release: &str, profile: &str, supported: &[&str]) -> ConformanceReport {
        let supported_features = supported.iter().map(|name| (*name).to_owned()).collect();
        let extended = Some(Extended { supported_features, ..Extended::default() });
        let profile = ProfileReport { name: profile.to_owned(), extended, ..ProfileReport::default() };
        let gateway_api_version = release.to_owned();
        ConformanceReport { gateway_api_version, profiles: vec![profile], ..ConformanceReport::default() }
    }

    #[rstest]
    #[case::of_today("v1.6.1", "GATEWAY-HTTP", None)]
    #[case::of_none("v1.6.1", "GATEWAY-FOO", Some("is no profile of any release up to v1.7; check its name"))]
    #[case::without_a_name("v1.6.1", "", Some("is no profile of any release up to v1.7; check its name"))]
    #[case::by_its_old_name("v1.1.0", "HTTP", Some("is what `GATEWAY-HTTP` was called before v1.1; use that name"))]
    #[case::of_an_old_release("v1.0.0", "MESH", None)]
    #[case::of_no_release("vfoo", "GATEWAY-FOO", Some("is no profile of any release up to v1.7; check its name"))]
    #[case::of_a_release_to_come("v1.8.0", "GATEWAY-FOO", None)]
    fn profiles_are_those_of_some_release(#[case] release: &str, #[case] profile: &str, #[case] problem: Option<&str>) {
        let found = strangers(&report(release, profile, &[]), &known());
        assert!(found.iter().all(|one| one.field == format!("profiles[{profile}]")), "{found:?}");
        assert_eq!(found.first().map(|one| &*one.problem), problem);
        assert!(found.len() < 2, "{found:?}");
    }

    #[rstest]
    #[case::known("v1.3.0", &["Always", "New", "Old"], None)]
    #[case::unknown("v1.6.1", &["Always", "Alwais"], Some("not known to release v1.6: `Alwais`;"))]
    #[case::later("v1.3.0", &["Late", "No"], Some("not known to release v1.3: `Late` (of v1.4 and later), `No`;"))]
    #[case::of_the_release("v1.4.0-rc.1", &["Late"], None)]
    #[case::gone("v1.7.0", &["Gone"], Some("not known to release v1.7: `Gone` (gone from v1.7);"))]
    #[case::not_yet_gone("v1.6.3", &["Gone"], None)]
    #[case::oldest_name("v0.8.1", &["HTTPResponseHeaderModification"], None)]
    #[case::of_no_release("vfoo", &["Late", "Gone", "No"], Some("not known to any release up to v1.7: `No`;"))]
    #[case::of_a_release_to_come("v1.8.0", &["No"], None)]
    fn features_are_those_of_the_release(#[case] release: &str, #[case] names: &[&str], #[case] part: Option<&str>) {
        let mut one = report(release, "GATEWAY-HTTP", names);
        let said = |report: &ConformanceReport, field: &str| {
            let found = strangers(report, &known());
            assert!(found.len() < 2, "{found:?}");
            assert!(
                found.iter().all(|one| one.field == format!("profiles[GATEWAY-HTTP].extended.{field}")),
                "{found:?}"
            );
            assert_eq!(found.first().is_some_and(|one| one.problem.contains(part.unwrap_or_default())), part.is_some());
        };
        said(&one, "supportedFeatures");
        let extended = one.profiles[0].extended.as_mut().unwrap();
        extended.unsupported_features = std::mem::take(&mut extended.supported_features);
        said(&one, "unsupportedFeatures");
    }

    #[rstest]
    #[case("v1.6.1", Some((1, 6, 1)))]
    #[case("v1.5", Some((1, 5, 0)))]
    #[case("v1.7.0-rc.1", Some((1, 7, 0)))]
    #[case("1.6.1", None)]
    #[case("vfoo", None)]
    #[case("v1.6.x", None)]
    #[case("v1", None)]
    #[case("v1.6.1.0", None)]
    #[case("UNDEFINED", None)]
    fn releases_have_numbers(#[case] text: &str, #[case] numbers: Option<(u32, u32, u32)>) {
        assert_eq!(release(text), numbers);
    }
}
