//! The run record, and every report that is made of it.
//!
//! A report is a function of a [`record::RunRecord`], which is a function of a closed log. Nothing here knows how the
//! record came to be.

pub mod compare;
pub mod conformance;
pub mod diff;
pub mod junit;
pub mod known;
pub mod markdown;
pub mod record;
pub mod reproduce;
pub mod terminal;
