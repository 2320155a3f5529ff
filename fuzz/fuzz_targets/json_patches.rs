#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| gateproof_apiserver::fuzzing::json_patches(data));
