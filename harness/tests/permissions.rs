//! `gateproof rbac` permits what runs ask for: nothing is missing, and nothing is there that no run asks for.
#![allow(clippy::unwrap_used)]

mod process;

use std::collections::BTreeSet;
use std::iter::once;
use std::sync::Arc;

use gateproof::judge::contract::{Contract, GATEWAY_API};
use gateproof::run::permissions::{Need, Permissions, Ways, kinds_of};
use gateproof::run::{RunOptions, Silent, TargetChoice, run};
use gateproof::scenario::select::select;
use gateproof::scenario::{Scenario, Vocabulary, load};
use gateproof_report::record::Outcome;
use gateproof_testbed::{Testbed, TestbedOptions};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use process::{Ended, TestbedProcess};
use rstest::rstest;
use serde_json::{Value, json};

/// Those among which is looked for what uses a resource and a verb.
const SELECTION: [&str; 13] = [
    "gatewayclass-*",
    "gateway-condition-*",
    "gateway-foreign-*",
    "gateway-https-*",
    "gateway-listener-*",
    "httproute-missing-*",
    "httproute-status-*",
    "httproute-*tls*",
    "httproute-*namespace*",
    "httproute-mirror",
    "tcproute-missing-*",
    "tcproute-simple",
    "*-unready*",
];

fn scenarios(selection: &[&str]) -> Vec<Scenario> {
    let vocabulary = Vocabulary::builtin();
    let all = load::builtin(&vocabulary).unwrap();
    let chosen: BTreeSet<usize> =
        selection.iter().filter_map(|one| select(&all, &[(*one).to_owned()], &vocabulary).ok()).flatten().collect();
    chosen.into_iter().map(|index| all[index].clone()).collect()
}

/// One in how many of the others is run beside the few.
const ONE_IN: usize = 4;

/// Few of these scenarios that together need all that they need, in the order in which they add the most, and some of the others:
/// what a scenario needs is what is to be shown. All of them with `GATEPROOF_FULL=1`, as nightly does.
fn few(of: Vec<Scenario>) -> Vec<Scenario> {
    if std::env::var_os("GATEPROOF_FULL").is_some() {
        return of;
    }
    let needs = |one: &Scenario| -> BTreeSet<String> {
        let permissions = Permissions::of(once(one), &kinds_of(once(one)), Ways::default());
        permissions.iter().map(|permission| permission.to_string()).collect()
    };
    let mut left: Vec<(BTreeSet<String>, Scenario)> = of.into_iter().map(|one| (needs(&one), one)).collect();
    let mut few = Vec::new();
    while let Some(most) = (0..left.len()).rev().max_by_key(|index| left[*index].0.len())
        && !left[most].0.is_empty()
    {
        let (met, one) = left.swap_remove(most);
        left.iter_mut().for_each(|(needs, _)| needs.retain(|need| !met.contains(need)));
        few.push(one);
    }
    few.extend(left.into_iter().map(|(_, one)| one).step_by(ONE_IN));
    few
}

/// `verb resource.group/subresource`, as the API server counts.
fn counted(permissions: &Permissions, needs: &[Need]) -> BTreeSet<String> {
    let row = |group: &str, resource: &str, verb: &str| {
        let (resource, below) =
            resource.split_once('/').map_or((resource, String::new()), |(r, s)| (r, format!("/{s}")));
        let dot = if group.is_empty() { "" } else { "." };
        format!("{verb} {resource}{dot}{group}{below}")
    };
    let wanted = permissions.iter().filter(|permission| needs.contains(&permission.need));
    wanted.map(|permission| row(&permission.group, &permission.resource, permission.verb)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_table_is_what_is_asked() {
    let testbed = Testbed::start(TestbedOptions::default()).await.unwrap();
    let target = TargetChoice::Running {
        kubeconfig: testbed.kubeconfig(),
        gateway_class: Some(testbed.gateway_class().to_owned()),
        name: "embedded".to_owned(),
    };
    let chosen = few(scenarios(&SELECTION));
    let contract = Arc::new(Contract::parse(GATEWAY_API).unwrap());
    let options = RunOptions {
        dial: vec![testbed.dial_rule().parse().unwrap()],
        single_gateway_class: Some(testbed.single_gateway_class().to_owned()),
        usable_address: Some(testbed.usable_address()),
        ..RunOptions::new(target, contract)
    };
    let output = run(options, chosen.clone(), &mut Silent).await.unwrap();
    let ran: BTreeSet<&str> = output
        .record
        .scenarios
        .iter()
        .filter(|scenario| !matches!(scenario.outcome, Outcome::NotSupported | Outcome::Skipped))
        .map(|scenario| scenario.name.as_str())
        .collect();
    let ran = || chosen.iter().filter(|scenario| ran.contains(scenario.name.as_str()));
    let permissions = Permissions::of(ran(), &kinds_of(ran()), Ways::default());
    let asked: BTreeSet<String> = testbed
        .requests()
        .into_iter()
        .filter(|count| count.user_agent.starts_with("gateproof/") && !count.resource.starts_with('/'))
        .map(|count| format!("{} {}", count.verb, count.resource))
        .collect();
    testbed.shutdown().await;
    let granted = counted(&permissions, &[Need::Run, Need::Help]);
    let missing: Vec<&String> = asked.difference(&granted).collect();
    assert!(missing.is_empty(), "asked, and not in the table: {missing:?}");
    // An apply is counted as a patch; that it creates is known from the object alone.
    let needed = counted(&permissions, &[Need::Run]);
    let surplus: Vec<&String> =
        needed.difference(&asked).filter(|row| !asked.contains(&row.replacen("create ", "patch ", 1))).collect();
    assert!(surplus.is_empty(), "in the table, and never asked: {surplus:?}");
    assert!(asked.len() > 30, "{asked:?}");
}

/// What `gateproof rbac` prints for a run with these words.
fn rbac(testbed: &TestbedProcess, words: &[&str]) -> Vec<Value> {
    let ended = process::run(testbed.dir.path(), &[&["rbac"], words].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    serde_yaml::from_multiple(&ended.out).unwrap()
}

/// Creates or replaces what the role is made of, and returns a kubeconfig of the ServiceAccount.
async fn account(testbed: &TestbedProcess, role: Vec<Value>, edit: impl Fn(&mut Value)) -> String {
    let mut kubeconfig = Kubeconfig::from_yaml(&testbed.credentials()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig.clone(), &KubeConfigOptions::default()).await.unwrap();
    let client = Client::try_from(config).unwrap();
    let send = async |method: &str, path: &str, body: &Value| -> Value {
        let media = if method == "PATCH" { "application/apply-patch+yaml" } else { "application/json" };
        let request = http::Request::builder().method(method).uri(path).header("content-type", media);
        client.request(request.body(body.to_string().into_bytes()).unwrap()).await.unwrap()
    };
    for mut object in role {
        edit(&mut object);
        let collection = match object["kind"].as_str().unwrap() {
            "ServiceAccount" => "/api/v1/namespaces/default/serviceaccounts",
            "ClusterRole" => "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            _ => "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        };
        send("PATCH", &format!("{collection}/gateproof?fieldManager=test&force=true"), &object).await;
    }
    let path = "/api/v1/namespaces/default/serviceaccounts/gateproof/token";
    let answer = send("POST", path, &json!({"spec": {}})).await;
    let user = kubeconfig.auth_infos[0].auth_info.as_mut().unwrap();
    user.token = Some(answer["status"]["token"].as_str().unwrap().to_owned().into());
    serde_json::to_string(&kubeconfig).unwrap()
}

/// Runs as the ServiceAccount.
async fn as_account(testbed: &TestbedProcess, kubeconfig: String, arguments: &[&str]) -> Ended {
    let file = testbed.dir.path().join("account.kubeconfig");
    std::fs::write(&file, kubeconfig).unwrap();
    let mut all: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
    let mut more = testbed.arguments("gateproof");
    if let Some(place) = more.iter().position(|word| *word == "--dial" && arguments.contains(&"--port-forward")) {
        more.drain(place..place + 2);
    }
    all.extend(more[1..].iter().map(|word| (*word).to_owned()));
    let place = all.iter().position(|word| word == "--kubeconfig").unwrap() + 1;
    all[place] = file.to_str().unwrap().to_owned();
    let dir = testbed.dir.path().to_owned();
    let run = move || process::run(&dir, &all.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::task::spawn_blocking(run).await.unwrap()
}

/// Takes a verb of a resource out of a role.
fn without(object: &mut Value, verb: &str, resource: &str) {
    let Some(rules) = object["rules"].as_array().cloned() else { return };
    let mut left = Vec::new();
    for rule in rules {
        let has = |field: &str, text: &str| rule[field].as_array().unwrap().iter().any(|one| one == text);
        if !has("resources", resource) || !has("verbs", verb) {
            left.push(rule);
            continue;
        }
        let but = |field: &str, text: &str| -> Vec<Value> {
            rule[field].as_array().unwrap().iter().filter(|one| *one != text).cloned().collect()
        };
        let others =
            json!({"apiGroups": rule["apiGroups"], "resources": but("resources", resource), "verbs": rule["verbs"]});
        let rest = json!({"apiGroups": rule["apiGroups"], "resources": [resource], "verbs": but("verbs", verb)});
        left.extend(
            [others, rest].into_iter().filter(|rule| rule["resources"] != json!([]) && rule["verbs"] != json!([])),
        );
    }
    object["rules"] = left.into();
}

/// One of each sort that the role is for.
const FEW: [&str; 8] = [
    "run",
    "--allow-cluster-changes",
    "gatewayclass-unsupported-version",
    "gatewayclass-accepted",
    "httproute-missing-backend",
    "httproute-missing-reference-grant",
    "tcproute-simple",
    "gateway-foreign-*",
];

/// Creates a definition, and its testbed lacks it.
const DEFINING: [&str; 4] =
    ["run", "--allow-cluster-changes", "gatewayclass-late-definition", "gatewayclass-removed-definition"];
const LACKING: [&str; 2] = ["--without-crd", "tcproutes.gateway.networking.k8s.io"];

#[rstest]
#[case::few(&FEW, &[])]
#[case::defining(&DEFINING, &LACKING)]
#[tokio::test(flavor = "multi_thread")]
async fn the_role_suffices(#[case] words: &[&str], #[case] arguments: &[&str]) {
    let testbed = TestbedProcess::start(arguments);
    let kubeconfig = account(&testbed, rbac(&testbed, &words[1..]), |_| {}).await;
    let ended = as_account(&testbed, kubeconfig.clone(), words).await;
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(!ended.said().contains("left behind"), "{}", ended.said());
    let text = std::fs::read_to_string(testbed.dir.path().join("account.kubeconfig")).unwrap();
    let file = testbed.dir.path().join("clean.kubeconfig");
    std::fs::write(&file, text).unwrap();
    let cleaned = process::run(testbed.dir.path(), &["clean", "--kubeconfig", file.to_str().unwrap()]);
    assert_eq!(cleaned.code, Some(0), "{}", cleaned.said());
}

/// Any one verb less is noticed before anything is applied, and is no failure of the target where nobody asks first.
#[tokio::test(flavor = "multi_thread")]
async fn no_verb_can_be_left_out() {
    let testbed = TestbedProcess::start(&[]);
    let few = scenarios(&FEW[2..]);
    let permissions = Permissions::of(few.iter(), &kinds_of(few.iter()), Ways::default());
    let role = rbac(&testbed, &FEW[1..]);
    let mut tried = 0;
    for permission in permissions.iter().filter(|permission| permission.need == Need::Run) {
        let edit = |object: &mut Value| without(object, permission.verb, &permission.resource);
        let mut arguments = FEW.to_vec();
        arguments[0] = "preflight";
        let ended = as_account(&testbed, account(&testbed, role.clone(), edit).await, &arguments).await;
        assert_eq!(ended.code, Some(3), "without {permission}: {}", ended.said());
        // What is read to find the rest out is refused before anybody asks for a review.
        let told = [permission.to_string(), format!("{} {}", permission.verb, permission.resource)];
        // Long lines are broken wherever it suits.
        let squeezed = ended.said().replace(' ', "");
        assert!(
            told.iter().any(|told| squeezed.contains(&told.replace(' ', ""))),
            "without {permission}: {}",
            ended.said()
        );
        assert!(ended.said().contains("gateproof rbac"), "without {permission}: {}", ended.said());
        tried += 1;
    }
    assert!(tried > 30, "{tried}");
    let few = few.iter();
    let forwarded = Permissions::of(few.clone(), &kinds_of(few), Ways { port_forward: true, deployed: false });
    let more: Vec<_> = forwarded.iter().filter(|one| permissions.iter().all(|other| *one != other)).collect();
    // Services and slices are watched for the backends already.
    assert_eq!(more.len(), 2, "{more:?}");
    let arguments = ["preflight", "--port-forward", "httproute-missing-backend"];
    let role = rbac(&testbed, &arguments[1..]);
    for permission in more {
        let edit = |object: &mut Value| without(object, permission.verb, &permission.resource);
        let ended = as_account(&testbed, account(&testbed, role.clone(), edit).await, &arguments).await;
        assert_eq!(ended.code, Some(3), "without {permission}: {}", ended.said());
        let squeezed = ended.said().replace(' ', "");
        assert!(squeezed.contains(&permission.to_string().replace(' ', "")), "{permission}: {}", ended.said());
    }
    let edit = |object: &mut Value| without(object, "create", "httproutes");
    let unasked =
        ["run", "--skip-preflight", "httproute-missing-backend", "--timing", "embedded", "--timeout-scale", "0.4"];
    let ended = as_account(&testbed, account(&testbed, rbac(&testbed, &unasked[1..]), edit).await, &unasked).await;
    assert_eq!(ended.code, Some(3), "{}", ended.said());
    assert!(ended.said().contains("INCONCLUSIVE httproute-missing-backend"), "{}", ended.said());
}

/// What a role that is printed with these words permits, as `verb resource.group`.
fn printed(words: &[&str]) -> BTreeSet<String> {
    let dir = tempfile::tempdir().unwrap();
    let ended = process::run(dir.path(), &[&["rbac"], words].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let objects = serde_yaml::from_multiple::<Value>(&ended.out).unwrap();
    let role = objects.iter().find(|object| object["kind"] == "ClusterRole").unwrap();
    let mut found = BTreeSet::new();
    for rule in role["rules"].as_array().unwrap() {
        let all = |field: &str| rule[field].as_array().unwrap().iter().map(|one| one.as_str().unwrap());
        for resource in all("resources") {
            found.extend(all("verbs").map(|verb| format!("{verb} {resource}")));
        }
    }
    found
}

/// Words of a run, and what its role permits with them that it does not without, or the other way round.
#[rstest]
#[case::features(&["--features", "Gateway,HTTPRoute"], &[], &["create tcproutes"])]
#[case::exempt_features(&["--exempt-features", "TCPRoute"], &[], &["create tcproutes"])]
#[case::release(&["--gateway-api-version", "1.0.0", "--gateway-api-channel", "standard"], &[], &["create grpcroutes"])]
#[case::skipped(&["--skip", "tcproute-*", "--skip", "gateway-*", "--skip", "udproute-*", "--skip", "listenerset-tcproute"], &[], &["create tcproutes"])]
#[case::cluster_changes(&["--allow-cluster-changes"], &["patch customresourcedefinitions"], &[])]
#[case::backends(
    &["--backends", "deployed"],
    &["create deployments", "get pods/proxy"],
    &["create endpointslices", "patch endpointslices"]
)]
#[case::port_forward(&["--port-forward"], &["create pods/portforward"], &[])]
#[case::what_says_nothing_of_permissions(&["--jobs", "2", "--report-dir", "x", "--contract", "warn", "--gateway-class", "y"], &[], &[])]
fn the_role_is_that_of_the_run(#[case] words: &[&str], #[case] more: &[&str], #[case] less: &[&str]) {
    let (plain, given) = (printed(&[]), printed(words));
    let without: Vec<&String> = plain.difference(&given).collect();
    let beside: Vec<&String> = given.difference(&plain).collect();
    assert!(more.iter().all(|one| beside.iter().any(|found| found == one)), "{beside:?}");
    assert!(less.iter().all(|one| without.iter().any(|found| found == one)), "{without:?}");
    assert_eq!((beside.is_empty(), without.is_empty()), (more.is_empty(), less.is_empty()), "{beside:?} {without:?}");
}

#[test]
fn the_role_is_for_preflight_too() {
    let asked = "create httproutes";
    assert!(printed(&["tcproute-simple"]).contains(asked));
    assert!(!printed(&["tcproute-simple", "--skip-preflight"]).contains(asked));
}

#[rstest]
#[case::unknown_feature(&["--features", "Nothing"], "there is no feature")]
#[case::embedded(&["--target", "embedded:deaf"], "a role is for a run on a named cluster")]
#[case::definitions(&["--crds", "x.yaml"], "a role is for a run on a named cluster")]
fn what_no_role_is_for_is_refused(#[case] words: &[&str], #[case] told: &str) {
    let dir = tempfile::tempdir().unwrap();
    let ended = process::run(dir.path(), &[&["rbac"], words].concat());
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    assert!(ended.said().contains(told), "{}", ended.said());
}

#[test]
fn the_policy_comes_with_the_role_in_both_formats() {
    let dir = tempfile::tempdir().unwrap();
    let kinds = |words: &[&str]| -> Vec<String> {
        let ended = process::run(dir.path(), &[&["rbac", "tcproute-simple"], words].concat());
        let mut objects = serde_yaml::from_multiple::<Value>(&ended.out).unwrap();
        if let Some(items) = objects[0]["items"].as_array() {
            objects = items.clone();
        }
        objects.iter().map(|object| object["kind"].as_str().unwrap().to_owned()).collect()
    };
    let role = ["ServiceAccount", "ClusterRole", "ClusterRoleBinding"];
    let policy = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"];
    assert_eq!(kinds(&[]), role);
    assert_eq!(kinds(&["--admission-policy"]), [&role[..], &policy].concat());
    assert_eq!(kinds(&["--admission-policy", "--format", "json"]), [&role[..], &policy].concat());
}
