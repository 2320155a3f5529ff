//! Printing lists: aligned columns for people, JSON for programs.

use clap::ValueEnum;
use serde::Serialize;

use super::Failure;

/// How it is printed, for verbs that need no further arguments of their own.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct FormatArg {
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// How a list is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Rows in aligned columns; the last is as wide as it is.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]]) {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        println!("{}", cells.join("  ").trim_end());
    }
}

/// A value as one line of JSON, for whoever reads along while the process goes on.
pub(crate) fn json_line<T: Serialize + ?Sized>(value: &T) -> Result<(), Failure> {
    println!("{}", serde_json::to_string(value).map_err(|error| unwritable(&error))?);
    Ok(())
}

/// A value as JSON.
pub(crate) fn json<T: Serialize + ?Sized>(value: &T) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| unwritable(&error))?;
    println!("{text}");
    Ok(())
}

fn unwritable(error: &serde_json::Error) -> Failure {
    Failure::environment(error, "this is a mistake of gateproof; please report it")
}
