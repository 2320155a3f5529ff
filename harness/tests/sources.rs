//! What the sources must not contain.

#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use gateproof::dialects::Dialect;
use gateproof::suite::Suite;
use regex::Regex;

/// What still names a kind, and why.
const LEFT: [(&str, &str, &str); 2] = [
    ("scenario/parse/build.rs", "gateways", "a field of scenario manifests"),
    ("scenario/parse/shape.rs", "gateways", "a field of scenario manifests"),
];

/// The sources in a folder, without those of tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") && name != "fixtures.rs" {
            found.push(path);
        }
    }
}

/// What is no test.
fn code(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap()
}

/// The string literals of a source, without its tests and comments.
fn literals(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in code(text).lines().filter(|line| !line.trim_start().starts_with("//")) {
        let line = line.replace("\\\"", "\u{0}");
        found.extend(line.split('"').skip(1).step_by(2).map(|literal| literal.replace('\u{0}', "\"")));
    }
    found
}

/// Nothing names a kind, a resource, a group, a condition or a clause of a dialect. There are no adapters.
#[test]
fn dialects_are_data() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let dialects: Vec<_> = Suite::names().map(|name| Suite::named(&name).unwrap().unwrap().dialect).collect();
    assert!(dialects.len() > 2);
    let clause = Regex::new("^(([A-Z][A-Z0-9]+-)+[0-9]+|(blind|upstream):[A-Za-z].*)$").unwrap();
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 100, "the sources are read: {}", files.len());
    let mut named = Vec::new();
    for file in files {
        let place = file.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        for literal in literals(&std::fs::read_to_string(&file).unwrap()) {
            let names_it = |of: &Dialect| {
                of.kinds().any(|kind| kind.kind == literal || kind.plural == literal)
                    || of.groups().iter().any(|group| literal.contains(group.as_str()))
                    || of.conditions().contains(&literal)
            };
            let is_suffix = literal == "Route" || literal == "Policy";
            if is_suffix || clause.is_match(&literal) || dialects.iter().any(|dialect| names_it(dialect)) {
                named.push((place.clone(), literal));
            }
        }
    }
    named.sort();
    named.dedup();
    let left: Vec<_> = LEFT.iter().map(|(file, literal, _)| ((*file).to_owned(), (*literal).to_owned())).collect();
    assert_eq!(named, left);
}

/// Which modules each one may use: arrows point down.
const ARROWS: [(&str, &[&str]); 11] = [
    ("log", &[]),
    ("dialects", &[]),
    ("scenario", &["dialects", "log"]),
    ("judge", &["dialects", "log", "scenario"]),
    ("cluster", &["dialects", "log", "scenario"]),
    ("probe", &["cluster", "log"]),
    ("run", &["cluster", "dialects", "judge", "log", "probe", "scenario"]),
    ("suite", &["cluster", "dialects", "judge", "run", "scenario"]),
    ("kill", &["dialects", "judge", "log", "run", "scenario", "suite"]),
    ("diagnosis", &["dialects", "kill", "run", "scenario"]),
    ("cli", &["cluster", "diagnosis", "dialects", "judge", "kill", "log", "probe", "run", "scenario", "suite"]),
];

#[test]
fn arrows_point_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    // What fuzz targets need stands beside the layers.
    let folders = std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap()).filter(|entry| entry.path().is_dir());
    let folders = folders.map(|entry| entry.file_name().into_string().unwrap()).filter(|name| name != "fuzzing");
    wrong.extend(
        folders
            .filter(|name| ARROWS.iter().all(|(module, _)| module != name))
            .map(|name| format!("{name} has no place")),
    );
    for (module, below) in ARROWS {
        let mut files = Vec::new();
        sources(&root.join(module), &mut files);
        assert!(!files.is_empty(), "{module} is there");
        files.extend(Some(root.join(format!("{module}.rs"))).filter(|file| file.exists()));
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            for other in ARROWS.iter().map(|(other, _)| *other) {
                if other != module && !below.contains(&other) && code(&text).contains(&format!("crate::{other}::")) {
                    wrong.push(format!("{} uses {other}", file.display()));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Folders in which no file needs one that needs it, by whatever way round: all of the harness, and these. The file of a folder itself
/// is above all others in it.
const WITHOUT_CIRCLES: [&str; 4] =
    ["../testbed/apiserver/src", "../testbed/contour/src", "../testbed/kuadrant/src", "../testbed/echo/src"];

/// Which files there are for a folder itself.
const OF_A_FOLDER: [&str; 2] = ["mod", "lib"];

/// What a `use` takes from somewhere, one thing or several in braces.
const TAKEN: &str = r"(\w+(?: as \w+)?|\{[^}]*\})";

/// The single ones of what is taken: what each is, and what it is called where it is used.
fn single(taken: &str) -> impl Iterator<Item = (&str, &str)> {
    let end = |name: char| name == ':' || name == ' ';
    let names = taken.trim_matches(['{', '}']).split(',').map(str::trim);
    names.map(move |name| (name.split(end).next().unwrap_or_default(), name.rsplit(end).next().unwrap_or_default()))
}

/// The lines of a source that are no comments, without its tests.
fn lines(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    code(&text).lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// What the file of a folder takes from the modules in it, by name: whoever names that by way of the folder needs the module.
fn handed_on(folder: &Path, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    static FROM: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(&format!(r"use (?:self::)?(\w+)::(?:\w+::)*{TAKEN}")).unwrap());
    let within = OF_A_FOLDER.map(|name| folder.join(format!("{name}.rs")));
    let files = within.into_iter().chain([folder.with_extension("rs")]).filter(|file| file.exists());
    let text = files.map(|file| lines(&file)).collect::<Vec<_>>().join("\n");
    let mut found = BTreeMap::new();
    for taken in FROM.captures_iter(&text).filter(|taken| modules.contains(&taken[1])) {
        let names = single(taken.get(2).unwrap().as_str()).map(|(_, name)| (name.to_owned(), taken[1].to_owned()));
        found.extend(names.filter(|(name, _)| !modules.contains(name)));
    }
    found
}

/// The modules of a folder, each with those beside it that it names. What lies in a module's own folder is of that module.
fn named(folder: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut files = Vec::new();
    sources(folder, &mut files);
    let of = |file: &Path| {
        let parts: Vec<_> =
            file.strip_prefix(folder).unwrap().iter().map(|part| part.to_str().unwrap().to_owned()).collect();
        (parts[0].trim_end_matches(".rs").to_owned(), parts.len() - usize::from(parts[parts.len() - 1] == "mod.rs"))
    };
    files.retain(|file| !OF_A_FOLDER.contains(&&*of(file).0));
    let mut found: BTreeMap<String, BTreeSet<String>> =
        files.iter().map(|file| (of(file).0, BTreeSet::new())).collect();
    let modules: BTreeSet<String> = found.keys().cloned().collect();
    let handed_on = handed_on(folder, &modules);
    let path: Vec<_> = folder.iter().map(|part| part.to_str().unwrap()).collect();
    let src = path.iter().rposition(|part| *part == "src").unwrap();
    let from_above = std::iter::once("crate").chain(path[src + 1..].iter().copied()).collect::<Vec<_>>().join("::");
    let mut ways = BTreeMap::new();
    for file in files {
        let (module, depth) = of(&file);
        let way = format!(r"(?:(?:^|[^:\w])(?:super::){{{depth}}}|{from_above}::){TAKEN}");
        let way = ways.entry(depth).or_insert_with(|| Regex::new(&way).unwrap());
        let text = lines(&file);
        let names = way.captures_iter(&text).flat_map(|taken| single(taken.get(1).unwrap().as_str()));
        let beside = names.map(|(name, _)| handed_on.get(name).map_or(name, String::as_str));
        let beside = beside.filter(|name| *name != module && modules.contains(*name)).map(str::to_owned);
        found.get_mut(&module).unwrap().extend(beside);
    }
    found
}

/// A folder and those within it, without those of tests.
fn folders(folder: PathBuf, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().unwrap() != "tests" {
            folders(path, found);
        }
    }
    found.push(folder);
}

#[test]
fn files_of_a_folder_need_each_other_one_way_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    folders(root.join("src"), &mut all);
    assert!(all.len() > 25, "the folders are read: {all:?}");
    all.extend(WITHOUT_CIRCLES.map(|folder| root.join(folder)));
    let mut read = 0;
    for folder in all {
        let mut left = named(&folder);
        read += left.len();
        // Whoever needs nobody that is left is in no circle.
        while let Some(free) = left.iter().find(|(_, names)| names.iter().all(|name| !left.contains_key(name))) {
            let free = free.0.clone();
            left.remove(&free);
        }
        assert_eq!(left, BTreeMap::new(), "circles among the files of {}, or what leads to some", folder.display());
    }
    assert!(read > 300, "the sources are read: {read}");
}

/// What a file needs is read where it stands, and of a module's own folder as well.
#[test]
fn what_a_file_needs_is_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let kill = named(&root.join("kill"));
    assert!(kill["drive"].contains("matrix") && kill["pin"].is_empty() && !kill["matrix"].contains("drive"));
    let cluster = named(&root.join("cluster"));
    assert!(cluster["clean"].contains("undo") && cluster["undo"].contains("leftover"));
    assert!(cluster["backends"].contains("api"), "{:?}", cluster["backends"]);
    let parse = named(&root.join("scenario").join("parse"));
    assert!(parse["build"].contains("read") && parse["shape"].is_empty(), "{:?}", parse["build"]);
    let apiserver = named(&root.join("../../testbed/apiserver/src"));
    assert!(apiserver["error"].contains("resource") && !apiserver["resource"].contains("error"));
}

/// What the file of a folder hands on is of the module that it comes from.
#[test]
fn who_names_what_is_handed_on_needs_its_module() {
    let dialects = named(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join("dialects"));
    assert!(dialects["foreign"].contains("data") && dialects["entries"].contains("protocol"), "{dialects:?}");
}
