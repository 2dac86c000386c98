//! Tests of headers: their grid is read without the voxels, and fields that ITK reads differently are reported.

use antsreg_core::io::ErrorKind;
use antsreg_core::io::nifti::{GridRule, HeaderWarning, inspect, read_grid, read_volume};
use antsreg_core::{AffineTransform, GridError};
use nalgebra::{Matrix3, Point3, Vector3};

use crate::support::{RawNifti, gzip, save};

/// The contradictions that the inspection of this header reports.
fn warnings(raw: &RawNifti) -> Vec<HeaderWarning> {
    let folder = tempfile::tempdir().unwrap();
    inspect(&save(folder.path(), "a.nii", &raw.bytes())).unwrap().warnings
}

#[test]
fn positions_that_itk_takes_from_elsewhere_are_told() {
    // The sform is the identity; the qform has an offset of 3 and −4 mm, so all corners are 5 mm apart.
    let apart = |sform_code, qform_code| {
        let quaternion = [0.0, 0.0, 0.0, 3.0, -4.0, 0.0];
        warnings(&RawNifti { sform_code, qform_code, quaternion, ..RawNifti::new([2, 2, 2], 2, vec![0; 8]) })
    };
    assert_eq!(apart(2, 1), [HeaderWarning::FormsApart { corners_mm: 5.0 }]);
    assert_eq!(apart(4, 4), [HeaderWarning::FormsApart { corners_mm: 5.0 }]);
    // The qform is a quarter turn about z, which maps the last voxel from (3, 2, 1) to (-2, 3, 1).
    let quaternion = [0.0, 0.0, std::f32::consts::FRAC_1_SQRT_2, 0.0, 0.0, 0.0];
    let raw = RawNifti::new([4, 3, 2], 2, vec![0; 24]);
    let [HeaderWarning::FormsApart { corners_mm }] =
        warnings(&RawNifti { sform_code: 2, qform_code: 1, quaternion, ..raw })[..]
    else {
        panic!("one warning")
    };
    assert!((corners_mm - 26f64.sqrt()).abs() < 1e-5, "{corners_mm}");
    // With these codes of sform and qform in the header, ITK 5.4 (tried through antspyx 0.6.3) and this program use the
    // same form. So no contradiction is expected to be reported.
    for (sform_code, qform_code) in [(1, 1), (1, 2), (3, 0), (0, 1)] {
        assert_eq!(apart(sform_code, qform_code), [], "{sform_code} {qform_code}");
    }
}

#[test]
fn voxel_sizes_that_itk_takes_otherwise_are_told() {
    let plain = || RawNifti { dim: [3, 5, 4, 2, 1, 1, 1, 1], ..RawNifti::new([5, 4, 2], 2, vec![0; 40]) };
    assert_eq!(warnings(&plain()), []);
    // ITK uses the directions of the sform and the voxel sizes of pixdim, 1 mm. The last voxel is 4 steps along the
    // first axis, which are 1 mm shorter than by the sform, and 3 steps along the second axis, which are 2 mm shorter.
    let pixdim = |sizes: [f32; 3]| [1.0, sizes[0], sizes[1], sizes[2], 1.0, 1.0, 1.0, 1.0];
    let rows = [[0.0, -3.0, 0.0, 5.0], [2.0, 0.0, 0.0, 6.0], [0.0, 0.0, 1.0, 7.0]];
    let (sform_mm, pixdim_mm) = ([2.0, 3.0, 1.0], [1.0; 3]);
    let corners_mm = 52f64.sqrt();
    let other_sizes = HeaderWarning::OtherSizes { sform_mm, pixdim_mm, corners_mm };
    assert_eq!(warnings(&RawNifti { rows, ..plain() }), [other_sizes]);
    // ITK takes a voxel size of 0 or NaN in `pixdim` as 1. So the expected report is the same as for sizes of 1.
    assert_eq!(warnings(&RawNifti { rows, pixdim: pixdim([0.0, 1.0, f32::NAN]), ..plain() }), [other_sizes]);
    // If sform and `pixdim` give voxel sizes that differ only by rounding, no contradiction is reported.
    assert_eq!(warnings(&RawNifti { pixdim: pixdim([1.000_000_1, 1.0, 1.0]), ..plain() }), []);
    // Without an sform only the sign of the voxel sizes matters. ITK reverses the first axis, along which the last
    // voxel is 4 steps of 2 mm away.
    let negative = RawNifti { sform_code: 0, pixdim: pixdim([-2.0, 1.0, 1.0]), ..plain() };
    let expected = HeaderWarning::NegativeSizes { pixdim_mm: [-2.0, 1.0, 1.0], corners_mm: 16.0 };
    assert_eq!(warnings(&negative), [expected]);
    assert_eq!(warnings(&RawNifti { qform_code: 1, ..negative.clone() }), [expected]);
    // The header of this test states its voxel sizes in metres instead of mm.
    let [HeaderWarning::NegativeSizes { corners_mm, .. }] = warnings(&RawNifti { units: 1, ..negative })[..] else {
        panic!("another warning")
    };
    assert_eq!(corners_mm, 16_000.0);
    // In the header of a slice, the voxel size along the third axis is not compared between sform and `pixdim`.
    let slice = RawNifti { dim: [3, 8, 5, 1, 1, 1, 1, 1], pixdim: pixdim([1.0, 1.0, -5.0]), ..plain() };
    assert_eq!(warnings(&slice), []);
}

#[test]
fn a_grid_is_read_without_its_voxels() {
    let folder = tempfile::tempdir().unwrap();
    let raw = RawNifti::new([20, 30, 40], 2, (0..24_000).map(|at| (at * 7 % 251) as u8).collect());
    let mut packed = gzip(&raw.bytes());
    let whole = save(folder.path(), "whole.nii.gz", &packed);
    let grid = read_volume(&whole).unwrap().grid;
    assert_eq!(read_grid(&whole).unwrap(), grid);
    // The compressed test file is now damaged in the middle of its voxel data.
    let middle = packed.len() / 2;
    packed[middle..middle + 40].fill(0xff);
    let damaged = save(folder.path(), "damaged.nii.gz", &packed);
    assert!(read_volume(&damaged).is_err());
    assert_eq!(read_grid(&damaged).unwrap(), grid);
    // A file that is too short for its voxels is refused because of its length, without reading the voxels.
    let cut = save(folder.path(), "cut.nii", &raw.bytes()[..1000]);
    assert!(matches!(read_grid(&cut).unwrap_err().kind, ErrorKind::Truncated { .. }));
    let series = RawNifti { dim: [4, 20, 30, 20, 2, 1, 1, 1], ..raw };
    let series = save(folder.path(), "series.nii", &series.bytes());
    assert!(matches!(read_grid(&series).unwrap_err().kind, ErrorKind::SeveralVolumes { count: 2, .. }));
}

#[test]
fn itk_has_a_rule_of_its_own_for_the_grid() {
    // In the sform, the first voxel axis runs along the second world axis. The qform has the axes of the world and an
    // offset of 3 and −4 mm.
    let rows = [[0.0, -3.0, 0.0, 5.0], [2.0, 0.0, 0.0, 6.0], [0.0, 0.0, 1.0, 7.0]];
    let pixdim = [1.0, 1.5, 2.0, 2.5, 1.0, 1.0, 1.0, 1.0];
    let plain = RawNifti { rows, pixdim, ..RawNifti::new([5, 4, 2], 2, vec![0; 40]) };
    let grid = |raw: &RawNifti| {
        let folder = tempfile::tempdir().unwrap();
        let path = save(folder.path(), "a.nii", &raw.bytes());
        let grid = GridRule::Itk.read_grid(&path);
        assert_eq!(GridRule::Itk.read_volume(&path).ok().map(|volume| volume.grid), grid.as_ref().ok().cloned());
        grid.map(|grid| grid.voxel_to_world()).map_err(|error| error.kind)
    };
    let with = |sform_code, qform_code| {
        let quaternion = [0.0, 0.0, 0.0, 3.0, -4.0, 0.0];
        RawNifti { sform_code, qform_code, quaternion, ..plain.clone() }
    };
    // Expected grids as read by SimpleITK 2.5 (ITK 5.4). The directions are those of the sform or of the qform,
    // whichever ITK uses; the voxel sizes are those of pixdim.
    let by_sform = AffineTransform {
        matrix: Matrix3::new(0.0, -2.0, 0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 2.5),
        translation: Vector3::new(5.0, 6.0, 7.0),
    };
    let sizes = Vector3::new(1.5, 2.0, 2.5);
    let by_qform =
        AffineTransform { matrix: Matrix3::from_diagonal(&sizes), translation: Vector3::new(3.0, -4.0, 0.0) };
    for (sform_code, qform_code) in [(1, 0), (1, 1), (1, 2), (2, 0), (4, 0)] {
        assert_eq!(grid(&with(sform_code, qform_code)).unwrap(), by_sform, "{sform_code} {qform_code}");
    }
    for (sform_code, qform_code) in [(0, 1), (0, 2), (2, 1), (4, 2)] {
        assert_eq!(grid(&with(sform_code, qform_code)).unwrap(), by_qform, "{sform_code} {qform_code}");
    }
    let alone = Matrix3::from_diagonal(&Vector3::new(-1.5, -2.0, 2.5));
    assert_eq!(grid(&with(0, 0)).unwrap().matrix, alone);
    // If the sform in a header is sheared, ITK uses the qform instead, where the header has one.
    let sheared = |qform_code| {
        let rows = [[0.0, -3.0, 0.3, 5.0], rows[1], rows[2]];
        RawNifti { rows, ..with(1, qform_code) }
    };
    assert_eq!(grid(&sheared(1)).unwrap(), by_qform);
    assert!(matches!(grid(&sheared(0)), Err(ErrorKind::Grid(GridError::Sheared(_)))));
    // A negative voxel size reverses its axis, whether ITK takes sform or qform.
    let negative = |raw: RawNifti| RawNifti { pixdim: [1.0, -1.5, 2.0, 2.5, 1.0, 1.0, 1.0, 1.0], ..raw };
    let turned = |matrix: Matrix3<f64>| matrix * Matrix3::from_diagonal(&Vector3::new(-1.0, 1.0, 1.0));
    assert_eq!(grid(&negative(with(1, 1))).unwrap().matrix, turned(by_sform.matrix));
    assert_eq!(grid(&negative(with(0, 1))).unwrap().matrix, turned(by_qform.matrix));
    assert_eq!(grid(&negative(with(0, 0))).unwrap().matrix, turned(alone));
}

#[test]
fn lengths_in_other_units_are_told_in_mm() {
    let metres = |shape: [i16; 3]| RawNifti { units: 1, ..RawNifti::new(shape, 2, vec![0; 40]) };
    let quaternion = [0.0, 0.0, 0.0, 3.0, -4.0, 0.0];
    let apart = RawNifti { sform_code: 2, qform_code: 1, quaternion, ..metres([2, 2, 2]) };
    assert_eq!(warnings(&apart), [HeaderWarning::FormsApart { corners_mm: 5000.0 }]);
    // The last voxel is 4 steps along the first axis, which are 1 m longer by the sform than by `pixdim`.
    let rows = [[2.0, 0.0, 0.0, 0.5], [0.0, 1.0, 0.0, 0.25], [0.0, 0.0, 1.0, -0.125]];
    let expected =
        HeaderWarning::OtherSizes { sform_mm: [2000.0, 1000.0, 1000.0], pixdim_mm: [1000.0; 3], corners_mm: 4000.0 };
    let longer = RawNifti { rows, ..metres([5, 4, 2]) };
    assert_eq!(warnings(&longer), [expected]);
    let pixdim = [1.0, -2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    let expected = HeaderWarning::NegativeSizes { pixdim_mm: [-2000.0, 1000.0, 1000.0], corners_mm: 16_000.0 };
    assert_eq!(warnings(&RawNifti { sform_code: 0, pixdim, ..metres([5, 4, 2]) }), [expected]);
    // The grid is in mm, too.
    let folder = tempfile::tempdir().unwrap();
    let grid = |raw: &RawNifti| read_grid(&save(folder.path(), "a.nii", &raw.bytes())).unwrap();
    assert_eq!(grid(&longer).origin, Point3::new(500.0, 250.0, -125.0));
    assert_eq!(grid(&longer).spacing, Vector3::new(2000.0, 1000.0, 1000.0));
    // In micrometres, the difference of the last voxel of the first axis is 0.001 mm for two voxels, which is taken for
    // rounding, and 0.002 mm for three.
    let micrometres = |shape| warnings(&RawNifti { units: 3, rows, ..metres(shape) }).len();
    assert_eq!([[2, 4, 2], [3, 4, 2]].map(micrometres), [0, 1]);
}

#[test]
fn the_third_axis_of_a_volume_counts() {
    let plain = |sizes: [f32; 3]| RawNifti {
        pixdim: [1.0, sizes[0], sizes[1], sizes[2], 1.0, 1.0, 1.0, 1.0],
        ..RawNifti::new([5, 4, 3], 2, vec![0; 60])
    };
    // The last voxel is 2 steps along the third axis.
    let other_sizes = HeaderWarning::OtherSizes { sform_mm: [1.0; 3], pixdim_mm: [1.0, 1.0, 3.0], corners_mm: 4.0 };
    assert_eq!(warnings(&plain([1.0, 1.0, 3.0])), [other_sizes]);
    let negative = HeaderWarning::NegativeSizes { pixdim_mm: [1.0, 1.0, -3.0], corners_mm: 12.0 };
    assert_eq!(warnings(&RawNifti { sform_code: 0, ..plain([1.0, 1.0, -3.0]) }), [negative]);
    // Where sform and `pixdim` give the same sizes, nothing is reported.
    let rows = [[2.0, 0.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0], [0.0, 0.0, 4.0, 0.0]];
    assert_eq!(warnings(&RawNifti { rows, ..plain([2.0, 3.0, 4.0]) }), []);
}

#[test]
fn itk_takes_invalid_sizes_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let grid = |raw: &RawNifti| GridRule::Itk.read_grid(&save(folder.path(), "a.nii", &raw.bytes()));
    let rows = [[0.0, -3.0, 0.0, 5.0], [2.0, 0.0, 0.0, 6.0], [0.0, 0.0, 4.0, 7.0]];
    let pixdim = [1.0, 0.0, f32::NAN, f32::INFINITY, 1.0, 1.0, 1.0, 1.0];
    let raw = RawNifti { rows, pixdim, ..RawNifti::new([5, 4, 2], 2, vec![0; 40]) };
    let found = grid(&raw).unwrap();
    assert!((found.spacing - Vector3::repeat(1.0)).amax() < 1e-12, "{found:?}");
    assert_eq!(found.direction, Matrix3::new(0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0));
    // An axis without length has no direction, so a size does not help. In a slice, the third axis may be left out.
    let no_third = RawNifti { rows: [rows[0], rows[1], [0.0, 0.0, 0.0, 7.0]], ..raw };
    assert!(matches!(grid(&no_third).unwrap_err().kind, ErrorKind::Grid(GridError::Singular(_))));
    let slice = grid(&RawNifti { dim: [2, 5, 4, 1, 1, 1, 1, 1], ..no_third }).unwrap();
    assert_eq!(slice.direction.column(2), Vector3::z());
    assert!((slice.spacing - Vector3::repeat(1.0)).amax() < 1e-12, "{slice:?}");
}

#[test]
fn a_quaternion_that_is_slightly_too_long_is_a_half_turn() {
    let folder = tempfile::tempdir().unwrap();
    for d in [1.0, 1.000_2, -1.000_2] {
        let quaternion = [0.0, 0.0, d, 0.0, 0.0, 0.0];
        let raw = RawNifti { sform_code: 0, qform_code: 1, quaternion, ..RawNifti::new([2, 2, 2], 2, vec![0; 8]) };
        let grid = read_grid(&save(folder.path(), "a.nii", &raw.bytes())).unwrap();
        let half_turn = Matrix3::from_diagonal(&Vector3::new(-1.0, -1.0, 1.0));
        assert!((grid.direction - half_turn).amax() < 1e-12, "{d}: {}", grid.direction);
    }
}

#[test]
fn the_description_ends_at_the_first_zero() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = RawNifti::new([2, 2, 2], 2, vec![0; 8]).bytes();
    // The field `descrip` of the standard: 80 bytes from byte 148.
    bytes[148..158].copy_from_slice(b"made\0of it");
    assert_eq!(inspect(&save(folder.path(), "a.nii", &bytes)).unwrap().description, "made");
    bytes[148..228].fill(b'a');
    assert_eq!(inspect(&save(folder.path(), "a.nii", &bytes)).unwrap().description, "a".repeat(80));
}
