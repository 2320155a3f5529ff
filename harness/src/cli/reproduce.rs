//! The arguments of a run that decide verdicts, for the line that says how to run one scenario again.

use clap::ValueEnum;

use super::options::{EMBEDDED, Selection, Target};
use super::run_args::{Args, ContractEffect};
use super::services::ServiceArgs;
use super::tuning::{BackendsArg, Tuning};
use crate::run::options::DEFAULT_MAX_GATEWAYS;

/// Everything that was asked for and that decides verdicts, as words of a command line. Every argument is named here, so
/// that a new one has to be sorted in.
pub(crate) fn arguments(args: &Args) -> Vec<String> {
    let Args {
        selection,
        target,
        tuning,
        shard: _,
        // Its paths are among those of the selection.
        watch: _,
        report_dir: _,
        logs_from: _,
        rerun_failed: _,
        options_from: _,
        contract,
        known_failures,
        baseline: _,
        skip_preflight,
        format: _,
        identity: _,
    } = args;
    let Selection { selectors: _, profiles: _, files, dialect } = selection;
    let Target { target, crds, without_crd, gateway_class, kubeconfig, context, services } = target;
    let ServiceArgs { service, service_token, service_ca } = services;
    let Tuning {
        jobs: _,
        fail_fast: _,
        repeat: _,
        timing,
        impatient,
        timeout_scale,
        dial,
        dial_proxy,
        port_forward,
        ports,
        features,
        features_from: _,
        features_as_of,
        all_features,
        exempt_features,
        gateway_api_version,
        gateway_api_channel,
        skip: _,
        gateway_patch,
        namespace_label,
        max_gateways,
        single_gateway_class,
        usable_address,
        keep: _,
        allow_cluster_changes,
        backends,
        backend_address,
        backend_image,
    } = tuning;
    let mut line = Line::default();
    line.one("--dialect", dialect.words());
    line.one("--edition", dialect.edition.as_deref());
    line.all("-f", files.iter().map(|path| path.display()));
    line.one("--target", target.as_deref().filter(|target| *target != EMBEDDED));
    line.one("--crds", crds.as_ref());
    line.all("--without-crd", without_crd);
    line.one("--gateway-class", gateway_class.as_ref());
    line.one("--kubeconfig", kubeconfig.as_ref().map(|path| path.display()));
    line.one("--context", context.as_ref());
    line.all("--service", service);
    line.all("--service-token", service_token);
    line.all("--service-ca", service_ca);
    line.one("--timing", timing.and_then(|timing| timing.to_possible_value()).map(|value| value.get_name().to_owned()));
    line.flag("--impatient", *impatient);
    #[allow(clippy::float_cmp, reason = "only the default itself goes without saying")]
    line.one("--timeout-scale", (*timeout_scale != 1.0).then_some(timeout_scale));
    line.all("--dial", dial);
    line.one("--dial-proxy", dial_proxy.as_ref());
    match port_forward {
        Some(Some(service)) => line.words.push(format!("--port-forward={service}")),
        named => line.flag("--port-forward", named.is_some()),
    }
    line.all("--ports", ports);
    line.list("--features", features);
    line.one("--features-as-of", features_as_of.as_ref());
    line.flag("--all-features", *all_features);
    line.list("--exempt-features", exempt_features);
    line.one("--gateway-api-version", gateway_api_version.as_ref());
    let channel = gateway_api_channel.and_then(|channel| channel.to_possible_value());
    line.one("--gateway-api-channel", channel.map(|value| value.get_name().to_owned()));
    line.one("--gateway-patch", gateway_patch.as_ref().map(|path| path.display()));
    line.all("--namespace-label", namespace_label);
    line.one("--max-gateways", (*max_gateways != DEFAULT_MAX_GATEWAYS).then_some(max_gateways));
    line.one("--single-gateway-class", single_gateway_class.as_ref());
    line.one("--usable-address", usable_address.as_ref());
    line.flag("--allow-cluster-changes", *allow_cluster_changes);
    if *backends != BackendsArg::Hosted {
        line.one("--backends", backends.to_possible_value().map(|value| value.get_name().to_owned()));
    }
    line.all("--backend-address", backend_address);
    line.one("--backend-image", backend_image.as_ref());
    if *contract != ContractEffect::Fail {
        line.one("--contract", contract.to_possible_value().map(|value| value.get_name().to_owned()));
    }
    line.one("--known-failures", known_failures.as_ref().map(|path| path.display()));
    line.flag("--skip-preflight", *skip_preflight);
    line.words
}

#[derive(Default)]
struct Line {
    words: Vec<String>,
}

impl Line {
    fn flag(&mut self, name: &str, given: bool) {
        if given {
            self.words.push(name.to_owned());
        }
    }

    fn one(&mut self, name: &str, value: Option<impl ToString>) {
        self.all(name, value);
    }

    fn all(&mut self, name: &str, values: impl IntoIterator<Item = impl ToString>) {
        for value in values {
            self.words.extend([name.to_owned(), value.to_string()]);
        }
    }

    fn list(&mut self, name: &str, values: &[String]) {
        self.one(name, (!values.is_empty()).then(|| values.join(",")));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use clap::{CommandFactory, FromArgMatches, Parser};
    use rstest::rstest;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn read(line: &[String]) -> Args {
        let matches = Command::command().try_get_matches_from(std::iter::once(&"run".to_owned()).chain(line)).unwrap();
        Command::from_arg_matches(&matches).unwrap().args
    }

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[rstest]
    #[case::nothing("", "")]
    #[case::selection("httproute-* GEP1364-41", "")]
    #[case::how_it_goes_about_it(
        "--jobs 3 --fail-fast --repeat 2 --keep always --skip tcproute-* --shard 1/2 --report-dir x --baseline y --logs-from a/b=c --format json",
        ""
    )]
    #[case::who("--organization us --project it --contact me --mode default", "")]
    #[case::manifests("a -f one.yaml -f two", "-f one.yaml -f two")]
    #[case::default_target("--target embedded", "")]
    #[case::fault("--target embedded:deaf", "--target embedded:deaf")]
    #[case::definitions("--crds bundle.yaml", "--crds bundle.yaml")]
    #[case::without_definitions(
        "--without-crd tcproutes.gateway.networking.k8s.io",
        "--without-crd tcproutes.gateway.networking.k8s.io"
    )]
    #[case::definitions_by_url("--crds https://example.com/a.yaml", "--crds https://example.com/a.yaml")]
    #[case::cluster("--context kind --gateway-class mine", "--gateway-class mine --context kind")]
    #[case::kubeconfig("--gateway-class mine --kubeconfig k", "--gateway-class mine --kubeconfig k")]
    #[case::services(
        "--service arm=http://127.0.0.1:1 --service-token arm=t --service-ca arm=c",
        "--service arm=http://127.0.0.1:1/ --service-token arm=t --service-ca arm=c"
    )]
    #[case::limits("--timing real", "--timing real")]
    #[case::budgets("--timeout-scale 2.5", "--timeout-scale 2.5")]
    #[case::dial("--dial *:*=10.0.0.1:+8000 --dial [::1]:80=*:*", "--dial *:*=10.0.0.1:+8000 --dial [::1]:80=*:*")]
    #[case::proxy("--dial-proxy proxy.test:3128", "--dial-proxy http://proxy.test:3128")]
    #[case::forwarded("--gateway-class mine --port-forward", "--gateway-class mine --port-forward")]
    #[case::forwarded_to("--gateway-class mine --port-forward=a/b", "--gateway-class mine --port-forward=a/b")]
    #[case::ports("--ports http=80,8080 --ports tcp=9000-9010", "--ports http=80,8080 --ports tcp=9000-9010")]
    #[case::features("--features Gateway,HTTPRoute --features TCPRoute", "--features Gateway,HTTPRoute,TCPRoute")]
    #[case::features_of_a_release(
        "--features Gateway --features-as-of 1.3",
        "--features Gateway --features-as-of v1.3.0"
    )]
    #[case::all_features("--all-features --exempt-features TCPRoute", "--all-features --exempt-features TCPRoute")]
    #[case::release(
        "--gateway-api-version 1.4.0 --gateway-api-channel standard",
        "--gateway-api-version v1.4.0 --gateway-api-channel standard"
    )]
    #[case::no_preflight("--skip-preflight", "--skip-preflight")]
    #[case::gateways("--gateway-patch p.yaml --max-gateways 2", "--gateway-patch p.yaml --max-gateways 2")]
    #[case::full_class("--single-gateway-class small", "--single-gateway-class small")]
    #[case::namespaces("--namespace-label a=b --namespace-label c=", "--namespace-label a=b --namespace-label c=")]
    #[case::cluster_changes("--allow-cluster-changes", "--allow-cluster-changes")]
    #[case::backends("--backend-address 10.0.0.9", "--backend-address 10.0.0.9")]
    #[case::deployed("--backends deployed --backend-image a/b:c", "--backends deployed --backend-image a/b:c")]
    #[case::contract("--contract warn", "--contract warn")]
    #[case::known("--known-failures k.yaml", "--known-failures k.yaml")]
    fn what_decides_verdicts_is_repeated(#[case] given: &str, #[case] expected: &str) {
        let found = arguments(&read(&words(given)));
        assert_eq!(found.join(" "), expected);
        // What is repeated means the same again.
        assert_eq!(arguments(&read(&found)), found);
    }
}
