//! Tests of slices: two-dimensional images, transforms and displacement fields.

use antsreg_core::io::{ErrorKind, fsl, itk, nifti};
use antsreg_core::{AffineTransform, DisplacementField, Grid, Transform, Volume};
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

use crate::support::RawNifti;
use crate::transforms::fixture;

/// The grid of a slice of 2 × 1.5 mm pixels at z = 40 mm, stored from right to left.
fn slice_grid() -> Grid {
    let mut grid = Grid::axis_aligned([7, 5, 1], [2.0, 1.5, 3.0]);
    grid.direction[(0, 0)] = -1.0;
    grid.origin = Point3::new(-12.0, 8.0, 40.0);
    grid
}

/// An affine map with rotation, scale and translation within the plane of a slice.
fn in_plane() -> AffineTransform {
    let turn = Rotation3::from_axis_angle(&Vector3::z_axis(), 0.4).into_inner();
    AffineTransform {
        matrix: turn * Matrix3::from_diagonal(&Vector3::new(1.2, 0.9, 1.0)),
        translation: Vector3::new(3.0, -8.0, 0.0),
    }
}

fn lps(map: &AffineTransform, point: [f64; 2]) -> [f64; 2] {
    let at = map.apply(&Point3::new(-point[0], -point[1], 17.0));
    assert_eq!(at.z, 17.0, "the third axis is left alone");
    [-at.x, -at.y]
}

#[test]
fn images_come_back_and_index_their_plane_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii.gz");
    let volume = Volume { grid: slice_grid(), voxels: (0..35).map(|value| value as f32).collect() };
    nifti::write_volume(&path, &volume).unwrap();
    let back = nifti::read_volume(&path).unwrap();
    assert_eq!(back, volume);
    // The header of a slice has two dimensions, because ITK keeps the axes of such files.
    assert_eq!(nifti::inspect(&path).unwrap().dim[..4], [2, 7, 5, 1]);
    assert!(back.grid.is_slice() && back.grid.is_slice_across_z());
    let index = back.grid.world_to_voxel().apply(&Point3::new(-18.0, 11.0, -300.0));
    assert_eq!(index, Point3::new(3.0, 2.0, 0.0));
    let mut elsewhere = slice_grid();
    elsewhere.origin.z = -7.0;
    assert!(elsewhere.matches(&back.grid, 1e-3), "where a slice lies across its plane is not known");
    elsewhere.origin.x += 0.1;
    assert!(!elsewhere.matches(&back.grid, 1e-3));
    // Shrinking a slice does not change its thickness.
    assert_eq!(back.grid.shrink([2; 3]).shape, [3, 2, 1]);
    assert_eq!(back.grid.shrink([2; 3]).spacing.z, 3.0);
}

#[test]
fn headers_of_two_dimensions_may_leave_out_the_third() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii");
    let voxels = (0..12).flat_map(|value: i16| value.to_le_bytes()).collect();
    let flat = RawNifti {
        dim: [2, 4, 3, 0, 0, 0, 0, 0],
        pixdim: [1.0, 2.0, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0],
        rows: [[-2.0, 0.0, 0.0, 5.0], [0.0, 1.5, 0.0, 6.0], [0.0; 4]],
        ..RawNifti::new([4, 3, 1], 4, voxels)
    };
    std::fs::write(&path, flat.bytes()).unwrap();
    let grid = nifti::read_volume(&path).unwrap().grid;
    assert_eq!(grid.shape, [4, 3, 1]);
    assert!(grid.is_slice() && (grid.spacing.z - 1.0).abs() < 1e-12, "{grid:?}");
    // The third axis of a slice's grid must be perpendicular to the other two.
    assert_eq!(grid.direction, Matrix3::from_diagonal(&Vector3::new(-1.0, 1.0, -1.0)));
}

#[test]
fn every_kind_of_plane_transform_means_what_itk_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tfm");
    // The expected points y = A(x − c) + c + t, with the matrix A and the translation t, were computed by hand for the
    // point x = (10, −20) and the centre c = (5, −7): x − c = (5, −13).
    let (cos, sin) = (0.3f64.cos(), 0.3f64.sin());
    let turned = [5.0 * cos + 13.0 * sin + 6.0, 5.0 * sin - 13.0 * cos - 5.0];
    for (kind, parameters, fixed, expected) in [
        ("AffineTransform", "1 0.5 -0.25 2 1 2", "5 -7", [5.0 - 6.5 + 6.0, -1.25 - 26.0 - 5.0]),
        ("MatrixOffsetTransformBase", "1 0.5 -0.25 2 1 2", "5 -7", [4.5, -32.25]),
        ("Euler2DTransform", "0.3 1 2", "5 -7", turned),
        ("Rigid2DTransform", "0.3 1 2", "5 -7", turned),
        (
            "Similarity2DTransform",
            "2 0.3 1 2",
            "5 -7",
            [2.0 * (turned[0] - 6.0) + 6.0, 2.0 * (turned[1] + 5.0) - 5.0],
        ),
        ("TranslationTransform", "1 2", "", [11.0, -18.0]),
        ("IdentityTransform", "", "", [10.0, -20.0]),
    ] {
        let head = "#Insight Transform File V1.0\n#Transform 0\n";
        let text = format!("{head}Transform: {kind}_double_2_2\nParameters: {parameters}\nFixedParameters: {fixed}");
        std::fs::write(&path, text).unwrap();
        let found = lps(&itk::read_affine(&path).unwrap(), [10.0, -20.0]);
        assert!((0..2).all(|axis| (found[axis] - expected[axis]).abs() < 1e-12), "{kind}: {found:?}, {expected:?}");
    }
    // This file was written by ANTs. It holds the identity matrix and the translation (2, 3).
    assert_eq!(lps(&itk::read_affine(&fixture("ants_affine_2d.mat")).unwrap(), [10.0, -20.0]), [12.0, -17.0]);
}

#[test]
fn affines_of_slices_are_those_of_itk() {
    assert!(itk::stays_in_plane(&in_plane()));
    let tilted = AffineTransform {
        matrix: Rotation3::from_axis_angle(&Vector3::x_axis(), 0.01).into_inner(),
        translation: Vector3::zeros(),
    };
    assert!(!itk::stays_in_plane(&tilted));
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.mat", "a.txt"] {
        let path = folder.path().join(name);
        // A translation along the third axis is ignored when the map is written as a two-dimensional transform.
        let mut offset = in_plane();
        offset.translation.z = 55.0;
        itk::write_affine_of_slices(&path, &offset, Point3::new(4.0, -6.0, 40.0)).unwrap();
        let back = itk::read_affine(&path).unwrap();
        assert!((back.to_homogeneous() - in_plane().to_homogeneous()).amax() < 1e-12, "{name}");
        let start = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        assert!(start.contains("AffineTransform_double_2_2"), "{start}");
        // The centre of rotation is stored in LPS coordinates.
        assert!(name == "a.mat" || start.contains("FixedParameters: -4 6\n"), "{start}");
    }
    let tilted = AffineTransform { matrix: Rotation3::from_euler_angles(0.1, 0.0, 0.0).into_inner(), ..in_plane() };
    let refusal = itk::write_affine_of_slices(&folder.path().join("b.mat"), &tilted, Point3::origin()).unwrap_err();
    assert!(matches!(refusal.kind, ErrorKind::OutOfPlane));
}

#[test]
fn fsl_matrices_of_slices_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mat");
    let (fixed, moving) = (Grid::axis_aligned([9, 6, 1], [1.0, 2.0, 5.0]), slice_grid());
    fsl::write_matrix(&path, &in_plane(), &fixed, &moving).unwrap();
    let back = fsl::read_matrix(&path, &fixed, &moving).unwrap();
    assert!((back.to_homogeneous() - in_plane().to_homogeneous()).amax() < 1e-9, "{back:?}");
}

#[test]
fn fields_of_slices_have_two_components() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nii.gz");
    let vectors: Vec<[f32; 3]> = (0..35).map(|at| [at as f32, -0.5 * at as f32, 0.0]).collect();
    let field = DisplacementField { grid: slice_grid(), vectors };
    itk::write_warp(&path, &field).unwrap();
    assert_eq!(nifti::inspect(&path).unwrap().dim[..6], [5, 7, 5, 1, 1, 2]);
    let back = itk::read_warp(&path).unwrap();
    assert_eq!(back.vectors, field.vectors);
    assert_eq!(itk::read_transforms(&path).unwrap(), [Transform::Displacement(back)]);
    // The displacement must not depend on the position of the point across the slice: this point lies 70 mm off the
    // plane.
    let displaced =
        field.at(&(slice_grid().voxel_to_world().apply(&Point3::new(3.0, 2.0, 0.0)) + Vector3::z() * 70.0));
    assert_eq!(displaced, Vector3::new(17.0, -8.5, 0.0));
}

#[test]
fn affines_of_slices_are_told_from_all_other_transforms() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["a.mat", "a.txt"] {
        itk::write_affine_of_slices(&at(name), &in_plane(), Point3::origin()).unwrap();
        assert!(itk::is_affine_of_slices(&at(name)).unwrap(), "{name}");
        itk::write_affine(&at(name), &in_plane(), Point3::origin()).unwrap();
        assert!(!itk::is_affine_of_slices(&at(name)).unwrap(), "{name}");
    }
    for name in ["ants_warp.nii.gz", "ants_composite.h5"] {
        assert!(!itk::is_affine_of_slices(&fixture(name)).unwrap(), "{name}");
    }
    std::fs::write(at("a.txt"), "no transform").unwrap();
    assert!(itk::is_affine_of_slices(&at("a.txt")).is_err());
}

#[test]
fn a_map_that_leaves_the_plane_by_rounding_alone_stays_in_it() {
    for at in [(0, 2), (1, 2), (2, 0), (2, 1)] {
        let tied = |coefficient: f64| {
            let mut map = in_plane();
            map.matrix[at] = coefficient;
            itk::stays_in_plane(&map)
        };
        assert!(tied(1e-6) && tied(-1e-6) && !tied(1.001e-6) && !tied(-1.001e-6), "{at:?}");
    }
}
