//! The page about profiles holds the tables that scenarios are counted by.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fmt::Write;

use gateproof_suites::{NEWEST_MINOR, features, profiles};

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
