//! What the reports say, row by row.

use std::collections::{BTreeMap, BTreeSet};

use super::known::{Known, SuiteTest, release};
use super::{Cell, Entry, Half, Row, Says, Split, Subject};
use crate::conformance::{ConformanceReport, Extended, ProfileReport, Status};

/// Every row: profile by profile, core before extended, the features of it, then the tests that somebody did not pass.
pub(super) fn rows(entries: &[Entry], known: &Known) -> Vec<Row> {
    let said: BTreeSet<&str> = entries.iter().flat_map(|entry| &entry.report.profiles).map(|one| &*one.name).collect();
    let listed = known.profiles.iter().map(|one| &*one.name).filter(|name| said.contains(name));
    let others = said.iter().copied().filter(|name| known.profile(name).is_none());
    listed.chain(others).flat_map(|profile| Profile { profile, entries, known }.rows()).collect()
}

struct Profile<'a> {
    profile: &'a str,
    entries: &'a [Entry],
    known: &'a Known,
}

impl<'a> Profile<'a> {
    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for half in [Half::Core, Half::Extended] {
            let cells = self.cells(|report| Some(half_cell(&status(of(report, self.profile)?, half)?)));
            if cells.iter().any(Option::is_some) {
                rows.push(self.row(half, Subject::Tests, "", cells));
            }
            if half == Half::Extended {
                rows.extend(self.features().into_iter().map(|name| self.feature(name)));
            }
            rows.extend(self.tests(half).into_iter().map(|name| self.test(half, name)));
        }
        rows
    }

    fn row(&self, half: Half, subject: Subject, name: &str, cells: Vec<Option<Cell>>) -> Row {
        let feature = (subject == Subject::Feature).then(|| self.known.feature(name)).flatten();
        let test = (subject == Subject::Test).then(|| self.known.test(name)).flatten();
        Row {
            profile: self.profile.to_owned(),
            half,
            subject,
            name: name.to_owned(),
            link: feature.and_then(|one| one.link.clone()),
            clauses: feature.map(|one| one.clauses.clone()).unwrap_or_default(),
            scenarios: test.map(|one| one.scenarios.clone()).unwrap_or_default(),
            // Who claims other extended features is asked for other tests: that is told feature by feature.
            differs: if (half, subject) == (Half::Extended, Subject::Tests) { None } else { self.differs(&cells) },
            cells,
        }
    }

    fn cells(&self, cell: impl Fn(&ConformanceReport) -> Option<Cell>) -> Vec<Option<Cell>> {
        self.entries.iter().map(|entry| cell(&entry.report)).collect()
    }

    /// Two implementations differ, not two reports of one.
    fn differs(&self, cells: &[Option<Cell>]) -> Option<Split> {
        let mut who: BTreeMap<Says, BTreeSet<(String, String)>> = BTreeMap::new();
        for (entry, cell) in self.entries.iter().zip(cells) {
            if let Some(cell) = cell.as_ref().filter(|cell| cell.says.is_verdict()) {
                who.entry(cell.says).or_default().insert(entry.column.who());
            }
        }
        let all: BTreeSet<_> = who.values().flatten().collect();
        let count = |says| who.get(&says).map_or(0, BTreeSet::len);
        let split = Split { passed: count(Says::Passed), left_out: count(Says::LeftOut), failed: count(Says::Failed) };
        (who.len() > 1 && all.len() > 1).then_some(split)
    }

    /// Every extended feature that a report speaks of, in the order of the table.
    fn features(&self) -> Vec<&'a str> {
        let mut said: BTreeSet<&'a str> = BTreeSet::new();
        for entry in self.entries {
            if let Some(extended) = of(&entry.report, self.profile).and_then(|one| one.extended.as_ref()) {
                said.extend(extended.supported_features.iter().chain(&extended.unsupported_features).map(|one| &**one));
            }
        }
        let listed = self.known.features.iter().map(|one| &*one.name).filter(|name| said.contains(name));
        let others = said.iter().copied().filter(|name| self.known.feature(name).is_none());
        listed.chain(others).collect()
    }

    fn feature(&self, name: &str) -> Row {
        let needs =
            |test: &String| self.known.test(test).is_some_and(|test| test.features.iter().any(|one| one == name));
        let cells = self.cells(|report| {
            let extended = of(report, self.profile)?.extended.as_ref()?;
            let plain = |says| Some(Cell { says, counts: None, tests: Vec::new() });
            if !is_claimed(extended, name) {
                return if extended.unsupported_features.iter().any(|one| one == name) {
                    plain(Says::Unsupported)
                } else {
                    None
                };
            }
            let those = |tests: &[String]| tests.iter().filter(|test| needs(test)).cloned().collect::<Vec<_>>();
            let (failed, left_out) = (those(&extended.failed_tests), those(&extended.skipped_tests));
            match (failed.is_empty(), left_out.is_empty()) {
                (false, _) => Some(Cell { says: Says::Failed, counts: None, tests: failed }),
                (true, false) => Some(Cell { says: Says::LeftOut, counts: None, tests: left_out }),
                _ if extended.statistics.passed == 0 => plain(Says::Untested),
                _ => plain(Says::Passed),
            }
        });
        self.row(Half::Extended, Subject::Feature, name, cells)
    }

    /// Every test that somebody failed or left out.
    fn tests(&self, half: Half) -> Vec<String> {
        let mut names = BTreeSet::new();
        for status in self.entries.iter().filter_map(|entry| status(of(&entry.report, self.profile)?, half)) {
            names.extend(status.failed_tests);
            names.extend(status.skipped_tests);
        }
        names.into_iter().collect()
    }

    fn test(&self, half: Half, name: String) -> Row {
        let test = self.known.test(&name);
        let cells = self.cells(|report| {
            let profile = of(report, self.profile)?;
            let status = status(profile, half)?;
            let says = if status.failed_tests.contains(&name) {
                Says::Failed
            } else if status.skipped_tests.contains(&name) {
                Says::LeftOut
            } else if status.statistics.passed > 0 && self.ran(test?, profile, half, report) {
                Says::Passed
            } else {
                return None;
            };
            Some(Cell { says, counts: None, tests: Vec::new() })
        });
        self.row(half, Subject::Test, &name, cells)
    }

    /// Whether a report counts a test that it does not name: its release has the test, and all features that it needs are core or
    /// claimed.
    fn ran(&self, test: &SuiteTest, profile: &ProfileReport, half: Half, report: &ConformanceReport) -> bool {
        let is_there = match (release(&test.since), release(&report.gateway_api_version)) {
            (Some(since), Some(release)) => since <= release,
            _ => false,
        };
        let core = self.known.profile(self.profile).map(|rule| &rule.core);
        let is_core = |name: &String| core.is_some_and(|core| core.contains(name));
        let claimed = |name: &String| profile.extended.as_ref().is_some_and(|extended| is_claimed(extended, name));
        let all_core = test.features.iter().all(is_core);
        is_there
            && (all_core == (half == Half::Core))
            && test.features.iter().all(|name| is_core(name) || claimed(name))
    }
}

fn of<'r>(report: &'r ConformanceReport, profile: &str) -> Option<&'r ProfileReport> {
    report.profiles.iter().find(|one| one.name == profile)
}

fn is_claimed(extended: &Extended, name: &str) -> bool {
    extended.supported_features.iter().any(|one| one == name)
}

fn status(profile: &ProfileReport, half: Half) -> Option<Status> {
    match half {
        Half::Core => Some(profile.core.clone()),
        Half::Extended => profile.extended.as_ref().map(Extended::status),
    }
}

fn half_cell(status: &Status) -> Cell {
    let counted = status.statistics;
    let says = if counted.failed > 0 || !status.failed_tests.is_empty() {
        Says::Failed
    } else if counted.skipped > 0 || !status.skipped_tests.is_empty() {
        Says::LeftOut
    } else if counted.passed > 0 {
        Says::Passed
    } else {
        Says::Untested
    };
    let tests = status.failed_tests.iter().chain(&status.skipped_tests).cloned().collect();
    Cell { says, counts: Some([counted.passed, counted.skipped, counted.failed]), tests }
}
