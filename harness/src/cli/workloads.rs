//! `gateproof workloads`: echo images, run for a cluster that has no nodes.

use std::net::IpAddr;
use std::path::PathBuf;

use gateproof_workloads::{Place, Workloads};

use super::options::connect_failure;
use super::options::source;
use super::output::say;
use super::{Failure, Outcome};
use crate::cluster::api::chain;
use crate::cluster::backends::own_address;
use crate::cluster::connect;
use crate::exit_codes;
use crate::run::interrupt::Signals;

/// Run Deployments of known echo images of a cluster that has no nodes
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For an API server without kubelet and controllers, as in tests: Deployments of the echo image of upstream's suite become
backends in this process, with Pods, EndpointSlices and logs. Deployments of other images are left alone. `gateproof testbed`
does the same for its own API server.

Example:
  gateproof workloads --kubeconfig bare.kubeconfig --address 192.0.2.7")]
pub(crate) struct Args {
    /// Kubeconfig file, instead of $KUBECONFIG and ~/.kube/config
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig, instead of the current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Address of this host that the data plane can reach; its first global unicast address unless given
    #[arg(long, value_name = "ADDR")]
    address: Option<IpAddr>,
}

/// Runs the verb: serves until Ctrl-C, then takes back what it published.
pub(crate) async fn run(args: Args) -> Outcome {
    let Some(address) = args.address.or_else(own_address) else {
        return Err(Failure::environment(
            "this host has no address that a data plane could reach",
            "name one with --address",
        ));
    };
    let api = connect::connect(&source(args.kubeconfig, args.context)).await;
    let api = api.map_err(|error| connect_failure(&error))?;
    let mut signals = Signals::listen()
        .map_err(|error| Failure::environment(format!("cannot handle Ctrl-C: {error}"), "nothing was started"))?;
    let workloads = Workloads::start(api.client(), Place::Shared(address)).await.map_err(|error| {
        Failure::environment(
            chain(&error),
            "the user needs to write Nodes, Pods, EndpointSlices and Deployments' status",
        )
    })?;
    say!("Pods of known echo images run at {address}. Ctrl-C ends it.");
    signals.next().await;
    workloads.shutdown().await;
    Ok(exit_codes::PASSED)
}
