//! ITK's composite transforms in HDF5 (`.h5`), as `antsRegistration --write-composite-transform` leaves them.

use std::path::Path;

use hdf5_reader::error::Error as Hdf5Error;
use hdf5_reader::group::Group;
use hdf5_reader::{Dataset, Hdf5File, OpenOptions};
use nalgebra::{Matrix3, Vector3};

use super::super::{Error, ErrorKind};
use super::affine::Stored;
use super::kinds;
use crate::{AffineTransform, DisplacementField, Grid, Transform};

/// The first bytes of every HDF5 file.
pub(super) const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// Deflate cannot pack more tightly than this.
const LARGEST_RATIO: usize = 1032;

/// Reads the parts of a composite transform, in the order in which they act on a point.
pub(super) fn read(path: &Path) -> Result<Vec<Transform>, Error> {
    // Not mapped into memory: a file that another program cuts short meanwhile would end this one.
    let bytes = std::fs::read(path).map_err(|error| Error::new(path, error))?;
    parse(bytes).map_err(|kind| Error::new(path, kind))
}

fn parse(bytes: Vec<u8>) -> Result<Vec<Transform>, ErrorKind> {
    let most = bytes.len().saturating_mul(LARGEST_RATIO);
    let options = OpenOptions::default().with_max_read_bytes(most).with_max_chunk_bytes(most);
    let file = Hdf5File::from_vec_with_options(bytes, options)?;
    let all = file.group("TransformGroup")?;
    let (mut names, _) = all.member_names()?;
    names.sort_by_key(|name| name.parse::<usize>().unwrap_or(usize::MAX));
    let mut steps = Vec::with_capacity(names.len());
    for name in &names {
        let group = all.group(name)?;
        let kind = dataset(&group, ["TransformType", "TranformType"])?.read_string()?;
        // The list of its parts, the first member of the group, has no parameters of its own.
        if !kind.starts_with("CompositeTransform") {
            steps.push(step(&group, kind)?);
        }
    }
    // The last part of a composite is the first to act.
    steps.reverse();
    Ok(steps)
}

fn step(group: &Group, kind: String) -> Result<Transform, ErrorKind> {
    let parameters = dataset(group, ["TransformParameters", "TranformParameters"])?;
    let fixed_parameters = numbers(&dataset(group, ["TransformFixedParameters", "TranformFixedParameters"])?)?;
    if let Some(precision) = kind.strip_prefix("DisplacementFieldTransform_")
        && ["double_3_3", "float_3_3"].contains(&precision)
    {
        return Ok(Transform::Displacement(displacement(&numbers(&parameters)?, &fixed_parameters)?));
    }
    let stored = Stored { name: kind, parameters: numbers(&parameters)?, fixed_parameters };
    Ok(Transform::Affine(kinds::to_world(&stored)?))
}

/// Interleaved LPS vectors on the grid of 18 fixed parameters: size, origin, spacing, direction row by row.
fn displacement(parameters: &[f64], fixed: &[f64]) -> Result<DisplacementField, ErrorKind> {
    kinds::expect_count("fixed parameters", 18, fixed)?;
    kinds::check_finite("fixed parameters", fixed)?;
    kinds::check_finite("parameters", parameters)?;
    let mut shape = [0; 3];
    for (axis, size) in shape.iter_mut().enumerate() {
        // What is no whole number stays 0, and is refused with the grid.
        if fixed[axis].fract() == 0.0 && (1.0..=f64::from(i32::MAX)).contains(&fixed[axis]) {
            *size = fixed[axis] as usize;
        }
    }
    let expected = shape.iter().try_fold(3usize, |product, &size| product.checked_mul(size)).unwrap_or(usize::MAX);
    kinds::expect_count("parameters", expected, parameters)?;
    let flip = Matrix3::from_diagonal(&Vector3::new(-1.0, -1.0, 1.0));
    let direction = Matrix3::from_row_slice(&fixed[9..]);
    let spacing = Matrix3::from_diagonal(&Vector3::new(fixed[6], fixed[7], fixed[8]));
    let voxel_to_world = AffineTransform {
        matrix: flip * direction * spacing,
        translation: flip * Vector3::new(fixed[3], fixed[4], fixed[5]),
    };
    let grid = Grid::from_voxel_to_world(shape, &voxel_to_world)?;
    let (vectors, _) = parameters.as_chunks::<3>();
    let vectors = vectors.iter().map(|[x, y, z]| [-x as f32, -y as f32, *z as f32]).collect();
    Ok(DisplacementField { grid, vectors })
}

/// A dataset under its name or the misspelt one that ITK wrote until 2016.
fn dataset(group: &Group, names: [&str; 2]) -> Result<Dataset, ErrorKind> {
    match group.dataset(names[0]) {
        Ok(found) => Ok(found),
        Err(error) => group.dataset(names[1]).map_err(|_| error.into()),
    }
}

fn numbers(dataset: &Dataset) -> Result<Vec<f64>, ErrorKind> {
    match dataset.read_array::<f64>() {
        Ok(numbers) => Ok(numbers.into_iter().collect()),
        Err(Hdf5Error::TypeMismatch { .. }) => Ok(dataset.read_array::<f32>()?.into_iter().map(f64::from).collect()),
        Err(error) => Err(error.into()),
    }
}
