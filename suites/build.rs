//! Rebuilds the package when a manifest comes or goes; a changed one is noticed by the compiler itself.

fn main() {
    println!("cargo::rerun-if-changed=../manifests");
}
