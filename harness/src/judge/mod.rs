//! The verdict as a pure function of a scenario and its log: no clock, no I/O.
//!
//! A [`Judge`] is a state machine over the steps of one scenario execution. The run feeds it every event
//! ([`Judge::observe`]), asks what to do next ([`Judge::next`]) and obeys; replay feeds a recorded log and asks for the
//! [`Verdict`]. Both take the same path, because nothing but events moves the machine.
//!
//! - `account`: what was taken in, and with what an execution begins
//! - [`history`], [`conditions`]: what was seen of each object
//! - [`expect`]: one expectation against one version of an object; `miss`: what was not so, and how much that weighs
//! - `settle`, `hold`, `probe`, `admission`, `service`: one kind of step each
//! - `doubt`: whether what was seen may be believed, before anybody is blamed for it
//! - `contrast`, `reach`: whether an answer is the route's, and whether none is the target's
//! - `programmed`: what comes before the first probe through a Gateway
//! - `others`: what others did to what the run made
//! - `stays`, `stirred`: whether the data path stays as it agreed, and what may explain that it does not
//! - [`statistics`]: the sequential tests behind shares and behind staying
//! - [`contract`]: the status contract that is always on

mod account;
mod action;
mod admission;
mod answer;
pub mod conditions;
pub mod contract;
mod contrast;
mod copies;
mod datagrams;
mod deadline;
mod doing;
mod doubt;
mod env;
pub mod expect;
mod forwarded;
pub mod grpc;
mod history;
mod hold;
mod location;
mod machine;
mod made;
mod miss;
mod noted;
mod others;
mod probe;
mod programmed;
mod reach;
mod request;
mod service;
mod settle;
mod shares;
pub mod statistics;
mod stays;
mod stirred;
mod verdict;
mod words;

#[cfg(test)]
mod tests;

pub use account::{Account, Checkpoints};
pub use action::{Action, Context, Next, WriteTarget};
pub use machine::Judge;
pub use machine::awaits::Awaited;
pub use verdict::{CameOut, ShareRecord, Verdict};
