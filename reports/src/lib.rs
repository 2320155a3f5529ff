//! The run record, and every report that is made of it.
//!
//! A report is a function of a [`record::RunRecord`], which is a function of a closed log. Nothing here knows how the
//! record came to be.

pub mod annotations;
pub mod badge;
pub mod compare;
pub mod conformance;
pub mod diff;
pub mod first_known;
pub mod html;
pub mod junit;
pub mod known;
pub mod markdown;
pub mod matrix;
pub mod merge;
mod page;
pub mod record;
pub mod reproduce;
pub mod requirements;
pub mod terminal;
pub mod trace;
pub mod trend;
pub mod words;
