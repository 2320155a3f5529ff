#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| gateproof_apiserver::fuzzing::apply(data));
