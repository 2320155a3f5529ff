//! What holds for any input: the bodies of the fuzz targets. The package `fuzz` hands them what libFuzzer finds, the tests
//! below seeds and random bytes.
//!
//! A body returns if the input is refused in good order or its property holds, and panics otherwise.

mod cel;
mod crds;
mod patches;
mod schemas;
mod selectors;
mod value;
mod wire;

pub use cel::cel_rule;
pub use crds::crd_bundle;
pub use patches::{apply, json_patches, strategic_patches};
pub use schemas::structural_schema;
pub use selectors::selectors;
pub use wire::protobuf;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("apply", apply)]
    #[case("cel_rule", cel_rule)]
    #[case("crd_bundle", crd_bundle)]
    #[case("json_patches", json_patches)]
    #[case("protobuf", protobuf)]
    #[case("selectors", selectors)]
    #[case("strategic_patches", strategic_patches)]
    #[case("structural_schema", structural_schema)]
    fn holds_for_seeds_and_random_input(#[case] name: &str, #[case] body: fn(&[u8])) {
        let seeds = seeds(name);
        seeds.iter().for_each(|seed| body(seed));
        let random = prop::collection::vec(any::<u8>(), 0..400);
        let damaged = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>());
        let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) };
        proptest!(config, |(bytes in random, (seed, at, byte) in damaged)| {
            body(&bytes);
            if !seeds.is_empty() {
                let mut seed = seed.get(&seeds).clone();
                if !seed.is_empty() {
                    let at = at.index(seed.len());
                    seed[at] = byte;
                }
                body(&seed);
            }
        });
    }

    /// The committed seeds of a target; none where its input is no text but a source of choices.
    fn seeds(name: &str) -> Vec<Vec<u8>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name);
        let Ok(files) = std::fs::read_dir(folder) else { return Vec::new() };
        files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
    }
}
