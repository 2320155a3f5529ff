//! The operator on the cluster of `$KUBECONFIG`. `--forgets-sockets` has it misbehave.

use gateproof_example_lamps::{Behaviour, run};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Whoever has installed one already has installed a provider too, which is all that is needed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let behaviour = match std::env::args().nth(1).as_deref() {
        None => Behaviour::Plain,
        Some("--forgets-sockets") => Behaviour::ForgetsSockets,
        Some(other) => return Err(format!("`{other}` is not known; there is --forgets-sockets").into()),
    };
    Ok(run(kube::Client::try_default().await?, behaviour).await?)
}
