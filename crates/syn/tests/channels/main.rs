//! What drives a registration: metrics, and several pairs of images.

#[path = "../scene/mod.rs"]
mod scene;

mod information;
mod pairs;
mod residual;
