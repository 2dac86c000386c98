//! The record of a correction of distortion.

use std::path::Path;

use antsreg_core::AffineTransform;
use antsreg_distortion::{LevelOutcome, Options};
use serde::Serialize;

use super::PhaseEncoding;

/// The record, as it is written.
#[derive(Debug, Serialize)]
pub(super) struct Record<'a> {
    pub version: &'static str,
    pub command_line: &'a [String],
    pub images: Vec<ImageRecord<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_map: Option<&'a Path>,
    pub options: &'a Options,
    pub levels: &'a [LevelOutcome],
    pub largest_displacement_mm: f64,
    /// Correlation of the corrected mean images of both directions; absent with a field map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation: Option<f64>,
    pub device: &'static str,
    pub seconds: f64,
}

/// What the record says about an image.
#[derive(Debug, Serialize)]
pub(super) struct ImageRecord<'a> {
    pub path: &'a Path,
    pub phase_encoding: PhaseEncoding,
    pub readout_s: Option<f64>,
    /// Map from points of the first image to points of this image by motion, RAS mm.
    pub motion: AffineTransform,
}
