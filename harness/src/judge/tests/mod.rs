#![allow(clippy::unwrap_used)]

mod admission;
mod contract;
mod contrast;
mod definitions;
mod doubt;
mod driver;
mod fresh;
mod further;
mod graded;
mod handshake;
mod hold;
mod made;
mod made_for;
mod others;
mod policies;
mod probe;
mod programmed;
mod reach;
mod reading;
mod replay;
mod rest;
mod service;
mod settle;
mod statistics;
mod stays;
mod unspoken;
