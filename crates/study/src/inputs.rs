//! Reads and checks images, masks, label maps and lists of labels.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use antsreg_core::io::nifti::{GridRule, HeaderWarning, PlanesReader};
use antsreg_core::io::{self, ErrorKind, label_list, nifti};
use antsreg_core::{Grid, LabelVolume, Volume, content};
use antsreg_register::Device;
use rayon::prelude::*;

use crate::{Error, bias, geometry};

/// Smallest and largest allowed difference between the highest and the lowest intensity of an image. With other
/// differences, sums of squares over an image overflow or underflow single precision.
pub const RANGE: [f64; 2] = [1e-15, 1e15];

/// Reads an image and checks its contrast. The path must be UTF-8, because JSON records contain the path.
///
/// # Errors
/// A file that cannot be read; a name that is not UTF-8; a constant image; values beyond [`RANGE`], the allowed range
/// of intensities; a label map or mask.
pub fn image(path: &Path) -> Result<Volume, Error> {
    let volume = image_by(GridRule::default(), path)?;
    check_no_labels(&volume, path)?;
    Ok(volume)
}

/// Refuses a label map or a mask in the place of an image: costs compare intensities, and within a label there are none.
///
/// # Errors
/// [`Error::LabelMap`].
pub fn check_no_labels(volume: &Volume, name: &Path) -> Result<(), Error> {
    match content::is_label_map(volume) {
        true => Err(Error::LabelMap { path: name.into() }),
        false => Ok(()),
    }
}

/// A warning about a label map or a mask in the place of an image, for commands that accept both.
pub fn labels_as_image(volume: &Volume, name: &Path) -> Option<String> {
    content::is_label_map(volume).then(|| {
        format!(
            "{}: this is a label map or a mask; away from the borders of labels it does not determine the result",
            name.display()
        )
    })
}

/// Reads an image as [`image`] does, and removes its shading on the CPU if `corrected` is true.
///
/// # Errors
/// The errors of [`image`]; [`Error::Bias`] if the bias field cannot be estimated.
pub fn prepared_image(path: &Path, corrected: bool) -> Result<Volume, Error> {
    let volume = image(path)?;
    if corrected { bias::corrected(path, &volume, &Device::cpu()) } else { Ok(volume) }
}

/// Reads an image as [`image`] does, but accepts label maps and masks. `rule` says how the grid of the image is read from
/// the header of its file.
///
/// # Errors
/// The errors of [`image`], except that about label maps.
pub fn image_by(rule: GridRule, path: &Path) -> Result<Volume, Error> {
    if path.to_str().is_none() {
        return Err(Error::NotUtf8 { path: path.into() });
    }
    let volume = rule.read_volume(path)?;
    check_contrast(&volume, path)?;
    Ok(volume)
}

/// Reads an image as [`image_by`] does, or the first volume of a series.
///
/// # Errors
/// The errors of [`image_by`].
pub fn first_volume(path: &Path) -> Result<Volume, Error> {
    let volume = PlanesReader::open(GridRule::default(), path)?.next_volume()?;
    check_contrast(&volume, path)?;
    Ok(volume)
}

/// Checks that an image has contrast, and values within the allowed range [`RANGE`]; `name` is the image's name in
/// messages.
///
/// # Errors
/// [`Error::Constant`], [`Error::Range`].
pub fn check_contrast(volume: &Volume, name: &Path) -> Result<(), Error> {
    let wider = |a: [f32; 2], b: [f32; 2]| [a[0].min(b[0]), a[1].max(b[1])];
    let none = [f32::INFINITY, f32::NEG_INFINITY];
    let ranges = volume.voxels.par_chunks(1 << 16).map(|part| part.iter().fold(none, |all, v| wider(all, [*v, *v])));
    let [least, most] = ranges.reduce(|| none, wider);
    check_range(least, most, name)
}

/// Checks an image whose voxels lie between `least` and `most`: it must have contrast, and its range must be within
/// [`RANGE`], the allowed range of intensities.
///
/// # Errors
/// [`Error::Constant`], [`Error::Range`].
pub fn check_range(least: f32, most: f32, name: &Path) -> Result<(), Error> {
    if least == most {
        return Err(Error::Constant { path: name.into(), value: least });
    }
    // The difference of the largest and the smallest voxel is computed in double precision, because the difference may
    // overflow single precision.
    if !(RANGE[0]..=RANGE[1]).contains(&(f64::from(most) - f64::from(least))) {
        return Err(Error::Range { path: name.into(), least, most });
    }
    Ok(())
}

/// Reads the grid of an image without its voxels.
///
/// # Errors
/// A file that cannot be read.
pub fn grid(path: &Path) -> Result<Grid, Error> {
    Ok(nifti::read_grid(path)?)
}

/// Reads an image, whose voxels may all have the same value.
///
/// # Errors
/// A file that cannot be read.
pub fn any_image(path: &Path) -> Result<Volume, Error> {
    Ok(nifti::read_volume(path)?)
}

/// A warning if the header of a volume does not say how the voxels lie in the world, or if ANTs reads another grid from
/// the header than this program. Of several differences, the warning describes the one that moves the corners of the
/// image most.
pub fn odd_header(path: &Path) -> Option<String> {
    /// Largest distance, in voxels, between the positions of an image corner in ANTs' grid and in this program's grid
    /// that counts as a rounding error.
    const SHARE: f64 = 0.1;
    let header = nifti::inspect(path).ok()?;
    if header.sform_code <= 0 && header.qform_code <= 0 && !header.grid.is_slice() {
        return Some(format!(
            "{}: the header does not say where left, front and top are (neither sform nor qform has a code); as in ANTs, \
             the axes are taken to lead to the left, to the back and up; if that is wrong, the result may be mirrored",
            path.display()
        ));
    }
    let least = SHARE * header.grid.spacing.min();
    let worst = header.warnings.iter().max_by(|a, b| a.corners_mm().total_cmp(&b.corners_mm()))?;
    (worst.corners_mm() > least).then(|| {
        format!(
            "{}: {}; transforms of this image cannot be exchanged with ANTs",
            path.display(),
            header_warning(worst)
        )
    })
}

/// Describes in words how ANTs reads the grid from the header of an image, if ANTs reads another grid than antsreg-gpu.
pub fn header_warning(warning: &HeaderWarning) -> String {
    let sizes = |mm: [f64; 3]| mm.map(|size| geometry::rounded(size).to_string()).join(" × ");
    let corners = warning.corners_mm();
    match *warning {
        HeaderWarning::FormsApart { .. } => format!(
            "the sform of the image, which antsreg-gpu uses, and its qform, which ANTs uses, place the corners up to \
             {corners:.1} mm apart"
        ),
        HeaderWarning::OtherSizes { sform_mm, pixdim_mm, .. } => format!(
            "the voxels of the image are {} mm by its sform, which antsreg-gpu uses, and {} mm by its pixdim, which \
             ANTs uses; this moves the corners of the image by up to {corners:.1} mm",
            sizes(sform_mm),
            sizes(pixdim_mm)
        ),
        HeaderWarning::NegativeSizes { pixdim_mm, .. } => format!(
            "the voxel sizes of the image by pixdim are {} mm; antsreg-gpu ignores their signs, but ANTs reverses axes \
             with negative sizes; this moves the corners of the image by up to {corners:.1} mm",
            sizes(pixdim_mm)
        ),
        _ => {
            format!("ANTs reads the header of the image differently; this moves the corners by up to {corners:.1} mm")
        }
    }
}

/// Reads a mask on the grid of an image: 1 where the file is above 0.5, else 0.
///
/// # Errors
/// A file that cannot be read; another grid; an empty mask.
pub fn mask(path: &Path, image: &Path, grid: &Grid) -> Result<Volume, Error> {
    as_mask(nifti::read_volume(path)?, path, image, grid)
}

/// A volume as a mask on the grid of an image: 1 where it is above 0.5, else 0. `name` is used in messages.
///
/// # Errors
/// Another grid; an empty mask.
pub fn as_mask(mut mask: Volume, name: &Path, image: &Path, grid: &Grid) -> Result<Volume, Error> {
    check_grid(name, &mask.grid, image, grid, "nearest")?;
    // The mask gets exactly the grid of the image, so that later comparisons of grids are exact.
    mask.grid = grid.clone();
    mask.voxels.iter_mut().for_each(|value| *value = if *value > 0.5 { 1.0 } else { 0.0 });
    if mask.voxels.iter().all(|value| *value == 0.0) {
        return Err(Error::EmptyMask { path: name.into() });
    }
    Ok(mask)
}

/// Largest share of the brain that a lesion may cover.
const LARGEST_LESION: f64 = 0.5;

/// Reads lesion masks on the grid of an image, and unites them: 1 where any file is above 0.5, else 0; `None` without
/// files. What is brighter than the mean of the image counts as the brain here; heads are larger than their brains.
///
/// # Errors
/// The errors of [`mask`]; [`Error::LargeLesion`].
pub fn lesion(paths: &[PathBuf], path: &Path, image: &Volume) -> Result<Option<Arc<Volume>>, Error> {
    let named = |lesion: &PathBuf| Ok((lesion.clone(), nifti::read_volume(lesion)?));
    as_lesion(paths.iter().map(named).collect::<Result<_, Error>>()?, path, image)
}

/// Unites volumes as lesion masks of an image, as [`lesion`] does. The paths are names in messages.
///
/// # Errors
/// The errors of [`as_mask`]; [`Error::LargeLesion`].
pub fn as_lesion(masks: Vec<(PathBuf, Volume)>, path: &Path, image: &Volume) -> Result<Option<Arc<Volume>>, Error> {
    let mut all: Option<Volume> = None;
    let mut name = PathBuf::new();
    for (of_mask, mask) in masks {
        let mask = as_mask(mask, &of_mask, path, &image.grid)?;
        match &mut all {
            Some(all) => all.voxels.iter_mut().zip(&mask.voxels).for_each(|(all, inside)| *all = all.max(*inside)),
            None => all = Some(mask),
        }
        name = of_mask;
    }
    let Some(lesion) = all else { return Ok(None) };
    let sum: f64 = image.voxels.iter().map(|value| f64::from(*value)).sum();
    let mean = (sum / image.voxels.len() as f64) as f32;
    check_lesion(&lesion, &name, path, |n| image.voxels[n] > mean)?;
    Ok(Some(Arc::new(lesion)))
}

/// Checks that a lesion covers at most half of the brain and itself. `in_brain` says whether a voxel lies in the brain;
/// `name` is the name of the lesion in messages, `path` that of the image.
///
/// # Errors
/// [`Error::LargeLesion`].
pub fn check_lesion(
    lesion: &Volume,
    name: &Path,
    path: &Path,
    in_brain: impl Fn(usize) -> bool,
) -> Result<(), Error> {
    let (mut inside, mut all) = (0usize, 0usize);
    for (n, value) in lesion.voxels.iter().enumerate() {
        inside += usize::from(*value > 0.5);
        all += usize::from(*value > 0.5 || in_brain(n));
    }
    let share = inside as f64 / all.max(1) as f64;
    match share > LARGEST_LESION {
        true => Err(Error::LargeLesion { path: name.into(), image: path.into(), share }),
        false => Ok(()),
    }
}

/// The volume of a mask, cm³.
pub fn mask_cm3(mask: &Volume) -> f64 {
    let inside = mask.voxels.par_iter().filter(|inside| **inside > 0.5).count();
    inside as f64 * mask.grid.spacing.product() / 1000.0
}

/// Reads a label map with at least one label.
///
/// # Errors
/// A file that cannot be read; values that are not integers; only background.
pub fn labels(path: &Path) -> Result<LabelVolume, Error> {
    let labels = nifti::read_labels(path).map_err(|error| match error.kind {
        io::ErrorKind::NotLabels { .. } => Error::NotLabels(error),
        _ => error.into(),
    })?;
    if labels.voxels.iter().all(|label| *label == 0) {
        return Err(Error::NoLabels { path: path.into() });
    }
    Ok(labels)
}

/// Reads a label map on the grid of an image.
///
/// # Errors
/// The errors of [`labels`]; a label map on another grid.
pub fn labels_of(path: &Path, image: &Path, grid: &Grid) -> Result<LabelVolume, Error> {
    on_grid(labels(path)?, path, image, grid)
}

/// Checks that the label map of the file `path` lies on the grid of an image, and gives it this grid.
fn on_grid(mut labels: LabelVolume, path: &Path, image: &Path, grid: &Grid) -> Result<LabelVolume, Error> {
    check_grid(path, &labels.grid, image, grid, "generic-label")?;
    labels.grid = grid.clone();
    Ok(labels)
}

/// Reads an image and a label map on its grid, both at the same time.
///
/// # Errors
/// Those of [`image`] and of [`labels_of`], the image's first.
pub fn image_and_labels(path: &Path, labels_path: &Path) -> Result<(Volume, LabelVolume), Error> {
    let (image, labels) = rayon::join(|| image(path), || labels(labels_path));
    let image = image?;
    let labels = on_grid(labels?, labels_path, path, &image.grid)?;
    Ok((image, labels))
}

/// Checks that two images are both slices or both volumes.
///
/// # Errors
/// [`Error::SliceAndVolume`].
pub fn check_alike(files: [&Path; 2], grids: [&Grid; 2]) -> Result<(), Error> {
    let [slice, volume] = match grids.map(Grid::is_slice) {
        [true, false] => files,
        [false, true] => [files[1], files[0]],
        _ => return Ok(()),
    };
    Err(Error::SliceAndVolume { slice: slice.into(), volume: volume.into() })
}

/// Checks that the volume of `path` lies on the grid of `other`. The error recommends `interpolation` for resampling
/// the volume.
///
/// # Errors
/// [`Error::OtherGrid`].
pub fn check_grid(
    path: &Path,
    found: &Grid,
    other: &Path,
    expected: &Grid,
    interpolation: &'static str,
) -> Result<(), Error> {
    if geometry::same(expected, found) {
        return Ok(());
    }
    Err(Error::OtherGrid {
        path: path.into(),
        found: geometry::describe(found),
        other: other.into(),
        expected: geometry::describe(expected),
        interpolation,
    })
}

/// The path of a file with a list of labels; `None` if the text contains the numbers themselves.
pub fn label_list_file(list: &str) -> Option<&Path> {
    Some(Path::new(list)).filter(|path| path.exists())
}

/// Labels from a file of numbers, or from a text such as `1,2,5`.
///
/// # Errors
/// A file that cannot be read; no numbers.
pub fn label_list(list: &str) -> Result<Vec<i32>, Error> {
    if let Some(path) = label_list_file(list) {
        return Ok(label_list::read(path)?);
    }
    label_list::parse(list).map_err(|kind| match kind {
        ErrorKind::Syntax { found, .. } => Error::LabelList { list: list.to_owned(), found },
        _ => Error::EmptyLabelList { list: list.to_owned() },
    })
}

/// Reads a list of labels as [`label_list()`] does. A list without any label of the label map is an error, because no
/// overlap could be computed.
///
/// # Errors
/// The errors of [`label_list()`]; [`Error::NoListedLabel`].
pub fn label_list_of(list: &str, path: &Path, truth: &LabelVolume) -> Result<Vec<i32>, Error> {
    let labels = label_list(list)?;
    if !truth.voxels.iter().any(|label| *label != 0 && labels.contains(label)) {
        return Err(Error::NoListedLabel { list: list.to_owned(), path: path.into() });
    }
    Ok(labels)
}
