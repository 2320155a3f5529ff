//! The embedded definitions of Gateway API against the official ones, and the reader of bundles.
//!
//! What needs the official bundles looks for them under `$GATEPROOF_DATA`, by default `../shared` beside the workspace, and says so
//! when they are not there.
#![allow(clippy::unwrap_used)]

#[path = "crds/bundles.rs"]
mod bundles;
#[path = "crds/digests.rs"]
mod digests;
#[path = "crds/official.rs"]
mod official;
#[path = "crds/upgrades.rs"]
mod upgrades;
#[path = "crds/verdicts/mod.rs"]
mod verdicts;
