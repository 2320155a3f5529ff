#![allow(clippy::unwrap_used)]

mod admission;
mod contract;
mod driver;
mod hold;
mod probe;
mod programmed;
mod replay;
mod settle;
mod statistics;
