//! Echo backends with a journal.
