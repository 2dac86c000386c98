//! Warps in ITK's files, against files and values of ITK.

use crate::support::{RawNifti, grids};
use crate::transforms::{SINGLE_MM, fixture};
use antsreg_core::io::nifti::{Stored, inspect};
use antsreg_core::io::{Deflated, ErrorKind, Target, itk};
use antsreg_core::{DisplacementField, Grid, Transform};
use nalgebra::Point3;

#[test]
fn warps_come_back_on_every_grid() {
    let folder = tempfile::tempdir().unwrap();
    for (name, grid) in grids() {
        let vectors = (0..grid.len()).map(|at| [at as f32, -0.5 * at as f32, (at as f32).cos()]).collect();
        let field = DisplacementField { grid, vectors };
        for file in ["a.nii", "a.nii.gz"] {
            let path = folder.path().join(file);
            itk::write_warp(&path, &field).unwrap();
            let back = itk::read_warp(&path).unwrap();
            assert_eq!(back.vectors, field.vectors, "{name}");
            // Tolerance: the header stores the grid in single precision.
            assert!(back.grid.matches(&field.grid, 1e-4), "{name}");
            assert_eq!(itk::read_transforms(&path).unwrap(), [Transform::Displacement(back)]);
        }
    }
}

#[test]
fn a_warp_on_disk_is_planar_and_lps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii");
    let grid = Grid::axis_aligned([3, 2, 2], [1.0; 3]);
    let vectors = (0..12).map(|at| [1.0 + at as f32, 101.0 + at as f32, 201.0 + at as f32]).collect();
    itk::write_warp(&path, &DisplacementField { grid, vectors }).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let dim: Vec<i16> = (0..8).map(|i| i16::from_le_bytes([bytes[40 + 2 * i], bytes[41 + 2 * i]])).collect();
    assert_eq!(dim, [5, 3, 2, 2, 1, 3, 1, 1]);
    assert_eq!(i16::from_le_bytes([bytes[68], bytes[69]]), 1007);
    let (values, rest) = bytes[352..].as_chunks::<4>();
    assert!(rest.is_empty());
    let values: Vec<f32> = values.iter().map(|value| f32::from_le_bytes(*value)).collect();
    let expected: Vec<f32> = [-1.0, -1.0, 1.0]
        .into_iter()
        .zip([1.0, 101.0, 201.0])
        .flat_map(|(sign, first)| (0..12).map(move |at| sign * (first + at as f32)))
        .collect();
    assert_eq!(values, expected);
}

#[test]
fn a_warp_written_by_itk() {
    let field = itk::read_warp(&fixture("ants_warp.nii.gz")).unwrap();
    assert_eq!(field.grid.shape, [5, 4, 3]);
    // The position of voxel (1, 1, 1), and the point to which the field takes it, computed with antspyx, LPS mm.
    let lps = [-1.9994772173280557, 5.841376884713689, 7.847505106193227];
    let image = [-1.4094773530960083, 6.731376647949219, 8.167505264282227];
    let at = field.grid.voxel_to_world().apply(&Point3::new(1.0, 1.0, 1.0));
    assert!((at - Point3::new(-lps[0], -lps[1], lps[2])).norm() < SINGLE_MM, "{at}");
    let vector = field.vectors[1 + 5 * (1 + 4)];
    let expected = [lps[0] - image[0], lps[1] - image[1], image[2] - lps[2]];
    for axis in 0..3 {
        assert!((f64::from(vector[axis]) - expected[axis]).abs() < SINGLE_MM, "{vector:?}, expected {expected:?}");
    }
}

#[test]
fn displacement_intent_is_ras() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii");
    let data: Vec<u8> = (1..=24).flat_map(|value| (value as f32).to_le_bytes()).collect();
    for (intent, expected) in [(1007, [-1.0, -9.0, 17.0]), (1006, [1.0, 9.0, 17.0])] {
        let raw = RawNifti { dim: [5, 2, 2, 2, 1, 3, 1, 1], intent, ..RawNifti::new([2, 2, 2], 16, data.clone()) };
        std::fs::write(&path, raw.bytes()).unwrap();
        assert_eq!(itk::read_warp(&path).unwrap().vectors[0], expected, "intent {intent}");
    }
}

#[test]
fn a_warp_is_stored_in_the_type_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii.gz");
    for (shape, components) in [([4, 3, 2], 3), ([4, 3, 1], 2)] {
        let grid = Grid::axis_aligned(shape, [1.0; 3]);
        let third = |n: f32| if components == 3 { -2.25 * n } else { 0.0 };
        let vectors = (0..grid.len()).map(|n| n as f32).map(|n| [0.5 * n, 3.0 - n, third(n)]).collect();
        let field = DisplacementField { grid, vectors };
        for (stored, datatype) in [(Stored::Float32, "Float32"), (Stored::Float64, "Float64")] {
            itk::write_warp_as(&path, &field, stored).unwrap();
            assert_eq!(itk::read_warp(&path).unwrap(), field, "{datatype}");
            let header = inspect(&path).unwrap();
            assert_eq!((header.datatype.as_str(), header.intent_code, header.dim[5]), (datatype, 1007, components));
        }
    }
}

#[test]
fn a_large_warp_is_read_and_written_in_parts() {
    // Each component has 270000 numbers, more than the parts in which files are read and written. No border of these
    // parts is a border between two components.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii");
    let count = 270_000;
    let mut values: Vec<f32> = (0..3 * count).map(|at| (at % 65_537) as f32 - 1000.5).collect();
    let raw = |values: &[f32]| RawNifti {
        dim: [5, 300, 300, 3, 1, 3, 1, 1],
        intent: 1007,
        ..RawNifti::new([300, 300, 3], 16, values.iter().flat_map(|value| value.to_le_bytes()).collect())
    };
    std::fs::write(&path, raw(&values).bytes()).unwrap();
    let field = itk::read_warp(&path).unwrap();
    for (n, vector) in field.vectors.iter().enumerate() {
        assert_eq!(*vector, [-values[n], -values[count + n], values[2 * count + n]], "{n}");
    }
    itk::write_warp(&path, &field).unwrap();
    assert!(std::fs::read(&path).unwrap()[352..] == raw(&values).data, "the numbers are those that were read");
    // Voxel 200000 is the first of two that are not finite; its index is (200, 66, 2).
    (values[200_000], values[2 * count + 5]) = (f32::NAN, f32::INFINITY);
    std::fs::write(&path, raw(&values).bytes()).unwrap();
    let kind = itk::read_warp(&path).unwrap_err().kind;
    assert!(matches!(kind, ErrorKind::NotFinite { count: 2, first: [200, 66, 2] }), "{kind}");
}

#[test]
fn compressed_displacements_make_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let [path, expected] = ["a.nii.gz", "b.nii.gz"].map(|name| folder.path().join(name));
    for shape in [[300, 300, 3], [20, 30, 1]] {
        let grid = Grid::axis_aligned(shape, [1.0; 3]);
        let vectors = (0..grid.len()).map(|at| [at as f32 / 64.0, (at % 77) as f32, (at as f32).cos()]).collect();
        let field = DisplacementField { grid: grid.clone(), vectors };
        itk::write_warp(&expected, &field).unwrap();
        let factors = itk::stored_factors(&grid);
        let numbers = (0..factors.len()).flat_map(|axis| {
            let factor = factors[axis];
            field.vectors.iter().map(move |vector| factor * vector[axis])
        });
        let deflated = Deflated::of(&numbers.collect::<Vec<_>>());
        let mut heard = Vec::new();
        let mut listen = |bytes: Vec<u8>| {
            heard.extend_from_slice(&bytes);
            bytes
        };
        itk::write_deflated_warp(Target::heard(&path, &mut listen), &grid, &deflated).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes == std::fs::read(&expected).unwrap(), "{shape:?}");
        assert!(heard == bytes, "{shape:?}");
    }
}

#[test]
fn compressed_displacements_that_do_not_suit_the_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (shape, expected) in [([4, 3, 2], 72), ([4, 3, 1], 24)] {
        let grid = Grid::axis_aligned(shape, [1.0; 3]);
        let refused = |name: &str, count: usize| {
            let deflated = Deflated::of(&vec![0.5; count]);
            let error = itk::write_deflated_warp(&folder.path().join(name), &grid, &deflated).unwrap_err();
            assert_eq!(error.path, folder.path().join(name));
            error.kind
        };
        let kind = refused("a.nii", expected);
        assert!(matches!(kind, ErrorKind::Extension(".nii.gz")), "{kind}");
        let kind = refused("a.txt", expected);
        assert!(matches!(kind, ErrorKind::Extension(_)), "{kind}");
        for count in [expected - 1, expected + 1] {
            let kind = refused("a.nii.gz", count);
            let ErrorKind::Count { what: "numbers", expected: of_grid, found } = kind else { panic!("{kind}") };
            assert_eq!((of_grid, found), (expected, count));
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}
