//! `--logs-from`: what the controller's Pods said stands beside a failure.
#![allow(clippy::unwrap_used)]

mod process;

use std::path::Path;
use std::time::Duration;

use gateproof::cluster::connect::{Source, connect};
use gateproof::cluster::pod_logs::last;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{Api, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::await_condition;
use kube::{Client, Config};
use process::{TestbedProcess, run};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What the fault has fail.
const SCENARIO: &str = "httproute-missing-reference-grant";
/// Nothing here may take longer.
const LIMIT: Duration = Duration::from_secs(20);

fn typed<T: serde::de::DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).unwrap()
}

/// A Pod that stands for a controller's, and its address.
async fn deploy(testbed: &TestbedProcess) -> String {
    let kubeconfig = Kubeconfig::from_yaml(&testbed.credentials()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let client = Client::try_from(config).unwrap();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.create(&PostParams::default(), &typed(json!({"metadata": {"name": "system"}}))).await.unwrap();
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "system");
    let deployment = json!({"metadata": {"name": "controller"}, "spec": {
        "selector": {"matchLabels": {"app": "controller"}},
        "template": {"metadata": {"labels": {"app": "controller"}}, "spec": {"containers": [{"name": "main", "image": "echo-basic"}]}},
    }});
    deployments.create(&PostParams::default(), &typed(deployment)).await.unwrap();
    let ready = |deployment: Option<&Deployment>| {
        deployment.and_then(|d| d.status.as_ref()).is_some_and(|status| status.ready_replicas == Some(1))
    };
    tokio::time::timeout(LIMIT, await_condition(deployments, "controller", ready)).await.unwrap().unwrap();
    let pods: Api<Pod> = Api::namespaced(client, "system");
    pods.list(&ListParams::default()).await.unwrap().items[0].status.clone().unwrap().pod_ip.unwrap()
}

fn evidence(dir: &Path, execution: &str) -> Vec<String> {
    let folder = dir.join("gateproof-report/failures").join(execution);
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains("log")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_controller_said_is_evidence() {
    let testbed = TestbedProcess::start(&["--fault", "ignores-reference-grants"]);
    let address = deploy(&testbed).await;
    let mut stream = TcpStream::connect((address.as_str(), 3000)).await.unwrap();
    stream.write_all(b"GET /said HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();

    let api = connect(&Source::Text(testbed.credentials())).await.unwrap();
    let logs = last(&api, &"system/app=controller".parse().unwrap(), LIMIT).await;
    assert_eq!(logs.len(), 1);
    assert!(logs[0].name.starts_with("controller-") && logs[0].name.ends_with(".main"), "{logs:?}");
    assert!(logs[0].text.as_ref().unwrap().contains("/said"), "{logs:?}");
    let none = last(&api, &"system/app=nobody".parse().unwrap(), LIMIT).await;
    assert_eq!(none[0].text, Err("no Pod matches".to_owned()));

    let ended = tokio::task::spawn_blocking(move || {
        let mut ended = Vec::new();
        for (source, times) in [("system/app=controller", 1), ("system/app=nobody", 1), ("system/app=controller", 5)] {
            let repeat = times.to_string();
            let mut arguments = testbed.arguments("gateproof");
            arguments.extend([
                SCENARIO,
                "httproute-missing-backend",
                "--timing",
                "embedded",
                "--logs-from",
                source,
                "--repeat",
                &repeat,
            ]);
            let outcome = run(testbed.dir.path(), &arguments);
            let of = |time: usize| if time == 1 { SCENARIO.to_owned() } else { format!("{SCENARIO}#{time}") };
            let said: Vec<_> = (1..=times).map(|time| evidence(testbed.dir.path(), &of(time))).collect();
            ended.push((outcome, said));
        }
        ended
    });
    let ended = ended.await.unwrap();
    assert!(ended.iter().all(|(ended, _)| ended.code == Some(1)), "{ended:?}");
    let is_log = |said: &[String]| said.len() == 1 && said[0].ends_with(".main.log");
    assert!(is_log(&ended[0].1[0]), "{:?}", ended[0].1);
    assert_eq!(ended[1].1, [["no-logs.txt"]]);
    // Of hundreds that fail alike a few tell it.
    let logs = ended[2].1.iter().filter(|said| is_log(said)).count();
    assert_eq!((logs, ended[2].1.iter().filter(|said| **said == ["no-logs.txt"]).count()), (3, 2), "{:?}", ended[2].1);
}
