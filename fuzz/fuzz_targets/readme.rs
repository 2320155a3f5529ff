#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| gateproof::fuzzing::readme(data));
