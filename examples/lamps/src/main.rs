//! The operator on the cluster of `$KUBECONFIG`. `--forgets-sockets` has it misbehave.

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    gateproof_example_lamps::main(std::env::args().skip(1)).await
}
