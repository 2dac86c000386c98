//! Commands of ANTs that this program supports.

pub mod affine_initializer;
pub mod ai;
mod align;
pub mod apply_transforms;
pub mod apply_transforms_to_geometry;
pub mod apply_transforms_to_points;
pub mod atropos;
pub mod average_affine;
pub mod average_images;
pub mod bias_correction;
pub mod compose_multi_transform;
pub mod convert_transform_file;
pub mod denoise_image;
mod files;
pub mod headers;
pub mod image_math;
mod interpolation;
pub mod jacobian_image;
pub mod joint_fusion;
pub mod label_fusion_script;
pub mod label_geometry;
pub mod label_overlap;
mod mask;
pub mod measure;
pub mod motion_correction;
pub mod multiply_images;
mod numbers;
pub mod print_header;
pub mod registration;
pub mod resample_image;
mod search;
pub mod smooth_image;
pub mod syn_script;
pub mod threshold_image;
mod version;
mod words;

use std::path::Path;

use antsreg_console::Refusal;
use antsreg_core::Grid;
use antsreg_core::io::ImageFormat;
use antsreg_study::transforms::is_image_output;

/// The number of image dimensions given to a command: 2 or 3.
fn dimension(word: &str) -> Result<u8, Refusal> {
    match word {
        "2" => Ok(2),
        "3" => Ok(3),
        _ => Err(Refusal::new(format!("dimension {word}"), "expected 2 or 3")),
    }
}

/// The refusal of the name of an image that would be in a format which is not written.
fn refused_name(name: impl std::fmt::Display) -> Refusal {
    Refusal::not_served(name, format!("use a name that ends in {}", ImageFormat::NAMES))
}

/// Checks that the name of an output image is that of a format which this program writes.
fn check_image_name(option: &str, path: &Path) -> Result<(), Refusal> {
    match is_image_output(path) {
        true => Ok(()),
        false => Err(refused_name(format!("{option}: {}", path.display()))),
    }
}

/// Checks that the name of an output transform is that of a format of affine maps.
fn check_affine_name(path: &Path) -> Result<(), Refusal> {
    let extension = path.extension().unwrap_or_default();
    match ["mat", "txt", "tfm"].iter().any(|known| extension == *known) {
        true => Ok(()),
        false => Err(Refusal::new(path.display(), "expected an output name that ends in .mat, .txt or .tfm")),
    }
}

/// Checks that all images are two-dimensional slices if `slices` is set, and that all are three-dimensional volumes
/// otherwise.
fn check_dimension<'a>(slices: bool, images: impl IntoIterator<Item = (&'a Path, &'a Grid)>) -> Result<(), Refusal> {
    match images.into_iter().find(|(_, grid)| grid.is_slice() != slices) {
        None => Ok(()),
        Some((path, grid)) => {
            let [expected, found] = [slices, grid.is_slice()].map(|slice| if slice { "2" } else { "3" });
            let why = format!("expected an image of {expected} dimensions, found {found}");
            Err(Refusal::new(path.display(), why))
        }
    }
}
