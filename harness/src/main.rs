//! The `gateproof` command line.

use std::process::ExitCode;

// A run is short and makes millions of small JSON values on several threads, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    gateproof::cli::main().await
}
