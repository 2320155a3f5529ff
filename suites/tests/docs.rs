//! The page about profiles holds the tables that scenarios are counted by, and the pages of dialects name scenarios that there are.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeSet;
use std::fmt::Write;

use gateproof_suites::dialects::OTHERS;
use gateproof_suites::{NEWEST_MINOR, features, manifests_of, profiles};

fn markdown() -> String {
    let mut out = String::from("| profile | about | core | extended features |\n|---|---|---|---|\n");
    for profile in profiles() {
        let core = profile.core.join(", ");
        let _ = writeln!(
            out,
            "| {} | {} | {core} | {} |",
            profile.name,
            profile.about,
            profile.extended(NEWEST_MINOR).count()
        );
    }
    let names = profiles().iter().map(|profile| profile.name.as_str()).collect::<Vec<_>>();
    let _ = writeln!(out, "\n| feature | releases | of | level | channel | {} |", names.join(" | "));
    let _ = writeln!(out, "|---|---|---|---|---|{}", "---|".repeat(names.len()));
    for feature in features() {
        let cell = |name: &&str| feature.profiles.get(*name).map_or("", |level| level.word());
        let cells = names.iter().map(cell).collect::<Vec<_>>().join(" | ");
        let (level, channel) = (feature.level.word(), feature.channel.word());
        let bound = |word: &str, of: &Option<String>| of.as_ref().map(|of| format!("{word} v{of}"));
        let former = feature.formerly.as_ref().map(|name| format!("was {name}"));
        let releases = [bound("since", &feature.since), bound("until", &feature.until), former];
        let releases = releases.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "| {} | {releases} | {} | {level} | {channel} | {cells} |", feature.name, feature.kind);
    }
    out
}

#[test]
fn the_page_holds_the_tables() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/profiles.md")).unwrap();
    assert!(page.contains(&markdown()), "docs/profiles.md lacks:\n{}", markdown());
}

#[test]
fn pages_of_dialects_name_scenarios_that_there_are() {
    let mut seen = 0;
    for dialect in OTHERS {
        let name = dialect.name;
        let manifests = manifests_of(name);
        let heads = manifests
            .iter()
            .flat_map(|(_, text)| text.lines())
            .filter_map(|line| line.strip_prefix("metadata: {name: "));
        let known: BTreeSet<&str> = heads.map(|rest| rest.split([',', '}']).next().unwrap()).collect();
        let page = format!("{}/../docs/dialects/{name}.md", env!("CARGO_MANIFEST_DIR"));
        let page = std::fs::read_to_string(page).unwrap();
        let begin = format!("{name}-");
        assert!(known.iter().all(|scenario| scenario.starts_with(&begin)), "{known:?}");
        let named: BTreeSet<&str> =
            page.split('`').filter(|word| word.starts_with(&begin) && !word.contains(' ')).collect();
        let unknown: Vec<_> = named.difference(&known).collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
        seen += named.len();
    }
    assert!(seen > 70, "{seen}");
}
