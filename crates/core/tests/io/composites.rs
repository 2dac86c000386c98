//! Tests of composite transforms in HDF5: of a file written by ANTs, and of points that ANTs mapped with this file.

use std::path::Path;

use antsreg_core::io::itk::Dimensions;
use antsreg_core::io::{ErrorKind, itk};
use antsreg_core::{AffineTransform, DisplacementField, Grid, Transform, TransformChain};
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

fn fixture() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ants_composite.h5")
}

/// Path of a composite transform in single precision. It belongs to another image pair than the composite in double
/// precision.
fn single_precision() -> std::path::PathBuf {
    fixture().with_file_name("ants_composite_float.h5")
}

/// The point x + u(x) with u trilinear, computed corner by corner; for points inside the grid only.
fn displace(field: &DisplacementField, point: &Point3<f64>) -> Point3<f64> {
    let index = field.grid.world_to_voxel().apply(point);
    let mut sum = Vector3::zeros();
    for corner in 0..8 {
        let (mut at, mut weight) = (0, 1.0);
        for axis in (0..3).rev() {
            let below = index[axis].floor();
            let upper = corner >> axis & 1;
            weight *= if upper == 1 { index[axis] - below } else { 1.0 - (index[axis] - below) };
            at = at * field.grid.shape[axis] + below as usize + upper;
        }
        sum += Vector3::from(field.vectors[at].map(f64::from)) * weight;
    }
    point + sum
}

#[test]
fn a_composite_maps_points_as_ants_does() {
    // Points, and the points to which antspyx 0.6.3 maps them, LPS mm.
    let points = [
        (
            [-3.1461606852206794, 21.390020424772906, 14.0],
            [-3.6828505992889404, 20.203580856323242, 14.00843334197998],
        ),
        (
            [-7.321403698146504, 24.369927433894848, 16.25],
            [-7.161962509155273, 23.482240676879883, 17.043031692504883],
        ),
        ([2.7475188579608343, 17.483034189542003, 17.0], [3.9994072914123535, 16.159305572509766, 16.62307357788086]),
    ];
    maps(&fixture(), [14, 13, 12], &points);
}

#[test]
fn a_composite_of_single_precision_does_so_too() {
    // Points, and the points to which antspyx 0.6.3 maps them, LPS mm.
    let points = [
        ([-2.1, 23.4, 16.2], [-0.9105054140090942, 22.611328125, 15.26458740234375]),
        ([-0.7, 21.9, 17.1], [0.5159419775009155, 21.0001277923584, 16.26297378540039]),
    ];
    maps(&single_precision(), [8, 7, 6], &points);
}

/// Checks that a composite consists of a displacement field with this shape, then an affine map, and that it maps
/// points as antspyx does.
fn maps(composite: &Path, shape: [usize; 3], points: &[([f64; 3], [f64; 3])]) {
    let steps = itk::read_transforms(composite).unwrap();
    let [Transform::Displacement(field), Transform::Affine(affine)] = &steps[..] else {
        panic!("expected a displacement, then an affine map: {steps:?}");
    };
    assert_eq!(field.grid.shape, shape);
    for (point, image) in points {
        let found = affine.apply(&displace(field, &Point3::new(-point[0], -point[1], point[2])));
        let expected = Point3::new(-image[0], -image[1], image[2]);
        // Tolerance: antspyx returns coordinates in single precision.
        assert!((found - expected).norm() < 2e-5, "{found}, ANTs says {expected}");
    }
}

#[test]
fn damaged_composites() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    let good = std::fs::read(fixture()).unwrap();
    for length in [8, 100, 1000, 10_000, 40_000] {
        std::fs::write(&path, &good[..length]).unwrap();
        let error = itk::read_transforms(&path).expect_err("refused");
        assert!(matches!(error.kind, ErrorKind::Hdf5(_)), "{length}: {error}");
    }
}

/// Makes an oblique grid, or the grid of a slice across z if the shape has one voxel along z.
fn grid(shape: [usize; 3]) -> Grid {
    let turn = if shape[2] == 1 { [0.0, 0.0, 0.4] } else { [0.3, -0.2, 0.4] };
    Grid {
        shape,
        spacing: Vector3::new(1.5, 2.0, 1.0),
        origin: Point3::new(-12.0, 7.5, 0.0),
        direction: Rotation3::from_euler_angles(turn[0], turn[1], turn[2]).into_inner(),
    }
}

fn field(shape: [usize; 3]) -> DisplacementField {
    let grid = grid(shape);
    let third = |n: usize| if shape[2] == 1 { 0.0 } else { -0.25 * n as f32 };
    let vectors = (0..grid.len()).map(|n| [0.5 * n as f32, 3.0 - n as f32, third(n)]).collect();
    DisplacementField { grid, vectors }
}

#[test]
fn what_is_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    let of_volumes = AffineTransform {
        matrix: Matrix3::new(1.1, 0.2, 0.1, -0.1, 0.9, 0.3, 0.0, 0.1, 1.2),
        translation: Vector3::new(5.0, -3.0, 2.0),
    };
    let of_slices = AffineTransform {
        matrix: Matrix3::new(1.1, 0.2, 0.0, -0.1, 0.9, 0.0, 0.0, 0.0, 1.0),
        translation: Vector3::new(5.0, -3.0, 0.0),
    };
    for (shape, affine, dimensions) in
        [([4, 3, 2], of_volumes, Dimensions::Three), ([4, 3, 1], of_slices, Dimensions::Two)]
    {
        let parts = [Transform::Displacement(field(shape)), Transform::Affine(affine)];
        for order in [[0, 1], [1, 0]] {
            let chain = TransformChain::from(order.map(|n: usize| parts[n].clone()).to_vec());
            itk::write_composite(&path, &chain, Point3::new(3.0, -4.0, 5.0), dimensions).unwrap();
            let read = itk::read_transforms(&path).unwrap();
            assert_eq!(read.len(), 2);
            for (step, read) in chain.steps.iter().zip(&read) {
                match (&step.transform, read) {
                    (Transform::Affine(written), Transform::Affine(read)) => {
                        assert!((written.matrix - read.matrix).amax() < 1e-12, "{read:?}");
                        assert!((written.translation - read.translation).amax() < 1e-12, "{read:?}");
                    }
                    (Transform::Displacement(written), Transform::Displacement(read)) => {
                        assert_eq!(written.vectors, read.vectors);
                        assert!(written.grid.matches(&read.grid, 1e-12), "{:?}", read.grid);
                    }
                    _ => panic!("another order: {read:?}"),
                }
            }
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn composites_that_cannot_be_written_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, transform: Transform, dimensions| {
        let chain = TransformChain::from(vec![transform]);
        let path = folder.path().join(name);
        itk::write_composite(&path, &chain, Point3::origin(), dimensions).map_err(|error| error.kind)
    };
    let affine = || Transform::Affine(AffineTransform::identity());
    assert!(matches!(write("a.mat", affine(), Dimensions::Three), Err(ErrorKind::Extension(_))));
    let leaves = Transform::Affine(AffineTransform {
        matrix: Matrix3::new(1.0, 0.0, 0.1, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
        translation: Vector3::zeros(),
    });
    for transform in [leaves, Transform::Displacement(field([4, 3, 2]))] {
        assert!(matches!(write("a.h5", transform, Dimensions::Two), Err(ErrorKind::OutOfPlane)));
    }
    assert!(write("a.hdf5", affine(), Dimensions::Three).is_ok());
}

#[test]
fn composites_are_known_by_their_names() {
    for (name, expected) in
        [("a.h5", true), ("b/A.H5", true), ("a.hdf5", true), ("a.mat", false), ("h5", false), ("a.h5.gz", false)]
    {
        assert_eq!(itk::is_composite(Path::new(name)), expected, "{name}");
    }
}

/// The files hold a composite, an affine, and a third transform that is `h5py.SoftLink("/nowhere")`, written by h5py with
/// `libver="earliest"` (symbol tables) and `"latest"` (link messages).
#[test]
fn a_transform_that_is_a_link_to_nowhere_is_refused() {
    for name in ["dead_link.h5", "dead_link_new.h5"] {
        let kind = itk::read_transforms(&fixture().with_file_name(name)).expect_err("a link to nowhere").kind;
        assert!(matches!(kind, ErrorKind::DeadLinks { dead: 1, expected: 3 }), "{name}: {kind:?}");
    }
}
