//! The run record and its reports.
