#![allow(clippy::unwrap_used)]
use rstest::rstest;

use super::*;

const COMMIT: &str = "us/gateproof@0123456789abcdef0123456789abcdef01234567 # v0.1.0";

fn options(lines: &[&str]) -> Vec<Vec<String>> {
    lines.iter().map(|line| line.splitn(2, ' ').map(str::to_owned).collect()).collect()
}

fn render(ci: Ci, from: &str, class: &str, options: &[Vec<String>]) -> String {
    let remote = Remote::of("git@github.com:acme/gateway.git");
    let workflow = Workflow {
        ci,
        source: &Source::of(from).unwrap(),
        remote: remote.as_ref(),
        release: "v1.6.0",
        is_experimental: true,
        install: "helm install --wait on charts/on",
        class,
        known: "known failures.yaml",
        options,
    };
    workflow.render()
}

/// What stands between two texts, without so many columns before it.
fn between(text: &str, begin: &str, end: &str, columns: usize) -> String {
    let (_, rest) = text.split_once(begin).unwrap();
    let lines: Vec<&str> = rest.split(end).next().unwrap().lines().map(|line| &line[columns..]).collect();
    lines.join("\n")
}

#[test]
fn the_action_is_given_what_the_first_run_knew() {
    let options = options(&["--timing embedded", "--port-forward", "--namespace-label a=b"]);
    let text = render(Ci::Github, COMMIT, "null", &options);
    insta::assert_snapshot!(between(&text, "persist-credentials: false}\n", "\n\n", 6), @r#"
          - uses: "us/gateproof/.github/actions/gateproof@0123456789abcdef0123456789abcdef01234567" # v0.1.0
            with:
              version: "v0.1.0"
              kind: "true"
              gateway-api: "v1.6.0"
              channel: "experimental"
              install: "helm install --wait on charts/on"
              gateway-class: "null"
              known-failures: "known failures.yaml"
              # kind gives Services of type LoadBalancer no address: what is behind one needs something in `install` that does.
              # --port-forward goes through the API server to addresses that the runner cannot reach. Leave it out if it can.
              arguments: >-
                --organization acme --project gateway
                --url https://github.com/acme/gateway --contact https://github.com/acme/gateway/issues
                --timing embedded
                --port-forward
                --namespace-label a=b
                --implementation-version ${{ github.sha }}
    "#);
}

#[test]
fn a_release_says_itself_which_it_is() {
    let text = render(Ci::Github, "us/gateproof@v0.1.0", "a", &[]);
    assert!(text.contains("- uses: \"us/gateproof/.github/actions/gateproof@v0.1.0\"\n"), "{text}");
    assert!(!text.contains(" version:") && text.contains("add --port-forward: "), "{text}");
}

#[test]
fn a_shell_reads_the_words_as_they_are() {
    let options = options(&["--gateway-patch my patch.yaml", "--namespace-label a=$HOME"]);
    let text = render(Ci::Gitlab, COMMIT, "null", &options);
    insta::assert_snapshot!(between(&text, "    - code=0\n", "    - >-\n      if ", 4), @r#"
        # Backends run in this job, at its own address. If the data plane cannot reach that, as where the runner is not in its cluster,
        # they can be Pods: build images/Dockerfile of gateproof, push it to where the cluster pulls, and add
        # --backends deployed --backend-image IMAGE. If the job is reached at another address than its own, --backend-address names that.
        # If the job cannot reach the addresses of Gateways, add --port-forward: it goes through the API server.
        - >-
          gateproof run --gateway-class "$GATEWAY_CLASS" --known-failures 'known failures.yaml'
          --organization acme --project gateway
          --url https://github.com/acme/gateway --contact https://github.com/acme/gateway/issues
          --gateway-patch 'my patch.yaml'
          --namespace-label 'a=$HOME'
          --implementation-version "$CI_COMMIT_SHA" || code=$?
    "#);
    assert!(text.contains("download/v0.1.0/gateproof-x86_64-linux.tar.gz\"\n"), "{text}");
}

#[rstest]
#[case::nothing(&[], true, true)]
#[case::forwarded(&["--port-forward=a/b"], true, false)]
#[case::deployed(&["--backends deployed", "--backend-image a"], false, true)]
#[case::both(&["--backends deployed", "--backend-image a", "--port-forward"], false, false)]
fn what_is_settled_is_not_said(#[case] given: &[&str], #[case] hosted: bool, #[case] unreached: bool) {
    let text = render(Ci::Gitlab, COMMIT, "a", &options(given));
    assert_eq!((text.contains("# Backends run "), text.contains("# If the job cannot reach")), (hosted, unreached));
    assert!(!text.contains("@REACH@"));
}

/// Whatever the class is called, YAML reads it as a text.
#[rstest]
fn values_are_texts(
    #[values(Ci::Github, Ci::Gitlab)] ci: Ci,
    #[values("null", "true", "1.0", "0x1f", "1e3", "no")] class: &str,
) {
    let file: Value = serde_yaml::from_str(&render(ci, COMMIT, class, &[])).unwrap();
    let place = match ci {
        Ci::Github => "/jobs/gateproof/steps/1/with/gateway-class",
        Ci::Gitlab => "/gateproof/variables/GATEWAY_CLASS",
    };
    assert_eq!(file.pointer(place).and_then(Value::as_str), Some(class));
}
