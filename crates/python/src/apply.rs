//! Applies transforms to images, label maps and points.

use antsreg_kernels::apply::{self, Interpolation, LabelInterpolation, Window};
use antsreg_study::Error;
use nalgebra::Point3;
use numpy::{PyArray2, PyReadonlyArray2, PyUntypedArrayMethods, ToPyArray};
use pyo3::prelude::*;

use crate::chain::Chain;
use crate::error::{Class, Failure};
use crate::image::Image;
use crate::labels::Labels;
use crate::process;
use crate::space::Space;

/// Resamples an image on the grid of a reference image. Returns the resampled image, and warnings if the two images
/// hardly overlap in world space.
#[pyfunction]
pub fn resample(
    py: Python,
    image: &Image,
    onto: &Space,
    chain: &Chain,
    interpolation: &str,
    outside: f32,
) -> Result<(Image, Vec<String>), Failure> {
    let how = interpolation_of(interpolation, image.image.grid().spacing.into())?;
    process::compute(py, || {
        let warnings = check(chain, onto, image.image.grid(), &image.name)?;
        let carried = apply::resample(image.volume()?, &onto.grid, chain.steps(), how, outside);
        Ok((Image::made(carried, &image.name.to_string_lossy(), onto.planar), warnings))
    })
}

/// Resamples a label map on the grid of a reference image. Returns the labels, and warnings if the two images hardly
/// overlap in world space.
#[pyfunction]
pub fn resample_labels(
    py: Python,
    labels: &Labels,
    onto: &Space,
    chain: &Chain,
    interpolation: &str,
) -> Result<(Labels, Vec<String>), Failure> {
    let how = match interpolation {
        "generic-label" => LabelInterpolation::GenericLabel,
        "nearest" => LabelInterpolation::Nearest,
        other => {
            let text = format!("interpolation: expected generic-label or nearest for a label map, found `{other}`");
            return Err(Failure::own(Class::Option, text));
        }
    };
    process::compute(py, || {
        let warnings = check(chain, onto, &labels.labels.grid, &labels.name)?;
        let carried = apply::resample_labels(&labels.labels, &onto.grid, chain.steps(), how);
        Ok((Labels { labels: carried, name: labels.name.clone(), planar: onto.planar }, warnings))
    })
}

/// Maps points (N×3, RAS mm) through transforms. Returns the mapped points, and warnings about points outside the grid
/// of a warp.
#[pyfunction]
pub fn apply_points<'py>(
    py: Python<'py>,
    points: PyReadonlyArray2<f64>,
    chain: &Chain,
) -> Result<(Bound<'py, PyArray2<f64>>, Vec<String>), Failure> {
    if points.shape()[1] != 3 {
        let text = format!("points: expected N×3 numbers, found {}×{}", points.shape()[0], points.shape()[1]);
        return Err(Failure::own(Class::Input, text));
    }
    let typed: Vec<Point3<f64>> =
        points.as_array().rows().into_iter().map(|row| Point3::new(row[0], row[1], row[2])).collect();
    let (moved, warnings) = process::compute(py, || {
        let warnings = chain.steps().outside_fields(&typed).iter().map(ToString::to_string).collect();
        Ok((typed.iter().map(|point| chain.steps().apply(point)).collect::<Vec<_>>(), warnings))
    })?;
    let rows: Vec<[f64; 3]> = moved.into_iter().map(|point| point.coords.into()).collect();
    Ok((ndarray::arr2(&rows).to_pyarray(py), warnings))
}

/// Checks that transforms, reference grid and image grid can be combined. Returns warnings if the grids hardly overlap
/// in world space.
fn check(
    chain: &Chain,
    onto: &Space,
    from: &antsreg_core::Grid,
    name: &std::path::Path,
) -> Result<Vec<String>, Failure> {
    if from.is_slice() && !onto.grid.is_slice() {
        return Err(Error::SliceAndVolume { slice: name.into(), volume: onto.name.clone() }.into());
    }
    let warnings = chain.steps().check(&onto.grid, Some(from)).map_err(crate::error::chain)?;
    Ok(warnings.iter().map(ToString::to_string).collect())
}

fn interpolation_of(name: &str, spacing_mm: [f64; 3]) -> Result<Interpolation, Failure> {
    Ok(match name {
        "linear" => Interpolation::Linear,
        "nearest" => Interpolation::Nearest,
        "bspline" => Interpolation::BSpline,
        "sinc" => Interpolation::WindowedSinc(Window::Lanczos),
        "cosine-sinc" => Interpolation::WindowedSinc(Window::Cosine),
        "hamming-sinc" => Interpolation::WindowedSinc(Window::Hamming),
        "welch-sinc" => Interpolation::WindowedSinc(Window::Welch),
        "blackman-sinc" => Interpolation::WindowedSinc(Window::Blackman),
        "gaussian" => Interpolation::Gaussian { sigma_mm: spacing_mm, alpha: 1.0 },
        other => {
            let text = format!(
                "interpolation: expected linear, nearest, bspline, sinc, gaussian or generic-label, found `{other}`"
            );
            return Err(Failure::own(Class::Option, text));
        }
    })
}
