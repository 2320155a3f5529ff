//! `docs/dialects.md` shows what there is, and what it shows works: its files, and every command of it.
#![allow(clippy::unwrap_used)]

mod process;

use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use process::{Ended, TestbedProcess, run};
use rstest::rstest;

/// The operator on the testbed of the page.
const OPERATOR: &str = "KUBECONFIG=lamps.kubeconfig cargo run -p gateproof-example-lamps";
/// Of the operator that a test starts.
const OPERATOR_ARGUMENTS: &str = "GATEPROOF_TEST_OPERATOR";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The blocks of a page in a language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// A command and what the page says that it answers.
#[derive(Debug)]
struct Shown {
    command: String,
    answers: Vec<String>,
}

fn shown(page: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for block in blocks(page, "console") {
        for line in block.lines() {
            match line.strip_prefix("$ ") {
                Some(command) => all.push(Shown { command: command.to_owned(), answers: Vec::new() }),
                None => all.last_mut().unwrap().answers.push(line.to_owned()),
            }
        }
    }
    all
}

/// The words behind `gateproof`, with the paths of the page made whole.
fn words(command: &str, kubeconfig: &Path) -> Option<Vec<String>> {
    let words = command.strip_prefix("gateproof ")?.split(' ').map(|word| match word {
        "lamps.kubeconfig" => kubeconfig.display().to_string(),
        path if path.starts_with("examples/") => root().join(path).display().to_string(),
        word => word.to_owned(),
    });
    Some(words.collect())
}

/// An operator, as a process that ends with it.
struct Operator(Child);

impl Operator {
    /// The program of the page on a testbed, as [`the_operator_itself`].
    fn start(testbed: &TestbedProcess, arguments: &str) -> Operator {
        let mut operator = Command::new(std::env::current_exe().unwrap());
        operator.args(["--exact", "the_operator_itself"]).env("KUBECONFIG", &testbed.kubeconfig);
        let arguments = arguments.strip_prefix(" -- ").unwrap_or(arguments);
        Operator(operator.env(OPERATOR_ARGUMENTS, arguments).spawn().unwrap())
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The main function of the example's program, in a process of its own: for whoever starts it with arguments for that.
#[tokio::test(flavor = "multi_thread")]
async fn the_operator_itself() {
    if let Ok(arguments) = std::env::var(OPERATOR_ARGUMENTS) {
        let arguments = arguments.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        gateproof_example_lamps::main(arguments.into_iter()).await.unwrap();
    }
}

#[test]
fn the_page_shows_the_files() {
    let page = std::fs::read_to_string(root().join("docs/dialects.md")).unwrap();
    let files = blocks(&page, "yaml");
    assert_eq!(files.len(), 4);
    for block in files {
        let (head, text) = block.split_once('\n').unwrap();
        let path = head.strip_prefix("# ").unwrap();
        assert_eq!(text, std::fs::read_to_string(root().join(path)).unwrap(), "{path}");
    }
}

#[test]
fn the_commands_of_the_page_do_what_it_shows() {
    let page = std::fs::read_to_string(root().join("docs/dialects.md")).unwrap();
    let mut testbed: Option<TestbedProcess> = None;
    let mut operating: Option<Operator> = None;
    let dir = tempfile::tempdir().unwrap();
    let mut ran = 0;
    for Shown { command, answers } in shown(&page) {
        if let Some(more) = command.strip_prefix(OPERATOR) {
            // One of them at a time.
            drop(operating.take());
            operating = Some(Operator::start(testbed.as_ref().unwrap(), more));
            continue;
        }
        if command.starts_with("gateproof testbed ") {
            let words = words(&command, Path::new("unused")).unwrap();
            // Its kubeconfig has a folder of its own here.
            let words: Vec<&str> = words[1..words.len() - 2].iter().map(String::as_str).collect();
            testbed = Some(TestbedProcess::start(&words));
            continue;
        }
        let kubeconfig = testbed.as_ref().map(|testbed| testbed.kubeconfig.clone()).unwrap_or_default();
        let words = words(&command, &kubeconfig).unwrap();
        let ended = run(dir.path(), &words.iter().map(String::as_str).collect::<Vec<_>>());
        let said = ended.said();
        assert!(!answers.is_empty(), "{command} says nothing");
        for answer in answers {
            let answer = answer.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains(&answer), "{command}: no `{answer}` in {said}");
        }
        ran += 1;
    }
    assert_eq!(ran, 5);
    drop(operating);
    let record = std::fs::read_to_string(dir.path().join("gateproof-report/record.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert_eq!(record["target"]["dialect"], "lamps");
    assert!(record["target"].get("gatewayClass").is_none());
    assert!(!dir.path().join("gateproof-report/conformance.yaml").exists());
    let dialect = root().join("examples/lamps/dialect").display().to_string();
    let replayed = |words: &[&str]| run(dir.path(), &[&["replay", "gateproof-report"], words].concat());
    assert!(replayed(&["--dialect", &dialect]).said().contains("1 passed, 1 failed"));
    for words in [[].as_slice(), &["--gateway-api-version", "v1.6"]] {
        let other = replayed(words);
        assert!(other.said().contains("the log is of the dialect `lamps`"), "{}", other.said());
    }
}

/// A copy of the example's dialect with one text replaced.
fn mangled(file: &str, from: &str, to: &str) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let source = root().join("examples/lamps/dialect");
    std::fs::create_dir(copy.path().join("manifests")).unwrap();
    for name in ["dialect.yaml", "contract.yaml", "requirements.yaml", "crds.yaml", "manifests/lamps.yaml"] {
        let text = std::fs::read_to_string(source.join(name)).unwrap();
        assert!(name != file || text.contains(from), "`{from}` stands in {file}");
        let text = if name == file { text.replacen(from, to, 1) } else { text };
        std::fs::write(copy.path().join(name), text).unwrap();
    }
    copy
}

/// One clear error with its place, before anything is applied.
#[rstest]
#[case::field("dialect.yaml", "plural: lamps", "plurals: lamps", &["dialect.yaml", "unknown field `plurals`", "line 8"])]
#[case::twice("dialect.yaml", "    - {kind: Lamp, plural: lamps}", "    - {kind: Lamp, plural: lamps}\n    - {kind: Lamp, plural: lamps}", &["dialect.yaml:9: ", "names the kind Lamp twice"])]
#[case::group("dialect.yaml", "plural: lamps", "plural: lamps, group: example.com", &["dialect.yaml", "`example.com`, which is not among its groups"])]
#[case::implied("dialect.yaml", "  conditions: [Ready]", "  implied: {fresh: [LAMP-44]}\n  conditions: [Ready]", &["dialect.yaml:9: the clause `LAMP-44` stands in no requirements.yaml"])]
#[case::demand("dialect.yaml", "  conditions: [Ready]", "  implied: {frsh: [LAMP-1]}\n  conditions: [Ready]", &["dialect.yaml", "unknown field `frsh`"])]
#[case::edition("manifests/lamps.yaml", "  features: []", "  features: []\n  editions: [design]", &["lamps.yaml:7", "the dialect `lamps` has one edition only"])]
#[case::edition_of_a_clause("requirements.yaml", "  level: must", "  editions: [design]\n  level: must", &["requirements.yaml:2: the clause `LAMP-1` is of the edition `design`, which the dialect does not name"])]
#[case::rule("contract.yaml", "tri-state", "try-state", &["contract.yaml:14: no rule is named `try-state`; did you mean `tri-state`?"])]
#[case::other("contract.yaml", "name: lamps", "name: candles", &["contract.yaml", "of the dialect `candles`, which is another"])]
#[case::foreign_kind("contract.yaml", "kind: Lamp", "kind: Lamb", &["contract.yaml", "no kind Lamb of the group `examples.gateproof.dev`"])]
#[case::level("requirements.yaml", "level: must", "level: mast", &["requirements.yaml", "line 2"])]
#[case::condition("manifests/lamps.yaml", "Ready: \"True/Lit\"", "Reddy: \"True/Lit\"", &["lamps.yaml:11", "Reddy", "Ready"])]
#[case::release("manifests/lamps.yaml", "  features: []", "  features: []\n  since: \"1.4\"", &["lamps.yaml:7", "the dialect `lamps` has no releases to be bound to"])]
#[case::channel("manifests/lamps.yaml", "proves: [LAMP-1, LAMP-4]", "proves: [LAMP-1, LAMP-4]\n      channel: standard", &["lamps.yaml:13", "has no releases"])]
#[case::plural("dialect.yaml", "plural: lamps", "plural: lampen", &["dialect.yaml:8: Lamp has the plural `lampen` here, and `lamps` in crds.yaml"])]
#[case::scope("dialect.yaml", "plural: lamps", "plural: lamps, scope: Cluster", &["dialect.yaml:8: Lamp has the scope `Cluster` here, and `Namespaced` in crds.yaml"])]
#[case::undefined("dialect.yaml", "    - {kind: Lamp, plural: lamps}", "    - {kind: Lamp, plural: lamps}\n    - {kind: Lantern, plural: lanterns}", &["dialect.yaml:9: crds.yaml defines kinds of the group `examples.gateproof.dev`, and no Lantern"])]
#[case::place("contract.yaml", "      subjects: [", "      handledBy: /spec/sockets\n      subjects: [", &["contract.yaml:31: Lamp has nothing at `/spec/sockets`, by its definition in crds.yaml"])]
#[case::list("contract.yaml", "at: object", "at: parents", &["contract.yaml:31: Lamp has nothing at `/status/parents`"])]
#[case::grade("contract.yaml", "  conditions:\n    lamp:\n      Ready: {presence: always,", "    grade-fits-status: {level: MUST}\n  conditions:\n    lamp:\n      Ready: {presence: always, graded: {by: messag},", &["contract.yaml:28: Lamp has nothing at `/status/", "conditions/0/messag`, by its definition in crds.yaml; did you mean `message`?"])]
#[case::sorted("contract.yaml", "  conditions:\n    lamp:\n      Ready: {presence: always, reasons: {\"True\": [Lit], \"False\": [SocketNotFound]}}\n  kinds:\n    - kind: Lamp\n      group: examples.gateproof.dev\n", "    sorted: {level: MUST}\n  conditions:\n    lamp:\n      Ready: {presence: always, reasons: {\"True\": [Lit], \"False\": [SocketNotFound]}}\n  kinds:\n    - kind: Lamp\n      group: examples.gateproof.dev\n      sorted: [{at: /status/conditions, by: typ}]\n", &["contract.yaml:32: Lamp has nothing at `/status/", "conditions/0/typ`, by", "did you mean `type`?"])]
#[case::generation("dialect.yaml", "plural: lamps", "plural: lamps, generation: status", &["dialect.yaml:8: Lamp has `generation: status` here, and no `status.observedGeneration`", "leave `generation` out"])]
#[case::definitions("crds.yaml", "kind: CustomResourceDefinition", "kind: CustomResource", &["crds.yaml"])]
#[case::object("manifests/lamps.yaml", "spec: {socket: socket}", "spec: {sockt: socket}", &["lamps.yaml:10", "Lamp has no field `spec.sockt`", "did you mean `socket`?"])]
#[case::value("manifests/lamps.yaml", "spec: {socket: socket}", "spec: {socket: 3}", &["lamps.yaml:10", "`spec.socket` of a Lamp must be a string, found a number"])]
#[case::pointer("manifests/lamps.yaml", "{Ready: \"True/Lit\"}", "{fields: [{at: /status/condition, notEmpty: true}]}", &["lamps.yaml:11", "Lamp has nothing at `/status/condition`"])]
#[case::further_field("manifests/lamps.yaml", "{Ready: \"True/Lit\"}", "{Ready: {fields: {severity: {empty: true}}}}", &["lamps.yaml:11:45", "conditions of Lamp have no field `severity`"])]
#[case::mirror("manifests/lamps.yaml", "{Ready: \"True/Lit\"}", "{mirrors: {condition: absent}}", &["lamps.yaml:11", "Lamp has nothing at `/status/condition`", "did you mean `conditions`?"])]
#[case::patch("manifests/lamps.yaml", "    - delete: [ConfigMap/later]", "    - patch: {target: Lamp/lamp, merge: {spec: {sockets: a}}}\n    - delete: [ConfigMap/later]", &["lamps.yaml:29", "Lamp has no field `spec.sockets`", "did you mean `socket`?"])]
#[case::unused("contract.yaml", "  conditions:\n    lamp:", "  conditions:\n    candle: {Lit: {presence: always}}\n    lamp:", &["contract.yaml", "no kind has the conditions `candle`"])]
#[case::ground("contract.yaml", "  messageRequired", "  refines: policy\n  messageRequired", &["contract.yaml", "there is no contract `policy` to be refined; there is policies"])]
#[case::nothing_said("contract.yaml", "  transitionTime: onStatusChange\n", "", &["contract.yaml", "the contract does not say `transitionTime`"])]
#[case::no_presence("contract.yaml", "presence: always, ", "", &["contract.yaml", "does not say `conditions.lamp.Ready.presence`"])]
#[case::taken_away("contract.yaml", "    unique-type: {level: MUST, clauses: [LAMP-3]}", "    unique: null", &["contract.yaml", "no rule is named `unique`"])]
#[case::class("manifests/lamps.yaml", "spec: {socket: socket}", "spec: {socket: \"${class}\"}", &["lamps.yaml:10", "`${class}` stands for nothing: the dialect `lamps` has no class"])]
#[case::controller("manifests/lamps.yaml", "name: socket}", "name: socket}, data: {a: \"${controller}\"}", &["lamps.yaml:9", "`${controller}` stands for nothing"])]
#[case::probe("manifests/lamps.yaml", "    - delete: [ConfigMap/later]", "    - probe: {get: \"http://${host}/\", expect: {status: 200}}\n    - delete: [ConfigMap/later]", &["lamps.yaml:29", "there is nothing to probe: traffic comes in at no kind of the dialect `lamps`"])]
#[case::name("dialect.yaml", "name: lamps", "name: ../lamps", &["dialect.yaml:3: `../lamps` cannot be the name of a dialect", "lower-case letters"])]
#[case::nobodys_entries("dialect.yaml", "plural: lamps", "plural: lamps, conditions: ancestors", &["dialect.yaml:8: ", "the conditions of Lamp stand in `status.ancestors`", "no kind with the role `class`"])]
#[case::clause_of_a_rule("contract.yaml", "tri-state: {level: MUST, clauses: [LAMP-3]}", "tri-state: {level: MUST, clauses: [LAMP-33]}", &["contract.yaml:14: the clause `LAMP-33` stands in no requirements.yaml", "did you mean `LAMP-3`?"])]
#[case::clause_twice("requirements.yaml", "id: LAMP-4", "id: LAMP-1", &["requirements.yaml:16: the clause `LAMP-1` is there twice"])]
#[case::reason("contract.yaml", "[Lit]", "[Lit sinc 1.2]", &["contract.yaml:27: `Lit sinc 1.2` is not a reason such as `Pending since 1.2 until 1.5`"])]
#[case::release_of_a_reason("contract.yaml", "[Lit]", "[Lit since 1.x]", &["contract.yaml:27: `1.x`"])]
#[case::release_of_a_condition("contract.yaml", "presence: always,", "presence: always, until: soon,", &["contract.yaml:27: `soon`"])]
#[case::release_of_a_rule("contract.yaml", "tri-state: {level", "tri-state: {since: soon, level", &["contract.yaml:14: `soon`"])]
#[case::form("contract.yaml", "'^[A-Z][A-Za-z0-9]*$'\n    type", "'['\n    type", &["contract.yaml:10: `forms.reasonLint` is no regular expression"])]
#[case::status("contract.yaml", "\"True\": [Lit]", "\"Treu\": [Lit]", &["contract.yaml:27: the condition `Ready` of the set `lamp`", "the status `Treu`: there is True, False, Unknown"])]
#[case::open_status("contract.yaml", "presence: always,", "presence: always, open: [\"true\"],", &["contract.yaml:27: the condition `Ready` of the set `lamp`", "the status `true`"])]
#[case::type_("contract.yaml", "Ready: {presence", "Reddy: {presence", &["contract.yaml:27: the set `lamp` has the condition `Reddy`", "there is Ready"])]
#[case::applied_kind("manifests/lamps.yaml", "kind: Lamp, metadata", "kind: Lamb, metadata", &["lamps.yaml:10", "the dialect `lamps` has no kind `Lamb` of the group `examples.gateproof.dev`", "did you mean `Lamp`?"])]
#[case::further_kind("manifests/lamps.yaml", "kind: Lamp, metadata", "kind: Torch, metadata", &["lamps.yaml:10", "no kind `Torch`", "there is Lamp; a further one has to stand in `kinds` of dialect.yaml"])]
#[case::made_kind("manifests/lamps.yaml", "  features: []", "  features: []\n  made: [{apiVersion: examples.gateproof.dev/v1, kind: Lamb, name: a}]", &["lamps.yaml:7", "no kind `Lamb`"])]
#[case::made_of_another("manifests/lamps.yaml", "  features: []", "  features: []\n  made: [{apiVersion: kuadrant.io/v1, kind: AuthPolicy, name: a}]", &["lamps.yaml:7", "an object of the dialect `kuadrant`"])]
#[case::made_and_applied("manifests/lamps.yaml", "  features: []", "  features: []\n  made: [{apiVersion: v1, kind: ConfigMap, name: socket}]", &["lamps.yaml:10", "`ConfigMap/socket` stands in `made`", "take it out of `made`"])]
#[case::version("manifests/lamps.yaml", "examples.gateproof.dev/v1,", "examples.gateproof.dev/v2,", &["lamps.yaml:10", "Lamp is not served as `examples.gateproof.dev/v2`", "there is `examples.gateproof.dev/v1`"])]
#[case::version_of_made("manifests/lamps.yaml", "  features: []", "  features: []\n  made: [{apiVersion: examples.gateproof.dev/v2, kind: Lamp, name: a}]", &["lamps.yaml:7", "Lamp is not served as"])]
#[case::core_group("dialect.yaml", "groups: [", "groups: ['', ", &["dialect.yaml:6: ", "`` among its `groups`, which is one of Kubernetes itself", "put that first"])]
#[case::group_of_kubernetes("dialect.yaml", ".dev]", ".dev, apps]", &["dialect.yaml:6: ", "`apps` among its `groups`, which is one of Kubernetes itself, and no kind is of it"])]
#[case::class_of_nobody("dialect.yaml", "plural: lamps", "plural: lamps, role: class", &["dialect.yaml:8: Lamp has `role: class` here, and no `spec.controllerName`"])]
#[case::falls_back("dialect.yaml", "  conditions: [Ready]", "  conditions: [Ready]\n  accepted: Ready\n  fallsBack: {condition: Ready, message: a}", &["dialect.yaml:11: ", "in its `condition` the condition of `accepted`"])]
#[case::word_without_its_rule("contract.yaml", "presence: always,", "presence: always, explains: true,", &["contract.yaml:27: `explains` has no effect", "list `message-explains` there"])]
#[case::presence_without_its_rule("contract.yaml", "    always-present: {level: MUST, clauses: [LAMP-1, LAMP-2]}\n", "", &["contract.yaml:26: `presence: always` has no effect", "list `always-present` or"])]
#[case::word_alone("contract.yaml", "presence: always,", "presence: onlyTrue,", &["contract.yaml:27: `presence: onlyTrue` has no effect", "list `negative-only-while-true`"])]
#[case::added("manifests/lamps.yaml", "    - delete: [ConfigMap/later]", "    - patch: {target: Lamp/lamp, json: [{op: add, path: /spec/sockets, value: a}]}\n    - delete: [ConfigMap/later]", &["lamps.yaml:29", "Lamp has nothing at `/spec/sockets`", "did you mean `socket`?"])]
#[case::clause_of_no_edition("requirements.yaml", "  level: must", "  editions: []\n  level: must", &["requirements.yaml:2: the clause `LAMP-1` holds in no edition"])]
#[case::condition_twice("dialect.yaml", "[Ready]", "[Ready, Ready]", &["dialect.yaml:9: the dialect `lamps` lists the condition `Ready` twice"])]
#[case::no_edition("dialect.yaml", "  conditions: [Ready]", "  conditions: [Ready]\n  editions: []", &["dialect.yaml:10: the dialect `lamps` has no edition in its `editions`"])]
#[case::releases("dialect.yaml", "  conditions: [Ready]", "  conditions: [Ready]\n  releases: {definition: lamp.examples.gateproof.dev, version: a, channel: b}", &["dialect.yaml:10: `lamp.examples.gateproof.dev` in `releases` is the definition of none of the `kinds`", "did you mean `lamps.examples.gateproof.dev`?"])]
#[case::reason_of_a_manifest("manifests/lamps.yaml", "{Ready: \"True/Lit\"}", "{Ready: \"False/SocketNotFuond\"}", &["lamps.yaml:11:35", "`SocketNotFuond` is all but a reason of Ready in the contract of `lamps`", "did you mean `SocketNotFound`?"])]
#[case::type_of_a_patch("manifests/lamps.yaml", "    - delete: [ConfigMap/later]", "    - patch: {target: Lamp/lamp, json: [{op: replace, path: /spec/socket, value: 3}]}\n    - delete: [ConfigMap/later]", &["lamps.yaml:29", "`/spec/socket` of a Lamp must be a string, found a number"])]
#[case::type_of_a_merge_patch("manifests/lamps.yaml", "    - delete: [ConfigMap/later]", "    - patch: {target: Lamp/lamp, merge: {spec: {socket: 3}}}\n    - delete: [ConfigMap/later]", &["lamps.yaml:29", "`spec.socket` of a Lamp must be a string, found a number"])]
#[case::type_of_a_field("manifests/lamps.yaml", "{Ready: \"True/Lit\"}", "{fields: [{at: /spec/socket, equals: 3}]}", &["lamps.yaml:11", "`/spec/socket` of a Lamp must be a string, found a number"])]
#[case::clause("manifests/lamps.yaml", "LAMP-1, LAMP-4", "LAMP-1, LAMP-44", &["lamps.yaml:12", "LAMP-44"])]
fn what_is_wrong_with_a_dialect_is_told_with_its_place(
    #[case] file: &str,
    #[case] from: &str,
    #[case] to: &str,
    #[case] told: &[&str],
) {
    let copy = mangled(file, from, to);
    let ended = lint(copy.path());
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    for part in told {
        assert!(ended.said().contains(part), "no `{part}` in {}", ended.said());
    }
}

/// Logs and reports name a dialect, and could mean either of two.
#[rstest]
#[case("gateway-api")]
#[case("aso")]
#[case("kuadrant")]
fn a_folder_does_not_call_itself_as_a_built_in_dialect(#[case] name: &str) {
    let copy = mangled("dialect.yaml", "name: lamps", &format!("name: {name}"));
    let contract = copy.path().join("contract.yaml");
    let text = std::fs::read_to_string(&contract).unwrap();
    std::fs::write(&contract, text.replace("name: lamps", &format!("name: {name}"))).unwrap();
    let ended = lint(copy.path());
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    let told = format!("dialect.yaml:3: the dialect `{name}` is built in, so one of a folder needs another name");
    assert!(ended.said().contains(&told), "{}", ended.said());
}

/// A wrong definition is told where it stands, and with the right one the kinds that the folder defines are of its releases.
#[test]
fn kinds_of_a_folder_are_of_its_releases() {
    let releases =
        "  conditions: [Ready]\n  releases: {definition: lamps.examples.gateproof.dev, version: a, channel: b}";
    let copy = mangled("dialect.yaml", "  conditions: [Ready]", releases);
    let ended = lint(copy.path());
    assert_eq!(ended.code, Some(0), "{}", ended.said());
}

#[rstest]
#[case("gateway-api")]
#[case("aso")]
#[case("kuadrant")]
fn what_is_built_in_has_no_problems(#[case] dialect: &str) {
    let ended = run(Path::new("."), &["lint", "--dialect", dialect]);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
}

/// Without definitions of its own a dialect is held against those that the target serves, before anything is applied.
#[rstest]
#[case::right("dialect.yaml", "title: Lamps", "title: Lights", &["2 of 2 would run"])]
#[case::plural("dialect.yaml", "plural: lamps", "plural: lampen", &["dialect.yaml:8: Lamp has the plural `lampen` here, and `lamps` in the target"])]
#[case::place("contract.yaml", "      subjects: [", "      handledBy: /spec/sockets\n      subjects: [", &["contract.yaml:31: Lamp has nothing at `/spec/sockets`, by its definition in the target"])]
#[case::field("manifests/lamps.yaml", "spec: {socket: socket}", "spec: {socket: socket, size: 3}", &["lamps.yaml:10:", "size"])]
#[case::mirror("manifests/lamps.yaml", "{Ready: \"True/Lit\"}", "{mirrors: {brightness: 3}}", &["lamps.yaml:11:", "brightness"])]
fn what_no_served_definition_has_is_an_error(
    #[case] file: &str,
    #[case] from: &str,
    #[case] to: &str,
    #[case] told: &[&str],
) {
    let copy = mangled(file, from, to);
    std::fs::remove_file(copy.path().join("crds.yaml")).unwrap();
    let source = root().join("examples/lamps/dialect").display().to_string();
    let testbed = TestbedProcess::start(&["--no-controller", "--dialect", &source]);
    let is_right = told[0].contains("would run");
    for verb in ["plan", "run"] {
        if verb == "run" && is_right {
            continue;
        }
        let kubeconfig = testbed.kubeconfig.display().to_string();
        let words = [verb, "--dialect", copy.path().to_str().unwrap(), "--kubeconfig", &kubeconfig];
        let ended = run(copy.path(), &words);
        assert_eq!(ended.code, Some(if is_right { 0 } else { 2 }), "{}", ended.said());
        for told in told {
            assert!(ended.said().contains(told), "no `{told}` in {}", ended.said());
        }
    }
}

/// What does not run asks for nothing, so nothing of it is held against the definitions of the target.
#[rstest]
#[case::not_chosen("spec: {socket: socket}", &["lamp-without-socket"], &["1 of 1 would run"])]
#[case::not_supported("spec: {socket: socket}", &[], &["1 of 2 would run", "feature Dimming not claimed"])]
#[case::supported("spec: {socket: socket}", &["--features", "Dimming"], &["lamps.yaml:10:", "size"])]
fn what_does_not_run_is_not_held(#[case] from: &str, #[case] words: &[&str], #[case] told: &[&str]) {
    let copy = mangled("manifests/lamps.yaml", from, "spec: {socket: socket, size: 3}");
    std::fs::remove_file(copy.path().join("crds.yaml")).unwrap();
    std::fs::write(copy.path().join("features.yaml"), "- {name: Dimming, about: It dims.}\n").unwrap();
    let manifest = copy.path().join("manifests/lamps.yaml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replacen("  features: []", "  features: [Dimming]", 1)).unwrap();
    let source = root().join("examples/lamps/dialect").display().to_string();
    let testbed = TestbedProcess::start(&["--no-controller", "--dialect", &source]);
    let kubeconfig = testbed.kubeconfig.display().to_string();
    let plan = ["plan", "--dialect", copy.path().to_str().unwrap(), "--kubeconfig", &kubeconfig];
    let ended = run(copy.path(), &[&plan[..], words].concat());
    for told in told {
        assert!(ended.said().contains(told), "no `{told}` in {}", ended.said());
    }
}

/// A dialect may have kinds of another, and says so once for all of its scenarios.
#[test]
fn kinds_of_two_dialects_stand_in_one_manifest_if_the_dialect_has_them() {
    let grant = "    - apply:\n        - {apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {name: grant}, spec: {}}\n";
    let with_grant = format!("  steps:\n{grant}");
    let copy = mangled("manifests/lamps.yaml", "  steps:\n", &with_grant);
    let ended = lint(copy.path());
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    for told in [
        "lamps.yaml:9:24",
        "this is an object of the dialect `gateway-api`, and the scenario is one of `lamps`",
        "name its group in `groups` and the kind in `kinds` of dialect.yaml",
    ] {
        assert!(ended.said().contains(told), "no `{told}` in {}", ended.said());
    }
    let path = copy.path().join("dialect.yaml");
    let dialect = std::fs::read_to_string(&path).unwrap();
    let kind = "  kinds:\n    - {kind: ReferenceGrant, group: gateway.networking.k8s.io, plural: referencegrants}\n";
    let both = dialect.replace("[examples.gateproof.dev]", "[examples.gateproof.dev, gateway.networking.k8s.io]");
    std::fs::write(&path, both.replace("  kinds:\n", kind)).unwrap();
    assert_eq!(lint(copy.path()).code, Some(0), "{}", lint(copy.path()).said());
}

/// What of a lamp's scenarios counts in a profile, and nothing that there is not.
#[test]
fn profiles_of_a_folder_select_its_scenarios() {
    let copy = mangled("manifests/lamps.yaml", "  features: []", "  features: [RootNamespaces]");
    let write = |name: &str, text: &str| std::fs::write(copy.path().join(name), text).unwrap();
    write("features.yaml", "- {name: RootNamespaces, about: a}\n- {name: Dimming, about: b}\n");
    write(
        "profiles.yaml",
        "- {name: HOUSE, about: All of a house., core: [RootNamespaces], extended: [Dimming]}\n- {name: ROOM, about: A room.}\n\
         - {name: NIGHT, about: By name., extended: [RootNamespaces], scenarios: [lamp-lit]}\n",
    );
    let dialect = copy.path().to_str().unwrap();
    let json = |words: &[&str]| -> serde_json::Value {
        let ended = run(copy.path(), &[words, &["--dialect", dialect, "--format", "json"]].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.said());
        serde_json::from_str(&ended.out).unwrap()
    };
    let profiles = json(&["list", "profiles"]);
    let counted = |at: usize| (profiles[at]["coreScenarios"].clone(), profiles[at]["extendedScenarios"].clone());
    assert_eq!(counted(0), (serde_json::json!(["lamp-lit", "lamp-without-socket"]), serde_json::json!([])));
    assert_eq!(counted(1), (serde_json::json!(["lamp-without-socket"]), serde_json::json!([])));
    assert_eq!(counted(2), (serde_json::json!([]), serde_json::json!(["lamp-lit"])));
    assert_eq!(profiles[0]["extended"], serde_json::json!(["Dimming"]));
    let names = |listed: serde_json::Value| -> Vec<String> {
        let name = |item: &serde_json::Value| item["name"].as_str().unwrap().to_owned();
        listed.as_array().unwrap().iter().map(name).collect()
    };
    for words in [&["list", "scenarios", "--profile", "room"][..], &["list", "scenarios", "ROOM"]] {
        assert_eq!(names(json(words)), ["lamp-without-socket"], "{words:?}");
    }
    assert_eq!(names(json(&["list", "scenarios", "--profile", "ROOM", "--profile", "NIGHT"])).len(), 2);
    assert_eq!(
        json(&["list", "scenarios", "lamp-lit"])[0]["profiles"],
        serde_json::json!({"HOUSE": "core", "NIGHT": "extended"})
    );
    let wrong = run(copy.path(), &["list", "scenarios", "--dialect", dialect, "--profile", "ROM"]);
    assert_eq!(wrong.code, Some(2));
    let told = "--profile ROM: the dialect `lamps` has no profile of this name help: did you mean `ROOM`?";
    assert!(wrong.said().contains(told), "{}", wrong.said());
}

/// One clear error with its place.
#[rstest]
#[case::feature(
    "- {name: A, about: b, core: [F]}\n- {name: B, about: b,\n   core: [G]}\n",
    "profiles.yaml:3: the feature `G` of the profile B stands in no features.yaml beside it"
)]
#[case::near(
    "- {name: A, about: b, extended: [Dimmin]}\n",
    "profiles.yaml:1: the feature `Dimmin` of the profile A stands in no features.yaml beside it; did you mean `Dimming`?"
)]
#[case::scenario(
    "- {name: A, about: b}\n- {name: B, about: b, scenarios: [lamp-lid]}\n",
    "profiles.yaml:2: there is no scenario `lamp-lid` for the profile B; did you mean `lamp-lit`?"
)]
#[case::left_out(
    "- {name: A, about: b, scenarios: [lamp-lit]}\n",
    "profiles.yaml:1: the scenario `lamp-lit` needs the feature `F`, which is neither core nor extended in the profile A"
)]
#[case::twice("- {name: A, about: b}\n- {name: a, about: b}\n", "profiles.yaml:2: `a` cannot be the name of a profile")]
#[case::name("- {name: a b, about: b}\n", "profiles.yaml:1: `a b` cannot be the name of a profile")]
#[case::of_a_feature("- {name: F, about: b}\n", "profiles.yaml:1: `F` is the name of a feature, too")]
#[case::of_a_clause("- {name: lamp-4, about: b}\n", "profiles.yaml:1: `lamp-4` is the name of a clause, too")]
#[case::of_a_scenario(
    "- {name: A, about: b}\n- {name: Lamp-Lit, about: b}\n",
    "profiles.yaml:2: `Lamp-Lit` is the name of a scenario, too"
)]
#[case::of_a_suite("- {name: local, about: b}\n", "profiles.yaml:1: `local` is the name of a suite")]
#[case::both(
    "- {name: A, about: b, core: [F], extended: [F]}\n",
    "profiles.yaml:1: the feature `F` is core in the profile A, and extended"
)]
#[case::field("- {name: A, about: b, cor: [F]}\n", "unknown field `cor`")]
fn what_is_wrong_with_profiles_is_told(#[case] text: &str, #[case] told: &str) {
    let copy = mangled("manifests/lamps.yaml", "  features: []", "  features: [F]");
    std::fs::write(copy.path().join("features.yaml"), "- {name: F, about: b}\n- {name: Dimming, about: b}\n").unwrap();
    std::fs::write(copy.path().join("profiles.yaml"), text).unwrap();
    let ended = lint(copy.path());
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    assert!(ended.said().contains("profiles.yaml") && ended.said().contains(told), "no `{told}` in {}", ended.said());
}

/// The place of a reason that does not read may be in what an edition has otherwise.
#[rstest]
#[case::reason(
    "conditions: {lamp: {Ready: {reasons: {\"True\": [Lit sinc 1.2]}}}}",
    "contract.yaml:34: `Lit sinc 1.2` is not a reason"
)]
#[case::nothing_to_take(
    "conditions: {lamp: {Redy: null}}",
    "contract.yaml:34: reading the contract: in the edition `design`: there is no `conditions.lamp.Redy`"
)]
#[case::field("rulse: {}", "contract.yaml:33: reading the contract: in the edition `design`: unknown field `rulse`")]
fn what_is_wrong_with_an_edition_has_its_place_there(#[case] otherwise: &str, #[case] told: &str) {
    let copy = mangled("dialect.yaml", "  conditions: [Ready]", "  conditions: [Ready]\n  editions: [current, design]");
    let path = copy.path().join("contract.yaml");
    let mut contract = std::fs::read_to_string(&path).unwrap();
    contract.push_str(&format!("  editions:\n    design:\n      {otherwise}\n"));
    std::fs::write(path, contract).unwrap();
    let said = lint(copy.path()).said();
    assert!(said.contains(told), "{said}");
}

/// What stands in a file of its own is held as manifests are.
#[rstest]
#[case::field("sockt: a", "canary.yaml:8:98: Lamp has no field `spec.sockt`; did you mean `socket`?")]
#[case::second(
    "socket: a",
    "canary.yaml:17: there has to be one scenario in it, and there are 2; leave the others out"
)]
#[case::good("socket: b", "2 scenarios, no problems")]
fn what_is_wrong_with_a_canary_is_told(#[case] spec: &str, #[case] told: &str) {
    let copy = mangled("", "", "");
    let one = |name: &str| {
        format!(
            "apiVersion: gateproof.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: {name}}}\nspec:\n  summary: A.\n  features: []\n  \
             steps:\n    - apply: [{{apiVersion: examples.gateproof.dev/v1, kind: Lamp, metadata: {{name: lamp}}, spec: {{{spec}}}}}]\n"
        )
    };
    let several = if spec == "socket: a" { format!("{}---\n{}", one("a"), one("b")) } else { one("a") };
    std::fs::write(copy.path().join("canary.yaml"), several).unwrap();
    let said = lint(copy.path()).said();
    assert!(said.contains(told), "no `{told}` in {said}");
}

/// What is passed by without a word protects nobody.
#[rstest]
#[case::ending("canary.yml", "canary.yml: no file of a dialect is called so; did you mean `canary.yaml`?")]
#[case::misspelt("preflite.yaml", "preflite.yaml: no file of a dialect is called so; did you mean `preflight.yaml`?")]
#[case::foreign("kubeconfig.yaml", "kubeconfig.yaml: no file of a dialect is called so: there are dialect.yaml, ")]
#[case::hidden(".canary.yml", "2 scenarios, no problems")]
#[case::of_another_sort("README.md", "2 scenarios, no problems")]
fn files_of_other_names_are_told(#[case] name: &str, #[case] told: &str) {
    let copy = mangled("", "", "");
    std::fs::write(copy.path().join(name), "").unwrap();
    let said = lint(copy.path()).said();
    assert!(said.contains(told), "no `{told}` in {said}");
}

/// What an edition ships has definitions of its own, and is held against them; a manifest may hold what any edition has.
#[test]
fn an_edition_may_have_other_definitions() {
    let copy = mangled("dialect.yaml", "  conditions: [Ready]", "  conditions: [Ready]\n  editions: [current, design]");
    let path = |name: &str| copy.path().join(name);
    let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
    let crds = read("crds.yaml").replace("              required: [socket]\n", "");
    let further = "                socket: {type: string, minLength: 1}\n                shade: {type: string}\n";
    let crds = crds.replace("                socket: {type: string, minLength: 1}\n", further);
    std::fs::write(path("crds.design.yaml"), &crds).unwrap();
    let manifest = read("manifests/lamps.yaml");
    let shaded = "    - editions: [design]\n      patch: {target: Lamp/lamp, json: [{op: add, path: /spec/shade, value: a}]}\n    - delete: [";
    std::fs::write(path("manifests/lamps.yaml"), manifest.replace("    - delete: [", shaded)).unwrap();
    assert_eq!(lint(copy.path()).code, Some(0), "{}", lint(copy.path()).said());
    // What the contract names has to be there in each edition by itself.
    let contract = read("contract.yaml");
    let handled = contract.replace("      subjects: [", "      handledBy: /spec/shade\n      subjects: [");
    std::fs::write(path("contract.yaml"), handled).unwrap();
    let said = lint(copy.path()).said();
    assert!(
        said.contains("contract.yaml:31: Lamp has nothing at `/spec/shade`, by its definition in crds.yaml"),
        "{said}"
    );
    let only = run(copy.path(), &["lint", "--dialect", copy.path().to_str().unwrap(), "--edition", "design"]);
    assert_eq!(only.code, Some(0), "{}", only.said());
    std::fs::write(path("contract.yaml"), contract).unwrap();
    std::fs::write(path("crds.design.yaml"), crds.replace("lamps", "lampen")).unwrap();
    let said = lint(copy.path()).said();
    assert!(
        said.contains("dialect.yaml:8: Lamp has the plural `lamps` here, and `lampen` in crds.design.yaml"),
        "{said}"
    );
    std::fs::rename(path("crds.design.yaml"), path("crds.desing.yaml")).unwrap();
    let said = lint(copy.path()).said();
    assert!(
        said.contains("crds.desing.yaml: the dialect `lamps` has no edition `desing`: there is current, design"),
        "{said}"
    );
}

/// A feature is named once, and by letters and digits.
#[rstest]
#[case::twice("- {name: A, about: b}\n- {name: A, about: c}\n", "features.yaml:2: `A` cannot be the name of a feature")]
#[case::letters("- {name: a-b, about: b}\n", "`a-b` cannot be the name of a feature")]
#[case::field("- {name: A, abuot: b}\n", "unknown field `abuot`")]
fn what_is_wrong_with_features_is_told(#[case] text: &str, #[case] told: &str) {
    let copy = mangled("", "", "");
    std::fs::write(copy.path().join("features.yaml"), text).unwrap();
    let said = lint(copy.path()).said();
    assert!(said.contains("features.yaml") && said.contains(told), "no `{told}` in {said}");
}

/// Whoever refines the contract of policies says what is otherwise, and has the rest.
#[test]
fn a_contract_of_policies_is_short() {
    let rules = "    unique-type: {clauses: [LAMP-3]}\n    quiescent: null\n";
    let contract = format!(
        "apiVersion: gateproof.dev/v1alpha1\nkind: StatusContract\nmetadata: {{name: lamps}}\nspec:\n  refines: policies\n  rules:\n{rules}  conditions:\n    lamp:\n      Accepted: null\n      Ready: {{presence: always, reasons: {{\"True\": [Lit], \"False\": [SocketNotFound]}}}}\n      Programmed: {{needs: [Ready]}}\n    lit:\n      Affected: {{reasons: {{\"True\": [Lit]}}}}\n      example.com/LampAffected: {{like: Affected, closed: true}}\n  kinds:\n    - {{kind: Lamp, group: examples.gateproof.dev, subjects: [{{at: object, conditions: [policy, programmed, affected, lit, lamp]}}]}}\n"
    );
    let copy = mangled("dialect.yaml", "conditions: [Ready]", "conditions: [Programmed, Ready]");
    let path = copy.path().join("contract.yaml");
    std::fs::write(&path, &contract).unwrap();
    assert_eq!(lint(copy.path()).code, Some(0), "{}", lint(copy.path()).said());
    for (from, to, told) in [
        (
            "quiescent: null",
            "quiescence: null",
            "there is no `rules.quiescence` in `policies` to be taken away or changed",
        ),
        (
            "programmed, affected",
            "programed, affected",
            "Lamp refers to the conditions `programed`, which are not defined",
        ),
        // What is taken away is gone: `programmed` needs it.
        (
            "      Programmed: {needs: [Ready]}\n",
            "",
            "the set `policy+programmed+affected+lit+lamp` needs the condition `Accepted`",
        ),
        (
            "needs: [Ready]",
            "needs: [Reddy]",
            "a condition of the set `policy+programmed+affected+lit+lamp` needs the condition `Reddy`",
        ),
        (
            "like: Affected",
            "like: Afected",
            "the condition `example.com/LampAffected` of the set `policy+programmed+affected+lit+lamp` is to be like `Afected`",
        ),
    ] {
        assert!(contract.contains(from));
        std::fs::write(&path, contract.replace(from, to)).unwrap();
        let said = lint(copy.path()).said();
        assert!(said.contains(told), "no `{told}` in {said}");
    }
}

fn lint(dialect: &Path) -> Ended {
    run(dialect, &["lint", "--dialect", dialect.to_str().unwrap()])
}

#[rstest]
#[case::unknown(&["run", "--dialect", "gateway-ap"], &["there is no dialect `gateway-ap`", "did you mean `gateway-api`?"])]
#[case::no_target(&["run", "--dialect", "LAMPS"], &["nothing names a target, and the dialect `lamps` has no embedded one", "--context", "`gateproof testbed --no-controller --dialect", "/dialect --kubeconfig FILE` serves the definitions of its kinds"])]
#[case::class(&["run", "--dialect", "LAMPS", "--gateway-class", "a"], &["--gateway-class a means nothing in the dialect `lamps`"])]
#[case::embedded(&["run", "--dialect", "LAMPS", "--target", "embedded:deaf"], &["--target embedded:deaf names an embedded target, and the dialect `lamps` has none"])]
#[case::two_targets(&["run", "--dialect", "LAMPS", "--target", "embedded:deaf", "--context", "a"], &["two targets"])]
#[case::two_plain_targets(&["run", "--dialect", "LAMPS", "--target", "embedded", "--context", "a"], &["two targets"])]
#[case::release(&["run", "--dialect", "LAMPS", "--context", "a", "--gateway-api-version", "v1.6"], &["--gateway-api-version means nothing in the dialect `lamps`: it has no releases"])]
#[case::patch(&["plan", "--dialect", "LAMPS", "--context", "a", "--gateway-patch", "a"], &["--gateway-patch means nothing in the dialect `lamps`", "where traffic comes in"])]
#[case::single_class(&["preflight", "--dialect", "LAMPS", "--context", "a", "--single-gateway-class", "a"], &["--single-gateway-class means nothing"])]
#[case::port_forward(&["rbac", "--dialect", "LAMPS", "--port-forward"], &["--port-forward means nothing"])]
#[case::port_forward_on_the_embedded_target(&["run", "--dialect", "contour", "--port-forward"], &["--port-forward goes through", "name it with --context or --kubeconfig"])]
#[case::port_forward_of_classes(&["run", "--dialect", "kuadrant", "--port-forward"], &["--port-forward goes through", "name its GatewayClass with --gateway-class"])]
#[case::identity(&["run", "--dialect", "aso", "--organization", "a"], &["what is said for a ConformanceReport means nothing in the dialect `aso`"])]
#[case::profile(&["run", "--dialect", "LAMPS", "--context", "a", "--profile", "GATEWAY-HTTP"], &["the dialect `lamps` has no profiles"])]
#[case::profiles(&["list", "profiles", "--dialect", "kuadrant"], &["the dialect `kuadrant` has no profiles"])]
#[case::profile_of_another(&["list", "scenarios", "GATEWAY-HTTP", "--dialect", "kuadrant"], &["`GATEWAY-HTTP` is no scenario"])]
#[case::compare(&["plan", "--dialect", "aso", "--compare", "v1.6,v1.7"], &["--compare means nothing in the dialect `aso`: it has no releases"])]
#[case::definitions(&["run", "--dialect", "LAMPS", "--context", "a", "--crds", "dialect.yaml"], &["--crds says what the embedded target serves, and a cluster is named"])]
fn a_dialect_is_named_with_its_target(#[case] words: &[&str], #[case] told: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let lamps = root().join("examples/lamps/dialect").display().to_string();
    let words: Vec<&str> = words.iter().map(|word| if *word == "LAMPS" { &lamps } else { *word }).collect();
    let ended = run(dir.path(), &words);
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    for part in told {
        assert!(ended.said().contains(part), "no `{part}` in {}", ended.said());
    }
}

/// A cluster that lacks the definitions is told so before anything is applied.
#[test]
fn a_target_without_the_definitions_is_told() {
    let testbed = TestbedProcess::start(&["--no-controller"]);
    let lamps = root().join("examples/lamps/dialect").display().to_string();
    let kubeconfig = testbed.kubeconfig.to_str().unwrap();
    let ended = run(testbed.dir.path(), &["run", "--dialect", &lamps, "--kubeconfig", kubeconfig]);
    assert_eq!(ended.code, Some(3), "{}", ended.said());
    for part in ["✗ definitions", "serves no examples.gateproof.dev", "install the Lamps CRDs"] {
        assert!(ended.said().contains(part), "no `{part}` in {}", ended.said());
    }
}

/// What is about ConformanceReports says of a run of another dialect that there are none; the rest of what reads a run takes it.
#[test]
fn what_reads_a_run_of_another_dialect() {
    let dir = tempfile::tempdir().unwrap();
    let fails = ["aso-deleted-in-error", "--target", "embedded:fatal-as-warning", "--report-dir", "of"];
    assert_eq!(run(dir.path(), &[&["run", "--dialect", "aso"], &fails[..]].concat()).code, Some(1));
    let asked: [(&[&str], u8, &str); 7] = [
        (
            &["compare", "of", "published.yaml"],
            2,
            "is of the dialect `aso`, and ConformanceReports are of Gateway API alone",
        ),
        (&["submit", "of", "--output", "to"], 2, "of has no conformance-report.yaml"),
        (&["lint", "of"], 2, "only a run of the dialect gateway-api, without --impatient"),
        (&["diff", "of", "of"], 0, "1 scenario tested: 1 still failing."),
        (&["verify", "of"], 0, " same"),
        (&["requirements", "of"], 0, "aso, edition current"),
        (&["diagnose", "of"], 0, "known faults that none of the scenarios of this run shows: "),
    ];
    for (words, code, told) in asked {
        let ended = run(dir.path(), &[&["report"], words].concat());
        assert_eq!(ended.code, Some(i32::from(code)), "{words:?}: {}", ended.said());
        assert!(ended.said().contains(told), "{words:?}: no `{told}` in {}", ended.said());
    }
    assert!(!dir.path().join("to").exists());
}
