//! What can be found out about a repository. Pure, but for the looks at its files.

use std::path::{Path, PathBuf};
use std::process::Command;

use gateproof_report::reproduce;

/// The top of the repository that a folder is in, without links: CI looks there for its files. In worktrees and submodules `.git` is a
/// file.
pub(super) fn top(folder: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(folder).ok()?;
    let there = folder.ancestors().find_map(|place| place.canonicalize().ok())?;
    let is_top = |place: &&Path| place.join(".git").is_file() || place.join(".git/HEAD").is_file();
    there.ancestors().find(is_top).map(Path::to_owned)
}

/// The address of `origin`, if there is git and a repository.
pub(super) fn remote(root: &Path) -> Option<Remote> {
    let mut git = Command::new("git");
    let output = git.arg("-C").arg(root).args(["config", "--get", "remote.origin.url"]).output().ok()?;
    Remote::of(&String::from_utf8(output.stdout).ok()?)
}

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
        // A path to a repository beside this one is no host.
        let is_host = plain(host, ".-") && host.starts_with(|c: char| c.is_ascii_alphanumeric());
        (is_host && plain(organization, "./_-") && plain(project, "._-")).then(|| Remote {
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

/// How a controller is brought onto a cluster from its repository, by what usually is in one; with the file that tells. What is in
/// `folder`, a path from the top, comes first.
pub(super) fn install(top: &Path, folder: &Path) -> Option<(String, String)> {
    [folder, Path::new("")].into_iter().find_map(|folder| install_of(top, folder))
}

fn install_of(top: &Path, folder: &Path) -> Option<(String, String)> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let folder = folder.to_str().filter(|folder| folder.chars().all(is_plain))?;
    let of = |path: &str| if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
    let kustomization = of("config/default");
    if top.join(&kustomization).join("kustomization.yaml").is_file() {
        let command = ["kubectl", "apply", "--server-side", "-k", &kustomization];
        return Some((reproduce::line(command), kustomization));
    }
    let charts = top.join(of("charts"));
    let mut names: Vec<String> = std::fs::read_dir(&charts)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| is_object_name(name) && charts.join(name).join("Chart.yaml").is_file())
        .collect();
    names.sort();
    // Of several nobody knows which.
    let [name] = &names[..] else { return None };
    let chart = of(&format!("charts/{name}"));
    Some((reproduce::line(["helm", "install", "--wait", name, &chart]), chart))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::ssh("git@github.com:acme/gateway.git", Some(("github.com", "acme", "gateway")))]
    #[case::https("https://github.com/acme/gateway", Some(("github.com", "acme", "gateway")))]
    #[case::with_secret("https://me:secret@gitlab.example.com:8443/a/b/gateway.git\n", Some(("gitlab.example.com", "a/b", "gateway")))]
    #[case::ssh_address("ssh://git@example.com:22/acme/gateway", Some(("example.com", "acme", "gateway")))]
    #[case::a_path("/srv/git/gateway.git", None)]
    #[case::a_path_beside("../up/gateway", None)]
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

    #[rstest]
    #[case::a_repository(".git/HEAD", "", "")]
    #[case::below(".git/HEAD", "a/b", "")]
    #[case::a_worktree(".git", "a", "")]
    #[case::a_submodule("a/.git", "a/b", "a")]
    #[case::not_there_yet(".git/HEAD", "new/folder", "")]
    fn the_top_is_where_git_has_it(#[case] mark: &str, #[case] folder: &str, #[case] expected: &str) {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("a/b")).unwrap();
        std::fs::create_dir_all(base.join(mark).parent().unwrap()).unwrap();
        std::fs::write(base.join(mark), "").unwrap();
        let expected: PathBuf = base.join(expected).components().collect();
        assert_eq!(top(&base.join(folder)), Some(expected));
    }

    #[test]
    fn not_everything_is_in_a_repository() {
        let dir = tempfile::tempdir().unwrap();
        // An empty folder of that name is none.
        std::fs::create_dir(dir.path().join(".git")).unwrap();
        assert_eq!(top(dir.path()), None);
    }

    #[rstest]
    #[case::kustomize("", "config/default/kustomization.yaml", Some("kubectl apply --server-side -k config/default"))]
    #[case::kustomize_below(
        "a",
        "a/config/default/kustomization.yaml",
        Some("kubectl apply --server-side -k a/config/default")
    )]
    #[case::kustomize_above(
        "a",
        "config/default/kustomization.yaml",
        Some("kubectl apply --server-side -k config/default")
    )]
    #[case::chart("a", "a/charts/on/Chart.yaml", Some("helm install --wait on a/charts/on"))]
    #[case::elsewhere("", "a/charts/on/Chart.yaml", None)]
    #[case::more_than_a_path("${{ a }}", "${{ a }}/charts/on/Chart.yaml", None)]
    fn a_controller_is_installed_by_what_is_there(
        #[case] folder: &str,
        #[case] file: &str,
        #[case] command: Option<&str>,
    ) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join(file).parent().unwrap()).unwrap();
        std::fs::write(dir.path().join(file), "").unwrap();
        let found = install(dir.path(), Path::new(folder)).map(|(command, _)| command);
        assert_eq!(found.as_deref(), command);
    }
}
