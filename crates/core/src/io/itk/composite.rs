//! Reads ITK's composite transforms in HDF5 (`.h5`), as written by `antsRegistration --write-composite-transform`.

use std::path::Path;

use hdf5_reader::btree_v1::collect_btree_v1_leaves_storage;
use hdf5_reader::btree_v2::BTreeV2Header;
use hdf5_reader::group::Group;
use hdf5_reader::messages::HdfMessage;
use hdf5_reader::{Dataset, Datatype, Hdf5File, OpenOptions};
use nalgebra::{Matrix3, Vector3};
use ndarray::ArrayD;

use super::super::{Error, ErrorKind, read_bytes};
use super::kinds;
use super::stored::{Stored, expect_count};
use crate::{AffineTransform, DisplacementField, Grid, Transform, memory};

/// The first bytes of every HDF5 file.
pub(super) const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// Whether a file name, in lower case, has the extension of a composite transform.
pub(super) fn is_name(name: &str) -> bool {
    name.ends_with(".h5") || name.ends_with(".hdf5")
}

/// Largest compression ratio of deflate: unpacked bytes for each compressed byte.
const LARGEST_RATIO: usize = 1032;

/// Reads the parts of a composite transform, in the order in which they act on a point.
pub(super) fn read(path: &Path) -> Result<Vec<Transform>, Error> {
    let wrap = |kind| Error::new(path, kind);
    // The file is read, not memory-mapped: if another program shortened a mapped file, this process would be killed.
    memory::check(std::fs::metadata(path).map_err(|error| wrap(error.into()))?.len()).map_err(|e| wrap(e.into()))?;
    parse(read_bytes(path, "a composite transform", u64::MAX)?).map_err(wrap)
}

fn parse(bytes: Vec<u8>) -> Result<Vec<Transform>, ErrorKind> {
    let most = bytes.len().saturating_mul(LARGEST_RATIO);
    let options = OpenOptions::default().with_max_read_bytes(most).with_max_chunk_bytes(most);
    let file = Hdf5File::from_vec_with_options(bytes, options)?;
    let all = file.group("TransformGroup")?;
    let (mut names, datasets) = all.member_names()?;
    // The library leaves out links whose target does not exist. Without them, a transform would be missing.
    let (found, expected) = (names.len() + datasets.len(), links(&file, &all)?);
    if found < expected {
        return Err(ErrorKind::DeadLinks { dead: expected - found, expected });
    }
    names.sort_by_key(|name| name.parse::<usize>().unwrap_or(usize::MAX));
    let mut steps = Vec::with_capacity(names.len());
    for name in &names {
        let group = all.group(name)?;
        let kind = dataset(&group, ["TransformType", "TranformType"])?.read_string()?;
        // In an HDF5 file of ITK, the first group describes the composite transform as a whole, which has no
        // parameters.
        if !kind.starts_with("CompositeTransform") {
            steps.push(step(&group, kind)?);
        }
    }
    // In a composite transform file of ITK, the part that acts last on a point comes first.
    steps.reverse();
    Ok(steps)
}

/// Number of links in a group: its members, and links that lead nowhere.
fn links(file: &Hdf5File, group: &Group) -> Result<usize, ErrorKind> {
    /// Address that stands for "no address" in HDF5.
    const NOWHERE: u64 = u64::MAX;
    let (storage, sizes) = (group.storage(), (group.offset_size(), group.length_size()));
    let mut count = 0;
    for message in &file.get_or_parse_header(group.address())?.messages {
        match message {
            HdfMessage::Link(_) => count += 1,
            HdfMessage::LinkInfo(info) if info.fractal_heap_address != NOWHERE => {
                let address = info.btree_name_index_address;
                let header = BTreeV2Header::parse_at_storage(storage, address, sizes.0, sizes.1)?;
                count += usize::try_from(header.total_records).unwrap_or(usize::MAX);
            }
            HdfMessage::SymbolTable(table) => {
                let address = table.btree_address;
                let nodes = collect_btree_v1_leaves_storage(storage, address, sizes.0, sizes.1, None, &[], None)?;
                for (_, node) in nodes {
                    // A node begins with its signature (4 bytes), version, a reserved byte and the number of links.
                    let start = storage.read_range(node, 8)?;
                    count += usize::from(u16::from_le_bytes([start[6], start[7]]));
                }
            }
            _ => {}
        }
    }
    Ok(count)
}

fn step(group: &Group, kind: String) -> Result<Transform, ErrorKind> {
    let parameters = dataset(group, ["TransformParameters", "TranformParameters"])?;
    let fixed_parameters = numbers(&dataset(group, ["TransformFixedParameters", "TranformFixedParameters"])?)?;
    let dimensions = match kind.strip_prefix("DisplacementFieldTransform_") {
        Some("double_3_3" | "float_3_3") => Some(3),
        Some("double_2_2" | "float_2_2") => Some(2),
        _ => None,
    };
    if let Some(dimensions) = dimensions {
        return Ok(Transform::Displacement(displacement(dimensions, &numbers(&parameters)?, &fixed_parameters)?));
    }
    let stored = Stored { name: kind, parameters: numbers(&parameters)?, fixed_parameters };
    Ok(Transform::Affine(kinds::to_world(&stored)?))
}

/// Makes a displacement field from the numbers in a composite transform: `parameters` are interleaved LPS vectors,
/// `fixed` describes their grid (size, origin, spacing, direction row by row, each in this number of dimensions). A
/// two-dimensional field lies in the plane z = 0.
fn displacement(dimensions: usize, parameters: &[f64], fixed: &[f64]) -> Result<DisplacementField, ErrorKind> {
    expect_count("fixed parameters", dimensions * (3 + dimensions), fixed)?;
    kinds::check_finite("fixed parameters", fixed)?;
    kinds::check_finite("parameters", parameters)?;
    let part = |number: usize, axis: usize| fixed[dimensions * number + axis];
    let mut shape = [0, 0, usize::from(dimensions == 2)];
    for (axis, size) in shape.iter_mut().enumerate().take(dimensions) {
        // The stored size of a displacement field along an axis must be a positive integer. Otherwise the size stays 0
        // here, and the grid is refused later.
        if part(0, axis).fract() == 0.0 && (1.0..=f64::from(i32::MAX)).contains(&part(0, axis)) {
            *size = part(0, axis) as usize;
        }
    }
    let product = shape.iter().try_fold(dimensions, |product, &size| product.checked_mul(size));
    expect_count("parameters", product.unwrap_or(usize::MAX), parameters)?;
    let flip = Matrix3::from_diagonal(&Vector3::new(-1.0, -1.0, 1.0));
    let (mut steps, mut origin) = (Matrix3::identity(), Vector3::zeros());
    for axis in 0..dimensions {
        origin[axis] = part(1, axis);
        for row in 0..dimensions {
            steps[(row, axis)] = part(3 + row, axis) * part(2, axis);
        }
    }
    let voxel_to_world = AffineTransform { matrix: flip * steps, translation: flip * origin };
    let grid = Grid::from_voxel_to_world(shape, &voxel_to_world)?;
    let vector = |v: &[f64]| [-v[0] as f32, -v[1] as f32, v.get(2).map_or(0.0, |z| *z as f32)];
    let mut vectors = memory::room_for(grid.len() as u64)?;
    vectors.extend(parameters.chunks_exact(dimensions).map(vector));
    Ok(DisplacementField { grid, vectors })
}

/// Opens an array of an HDF5 file (a dataset) by its name, or by the misspelt name that ITK wrote until 2016.
fn dataset(group: &Group, names: [&str; 2]) -> Result<Dataset, ErrorKind> {
    match group.dataset(names[0]) {
        Ok(found) => Ok(found),
        Err(error) => group.dataset(names[1]).map_err(|_| error.into()),
    }
}

/// Reads the numbers of an array in an HDF5 file (a dataset), in file order. `antsRegistration --float 1` and ANTsPy
/// write the numbers in single precision.
fn numbers(dataset: &Dataset) -> Result<Vec<f64>, ErrorKind> {
    let count = dataset.num_elements()?;
    // The numbers of the array are in memory three times: as read from the file, in double precision, and as the
    // returned list.
    memory::check(count.saturating_mul(3 * size_of::<f64>() as u64))?;
    let numbers: ArrayD<f64> = match dataset.dtype() {
        Datatype::FloatingPoint { size: 4, .. } => dataset.read_array::<f32>()?.mapv(f64::from),
        _ => dataset.read_array()?,
    };
    Ok(numbers.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_is_no_positive_integer_is_refused() {
        // Size, origin, spacing and direction of the grid of a field with 2 × 3 × 2 vectors.
        let fixed =
            |size: f64| [size, 3.0, 2.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        assert_eq!(displacement(3, &[0.5; 36], &fixed(2.0)).unwrap().grid.shape, [2, 3, 2]);
        for size in [2.5, 0.0, -2.0, 1e300] {
            assert!(displacement(3, &[0.5; 36], &fixed(size)).is_err(), "{size}");
            assert!(matches!(displacement(3, &[], &fixed(size)), Err(ErrorKind::Grid(_))), "{size}");
        }
    }
}
