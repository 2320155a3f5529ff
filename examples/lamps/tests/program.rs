//! The program takes its arguments and its cluster from where the page gives them.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use rstest::rstest;

#[rstest]
#[case::argument(&["--forgets"], "/nowhere", "`--forgets` is not known; there is --forgets-sockets")]
#[case::one_too_many(&["--forgets-sockets", "a"], "/nowhere", "`a` is not known")]
#[case::cluster(&["--forgets-sockets"], "/nowhere", "/nowhere")]
fn what_it_cannot_use_is_told(#[case] arguments: &[&str], #[case] kubeconfig: &str, #[case] told: &str) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_gateproof-example-lamps"));
    let ended = program.args(arguments).env("KUBECONFIG", kubeconfig).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && said.contains(told), "{said}");
}
