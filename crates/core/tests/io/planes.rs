//! Tests of files with several volumes, of every meaning and type.

use antsreg_core::io::nifti::{GridRule, Planes, PlanesFile, PlanesReader, Stored, Timing, inspect};
use antsreg_core::io::{Error, ErrorKind, fsl};
use antsreg_core::{Grid, Volume};
use nalgebra::{Matrix4, Point3};

use crate::support::{RawNifti, save};

fn volume(grid: &Grid, number: usize) -> Volume {
    let voxels = (0..grid.len()).map(|n| (n + 100 * number) as f32 + 0.75).collect();
    Volume { grid: grid.clone(), voxels }
}

#[test]
fn volumes_come_back_under_the_dimensions_of_their_meaning() {
    let folder = tempfile::tempdir().unwrap();
    let grid = Grid::axis_aligned([4, 3, 2], [1.5, 2.0, 1.0]);
    let timing = Timing { start: 3.0, step: 1.5, unit: 8 };
    for name in ["a.nii", "a.nii.gz"] {
        let path = folder.path().join(name);
        for (planes, count, dim, intent, counts) in [
            (Planes::One, 1, [3, 4, 3, 2, 1, 1, 1, 1], 0, [1, 1]),
            (Planes::Series(timing), 5, [4, 4, 3, 2, 5, 1, 1, 1], 0, [5, 1]),
            (Planes::Series(timing), 1, [4, 4, 3, 2, 1, 1, 1, 1], 0, [1, 1]),
            (Planes::Vectors, 3, [5, 4, 3, 2, 1, 3, 1, 1], 1007, [1, 3]),
            (Planes::Tensors, 6, [5, 4, 3, 2, 1, 6, 1, 1], 1005, [1, 6]),
            (Planes::Fifth, 4, [5, 4, 3, 2, 1, 4, 1, 1], 0, [1, 4]),
        ] {
            let file = PlanesFile { grid: &grid, count, planes, stored: Stored::Float64 };
            file.write(&path, |index| Ok::<_, Error>(volume(&grid, index))).unwrap();
            let header = inspect(&path).unwrap();
            assert_eq!((header.dim, header.intent_code), (dim, intent), "{planes:?}");
            let mut reader = PlanesReader::open(GridRule::Sform, &path).unwrap();
            assert_eq!((reader.counts(), reader.stored()), (counts, Stored::Float64), "{planes:?}");
            if let Planes::Series(_) = planes {
                assert_eq!(reader.timing(), timing);
            }
            reader.skip_volume().unwrap();
            for index in 1..count {
                assert_eq!(reader.next_volume().unwrap(), volume(&grid, index), "{planes:?} {index}");
            }
            assert!(matches!(reader.next_volume().unwrap_err().kind, ErrorKind::Empty));
        }
    }
}

#[test]
fn values_are_stored_as_a_cast_stores_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii");
    let grid = Grid::axis_aligned([2, 3, 1], [1.0; 3]);
    let stored = |stored, voxels: [f32; 6]| {
        let file = PlanesFile { grid: &grid, count: 1, planes: Planes::One, stored };
        file.write(&path, |_| Ok::<_, Error>(Volume { grid: grid.clone(), voxels: voxels.to_vec() })).unwrap();
        PlanesReader::open(GridRule::Sform, &path).unwrap().next_volume().unwrap().voxels
    };
    let values = [-2.75, -0.5, 0.9, 3.25, 127.0, 300.0];
    // The expected values were computed with antspyx 0.6.3.
    assert_eq!(stored(Stored::Uint8, values), [254.0, 0.0, 0.0, 3.0, 127.0, 44.0]);
    assert_eq!(stored(Stored::Int8, values), [-2.0, 0.0, 0.0, 3.0, 127.0, 44.0]);
    assert_eq!(stored(Stored::Int16, values), [-2.0, 0.0, 0.0, 3.0, 127.0, 300.0]);
    assert_eq!(stored(Stored::Int32, values), [-2.0, 0.0, 0.0, 3.0, 127.0, 300.0]);
    assert_eq!(stored(Stored::Float32, values), values);
}

#[test]
fn a_grid_of_cubes_begins_where_fsl_counts_from() {
    let mut reference = Grid::axis_aligned([91, 109, 91], [2.0; 3]);
    reference.origin = Point3::new(-90.0, -126.0, -72.0);
    // In this right-handed grid, FSL counts the first coordinate from the last voxel, so the last voxels of both
    // grids coincide.
    let coarse = fsl::isotropic(&reference, 3.0);
    assert_eq!((coarse.shape, coarse.origin), ([60, 72, 60], Point3::new(-90.0 + 180.0 - 177.0, -126.0, -72.0)));
    reference.direction[(0, 0)] = -1.0;
    assert_eq!(fsl::isotropic(&reference, 3.0).origin, reference.origin);
    assert_eq!(fsl::isotropic(&reference, 2.0), reference);
    // FSL's identity matrix must mean the same map of world points for two grids of the fixed image: the reference grid
    // itself, and the isotropic grid that is made from the reference grid.
    let map = |grid: &Grid| fsl::to_world(&Matrix4::identity(), grid, &reference).unwrap();
    let apart = map(&reference).to_homogeneous() - map(&fsl::isotropic(&reference, 5.0)).to_homogeneous();
    assert!(apart.amax() < 1e-9, "{apart}");
}

#[test]
fn axes_of_one_element_at_the_end_do_not_count() {
    let folder = tempfile::tempdir().unwrap();
    for (dim, dimensions) in [
        ([2, 4, 3, 0, 0, 0, 0, 0], 2),
        ([3, 4, 3, 1, 1, 1, 1, 1], 2),
        ([3, 4, 3, 2, 1, 1, 1, 1], 3),
        ([5, 4, 3, 2, 1, 1, 9, 9], 3),
        ([4, 4, 3, 1, 2, 1, 1, 1], 4),
        ([5, 4, 3, 1, 1, 2, 1, 1], 5),
        ([7, 4, 3, 2, 1, 1, 1, 1], 3),
    ] {
        let raw = RawNifti { dim, ..RawNifti::new([4, 3, 2], 2, vec![0; 24]) };
        let path = save(folder.path(), "a.nii", &raw.bytes());
        assert_eq!(PlanesReader::open(GridRule::Sform, &path).unwrap().dimensions(), dimensions, "{dim:?}");
    }
}

#[test]
fn copies_are_stored_in_the_next_type_that_holds_the_values() {
    let folder = tempfile::tempdir().unwrap();
    let stored = |datatype, slope: f32| {
        let raw = RawNifti { slope_intercept: [slope, 0.0], ..RawNifti::new([2, 2, 2], datatype, vec![0; 64]) };
        PlanesReader::open(GridRule::Sform, &save(folder.path(), "a.nii", &raw.bytes())).unwrap().stored()
    };
    // Codes of the standard: int8, uint8, int16, uint16, int32; then with a slope, which makes them real numbers.
    assert_eq!(
        [256, 2, 4, 512, 8].map(|datatype| stored(datatype, 0.0)),
        [Stored::Int8, Stored::Uint8, Stored::Int16, Stored::Int32, Stored::Int32]
    );
    assert_eq!([256, 2, 4, 512, 8].map(|datatype| stored(datatype, 0.5)), [Stored::Float32; 5]);
    // Single and double precision, and the integers that only double precision can represent.
    for slope in [0.0, 0.5] {
        assert_eq!(stored(16, slope), Stored::Float32);
        assert_eq!([64, 768, 1024, 1280].map(|datatype| stored(datatype, slope)), [Stored::Float64; 4]);
    }
    let all = [Stored::Int8, Stored::Uint8, Stored::Int16, Stored::Int32, Stored::Float32, Stored::Float64];
    assert_eq!(all.map(Stored::is_whole), [true, true, true, true, false, false]);
}

#[test]
fn a_file_has_at_least_one_volume() {
    let folder = tempfile::tempdir().unwrap();
    let grid = Grid::axis_aligned([4, 3, 2], [1.0; 3]);
    for planes in [Planes::Series(Timing::default()), Planes::Vectors] {
        let file = PlanesFile { grid: &grid, count: 0, planes, stored: Stored::Float32 };
        let error = file.write(&folder.path().join("a.nii"), |index| Ok(volume(&grid, index))).unwrap_err();
        assert!(matches!(error, Error { kind: ErrorKind::Volumes { found: 0 }, .. }), "{error}");
    }
}
