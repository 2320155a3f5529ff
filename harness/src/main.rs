//! The `gateproof` command line.
fn main() {}
