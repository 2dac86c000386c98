//! antsreg-gpu: brain image registration, affine and diffeomorphic.

fn main() {}
