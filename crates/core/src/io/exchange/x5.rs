//! X5, the HDF5 files of nitransforms (its module `io.x5`): a 4 × 4 matrix or a displacement field, fixed to moving,
//! RAS mm.

use std::io::Write;
use std::path::Path;

use hdf5_reader::group::Group;
use hdf5_reader::{Hdf5File, OpenOptions};
use hdf5_writer::{AttributeBuilder, DatasetBuilder, Hdf5Builder, WriteOptions};
use nalgebra::Matrix4;

use super::super::replace::replace;
use super::super::{Error, ErrorKind, read_bytes};
use super::matrix::checked;
use crate::{AffineTransform, DisplacementField, Grid, Transform, memory};

/// The group of the first transform.
const FIRST: &str = "TransformGroup/0";
/// Largest compression ratio of deflate: unpacked bytes for each compressed byte.
const LARGEST_RATIO: usize = 1032;

/// Reads the transforms of a file. A point goes through them in the order of their numbers.
pub(super) fn read(path: &Path) -> Result<Vec<Transform>, Error> {
    let wrap = |kind| Error::new(path, kind);
    memory::check(std::fs::metadata(path).map_err(|error| wrap(error.into()))?.len()).map_err(|e| wrap(e.into()))?;
    parse(read_bytes(path, "an X5 file", u64::MAX)?).map_err(wrap)
}

fn parse(bytes: Vec<u8>) -> Result<Vec<Transform>, ErrorKind> {
    let most = bytes.len().saturating_mul(LARGEST_RATIO);
    let options = OpenOptions::default().with_max_read_bytes(most).with_max_chunk_bytes(most);
    let file = Hdf5File::from_vec_with_options(bytes, options)?;
    let all = file.group("TransformGroup")?;
    let (mut names, _) = all.member_names()?;
    names.sort_by_key(|name| name.parse::<usize>().unwrap_or(usize::MAX));
    names.iter().map(|name| transform(&all.group(name)?)).collect()
}

fn transform(group: &Group) -> Result<Transform, ErrorKind> {
    let text = |name: &str| group.attribute(name).and_then(|attribute| attribute.read_string()).unwrap_or_default();
    let kind = text("Type");
    match (kind.as_str(), text("Representation").as_str()) {
        ("linear", _) => {
            let numbers = numbers(group, "Transform")?;
            if numbers.len() != 16 {
                return Err(ErrorKind::Count { what: "numbers of the matrix", expected: 16, found: numbers.len() });
            }
            checked(AffineTransform::from_homogeneous(&Matrix4::from_row_slice(&numbers))).map(Transform::Affine)
        }
        ("nonlinear", "displacements") if text("SubType") != "bspline" => field(group).map(Transform::Displacement),
        (_, other) => {
            let found = format!("{kind} {other}").trim().to_owned();
            Err(ErrorKind::TransformType { expected: "linear, or nonlinear displacements", found })
        }
    }
}

fn numbers(group: &Group, name: &str) -> Result<Vec<f64>, ErrorKind> {
    let dataset = group.dataset(name)?;
    memory::check(dataset.num_elements()?.saturating_mul(3 * size_of::<f64>() as u64))?;
    let numbers: Vec<f64> = match dataset.dtype() {
        hdf5_reader::Datatype::FloatingPoint { size: 4, .. } => {
            dataset.read_array::<f32>()?.iter().map(|v| f64::from(*v)).collect()
        }
        hdf5_reader::Datatype::FloatingPoint { .. } => dataset.read_array::<f64>()?.iter().copied().collect(),
        _ => dataset.read_array::<i64>()?.iter().map(|v| *v as f64).collect(),
    };
    match numbers.iter().position(|number| !number.is_finite()) {
        Some(index) => Err(ErrorKind::NotFiniteNumber { what: "numbers", index, value: numbers[index] }),
        None => Ok(numbers),
    }
}

fn field(group: &Group) -> Result<DisplacementField, ErrorKind> {
    let domain = group.group("Domain")?;
    let (size, map) = (numbers(&domain, "Size")?, numbers(&domain, "Mapping")?);
    let expect = |what, expected, found| match expected == found {
        true => Ok(()),
        false => Err(ErrorKind::Count { what, expected, found }),
    };
    expect("sizes of the grid", 3, size.len())?;
    expect("numbers of the matrix", 16, map.len())?;
    let whole = |size: f64| if (1.0..=f64::from(i32::MAX)).contains(&size) { size as usize } else { 0 };
    let shape = [whole(size[0]), whole(size[1]), whole(size[2])];
    let stored = numbers(group, "Transform")?;
    let product = shape.iter().try_fold(3, |product: usize, &size| product.checked_mul(size));
    expect("displacements", product.unwrap_or(usize::MAX), stored.len())?;
    let map = AffineTransform::from_homogeneous(&Matrix4::from_row_slice(&map));
    let grid = Grid::from_voxel_to_world(shape, &map)?;
    let [nx, ny, nz] = shape;
    let mut vectors = memory::room_for(grid.len() as u64)?;
    for at in 0..grid.len() {
        // The last axis of the array runs fastest: the components, then z.
        let place = 3 * ((at % nx * ny + at / nx % ny) * nz + at / nx / ny);
        vectors.push(std::array::from_fn(|axis| stored[place + axis] as f32));
    }
    Ok(DisplacementField { grid, vectors })
}

/// Writes one transform. The domain of an affine map is the fixed grid, if it is known.
pub(super) fn write(path: &Path, transform: &Transform, fixed: Option<&Grid>) -> Result<(), Error> {
    let bytes = encode(transform, fixed).map_err(|kind| Error::new(path, kind))?;
    replace(path, |file| file.write_all(&bytes))
}

fn encode(transform: &Transform, fixed: Option<&Grid>) -> Result<Vec<u8>, ErrorKind> {
    let at = |name: &str| format!("{FIRST}/{name}");
    let (kind, subtype, representation, domain, data) = match transform {
        Transform::Affine(affine) => {
            let rows: Vec<f64> = affine.to_homogeneous().transpose().iter().copied().collect();
            let data = DatasetBuilder::typed_data(at("Transform"), [4, 4], &rows)?;
            ("linear", "affine", "matrix", fixed, data)
        }
        Transform::Displacement(field) => {
            let [nx, ny, nz] = field.grid.shape;
            // The array is in memory three times: here, in the library, and in the bytes of the file.
            memory::check(3 * size_of_val(field.vectors.as_slice()) as u64)?;
            let mut values: Vec<f32> = memory::room_for(3 * field.grid.len() as u64)?;
            for at in 0..field.grid.len() {
                let (x, y, z) = (at / nz / ny, at / nz % ny, at % nz);
                values.extend(field.vectors[(z * ny + y) * nx + x]);
            }
            let shape = [nx as u64, ny as u64, nz as u64, 3];
            let data = DatasetBuilder::typed_data(at("Transform"), shape, &values)?;
            ("nonlinear", "densefield", "displacements", Some(&field.grid), data)
        }
    };
    // h5py gives a text of variable length as `str`, one of fixed length as bytes, which nitransforms does not accept.
    let text = |name: &str, value: &str| AttributeBuilder::vlen_strings(name, &[value]);
    let mut file = Hdf5Builder::new()
        .attribute(text("Format", "X5")?)
        .attribute(AttributeBuilder::scalar("Version", 1u16)?)
        .dataset(data)
        .dataset(DatasetBuilder::fixed_string_data(
            at("DimensionKinds"),
            [4],
            &["space", "space", "space", "vector"],
        )?)
        .group_attribute(FIRST, AttributeBuilder::scalar("ArrayLength", 1i64)?);
    for (name, value) in [("Type", kind), ("SubType", subtype), ("Representation", representation)] {
        file = file.group_attribute(FIRST, text(name, value)?);
    }
    if let Some(grid) = domain {
        let map: Vec<f64> = grid.voxel_to_world().to_homogeneous().transpose().iter().copied().collect();
        file = file
            .dataset(DatasetBuilder::typed_data(at("Domain/Grid"), [0u64; 0], &[1u8])?)
            .dataset(DatasetBuilder::typed_data(at("Domain/Size"), [3], &grid.shape.map(|n| n as i64))?)
            .dataset(DatasetBuilder::typed_data(at("Domain/Mapping"), [4, 4], &map)?)
            .group_attribute(at("Domain"), text("Coordinates", "cartesian")?);
    }
    Ok(file.into_plan()?.encode(WriteOptions::default())?)
}
