//! Files and folders that are watched: that something of them changed. What it was finds out whoever reads them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf, absolute};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind};
use notify::{Config, ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

use crate::cluster::clock;
use crate::scenario::load;

/// How long nothing has to change until a change counts as over: editors and checkouts change several things at once.
const QUIET: Duration = Duration::from_millis(100);
/// When it counts as over even if something goes on changing, such as folders of a build.
const LONGEST: Duration = Duration::from_secs(2);

/// Watches until it is dropped.
pub(super) struct Files {
    watcher: RecommendedWatcher,
    /// What was asked for.
    paths: Vec<PathBuf>,
    /// What is watched for that, and how.
    watched: BTreeMap<PathBuf, RecursiveMode>,
    heard: Arc<Heard>,
}

/// What the watcher has heard.
#[derive(Default)]
struct Heard {
    something: Notify,
    /// Whether what is watched may be another one by now, of which nothing would be heard.
    replaced: AtomicBool,
    trouble: Mutex<Option<String>>,
    places: Mutex<Places>,
}

/// Where paths lead to at the moment. All of it is without links, as the watcher names it.
#[derive(Debug, Default)]
struct Places {
    /// Folders whose manifests count, at any depth.
    folders: BTreeSet<PathBuf>,
    /// What counts by its name: what was asked for, what links lead to, and of what is not there the first part that is missing.
    names: BTreeSet<PathBuf>,
}

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Matter {
    /// Nothing that counts.
    Nothing,
    /// What is read.
    Content,
    /// What is watched.
    Place,
}

impl Files {
    /// Watches these from now on: folders at any depth, and files under their names, whichever file that is. What is not there is watched
    /// for.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub(super) fn watch(paths: &[PathBuf]) -> notify::Result<Files> {
        let paths = paths.iter().map(absolute).collect::<Result<_, _>>().map_err(notify::Error::io)?;
        let heard = Arc::<Heard>::default();
        // What links lead to is watched as what it is, so that each thing has one name.
        let config = Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(hears(Arc::clone(&heard)), config)?;
        let mut files = Files { watcher, paths, watched: BTreeMap::new(), heard };
        files.follow()?;
        Ok(files)
    }

    /// Makes sure that what is read from now on is watched. What stands in the way of it.
    pub(super) fn renew(&mut self) -> Option<String> {
        if self.heard.replaced.swap(false, Ordering::AcqRel) {
            for path in std::mem::take(&mut self.watched).into_keys() {
                // Of one that is gone the watcher may have heard already.
                let _ = self.watcher.unwatch(&path);
            }
        }
        match self.follow() {
            // Gone since it was looked for: so what is there instead is looked for once more.
            Err(error) if is_gone(&error) => {
                self.heard.replaced.store(true, Ordering::Release);
                self.heard.something.notify_one();
            }
            Err(error) => self.heard.fails(&error),
            Ok(()) => {}
        }
        self.heard.trouble.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Watches what the paths lead to now, and nothing else.
    fn follow(&mut self) -> notify::Result<()> {
        let places = Places::of(&self.paths);
        let wanted = places.wanted();
        *self.heard.places.lock().unwrap_or_else(PoisonError::into_inner) = places;
        let stale: Vec<PathBuf> = self
            .watched
            .iter()
            .filter(|(path, how)| wanted.get(*path) != Some(how))
            .map(|(path, _)| path.clone())
            .collect();
        for path in stale {
            let _ = self.watcher.unwatch(&path);
            self.watched.remove(&path);
        }
        let mut outcome = Ok(());
        for (path, how) in wanted {
            if !self.watched.contains_key(&path) {
                match self.watcher.watch(&path, how) {
                    Ok(()) => drop(self.watched.insert(path, how)),
                    Err(error) => outcome = Err(error),
                }
            }
        }
        outcome
    }

    /// Returns once something has changed since the last time, and nothing more for a moment.
    pub(super) async fn changed(&self) {
        self.heard.something.notified().await;
        let longest = clock::now() + LONGEST;
        let quiet = || longest.min(clock::now() + QUIET);
        while clock::now() < longest && tokio::time::timeout_at(quiet(), self.heard.something.notified()).await.is_ok()
        {
        }
    }
}

impl Heard {
    fn fails(&self, error: &notify::Error) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
    }
}

fn is_gone(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

/// Takes what the watcher hears.
fn hears(heard: Arc<Heard>) -> impl FnMut(notify::Result<Event>) {
    move |event| {
        match event {
            Ok(event) => match heard.places.lock().unwrap_or_else(PoisonError::into_inner).matter(&event) {
                Matter::Nothing => return,
                Matter::Content => {}
                Matter::Place => heard.replaced.store(true, Ordering::Release),
            },
            Err(error) => heard.fails(&error),
        }
        heard.something.notify_one();
    }
}

impl Places {
    fn of(paths: &[PathBuf]) -> Places {
        let mut places = Places::default();
        paths.iter().for_each(|path| places.add(path));
        places
    }

    /// A path that counts, which may be a link or not be there.
    fn add(&mut self, path: &Path) {
        let above = path.ancestors().skip(1).find_map(|at| Some((at, at.canonicalize().ok()?)));
        if let Some((at, above)) = above
            && let Some(next) = path.strip_prefix(at).ok().and_then(|rest| rest.components().next())
        {
            self.names.insert(above.join(next));
        }
        let Ok(real) = path.canonicalize() else { return };
        self.names.insert(real.clone());
        if real.is_dir() && self.folders.insert(real.clone()) {
            self.links_in(&real);
        }
    }

    /// What the links of a folder lead to, at any depth.
    fn links_in(&mut self, folder: &Path) {
        // Of what cannot be read the round says so.
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for entry in entries.flatten().filter(|entry| !load::is_hidden(&entry.file_name())) {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() && (load::is_manifest(&path) || path.is_dir()) => self.add(&path),
                Ok(kind) if kind.is_dir() => self.links_in(&path),
                _ => {}
            }
        }
    }

    /// What has to be watched: the folders, and what is around the rest, in which it comes and goes.
    fn wanted(&self) -> BTreeMap<PathBuf, RecursiveMode> {
        let is_within = |path: &Path| self.folders.iter().any(|folder| path != folder && path.starts_with(folder));
        let folders = self.folders.iter().filter(|folder| !is_within(folder));
        let around = self
            .names
            .iter()
            .filter_map(|name| name.parent())
            .filter(|around| !is_within(around) && !self.folders.contains(*around));
        let around = around.map(|path| (path.to_owned(), RecursiveMode::NonRecursive));
        around.chain(folders.map(|path| (path.clone(), RecursiveMode::Recursive))).collect()
    }

    fn matter(&self, event: &Event) -> Matter {
        if event.need_rescan() {
            return Matter::Place;
        }
        let moves = match event.kind {
            // Whoever reads a file opens it, as this program does.
            EventKind::Access(how) if how != AccessKind::Close(AccessMode::Write) => return Matter::Nothing,
            EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)) => false,
            _ => true,
        };
        event.paths.iter().map(|path| self.matter_of(path, moves, event.kind)).max().unwrap_or(Matter::Nothing)
    }

    fn matter_of(&self, path: &Path, moves: bool, kind: EventKind) -> Matter {
        if moves && self.names.iter().any(|name| name.starts_with(path)) {
            return Matter::Place;
        }
        if self.names.contains(path) {
            return Matter::Content;
        }
        if !self.folders.iter().any(|folder| path.starts_with(folder)) {
            return Matter::Nothing;
        }
        // A folder that comes or goes may have manifests, and what is renamed or gone may have been one. Other files are not read.
        let may_hold = match kind {
            EventKind::Create(CreateKind::Folder) => true,
            EventKind::Create(_) => path.is_dir(),
            _ => moves,
        };
        if load::is_manifest(path) || may_hold { Matter::Content } else { Matter::Nothing }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use std::os::unix::fs::symlink;

    use notify::event::{DataChange, Flag, MetadataKind, RemoveKind, RenameMode};
    use rstest::rstest;
    use tempfile::tempdir;

    use super::*;

    /// Nothing here may take longer.
    const LIMIT: Duration = Duration::from_secs(20);

    const WRITTEN: EventKind = EventKind::Access(AccessKind::Close(AccessMode::Write));
    const DATA: EventKind = EventKind::Modify(ModifyKind::Data(DataChange::Any));
    const RENAMED: EventKind = EventKind::Modify(ModifyKind::Name(RenameMode::To));
    const FOLDER: EventKind = EventKind::Create(CreateKind::Folder);
    const FILE: EventKind = EventKind::Create(CreateKind::File);
    const GONE: EventKind = EventKind::Remove(RemoveKind::Folder);

    #[rstest]
    #[case::written(WRITTEN, "/d/e/a.yaml", Matter::Content)]
    #[case::data(DATA, "/d/a.yaml", Matter::Content)]
    #[case::new_file(FILE, "/d/a.yaml", Matter::Content)]
    #[case::renamed(RENAMED, "/d/..data", Matter::Content)]
    #[case::new_folder(FOLDER, "/d/e", Matter::Content)]
    #[case::folder_gone(GONE, "/d/e", Matter::Content)]
    #[case::folder(FOLDER, "/d", Matter::Place)]
    #[case::file(FILE, "/f/known.yaml", Matter::Place)]
    #[case::file_without_an_ending(WRITTEN, "/f/patch", Matter::Content)]
    #[case::above_a_file(GONE, "/f", Matter::Place)]
    #[case::attributes_above_a_file(EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)), "/f", Matter::Nothing)]
    #[case::log(DATA, "/d/run.log", Matter::Nothing)]
    #[case::new_log(FILE, "/d/target/a.o", Matter::Nothing)]
    #[case::read(EventKind::Access(AccessKind::Open(AccessMode::Any)), "/d/a.yaml", Matter::Nothing)]
    #[case::closed(EventKind::Access(AccessKind::Close(AccessMode::Read)), "/d/a.yaml", Matter::Nothing)]
    #[case::beside_a_folder(FOLDER, "/da", Matter::Nothing)]
    #[case::beside_a_file(FILE, "/f/other.yaml", Matter::Nothing)]
    fn what_matters_is_ours_and_was_written(#[case] kind: EventKind, #[case] path: &str, #[case] expected: Matter) {
        let places = Places {
            folders: BTreeSet::from(["/d".into()]),
            names: ["/d", "/f/known.yaml", "/f/patch"].map(PathBuf::from).into(),
        };
        assert_eq!(places.matter(&Event::new(kind).add_path(path.into())), expected);
        // Whoever has missed something does not know whose it was.
        let missed = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert_eq!(places.matter(&missed), Matter::Place);
    }

    /// In a directory with the folders `a/b/c` and `shared`, the links `a/b/link.yaml` and `a/b/link` into the latter, and one upwards.
    #[rstest]
    #[case::folder(&["shared"], &[". alone", "shared"])]
    #[case::file(&["shared/x.yaml"], &["shared alone"])]
    #[case::file_within_a_folder(&["shared", "shared/deep/y.yaml"], &[". alone", "shared"])]
    #[case::folder_within_a_folder(&["a/b/c", "a/b/c/d"], &["a/b alone", "a/b/c"])]
    #[case::missing(&["a/x/y/z.yaml"], &["a alone"])]
    #[case::links(&["a/b"], &["a alone", "a/b", "shared alone", "shared/deep"])]
    #[case::link(&["a/b/link.yaml"], &["a/b alone", "shared alone"])]
    #[case::loop_of_links(&["a/loop"], &[". alone", "a", "shared alone", "shared/deep"])]
    fn what_is_around_is_watched_once(#[case] paths: &[&str], #[case] expected: &[&str]) {
        let dir = tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b/c/d")).unwrap();
        fs::create_dir_all(root.join("shared/deep")).unwrap();
        fs::write(root.join("shared/x.yaml"), "x").unwrap();
        symlink("../../shared/x.yaml", root.join("a/b/link.yaml")).unwrap();
        symlink("../../shared/deep", root.join("a/b/link")).unwrap();
        symlink("../a", root.join("a/loop")).unwrap();
        let paths: Vec<PathBuf> = paths.iter().map(|path| root.join(path)).collect();
        let wanted = Places::of(&paths).wanted();
        let found: Vec<String> = wanted
            .iter()
            .map(|(path, how)| {
                let path = path.strip_prefix(&root).unwrap().to_str().unwrap();
                let alone = if *how == RecursiveMode::NonRecursive { " alone" } else { "" };
                format!("{}{alone}", if path.is_empty() { "." } else { path })
            })
            .collect();
        assert_eq!(found, expected);
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

    /// As a checkout of a branch without it, and back.
    #[rstest]
    #[case::file("sub/known.yaml")]
    #[case::file_in_a_folder_more("sub/more/known.yaml")]
    #[tokio::test]
    async fn what_is_below_a_folder_that_is_replaced_is_watched_on(#[case] name: &str) {
        let dir = tempdir().unwrap();
        let file = dir.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "before").unwrap();
        let mut files = Files::watch(std::slice::from_ref(&file)).unwrap();
        for _ in 0..2 {
            fs::remove_dir_all(dir.path().join("sub")).unwrap();
            heard(&files).await;
            assert_eq!(files.renew(), None);
            // However much is still to come of it.
            while tokio::time::timeout(QUIET * 2, files.changed()).await.is_ok() {
                assert_eq!(files.renew(), None);
            }
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            heard(&files).await;
            assert_eq!(files.renew(), None);
            while tokio::time::timeout(QUIET * 2, files.changed()).await.is_ok() {
                assert_eq!(files.renew(), None);
            }
            fs::write(&file, "after").unwrap();
            heard(&files).await;
            assert_eq!(files.renew(), None);
        }
    }

    #[tokio::test]
    async fn what_links_lead_to_is_watched() {
        let dir = tempdir().unwrap();
        let (folder, shared) = (dir.path().join("scenarios"), dir.path().join("shared"));
        fs::create_dir(&folder).unwrap();
        fs::create_dir_all(shared.join("more")).unwrap();
        fs::write(shared.join("a.yaml"), "a").unwrap();
        symlink("../shared/a.yaml", folder.join("a.yaml")).unwrap();
        let mut files = Files::watch(std::slice::from_ref(&folder)).unwrap();
        fs::write(shared.join("a.yaml"), "other").unwrap();
        heard(&files).await;
        // A link that is new.
        symlink("../shared/more", folder.join("more")).unwrap();
        heard(&files).await;
        assert_eq!(files.renew(), None);
        fs::write(shared.join("more/b.yaml"), "b").unwrap();
        heard(&files).await;
    }

    /// A build and a log beside the manifests, both without end.
    #[tokio::test]
    async fn who_writes_all_the_time_holds_nothing_up() {
        let dir = tempdir().unwrap();
        let files = Files::watch(&[dir.path().to_owned()]).unwrap();
        let (ended, busy) = (Arc::new(AtomicBool::new(false)), dir.path().to_owned());
        let ends = Arc::clone(&ended);
        let writer = std::thread::spawn(move || {
            while !ends.load(Ordering::Acquire) {
                fs::write(busy.join("run.log"), "line").unwrap();
                fs::create_dir_all(busy.join("target/a")).unwrap();
                fs::remove_dir_all(busy.join("target")).unwrap();
            }
        });
        fs::write(dir.path().join("a.yaml"), "a").unwrap();
        let heard = tokio::time::timeout(LIMIT, files.changed()).await;
        ended.store(true, Ordering::Release);
        writer.join().unwrap();
        heard.expect("a change is heard of beside others");
    }
}
