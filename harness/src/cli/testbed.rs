//! `gateproof testbed`: the embedded cluster, for somebody else's controller or for a look.

use std::net::SocketAddr;
use std::path::PathBuf;

use gateproof_testbed::{Testbed, TestbedOptions};

use super::crds::{self, Source};
use super::{Failure, Outcome};
use crate::exit_codes;

/// Serve the embedded cluster and write a kubeconfig
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  gateproof testbed --no-controller --kubeconfig testbed.kubeconfig
  kubectl --kubeconfig testbed.kubeconfig get gatewayclasses")]
pub(crate) struct Args {
    /// Leave the reference implementation out, for your own controller
    #[arg(long)]
    no_controller: bool,
    /// Fault of the reference implementation
    #[arg(long, value_name = "NAME", conflicts_with = "no_controller")]
    fault: Option<String>,
    /// Where the kubeconfig goes; it holds a token, so only its owner may read it
    #[arg(long, value_name = "FILE", default_value = "testbed.kubeconfig")]
    kubeconfig: PathBuf,
    /// Address of the API server
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Serve these Gateway API definitions instead of the built-in ones: a file or an https URL
    #[arg(long, value_name = "FILE|URL")]
    crds: Option<Source>,
}

/// Runs the verb: serves until Ctrl-C.
pub(crate) async fn run(args: Args) -> Outcome {
    if !args.listen.ip().is_loopback() {
        return Err(Failure::usage(
            format!("{} is not a loopback address", args.listen.ip()),
            "the testbed serves this machine only",
        ));
    }
    let definitions = match &args.crds {
        Some(source) => crds::read(source).await?,
        None => Vec::new(),
    };
    let options = TestbedOptions {
        fault: args.fault,
        no_controller: args.no_controller,
        bind: Some(args.listen),
        crds: definitions,
        ..TestbedOptions::default()
    };
    let testbed = Testbed::start(options).await.map_err(|error| start_failure(&error))?;
    let written = testbed.server().write_kubeconfig(&args.kubeconfig);
    written.map_err(|error| {
        Failure::environment(
            format!("cannot write {}: {error}", args.kubeconfig.display()),
            "name a file that can be written with --kubeconfig",
        )
    })?;
    println!("API server:  {}", testbed.server().url());
    println!("kubeconfig:  {}", args.kubeconfig.display());
    if args.no_controller {
        println!("controller:  none; start yours with this kubeconfig");
    } else {
        println!("GatewayClass: {}", testbed.gateway_class());
        println!("dial rule:   {}", testbed.dial_rule());
    }
    println!("Ctrl-C ends it.");
    if let Err(error) = tokio::signal::ctrl_c().await {
        return Err(Failure::environment(format!("cannot wait for Ctrl-C: {error}"), "run it in a terminal"));
    }
    testbed.shutdown().await;
    // The file would name a server that is gone. If somebody took it away already, that is as good.
    let _ = std::fs::remove_file(&args.kubeconfig);
    Ok(exit_codes::PASSED)
}

fn start_failure(error: &gateproof_testbed::TestbedError) -> Failure {
    let text = crate::target::api::chain(error);
    match error {
        gateproof_testbed::TestbedError::UnknownFault(_) => Failure::usage(text, "`gateproof list faults` shows all"),
        _ => Failure::environment(text, "if a port is in use, leave --listen out or name another"),
    }
}
