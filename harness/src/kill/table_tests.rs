#![allow(clippy::unwrap_used)]
use rstest::rstest;

use super::*;
use crate::dialects::Reference;
use crate::kill::shown_by::{BESIDES, TABLES, printed_by};
use crate::run::embedded;

const COMMAND: &str = "gateproof faults --table";

/// A table of Gateway API's faults below its first comment.
fn table(rows: &str) -> Result<Table, NoTable> {
    let text = format!("# What shows each fault. `{COMMAND}` prints this.\n{rows}");
    Table::parse(&text, COMMAND, &embedded::faults(Reference::GatewayApi))
}

fn rows(texts: &[&str]) -> Vec<Showing> {
    texts.iter().map(|text| Showing::try_from((*text).to_owned()).unwrap()).collect()
}

fn seen(texts: &[&str], open: &[&str]) -> Seen {
    Seen { rows: rows(texts), open: open.iter().map(|one| (*one).to_owned()).collect(), ..Seen::default() }
}

/// Whoever makes it anew changes no byte, so a difference is one of what was seen.
#[test]
fn what_is_committed_is_as_it_would_be_written() {
    for (reference, edition, text) in TABLES {
        let faults = embedded::faults(reference);
        let table = Table::parse(text, &printed_by(reference, edition), &faults).unwrap();
        assert_eq!(table.to_string(), text, "{reference:?} {edition:?}");
        let listed = ShownBy::parse(text).unwrap();
        for (fault, rows) in table.rows() {
            assert_eq!(listed.of(&fault), rows);
        }
    }
    let besides = Table::read(BESIDES, &embedded::faults(Reference::GatewayApi)).unwrap();
    assert_eq!(besides.to_string(), BESIDES);
}

#[rstest]
#[case::row("writes-once:\n  - a b\nwrites-once :\n  - a b\n", "line 4: `writes-once :` is neither")]
#[case::no_row(
    "writes-once:\n  - a\n",
    "line 3: `  - a` is neither a comment, nor the name of a fault with a colon, nor a row below one (`a` is not a scenario, a space and an expectation)"
)]
#[case::above(
    "  - a b\n",
    "line 2: `  - a b` is neither a comment, nor the name of a fault with a colon, nor a row below one (no fault stands above)"
)]
#[case::empty("writes-once:\n\n  - a b\n", "line 3: an empty line is neither")]
#[case::spaces("writes-once:\n- a b\n", "line 3: `- a b` is neither")]
#[case::flow("writes-once: [a b]\n", "line 2: `writes-once: [a b]` is neither")]
#[case::twice("writes-once:\n  - a b\nwrites-once:\n  - a c\n", "line 4: writes-once stands there already")]
#[case::fault("writes-thrice:\n  - a b\n", "line 2: there is no fault writes-thrice")]
fn what_is_no_table_is_refused(#[case] rows: &str, #[case] problem: &str) {
    let found = table(rows).unwrap_err().to_string();
    assert!(found.starts_with(problem), "{found}");
}

#[test]
fn a_table_is_told_from_those_of_others() {
    let aso =
        TABLES.iter().find(|(reference, edition, _)| *reference == Reference::Aso && edition.is_none()).unwrap().2;
    let faults = embedded::faults(Reference::Aso);
    let other = printed_by(Reference::Aso, Some("design"));
    assert_eq!(Table::parse(aso, &other, &faults), Err(NoTable::Another(other.clone())));
    // Without rows, too.
    assert_eq!(Table::parse("", COMMAND, &faults), Err(NoTable::Another(COMMAND.to_owned())));
}

#[test]
fn what_holds_stays_where_it_is_with_what_is_said_of_it() {
    let before = "\
ignores-reference-grants:
  # First, though it is not the first in the alphabet.
  - z steps[1].probe
  # Goes with its row.
  - a steps[1].probe
  - could-not-tell steps[1].probe
# About the next.
writes-once:
  - b steps[2].probe
# The end.
";
    let mut table = table(before).unwrap();
    let looked = BTreeMap::from([
        ("ignores-reference-grants".to_owned(), seen(&["c steps[3].probe", "z steps[1].probe"], &["could-not-tell"])),
        ("writes-late".to_owned(), seen(&["d steps[4].probe"], &[])),
    ]);
    let changes: Vec<String> = table.put(&looked).iter().map(Change::to_string).collect();
    insta::assert_snapshot!(changes.join("\n"), @r"
    - ignores-reference-grants: a steps[1].probe
    + ignores-reference-grants: c steps[3].probe
    + writes-late: d steps[4].probe
    ");
    insta::assert_snapshot!(table, @r"
    # What shows each fault. `gateproof faults --table` prints this.
    ignores-reference-grants:
      # First, though it is not the first in the alphabet.
      - z steps[1].probe
      - could-not-tell steps[1].probe
      - c steps[3].probe
    writes-late:
      - d steps[4].probe
    # About the next.
    writes-once:
      - b steps[2].probe
    # The end.
    ");
    assert_eq!(table.put(&looked), []);
}

/// Nothing is known of a fault under which nothing ran, and one that nothing shows has no list.
#[test]
fn a_fault_that_could_not_be_run_keeps_its_rows() {
    let before = "writes-once:\n  - b steps[2].probe\n";
    let mut there = table(before).unwrap();
    let broken = Seen { error: Some("no port is free".to_owned()), ..Seen::default() };
    assert_eq!(there.put(&BTreeMap::from([("writes-once".to_owned(), broken)])), []);
    assert_eq!(there, table(before).unwrap());
    assert_eq!(there.put(&BTreeMap::from([("writes-once".to_owned(), seen(&[], &[]))])).len(), 1);
    assert_eq!(there, table("").unwrap());
}

#[rstest]
#[case::both_failed(&["a e", "b e"], &["a e", "b e"], &[], &["a e", "b e"])]
#[case::each_once(&["a e"], &["b e", "new e"], &[], &["a e", "b e"])]
#[case::one_never(&["a e"], &["a e", "new e"], &[], &["a e", "new e"])]
#[case::one_never_and_one_once(&["a e"], &["new e"], &[], &["a e", "new e"])]
#[case::a_clause_that_nothing_carried(&["a e", "b e"], &["a e", "b e", "new e"], &[], &["a e", "b e", "new e"])]
#[case::one_could_not_tell(&["a e"], &["a e", "new e"], &["b"], &["a e"])]
#[case::new_in_the_first_alone(&["a e", "b e", "odd e"], &["a e", "b e"], &[], &["a e", "b e"])]
fn two_looks_make_one(
    #[case] first: &[&str],
    #[case] second: &[&str],
    #[case] open: &[&str],
    #[case] expected: &[&str],
) {
    let both = seen(first, &[]).and(seen(second, open), &rows(&["a e", "b e"]));
    assert_eq!(both.rows, rows(expected));
}

/// A clause that was carried once is proven.
#[test]
fn a_clause_that_no_look_saw_is_told() {
    let with = |clauses: &[&str]| Seen {
        unproven: clauses.iter().map(|one| (*one).to_owned()).collect(),
        ..seen(&["a e", "b e"], &[])
    };
    assert_eq!(with(&["A-1", "A-2"]).and(with(&["A-2", "A-3"]), &rows(&["a e", "b e"])), with(&["A-2"]));
}
