#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| gateproof::fuzzing::probe_answer(data));
