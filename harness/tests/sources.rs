//! What the sources must not contain.

#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use gateproof::dialects::Dialect;
use gateproof::suite::Suite;
use regex::Regex;
use rstest::rstest;

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
            let paths = named_above(&lines(&file));
            for other in ARROWS.iter().map(|(other, _)| *other) {
                let names = |path: &String| path.starts_with(&format!("crate::{other}::"));
                if other != module && !below.contains(&other) && paths.iter().any(names) {
                    wrong.push(format!("{} uses {other}", file.display()));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Which files there are for a folder itself.
const OF_A_FOLDER: [&str; 2] = ["mod", "lib"];

/// The lines of a source that are no comments, without its tests.
fn lines(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    code(&text).lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The text in braces that a text begins with, without them.
fn braced(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|letter| {
        depth += match letter {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        depth == 0
    });
    &text[1..end.unwrap_or(text.len())]
}

/// The paths that begin at `prefix` and go on as the text does, one for each that is named in braces, with what it is called here.
fn paths_from(prefix: &str, text: &str, found: &mut Vec<String>) {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_alphanumeric() && !"_:".contains(letter)).unwrap_or(text.len());
    let (path, rest) = text.split_at(end);
    let prefix = format!("{prefix}{path}");
    if !rest.starts_with('{') {
        let name =
            rest.strip_prefix(" as ").map(|rest| rest.split(|letter: char| !letter.is_alphanumeric()).next().unwrap());
        found.extend((!path.is_empty()).then(|| name.map_or(prefix.clone(), |name| format!("{prefix}::{name}"))));
        return;
    }
    let mut depth = 0;
    let members = braced(rest).split(|letter| {
        depth += match letter {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        letter == ',' && depth == 0
    });
    members.for_each(|member| paths_from(&prefix, member, found));
}

/// Every path of a source that begins in this way.
fn paths(text: &str, begin: &Regex) -> Vec<String> {
    let mut found = Vec::new();
    for begun in begin.find_iter(text) {
        let from = begun.as_str().trim_start_matches(|letter: char| !letter.is_alphanumeric());
        paths_from(from.strip_prefix("use ").unwrap_or(from), &text[begun.end()..], &mut found);
    }
    found
}

/// What a file names of its crate and of what lies above it.
fn named_above(text: &str) -> Vec<String> {
    static ABOVE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?:^|[^:\w])(?:super|crate)::").unwrap());
    paths(text, &ABOVE)
}

/// What the file of a folder takes from the modules in it, by name: whoever names that by way of the folder needs the module.
fn handed_on(folder: &Path, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    static TAKEN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\buse (?:self::)?").unwrap());
    let within = OF_A_FOLDER.map(|name| folder.join(format!("{name}.rs")));
    let files = within.into_iter().chain([folder.with_extension("rs")]).filter(|file| file.exists());
    let text = files.map(|file| lines(&file)).collect::<Vec<_>>().join("\n");
    let taken = paths(&text, &TAKEN).into_iter().filter_map(|path| {
        let path = path.strip_prefix("self::").unwrap_or(&path);
        let (module, rest) = path.split_once("::").filter(|(module, _)| modules.contains(*module))?;
        let name = rest.rsplit("::").next().unwrap();
        (!modules.contains(name)).then(|| (name.to_owned(), module.to_owned()))
    });
    taken.collect()
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
    let from_above = std::iter::once("crate").chain(path[src + 1..].iter().copied()).map(|part| format!("{part}::"));
    let from_above = from_above.collect::<String>();
    for file in files {
        let (module, depth) = of(&file);
        let ways = [from_above.clone(), "super::".repeat(depth)];
        let paths = named_above(&lines(&file));
        let below = paths.iter().filter_map(|path| ways.iter().find_map(|way| path.strip_prefix(way.as_str())));
        let names = below.map(|rest| rest.split("::").next().unwrap());
        let beside = names.map(|name| handed_on.get(name).map_or(name, String::as_str));
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

/// In no folder of any package needs a file one that needs it, by whatever way round. The file of a folder itself is above all others
/// in it.
#[test]
fn files_of_a_folder_need_each_other_one_way_only() {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all = Vec::new();
    let packages = ["harness", "reports", "suites", "yaml"].map(|name| above.join(name)).into_iter();
    let testbed = std::fs::read_dir(above.join("testbed")).unwrap().map(|entry| entry.unwrap().path());
    for package in packages.chain(testbed).filter(|package| package.join("Cargo.toml").exists()) {
        folders(package.join("src"), &mut all);
    }
    assert!(all.len() > 90, "the folders are read: {all:?}");
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
    assert!(read > 900, "the sources are read: {read}");
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
    // One list within another, in a `use` of what lies above.
    let reconcile = named(&root.join("../../testbed/controllers/src/reconcile"));
    assert!(reconcile["listener_set"].contains("gateway") && reconcile["listener_set"].contains("verdict"));
}

#[rstest]
#[case("use super::one;", &["super::one"])]
#[case("use super::{one, two::{Three, four as five}, six};", &["super::one", "super::two::Three", "super::two::four::five", "super::six"])]
#[case("    crate::one::two(super::super::three::FOUR, other::super_name);", &["crate::one::two", "super::super::three::FOUR"])]
#[case("use crate::{\n    one::{self, Two},\n    three,\n};", &["crate::one::self", "crate::one::Two", "crate::three"])]
fn paths_are_read(#[case] text: &str, #[case] expected: &[&str]) {
    assert_eq!(named_above(text), expected);
}

/// What the file of a folder hands on is of the module that it comes from.
#[test]
fn who_names_what_is_handed_on_needs_its_module() {
    let dialects = named(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join("dialects"));
    assert!(dialects["foreign"].contains("data") && dialects["entries"].contains("protocol"), "{dialects:?}");
}
