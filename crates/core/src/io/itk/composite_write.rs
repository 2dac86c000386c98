//! Writes ITK's composite transforms (`.h5`).

use std::borrow::Cow;
use std::io::Write;

use hdf5_writer::{DatasetBuilder, Hdf5Builder, WriteOptions};
use nalgebra::{Matrix3, Point3, Vector3};
use rayon::prelude::*;

use super::super::replace::replace;
use super::super::{Error, ErrorKind, Target};
use super::stored::Stored;
use super::{composite, kinds};
use crate::{AffineTransform, DisplacementField, Transform, TransformChain, memory};

/// Number of dimensions of a composite transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimensions {
    /// A two-dimensional transform, for slices perpendicular to the third axis of the world.
    Two,
    /// A three-dimensional transform, for volumes.
    Three,
}

impl Dimensions {
    fn count(self) -> usize {
        match self {
            Dimensions::Two => 2,
            Dimensions::Three => 3,
        }
    }
}

/// A part of a composite transform.
#[derive(Debug, Clone)]
pub enum CompositePart<'a> {
    /// An affine map, fixed → moving, RAS mm.
    Affine(AffineTransform),
    /// A displacement field, RAS mm.
    Field(Cow<'a, DisplacementField>),
}

impl<'a> From<&'a Transform> for CompositePart<'a> {
    fn from(transform: &'a Transform) -> CompositePart<'a> {
        match transform {
            Transform::Affine(affine) => CompositePart::Affine(*affine),
            Transform::Displacement(field) => CompositePart::Field(Cow::Borrowed(field)),
        }
    }
}

impl From<CompositePart<'_>> for Transform {
    fn from(part: CompositePart<'_>) -> Transform {
        match part {
            CompositePart::Affine(affine) => Transform::Affine(affine),
            CompositePart::Field(field) => Transform::Displacement(field.into_owned()),
        }
    }
}

/// Writes a chain as a composite transform, as [`write_composite_parts`] does.
///
/// # Errors
/// Those of [`write_composite_parts`].
pub fn write_composite<'a>(
    to: impl Into<Target<'a>>,
    chain: &TransformChain,
    centre: Point3<f64>,
    dimensions: Dimensions,
) -> Result<(), Error> {
    let parts: Vec<CompositePart> = chain.steps.iter().map(|step| (&step.transform).into()).collect();
    write_composite_parts(to, &parts, centre, dimensions)
}

/// Writes a composite transform. A point goes through the first part first. `centre` (RAS mm) is the centre of the affine
/// parts; it does not change the map, but programs that continue from the transform rotate and scale about it.
///
/// Fields are stored in single precision without compression, so that writing is as fast as the disk.
///
/// # Errors
/// A name that does not end in `.h5` or `.hdf5`; parts that two dimensions cannot represent; too little memory; a
/// folder that does not exist or is full.
pub fn write_composite_parts<'a>(
    to: impl Into<Target<'a>>,
    parts: &[CompositePart],
    centre: Point3<f64>,
    dimensions: Dimensions,
) -> Result<(), Error> {
    let to = to.into();
    let path = to.path;
    let name = path.to_string_lossy().to_lowercase();
    if !composite::is_name(&name) {
        return Err(Error::new(path, ErrorKind::Extension(".h5 or .hdf5")));
    }
    let bytes = encode(parts, centre, dimensions).map_err(|kind| Error::new(path, kind))?;
    replace(to, |file| file.write_all(&bytes))
}

fn encode(parts: &[CompositePart], centre: Point3<f64>, dimensions: Dimensions) -> Result<Vec<u8>, ErrorKind> {
    let of_fields = parts.iter().map(|part| match part {
        CompositePart::Affine(_) => 0,
        CompositePart::Field(field) => (dimensions.count() * field.vectors.len() * size_of::<f32>()) as u64,
    });
    // The vectors of the fields are in memory three times: as given to the HDF5 library, in the file layout that the
    // library prepares, and in the bytes of the file.
    memory::check(3 * of_fields.sum::<u64>())?;
    let n = dimensions.count();
    let mut file = Hdf5Builder::new().dataset(kind(0, format!("CompositeTransform_double_{n}_{n}"))?);
    // In a composite transform file of ITK, the part that acts last on a point comes first.
    for (index, part) in parts.iter().rev().enumerate() {
        let [name, parameters, fixed] = match part {
            CompositePart::Affine(affine) => affine_group(index + 1, affine, centre, dimensions)?,
            CompositePart::Field(field) => field_group(index + 1, field, dimensions)?,
        };
        file = file.dataset(name).dataset(parameters).dataset(fixed);
    }
    Ok(file.into_plan()?.encode(WriteOptions::default())?)
}

fn kind(group: usize, name: String) -> Result<DatasetBuilder, ErrorKind> {
    Ok(DatasetBuilder::vlen_string_data(path(group, "TransformType"), [1], &[name])?)
}

fn numbers(group: usize, name: &str, values: &[f64]) -> Result<DatasetBuilder, ErrorKind> {
    Ok(DatasetBuilder::typed_data(path(group, name), [values.len() as u64], values)?)
}

fn path(group: usize, name: &str) -> String {
    format!("TransformGroup/{group}/{name}")
}

fn affine_group(
    group: usize,
    affine: &AffineTransform,
    centre: Point3<f64>,
    dimensions: Dimensions,
) -> Result<[DatasetBuilder; 3], ErrorKind> {
    let Stored { name, parameters, fixed_parameters } = match dimensions {
        Dimensions::Two => kinds::from_world_of_slices(affine, centre).ok_or(ErrorKind::OutOfPlane)?,
        Dimensions::Three => kinds::from_world(affine, centre),
    };
    Ok([
        kind(group, name)?,
        numbers(group, "TransformParameters", &parameters)?,
        numbers(group, "TransformFixedParameters", &fixed_parameters)?,
    ])
}

/// Makes the HDF5 arrays (datasets) that describe a displacement field in this number of dimensions: interleaved LPS
/// vectors, and the grid (size, origin, spacing, direction row by row).
fn field_group(
    group: usize,
    field: &DisplacementField,
    dimensions: Dimensions,
) -> Result<[DatasetBuilder; 3], ErrorKind> {
    let (n, grid) = (dimensions.count(), &field.grid);
    if dimensions == Dimensions::Two && !grid.is_slice_across_z() {
        return Err(ErrorKind::OutOfPlane);
    }
    let flip = Matrix3::from_diagonal(&Vector3::new(-1.0, -1.0, 1.0));
    let (origin, direction) = (flip * grid.origin.coords, flip * grid.direction);
    let mut fixed: Vec<f64> = grid.shape[..n].iter().map(|&size| size as f64).collect();
    fixed.extend(origin.iter().take(n));
    fixed.extend(grid.spacing.iter().take(n));
    for row in 0..n {
        fixed.extend((0..n).map(|axis| direction[(row, axis)]));
    }
    let bytes = match dimensions {
        Dimensions::Two => interleaved(field, |[x, y, _]| [-x, -y])?,
        Dimensions::Three => interleaved(field, |[x, y, z]| [-x, -y, z])?,
    };
    let parameters = DatasetBuilder::typed_with_order::<f32>(
        path(group, "TransformParameters"),
        [(n * field.vectors.len()) as u64],
        hdf5_writer::ByteOrder::LittleEndian,
    );
    Ok([
        kind(group, format!("DisplacementFieldTransform_double_{n}_{n}"))?,
        parameters.raw_data(bytes),
        numbers(group, "TransformFixedParameters", &fixed)?,
    ])
}

/// The bytes of all vectors, in which the components of each vector follow each other; computed on all threads.
fn interleaved<const N: usize>(
    field: &DisplacementField,
    components: impl Fn([f32; 3]) -> [f32; N] + Sync + Send,
) -> Result<Vec<u8>, ErrorKind> {
    let mut bytes: Vec<[[u8; 4]; N]> = memory::room_for(field.vectors.len() as u64)?;
    let vectors = field.vectors.par_iter().with_min_len(1 << 14);
    vectors.map(|vector| components(*vector).map(f32::to_le_bytes)).collect_into_vec(&mut bytes);
    Ok(bytes.into_flattened().into_flattened())
}
