//! The CPU: every operation of [`Backend`](crate::Backend) on rayon's threads, one file an operation.

/// The CPU backend. It uses the rayon pool it is called in.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cpu;
