//! `gateproof rbac`: the role that a run needs, and nothing else; and the policy that confines it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::options::{Selected, Target};
use super::output::{self, Format};
use super::run_args;
use super::several::{self, Cluster};
use super::tuning::BackendsArg;
use super::{Failure, Outcome};
use crate::exit_codes;
use crate::run::admission::{self, Confined};
use crate::run::permissions::{Permissions, kinds_of};
use crate::run::{RunOptions, plan};
use crate::scenario::Scenario;

/// Print the role that a run needs, and nothing else
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(after_help = "\
Takes the options of the run that it is for, and works out from what that run does what has to be permitted. No cluster is asked: unless the
features are named, they are all of them. All namespaces of a run are its own and get their names when it begins, so it is a ClusterRole;
--admission-policy confines it to these namespaces.

Examples:
  gateproof rbac --namespace ci | kubectl apply -f -
  gateproof rbac HTTPRoute --features Gateway,HTTPRoute --port-forward
  gateproof rbac --dialect gateway-api,aso    one role for the runs of both
  gateproof rbac --options-from gateproof-report/options.txt --admission-policy")]
pub(crate) struct Args {
    /// Name of ServiceAccount, role and binding
    #[arg(long, value_name = "NAME", default_value = "gateproof")]
    name: String,
    /// Namespace of the ServiceAccount
    #[arg(long, value_name = "NAMESPACE", default_value = "default")]
    namespace: String,
    /// Print a ValidatingAdmissionPolicy and its binding, too, by which the ServiceAccount writes nothing but objects of runs (Kubernetes v1.30 or newer)
    #[arg(long)]
    admission_policy: bool,
    #[command(flatten, next_help_heading = "Options of the run")]
    run: run_args::Args,
}

/// Runs the verb.
pub(crate) async fn run(mut args: Args) -> Outcome {
    let mut runs = if args.run.selection.dialect.are_several() {
        several::each(&args.run, Cluster::NotAsked)?.into_iter().map(|(_, run)| run).collect()
    } else {
        if !args.run.select_again()? {
            return Ok(exit_codes::PASSED);
        }
        vec![args.run.clone()]
    };
    // One account runs all of them.
    let (mut permissions, mut confined) = (Permissions::default(), Confined::default());
    for run in &mut runs {
        let (options, scenarios) = planned(run).await?;
        let applied = || scenarios.iter().chain(options.canary()).map(|scenario| &**scenario);
        let kinds = kinds_of(applied());
        permissions.join(Permissions::of(applied(), &kinds, options.ways()));
        confined.join(Confined {
            patched: admission::patched(&scenarios, &kinds, run.target.gateway_class.as_deref()),
            defined: admission::defined(&scenarios),
            port_forward: options.ways().port_forward,
        });
    }
    let mut objects = objects(&args, &permissions);
    if args.admission_policy {
        let username = format!("system:serviceaccount:{}:{}", args.namespace, args.name);
        objects.extend(confined.objects(&args.name, &username));
    }
    if args.run.format.format == Format::Json {
        output::json(&json!({"apiVersion": "v1", "kind": "List", "items": objects}))?;
        return Ok(exit_codes::PASSED);
    }
    for (index, object) in objects.iter().enumerate() {
        let text = serde_yaml::to_string(object)
            .map_err(|error| Failure::environment(error, "this is a mistake of gateproof; please report it"))?;
        output::out(format_args!("{}{}\n", if index > 0 { "---\n" } else { "" }, text.trim_end()));
    }
    Ok(exit_codes::PASSED)
}

/// What the run would do on any cluster that its options are for.
async fn planned(args: &mut run_args::Args) -> Result<(RunOptions, Vec<Arc<Scenario>>), Failure> {
    let Target { target, crds, without_crd, .. } = &args.target;
    if target.is_some() || crds.is_some() || !without_crd.is_empty() {
        let help = "leave --target, --crds and --without-crd out: the embedded target permits everything";
        return Err(Failure::usage("a role is for a run on a named cluster", help));
    }
    let Selected { suite, chosen: scenarios, all } = args.selection.among_all()?;
    let (class, context) = (args.target.gateway_class.clone(), args.target.context.clone());
    // No role depends on which class, cluster and image these are.
    let named = if suite.dialect.class().is_some() { &mut args.target.gateway_class } else { &mut args.target.context };
    named.get_or_insert_with(|| "any".to_owned());
    if args.tuning.backends == BackendsArg::Deployed {
        args.tuning.backend_image.get_or_insert_with(|| "any".to_owned());
    }
    let mut options = args.target.options(&suite).await?;
    (args.target.gateway_class, args.target.context) = (class, context);
    args.tuning.apply(&mut options, &all, &suite)?;
    let scenarios: Vec<Arc<Scenario>> = scenarios.into_iter().map(Arc::new).collect();
    let mut planned = plan::possible(&scenarios, &options);
    if options.preflight && !args.skip_preflight {
        planned.extend(suite.preflight.clone());
    }
    Ok((options, planned))
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
    if let Some(source) = &args.run.logs_from {
        // No selector restricts a role, but the namespace does.
        let metadata = json!({"name": format!("{name}-logs"), "namespace": source.namespace});
        let verbs: &[&str] = if args.run.watch.is_empty() { &["list"] } else { &["list", "watch"] };
        let rules = json!([
            {"apiGroups": [""], "resources": ["pods"], "verbs": verbs},
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
