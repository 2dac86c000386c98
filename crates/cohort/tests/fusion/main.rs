//! Tests of label fusion: against a naive implementation in double precision, and in degenerate cases.

mod bits;
mod degenerate;
mod naive;
mod oracle;
mod scene;
