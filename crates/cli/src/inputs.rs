//! Reads images, masks, label maps and label lists, and refuses what cannot be meant.

use std::path::Path;

use antsreg_core::io::nifti::HeaderDoubt;
use antsreg_core::io::{self, ErrorKind, label_list, nifti};
use antsreg_core::{Grid, LabelVolume, Volume};
use rayon::prelude::*;

use crate::error::CliError;
use crate::geometry;

/// Between how much and how much the largest voxel exceeds the smallest. Squares of what lies beyond, summed over an image,
/// leave single precision.
pub const RANGE: [f64; 2] = [1e-15, 1e15];

/// An image with contrast, under a name that a record can hold.
pub fn image(path: &Path) -> Result<Volume, CliError> {
    if path.to_str().is_none() {
        return Err(CliError::NotUtf8 { path: path.into() });
    }
    let volume = nifti::read_volume(path)?;
    let wider = |a: [f32; 2], b: [f32; 2]| [a[0].min(b[0]), a[1].max(b[1])];
    let none = [f32::INFINITY, f32::NEG_INFINITY];
    let ranges = volume.voxels.par_chunks(1 << 16).map(|part| part.iter().fold(none, |all, v| wider(all, [*v, *v])));
    let [least, most] = ranges.reduce(|| none, wider);
    if least == most {
        return Err(CliError::Constant { path: path.into(), value: least });
    }
    // Both may be huge: their difference, too.
    if !(RANGE[0]..=RANGE[1]).contains(&(f64::from(most) - f64::from(least))) {
        return Err(CliError::Range { path: path.into(), least, most });
    }
    Ok(volume)
}

/// The grid of an image; its voxels are not read.
pub fn grid(path: &Path) -> Result<Grid, CliError> {
    Ok(nifti::read_grid(path)?)
}

/// An image, constant or not.
pub fn any_image(path: &Path) -> Result<Volume, CliError> {
    Ok(nifti::read_volume(path)?)
}

/// A warning about the header of an image that is used, where ANTs places the image elsewhere: the reading that differs most.
pub fn odd_header(path: &Path) -> Option<String> {
    /// Headers round: less than this share of a voxel is no difference.
    const SHARE: f64 = 0.1;
    let header = nifti::inspect(path).ok()?;
    let least = SHARE * header.grid.spacing.min();
    let worst = header.doubts.iter().max_by(|a, b| a.corners_mm().total_cmp(&b.corners_mm()))?;
    (worst.corners_mm() > least).then(|| {
        format!(
            "{}: {}; transforms of this image do not fit from one program to the other",
            path.display(),
            doubt(worst)
        )
    })
}

/// Both readings of a header.
pub fn doubt(doubt: &HeaderDoubt) -> String {
    let sizes = |mm: [f64; 3]| mm.map(|size| geometry::rounded(size).to_string()).join(" × ");
    let corners = doubt.corners_mm();
    match *doubt {
        HeaderDoubt::FormsApart { .. } => {
            format!("its sform, which is taken, and its qform, which ANTs takes, are {corners:.1} mm apart")
        }
        HeaderDoubt::OtherSizes { sform_mm, pixdim_mm, .. } => format!(
            "its voxels are {} mm by the sform, which is taken, and {} mm by pixdim, which ANTs takes; corners lie up to \
             {corners:.1} mm apart",
            sizes(sform_mm),
            sizes(pixdim_mm)
        ),
        HeaderDoubt::NegativeSizes { pixdim_mm, .. } => format!(
            "its voxel sizes by pixdim are {} mm, whose signs are left out here, while ANTs turns the axes of negative \
             ones round; corners lie up to {corners:.1} mm apart",
            sizes(pixdim_mm)
        ),
        _ => format!("ANTs reads its header differently; corners lie up to {corners:.1} mm apart"),
    }
}

/// A mask on the grid of an image: 1 where the file is above 0.5, else 0.
pub fn mask(path: &Path, image: &Path, grid: &Grid) -> Result<Volume, CliError> {
    let mut mask = nifti::read_volume(path)?;
    check_grid(path, &mask.grid, image, grid, "nearest")?;
    // The image's own numbers, so that later comparisons are exact.
    mask.grid = grid.clone();
    mask.voxels.iter_mut().for_each(|value| *value = if *value > 0.5 { 1.0 } else { 0.0 });
    if mask.voxels.iter().all(|value| *value == 0.0) {
        return Err(CliError::EmptyMask { path: path.into() });
    }
    Ok(mask)
}

/// A label map with at least one label.
pub fn labels(path: &Path) -> Result<LabelVolume, CliError> {
    let labels = nifti::read_labels(path).map_err(|error| match error.kind {
        io::ErrorKind::NotLabels { .. } => CliError::NotLabels(error),
        _ => error.into(),
    })?;
    if labels.voxels.iter().all(|label| *label == 0) {
        return Err(CliError::NoLabels { path: path.into() });
    }
    Ok(labels)
}

/// A label map on the grid of an image.
pub fn labels_of(path: &Path, image: &Path, grid: &Grid) -> Result<LabelVolume, CliError> {
    let mut labels = labels(path)?;
    check_grid(path, &labels.grid, image, grid, "generic-label")?;
    labels.grid = grid.clone();
    Ok(labels)
}

/// Refuses a slice beside a volume.
pub fn check_alike(files: [&Path; 2], grids: [&Grid; 2]) -> Result<(), CliError> {
    let [slice, volume] = match grids.map(Grid::is_slice) {
        [true, false] => files,
        [false, true] => [files[1], files[0]],
        _ => return Ok(()),
    };
    Err(CliError::SliceAndVolume { slice: slice.into(), volume: volume.into() })
}

/// Refuses the volume of `path` unless it lies on the grid of `other`.
pub fn check_grid(
    path: &Path,
    found: &Grid,
    other: &Path,
    expected: &Grid,
    interpolation: &'static str,
) -> Result<(), CliError> {
    if geometry::same(expected, found) {
        return Ok(());
    }
    Err(CliError::OtherGrid {
        path: path.into(),
        found: geometry::describe(found),
        other: other.into(),
        expected: geometry::describe(expected),
        interpolation,
    })
}

/// Labels from a file of numbers, or numbers typed in place.
pub fn label_list(list: &str) -> Result<Vec<i32>, CliError> {
    let path = Path::new(list);
    if path.exists() {
        return Ok(label_list::read(path)?);
    }
    label_list::parse(list).map_err(|kind| match kind {
        ErrorKind::Syntax { found, .. } => CliError::LabelList { list: list.to_owned(), found },
        _ => CliError::EmptyLabelList { list: list.to_owned() },
    })
}

/// The same, if any of them is in the label map taken for the truth: there is nothing to score otherwise.
pub fn label_list_of(list: &str, path: &Path, truth: &LabelVolume) -> Result<Vec<i32>, CliError> {
    let labels = label_list(list)?;
    if !truth.voxels.iter().any(|label| *label != 0 && labels.contains(label)) {
        return Err(CliError::NoListedLabel { list: list.to_owned(), path: path.into() });
    }
    Ok(labels)
}
