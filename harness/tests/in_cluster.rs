//! Within a Pod, the files of its ServiceAccount say where the API server is and who we are.
#![allow(clippy::unwrap_used)]

mod least;
mod process;

use std::process::{Command, Output};

use gateproof::run::permissions::Ways;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use least::{scenarios, token};
use process::{TestbedProcess, gateproof, skipped};
use tempfile::tempdir;

/// Puts the files where a Pod has them, in a mount namespace of its own, and runs what is behind it there.
const AS_IN_A_POD: &str = r#"set -e
mount -t tmpfs none "$(readlink -f /var/run)"
mkdir -p /var/run/secrets/kubernetes.io/serviceaccount
cp "$FILES"/* /var/run/secrets/kubernetes.io/serviceaccount/
exec "$@""#;

const SCENARIO: &str = "httproute-missing-backend";

/// Why no mount namespace can be had here, if none can.
fn obstacle() -> Option<String> {
    let tried = unshare("true", &[]).env("FILES", "/etc/hostname").output();
    match tried {
        Err(error) => Some(format!("unshare: {error}")),
        Ok(output) if !output.status.success() => {
            Some(String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("unshare failed").to_owned())
        }
        Ok(_) => None,
    }
}

fn unshare(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    // The glob of the probe above is one file.
    let script = AS_IN_A_POD.replace("\"$FILES\"/*", if program == "true" { "$FILES" } else { "\"$FILES\"/*" });
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh", program]).args(arguments);
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_account_of_a_pod_is_enough() {
    if let Some(why) = obstacle() {
        return skipped("in-cluster", &format!("no mount namespace here: {why}"));
    }
    let testbed = TestbedProcess::start(&[]);
    let kubeconfig = Kubeconfig::from_yaml(&testbed.credentials()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig.clone(), &KubeConfigOptions::default()).await.unwrap();
    let server = config.cluster_url.clone();
    let token = token(&Client::try_from(config).unwrap(), &scenarios(&[SCENARIO]), Ways::default()).await;
    let files = tempdir().unwrap();
    let authority = kubeconfig.clusters[0].cluster.as_ref().unwrap().certificate_authority_data.clone().unwrap();
    let authority = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, authority).unwrap();
    for (name, content) in [("ca.crt", authority), ("token", token.into_bytes()), ("namespace", b"default".to_vec())] {
        std::fs::write(files.path().join(name), content).unwrap();
    }
    let output = tokio::task::spawn_blocking(move || {
        // The kubeconfig is what a Pod does not have.
        let mut arguments = vec!["run", SCENARIO, "--timing", "embedded", "--gateway-class", "gateproof"];
        arguments.extend(["--backend-address", "127.0.0.1", "--dial", testbed.dial.as_deref().unwrap()]);
        let host = server.host().unwrap().to_owned();
        let port = server.port_u16().unwrap().to_string();
        let run = |host: &str| -> Output {
            let plain = gateproof(testbed.dir.path());
            let program = plain.get_program().to_str().unwrap().to_owned();
            let mut command = unshare(&program, &arguments);
            command.current_dir(testbed.dir.path()).env_remove("KUBECONFIG").env("HOME", testbed.dir.path());
            command
                .env("FILES", files.path())
                .env("KUBERNETES_SERVICE_HOST", host)
                .env("KUBERNETES_SERVICE_PORT", &port);
            command.output().unwrap()
        };
        let good = run(&host);
        // Nobody is asked but the server that the environment names.
        let elsewhere = run("127.0.0.254");
        (good, elsewhere)
    });
    let (good, elsewhere) = output.await.unwrap();
    let said = |output: &Output| String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert_eq!(good.status.code(), Some(0), "{}", said(&good));
    assert_eq!(elsewhere.status.code(), Some(3), "{}", said(&elsewhere));
    assert!(said(&elsewhere).contains("127.0.0.254"), "{}", said(&elsewhere));
}
