//! Rules: equal to the official ones by verdict.
