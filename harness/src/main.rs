//! The `gateproof` command line.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    gateproof::cli::main().await
}
