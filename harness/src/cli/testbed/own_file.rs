//! The files by which a testbed is found, which go with it.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use kube::config::Kubeconfig;

use super::Failure;

/// What to do about a file that cannot be had.
const ELSEWHERE: &str = "name another file with --kubeconfig; what else is written stands beside it";

/// The one context of a testbed's kubeconfig.
const CONTEXT: &str = "gateproof";

/// A file that says how a testbed is found; it is taken away when the testbed ends. It holds secrets, so only its owner may read it.
pub(super) struct OwnFile {
    path: PathBuf,
    text: String,
}

impl OwnFile {
    /// Whether the kubeconfig of another testbed is there, which gives way with all that stands beside it.
    pub(super) fn may_take(kubeconfig: &Path) -> Result<bool, Failure> {
        let shown = kubeconfig.display();
        match std::fs::read_to_string(kubeconfig) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Failure::usage(format!("cannot tell what {shown} is: {error}"), ELSEWHERE)),
            Ok(text) if is_of_a_testbed(&text) => Ok(true),
            Ok(_) => {
                Err(Failure::usage(format!("{shown} is there already, and not a testbed's kubeconfig"), ELSEWHERE))
            }
        }
    }

    pub(super) fn write(path: PathBuf, text: String, may_take: bool) -> Result<OwnFile, Failure> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).create_new(!may_take).truncate(may_take);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let write = || {
            let mut file = options.open(&path)?;
            #[cfg(unix)]
            file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
            file.write_all(text.as_bytes())
        };
        write()
            .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display()), ELSEWHERE))?;
        Ok(OwnFile { path, text })
    }

    pub(super) fn shown(&self) -> String {
        self.path.display().to_string()
    }
}

/// Whether a kubeconfig is a testbed's and nobody else's: one context, of ours.
fn is_of_a_testbed(text: &str) -> bool {
    let contexts = |config: Kubeconfig| {
        let names: Vec<String> = config.contexts.into_iter().map(|context| context.name).collect();
        names == [CONTEXT]
    };
    Kubeconfig::from_yaml(text).is_ok_and(contexts)
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        // Another testbed may have the place by now. If somebody took the file away already, that is as good.
        if std::fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
