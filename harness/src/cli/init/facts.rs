//! What can be found out about a repository. Pure, but for the looks at its files.

use std::path::Path;

/// Where a repository is kept, as far as its remote tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Remote {
    /// Such as `github.com`.
    pub(super) host: String,
    /// Such as `acme`.
    pub(super) organization: String,
    /// Such as `gateway`.
    pub(super) project: String,
}

impl Remote {
    /// Reads what git calls the address of a remote: `https://HOST/A/B.git`, `ssh://git@HOST/A/B`, or `git@HOST:A/B.git`.
    /// Nothing of it goes on that could be more than a name.
    pub(super) fn of(address: &str) -> Option<Remote> {
        let rest = match address.trim().split_once("://") {
            Some((_, rest)) => rest.to_owned(),
            None => address.trim().replacen(':', "/", 1),
        };
        let (host, path) = rest.split_once('/')?;
        // Who is let in, and by which port, is nobody's business.
        let host = host.rsplit('@').next()?.split(':').next()?;
        let (organization, project) = path.trim_end_matches('/').rsplit_once('/')?;
        let project = project.strip_suffix(".git").unwrap_or(project);
        let plain = |text: &str, more: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        (plain(host, ".-") && plain(organization, "./_-") && plain(project, "._-")).then(|| Remote {
            host: host.to_owned(),
            organization: organization.to_owned(),
            project: project.to_owned(),
        })
    }

    /// The project's page.
    pub(super) fn url(&self) -> String {
        format!("https://{}/{}/{}", self.host, self.organization, self.project)
    }
}

/// Whether a text can be the name of a cluster's object, so that it means nothing else in a file.
pub(super) fn is_object_name(text: &str) -> bool {
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c);
    !text.is_empty() && text.len() <= 253 && text.chars().all(inside) && !text.starts_with(['.', '-'])
}

/// How a controller is brought onto a cluster from its repository, by what usually is in one; with the file that tells.
pub(super) fn install(root: &Path) -> Option<(String, String)> {
    if root.join("config/default/kustomization.yaml").is_file() {
        return Some(("kubectl apply --server-side -k config/default".to_owned(), "config/default".to_owned()));
    }
    let mut charts: Vec<String> = std::fs::read_dir(root.join("charts"))
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| is_object_name(name) && root.join("charts").join(name).join("Chart.yaml").is_file())
        .collect();
    charts.sort();
    // Of several nobody knows which.
    let [chart] = &charts[..] else { return None };
    Some((format!("helm install --wait {chart} charts/{chart}"), format!("charts/{chart}")))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::ssh("git@github.com:acme/gateway.git", Some(("github.com", "acme", "gateway")))]
    #[case::https("https://github.com/acme/gateway", Some(("github.com", "acme", "gateway")))]
    #[case::with_secret("https://me:secret@gitlab.example.com:8443/a/b/gateway.git\n", Some(("gitlab.example.com", "a/b", "gateway")))]
    #[case::ssh_address("ssh://git@example.com:22/acme/gateway", Some(("example.com", "acme", "gateway")))]
    #[case::a_path("/srv/git/gateway.git", None)]
    #[case::an_expression("git@github.com:acme/${{ secrets.A }}", None)]
    #[case::a_line("git@github.com:acme/a\nb", None)]
    #[case::nothing("", None)]
    fn a_remote_tells_names_and_no_more(#[case] address: &str, #[case] expected: Option<(&str, &str, &str)>) {
        let found = Remote::of(address);
        let found = found.as_ref().map(|r| (r.host.as_str(), r.organization.as_str(), r.project.as_str()));
        assert_eq!(found, expected);
    }

    #[rstest]
    #[case("my-class", true)]
    #[case("a.b", true)]
    #[case("", false)]
    #[case("-a", false)]
    #[case("${{ a }}", false)]
    #[case("a\nb", false)]
    fn names_are_names(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_object_name(text), expected);
    }
}
