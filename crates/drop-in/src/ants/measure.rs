//! The command `MeasureMinMaxMean`: least, largest and mean value of an image.

use std::path::Path;

use antsreg_console::{CliError, Refusal, output::print};
use antsreg_core::io::outputs;

use super::files::{self, Image};
use super::numbers::general;
use super::words::{positional, switch};
use crate::call::Call;

const USAGE: &str = "\
MeasureMinMaxMean DIMENSION IMAGE [LOG.txt] [ABSOLUTE=0] [MASK]

Served by antsreg-gpu. A line is printed, and added to the log.
";

/// Runs `MeasureMinMaxMean`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some([dimensions, input, rest @ ..]) = positional(&call.arguments, 2..=5, USAGE)? else { return Ok(()) };
    let dimensions = files::dimensions(dimensions)?;
    let absolute = rest.get(1).map_or(Ok(false), |text| switch("ABSOLUTE", text))?;
    let log = rest.first().map(Path::new);
    outputs::check(log, [Path::new(input)])?;
    let image = Image::read(Path::new(input), dimensions)?;
    let mask = rest.get(2).map(|path| Image::read(Path::new(path), dimensions)).transpose()?;
    let (each, parts) = (image.grid.len(), image.count());
    if mask.as_ref().is_some_and(|mask| mask.voxels.len() < each) {
        return Err(Refusal::new("MASK", "has fewer voxels than the image").into());
    }
    let value = |voxel: usize, part: usize| {
        let value = image.voxels[part * each + voxel];
        if absolute { value.abs() } else { value }
    };
    let square = |vector: &[f32]| vector.iter().map(|part| f64::from(*part).powi(2)).sum::<f64>();
    let inside = |voxel: &usize| mask.as_ref().is_none_or(|mask| mask.voxels[*voxel].abs() >= 0.5);
    let vectors =
        || (0..each).filter(inside).map(|voxel| (0..parts).map(|part| value(voxel, part)).collect::<Vec<f32>>());
    let (mut sum, mut least, mut most, mut count) = (vec![0.0f32; parts], vec![9e9; parts], vec![0.0; parts], 0u64);
    for vector in vectors() {
        sum.iter_mut().zip(&vector).for_each(|(sum, part)| *sum += part);
        if square(&vector) > square(&most) {
            most = vector;
        } else if square(&vector) < square(&least) {
            least = vector;
        }
        count += 1;
    }
    let mean: Vec<f32> = sum.iter().map(|sum| sum / count.max(1) as f32).collect();
    let apart =
        |vector: Vec<f32>| vector.iter().zip(&mean).map(|(part, mean)| f64::from(part - mean).powi(2)).sum::<f64>();
    let variance = vectors().map(apart).fold(0.0f32, |sum, square| sum + square as f32);
    let text = |vector: &[f32]| {
        format!("[{}]", vector.iter().map(|part| general((*part).into())).collect::<Vec<_>>().join(", "))
    };
    let line = format!("{input} Max : {} Min : {} Mean : {}", text(&most), text(&least), text(&mean));
    let [variance, deviation] =
        [variance / count as f32, (variance / (count as f32 - 1.0)).sqrt()].map(|value| general(value.into()));
    print(&format!("{line} Var : {variance} SD : {deviation}\n"))?;
    match log {
        None => Ok(()),
        Some(log) => {
            let before = std::fs::read(log).unwrap_or_default();
            Ok(outputs::write_file(log, &[before, format!("{line}\n").into_bytes()].concat())?)
        }
    }
}
