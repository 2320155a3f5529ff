//! An embedded cluster with the policies, for writing scenarios. Ends with Ctrl-C.

use std::path::PathBuf;

use clap::Parser;
use gateproof_apiserver::crds::{Channel, gateway_api};
use gateproof_kuadrant::{Behaviour, Edition, Kuadrant, Settings, definitions};
use gateproof_proxy::Chain;
use gateproof_testbed::{PortMapping, Testbed, TestbedOptions};

/// Serves an embedded cluster with the Gateway API reference and the policies.
#[derive(Parser)]
struct Arguments {
    /// Faults and variants of the policies: NAME+variant:NAME.
    #[arg(long)]
    fault: Option<String>,
    /// The contract of statuses: current or design.
    #[arg(long, default_value = "current")]
    edition: String,
    /// Names of definitions that are left out, such as authorinos.operator.authorino.kuadrant.io.
    #[arg(long)]
    without: Vec<String>,
    /// The file that the kubeconfig is written to.
    #[arg(long, default_value = "kubeconfig")]
    kubeconfig: PathBuf,
    /// The file that the token of the service `components` is written to.
    #[arg(long, default_value = "components-token")]
    token: PathBuf,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let behaviour = Behaviour::of(arguments.fault.as_deref())?;
    let edition = match arguments.edition.as_str() {
        "current" => Edition::Current,
        "design" => Edition::Design,
        other => return Err(format!("--edition {other}: there are current and design").into()),
    };
    let settings = Settings { edition, ..Settings::default() };
    let mut crds = gateway_api(Channel::Standard);
    crds.extend(definitions());
    behaviour.reshape(&mut crds);
    let testbed = Testbed::start(TestbedOptions {
        crds,
        without: arguments.without,
        ports: PortMapping::Mapped,
        exchange: Chain(vec![std::sync::Arc::new(settings.gate.clone())]),
        ..TestbedOptions::default()
    })
    .await?;
    let kuadrant = Kuadrant::start(testbed.client(), settings, behaviour).await?;
    private(&arguments.kubeconfig, &testbed.kubeconfig())?;
    private(&arguments.token, &kuadrant.components().token)?;
    println!("kubeconfig: {}", arguments.kubeconfig.display());
    println!("dial: {}", testbed.dial_rule());
    println!("gateway class: {}", testbed.gateway_class());
    println!("components: {}", kuadrant.components().url());
    println!("components token: {}", arguments.token.display());
    tokio::signal::ctrl_c().await?;
    kuadrant.shutdown().await;
    testbed.shutdown().await;
    Ok(())
}

/// Writes a file that only its owner may read: it holds a token.
fn private(path: &std::path::Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    file.write_all(text.as_bytes())
}
