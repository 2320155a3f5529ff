//! Files and folders that are watched: that something of them changed. What it was finds out whoever reads them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf, absolute};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

use crate::cluster::clock;

/// How long nothing has to change until a change counts as over: editors and checkouts change several things at once.
const QUIET: Duration = Duration::from_millis(100);

/// Watches until it is dropped.
pub(super) struct Files {
    watcher: RecommendedWatcher,
    /// What is watched at any depth.
    folders: Vec<PathBuf>,
    heard: Arc<Heard>,
}

/// What the watcher has heard.
#[derive(Default)]
struct Heard {
    something: Notify,
    /// Whether a folder may be another one by now, of which nothing would be heard.
    replaced: AtomicBool,
    trouble: Mutex<Option<String>>,
}

impl Files {
    /// Watches these from now on: folders at any depth, and files under their names, whichever file that is. What is not there is watched
    /// for.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub(super) fn watch(paths: &[PathBuf]) -> notify::Result<Files> {
        let paths: Vec<PathBuf> = paths.iter().map(absolute).collect::<Result<_, _>>().map_err(notify::Error::io)?;
        let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = paths.into_iter().partition(|path| path.is_dir());
        let heard = Arc::<Heard>::default();
        let mut around = around(&folders, &files);
        let hears = hears(Arc::clone(&heard), folders.clone(), files);
        let mut watcher = notify::recommended_watcher(hears)?;
        around.retain(|folder| folder.is_dir());
        around.iter().try_for_each(|folder| watcher.watch(folder, RecursiveMode::NonRecursive))?;
        folders.iter().try_for_each(|folder| watcher.watch(folder, RecursiveMode::Recursive))?;
        Ok(Files { watcher, folders, heard })
    }

    /// Makes sure that what is read from now on is watched. What stands in the way of it.
    pub(super) fn renew(&mut self) -> Option<String> {
        if self.heard.replaced.swap(false, Ordering::AcqRel) {
            for folder in self.folders.iter().filter(|folder| folder.is_dir()) {
                // Of one that is gone the watcher may have heard already.
                let _ = self.watcher.unwatch(folder);
                if let Err(error) = self.watcher.watch(folder, RecursiveMode::Recursive) {
                    self.heard.fails(&error);
                }
            }
        }
        self.heard.trouble.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns once something has changed since the last time, and nothing more for a moment.
    pub(super) async fn changed(&self) {
        self.heard.something.notified().await;
        while tokio::time::timeout_at(clock::now() + QUIET, self.heard.something.notified()).await.is_ok() {}
    }
}

impl Heard {
    fn fails(&self, error: &notify::Error) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
    }
}

/// The folders above these, in which they come and go, but for those that are watched anyway.
fn around(folders: &[PathBuf], files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let above = folders.iter().chain(files).filter_map(|path| path.parent()).map(Path::to_owned);
    above.filter(|above| !folders.iter().any(|folder| above.starts_with(folder))).collect()
}

/// Takes what the watcher hears.
fn hears(heard: Arc<Heard>, folders: Vec<PathBuf>, files: Vec<PathBuf>) -> impl FnMut(notify::Result<Event>) {
    move |event| {
        match event {
            Ok(event) if !matters(&event, &folders, &files) => return,
            Ok(event) => {
                if event.paths.iter().any(|path| folders.contains(path)) {
                    heard.replaced.store(true, Ordering::Release);
                }
            }
            Err(error) => heard.fails(&error),
        }
        heard.something.notify_one();
    }
}

/// Whether it may be about the content of these.
fn matters(event: &Event, folders: &[PathBuf], files: &[PathBuf]) -> bool {
    if event.need_rescan() {
        return true;
    }
    // Whoever reads a file opens it, as this program does.
    if matches!(event.kind, EventKind::Access(how) if how != AccessKind::Close(AccessMode::Write)) {
        return false;
    }
    let is_ours = |path: &PathBuf| files.contains(path) || folders.iter().any(|folder| path.starts_with(folder));
    event.paths.iter().any(is_ours)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use notify::event::{CreateKind, DataChange, Flag, ModifyKind, RenameMode};
    use rstest::rstest;
    use tempfile::tempdir;

    use super::*;

    /// Nothing here may take longer.
    const LIMIT: Duration = Duration::from_secs(20);

    #[rstest]
    #[case::written(EventKind::Access(AccessKind::Close(AccessMode::Write)), "/d/e/a.yaml", true)]
    #[case::data(EventKind::Modify(ModifyKind::Data(DataChange::Any)), "/d/a.yaml", true)]
    #[case::renamed(EventKind::Modify(ModifyKind::Name(RenameMode::To)), "/d/..data", true)]
    #[case::folder(EventKind::Create(CreateKind::Folder), "/d", true)]
    #[case::file(EventKind::Create(CreateKind::File), "/f/known.yaml", true)]
    #[case::read(EventKind::Access(AccessKind::Open(AccessMode::Any)), "/d/a.yaml", false)]
    #[case::closed(EventKind::Access(AccessKind::Close(AccessMode::Read)), "/d/a.yaml", false)]
    #[case::beside_a_folder(EventKind::Create(CreateKind::Folder), "/da", false)]
    #[case::beside_a_file(EventKind::Create(CreateKind::File), "/f/other.yaml", false)]
    fn what_matters_is_ours_and_was_written(#[case] kind: EventKind, #[case] path: &str, #[case] expected: bool) {
        let (folders, files) = (["/d".into()], ["/f/known.yaml".into()]);
        assert_eq!(matters(&Event::new(kind).add_path(path.into()), &folders, &files), expected);
        // Whoever has missed something does not know whose it was.
        let missed = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert!(matters(&missed, &folders, &files));
    }

    #[rstest]
    #[case::folder(&["/a/b"], &[], &["/a"])]
    #[case::file(&[], &["/a/b.yaml"], &["/a"])]
    #[case::file_within_a_folder(&["/a/b"], &["/a/b/c/d.yaml"], &["/a"])]
    #[case::folder_within_a_folder(&["/a/b", "/a/b/c"], &[], &["/a"])]
    #[case::root(&["/"], &["/a/b"], &[])]
    fn what_is_around_is_watched_once(#[case] folders: &[&str], #[case] files: &[&str], #[case] expected: &[&str]) {
        let paths = |texts: &[&str]| texts.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(around(&paths(folders), &paths(files)).into_iter().collect::<Vec<_>>(), paths(expected));
    }

    async fn heard(files: &Files) {
        tokio::time::timeout(LIMIT, files.changed()).await.expect("a change is heard of");
    }

    #[rstest]
    #[case::written(|dir: &Path| fs::write(dir.join("a.yaml"), "other").unwrap())]
    #[case::twice(|dir: &Path| (0..2).for_each(|n| fs::write(dir.join("a.yaml"), format!("other {n}")).unwrap()))]
    #[case::put_over_it(|dir: &Path| {
        fs::write(dir.join("a.yaml~"), "other").unwrap();
        fs::rename(dir.join("a.yaml~"), dir.join("a.yaml")).unwrap();
    })]
    #[case::in_a_folder_that_is_new(|dir: &Path| {
        fs::create_dir_all(dir.join("b/c")).unwrap();
        fs::write(dir.join("b/c/d.yaml"), "new").unwrap();
    })]
    #[case::deleted(|dir: &Path| fs::remove_file(dir.join("a.yaml")).unwrap())]
    #[tokio::test]
    async fn changes_are_heard_of(#[case] change: fn(&Path)) {
        let dir = tempdir().unwrap();
        fs::write(dir.path().join("a.yaml"), "a").unwrap();
        let files = Files::watch(&[dir.path().to_owned()]).unwrap();
        change(dir.path());
        heard(&files).await;
        fs::write(dir.path().join("z.yaml"), "z").unwrap();
        heard(&files).await;
    }

    /// A file is watched under its name, whichever file has it.
    #[tokio::test]
    async fn a_file_that_is_replaced_is_watched_on() {
        let dir = tempdir().unwrap();
        let file = dir.path().join("a.yaml");
        let files = Files::watch(std::slice::from_ref(&file)).unwrap();
        for text in ["first", "second", "third"] {
            fs::write(dir.path().join("new"), text).unwrap();
            fs::rename(dir.path().join("new"), &file).unwrap();
            heard(&files).await;
        }
    }

    /// As a checkout of another branch does.
    #[tokio::test]
    async fn a_folder_that_is_replaced_is_watched_on() {
        let dir = tempdir().unwrap();
        let folder = dir.path().join("scenarios");
        fs::create_dir(&folder).unwrap();
        let mut files = Files::watch(std::slice::from_ref(&folder)).unwrap();
        for _ in 0..2 {
            fs::remove_dir_all(&folder).unwrap();
            heard(&files).await;
            assert_eq!(files.renew(), None);
            fs::create_dir(&folder).unwrap();
            heard(&files).await;
            assert_eq!(files.renew(), None);
            fs::write(folder.join("a.yaml"), "a").unwrap();
            heard(&files).await;
            assert_eq!(files.renew(), None);
        }
    }
}
