//! Tests of the similarity metrics, and of registrations of several pairs of images.

#[path = "../scene/mod.rs"]
mod scene;

mod information;
mod pairs;
mod residual;
