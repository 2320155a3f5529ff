//! Everything that verbs print: aligned columns for people, JSON for programs.
//!
//! Whoever closes the other end of a pipe has read enough: the rest is dropped, and the verb goes on to its end and its exit
//! code. The macros of the standard library would panic, in the midst of a run too.

use std::fmt::Arguments;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use clap::ValueEnum;
use comfy_table::presets::NOTHING;
use comfy_table::{ColumnConstraint, ContentArrangement, Table};
use serde::Serialize;
use terminal_size::{Width, terminal_size};

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

/// A line on standard output.
macro_rules! say {
    ($($words:tt)*) => { $crate::cli::output::out(format_args!("{}\n", format_args!($($words)*))) };
}
pub(crate) use say;

/// A line on standard error.
macro_rules! tell {
    ($($words:tt)*) => { $crate::cli::output::err(format_args!("{}\n", format_args!($($words)*))) };
}
pub(crate) use tell;

/// What kept standard output from being written, if it was not its reader.
static LOST: OnceLock<std::io::Error> = OnceLock::new();

/// Text on standard output.
pub(crate) fn out(text: Arguments) {
    if let Err(error) = write(std::io::stdout().lock(), text) {
        // The first one is the one to tell of.
        let _ = LOST.set(error);
    }
}

/// Text on standard error. If that is impossible there is nobody to tell.
pub(crate) fn err(text: Arguments) {
    let _ = write(std::io::stderr().lock(), text);
}

/// Why what was printed is not where it should be.
pub(crate) fn lost() -> Option<&'static std::io::Error> {
    LOST.get()
}

fn write(mut to: impl Write, text: Arguments) -> std::io::Result<()> {
    match to.write_fmt(text).and_then(|()| to.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Rows in aligned columns. On a terminal the last column is broken into lines that fit, elsewhere it is as wide as it is.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]]) {
    let terminal = std::io::stdout().is_terminal().then(terminal_size).flatten();
    out(format_args!("{}", table(rows, terminal.map(|(Width(width), _)| width))));
}

fn table<const N: usize>(rows: &[[String; N]], width: Option<u16>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    table.add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if index + 1 < N {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A value as one line of JSON, for whoever reads along while the process goes on.
pub(crate) fn json_line<T: Serialize + ?Sized>(value: &T) -> Result<(), Failure> {
    say!("{}", serde_json::to_string(value).map_err(|error| unwritable(&error))?);
    Ok(())
}

/// A value as data.
pub(crate) fn value<T: Serialize + ?Sized>(value: &T) -> Result<serde_json::Value, Failure> {
    serde_json::to_value(value).map_err(|error| unwritable(&error))
}

/// A value as JSON.
pub(crate) fn json<T: Serialize + ?Sized>(value: &T) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| unwritable(&error))?;
    say!("{text}");
    Ok(())
}

fn unwritable(error: &serde_json::Error) -> Failure {
    Failure::environment(error, "this is a mistake of gateproof; please report it")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn rows() -> [[String; 2]; 2] {
        [["a", "one two three"], ["längere", "x"]].map(|row| row.map(str::to_owned))
    }

    #[rstest]
    #[case::anywhere(None, "a        one two three\nlängere  x\n")]
    #[case::wide(Some(80), "a        one two three\nlängere  x\n")]
    #[case::narrow(Some(18), "a        one two\n         three\nlängere  x\n")]
    fn columns_are_aligned(#[case] width: Option<u16>, #[case] expected: &str) {
        assert_eq!(table(&rows(), width), expected);
    }

    #[test]
    fn nothing_is_no_line() {
        assert_eq!(table::<2>(&[], None), "");
    }

    /// Fails with an error of its kind.
    struct Failing(ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn only_a_reader_who_is_gone_is_no_error() {
        assert!(write(Failing(ErrorKind::BrokenPipe), format_args!("a")).is_ok());
        assert!(write(Failing(ErrorKind::StorageFull), format_args!("a")).is_err());
    }
}
