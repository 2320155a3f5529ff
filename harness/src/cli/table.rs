//! `gateproof faults --table`: what shows each fault, printed, or written into the table that has it.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use super::output::{say, tell};
use super::{Failure, Outcome, given};
use crate::exit_codes;
use crate::kill::{self, Plan, Seen, ShownBy, Table, Watcher};
use crate::run::embedded;

/// Looks at each fault of the plan, and prints what shows it. With a file, what that lists is looked at instead of what is built in, and
/// the file says afterwards what was seen.
pub(super) async fn run(
    plan: &mut Plan,
    listed: ShownBy,
    file: Option<&Path>,
    seed: u64,
    watcher: &dyn Watcher,
) -> Outcome {
    let command = kill::printed_by(plan.reference, plan.suite.other_edition());
    let Some(file) = file else {
        let seen = kill::seen(plan, &listed, seed, watcher).await;
        print(&seen, &command);
        return Ok(code(&seen));
    };
    let before = given::read(file)?;
    let mut table = Table::parse(&before, &command, &embedded::faults(plan.reference)).map_err(|problem| {
        let help = format!(
            "name the file whose first comment says that `{command}` prints it; nothing was run, and nothing written"
        );
        Failure::usage(format!("{}: {problem}", file.display()), help)
    })?;
    let listed = listed.with_shown(table.rows());
    let seen = kill::seen(plan, &listed, seed, watcher).await;
    let changes = table.put(&seen);
    let after = table.to_string();
    if after != before {
        replace(file, &after).map_err(|error| {
            Failure::environment(format!("cannot write {}: {error}", file.display()), "it is as it was")
        })?;
    }
    changes.iter().for_each(|change| say!("{change}"));
    let new = changes.iter().filter(|change| change.is_new).count();
    let (looked, gone) = (seen.len(), changes.len() - new);
    let order = if changes.is_empty() && after != before { ", in another order or form" } else { "" };
    say!("{}: faults looked at: {looked}, rows put in: {new}, taken out: {gone}{order}", file.display());
    Ok(code(&seen))
}

/// All of it at once: whoever reads meanwhile finds the one or the other.
fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    // What a link leads to is meant.
    let file = file.canonicalize()?;
    let mut new = tempfile::NamedTempFile::new_in(file.parent().unwrap_or(Path::new("/")))?;
    new.write_all(text.as_bytes())?;
    new.as_file().set_permissions(file.metadata()?.permissions())?;
    new.persist(&file)?;
    Ok(())
}

fn print(seen: &BTreeMap<String, Seen>, command: &str) {
    say!("# What shows each fault; first what states best what is wrong. `{command}` prints this.");
    for (fault, seen) in seen.iter().filter(|(_, seen)| !seen.rows.is_empty()) {
        say!("{fault}:");
        seen.rows.iter().for_each(|row| say!("  - {row}"));
    }
}

/// Tells what is not known after this, and says so by the exit code.
fn code(seen: &BTreeMap<String, Seen>) -> u8 {
    let mut code = exit_codes::PASSED;
    for (fault, seen) in seen {
        if let Some(error) = &seen.error {
            tell!("{fault}: nothing could be run, so its rows stay: {error}");
            code = exit_codes::INCONCLUSIVE;
        } else if !seen.open.is_empty() {
            let open: Vec<&str> = seen.open.iter().map(String::as_str).collect();
            tell!("{fault}: inconclusive, so rows of these stay: {}", open.join(", "));
            code = exit_codes::INCONCLUSIVE;
        } else if seen.rows.is_empty() {
            tell!("{fault}: nothing shows it");
            code = if code == exit_codes::PASSED { exit_codes::FAILED } else { code };
        } else if !seen.unproven.is_empty() {
            let clauses: Vec<&str> = seen.unproven.iter().map(String::as_str).collect();
            tell!("{fault}: no row carries {}, which it declares", clauses.join(", "));
            code = if code == exit_codes::PASSED { exit_codes::FAILED } else { code };
        }
    }
    code
}
