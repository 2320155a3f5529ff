//! `gateproof rbac`: the role that runs need, and nothing else.

use serde_json::{Value, json};

use super::options::Selection;
use super::run::BackendsArg;
use super::{Failure, Outcome, output};
use crate::exit_codes;
use crate::run::permissions::{Permissions, Ways, kinds_of};
use crate::scenario::Isolation;
use crate::target::pod_logs::LogSource;

/// Print the role that a run needs, and nothing else
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The role is worked out from what the selected scenarios do. All namespaces of a run are its own and get their names when it begins, so
it is a ClusterRole.

Example:
  gateproof rbac --namespace ci | kubectl apply -f -")]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Name of ServiceAccount, role and binding
    #[arg(long, value_name = "NAME", default_value = "gateproof")]
    name: String,
    /// Namespace of the ServiceAccount
    #[arg(long, value_name = "NAMESPACE", default_value = "default")]
    namespace: String,
    /// Permit what scenarios need that change cluster-scoped objects of a named cluster, too
    #[arg(long)]
    allow_cluster_changes: bool,
    /// Permit what `gateproof run --port-forward` asks, too
    #[arg(long)]
    port_forward: bool,
    /// Permit what backends need that run there
    #[arg(long, value_enum, default_value_t = BackendsArg::Hosted)]
    backends: BackendsArg,
    /// Permit reading the logs of the Pods that `gateproof run --logs-from` is given, too
    #[arg(long, value_name = "NAMESPACE/SELECTOR")]
    logs_from: Option<LogSource>,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Outcome {
    let scenarios = args.selection.scenarios()?;
    let permitted = |isolation| args.allow_cluster_changes || isolation != Isolation::Cluster;
    let runs = || scenarios.iter().filter(|scenario| permitted(scenario.isolation));
    let ways = Ways { port_forward: args.port_forward, deployed: args.backends == BackendsArg::Deployed };
    let permissions = Permissions::of(runs(), &kinds_of(runs()), ways);
    for (index, object) in objects(args, &permissions).iter().enumerate() {
        let text = serde_yaml::to_string(object)
            .map_err(|error| Failure::environment(error, "this is a mistake of gateproof; please report it"))?;
        output::out(format_args!("{}{text}", if index > 0 { "---\n" } else { "" }));
    }
    Ok(exit_codes::PASSED)
}

fn objects(args: &Args, permissions: &Permissions) -> Vec<Value> {
    let (name, namespace) = (&args.name, &args.namespace);
    const GROUP: &str = "rbac.authorization.k8s.io";
    let version = format!("{GROUP}/v1");
    let subjects = json!([{"kind": "ServiceAccount", "name": name, "namespace": namespace}]);
    let mut objects = vec![
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}),
        json!({
            "apiVersion": version,
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": permissions.rules(),
        }),
        json!({
            "apiVersion": version,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
            "subjects": subjects,
        }),
    ];
    if let Some(source) = &args.logs_from {
        // No selector restricts a role, but the namespace does.
        let metadata = json!({"name": format!("{name}-logs"), "namespace": source.namespace});
        let rules = json!([
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
            {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
        ]);
        let role = json!({"apiGroup": GROUP, "kind": "Role", "name": format!("{name}-logs")});
        objects.push(json!({"apiVersion": version, "kind": "Role", "metadata": metadata, "rules": rules}));
        let binding = json!({
            "apiVersion": version, "kind": "RoleBinding", "metadata": metadata, "roleRef": role, "subjects": subjects,
        });
        objects.push(binding);
    }
    objects
}
