//! Tests of the geometry that ITK reads from headers, compared bit by bit with SimpleITK 2.5.7 (ITK 5.4).

use antsreg_core::io::itk::ItkGeometry;
use nalgebra::{Matrix3, Vector3};

use crate::support::{RawNifti, save};

fn read(raw: &RawNifti) -> ItkGeometry {
    let folder = tempfile::tempdir().unwrap();
    ItkGeometry::read(&save(folder.path(), "a.nii", &raw.bytes())).unwrap()
}

fn header(sizes: [f32; 3], quaternion: [f32; 6], rows: [[f32; 4]; 3]) -> RawNifti {
    let pixdim = [-1.0, sizes[0], sizes[1], sizes[2], 1.0, 1.0, 1.0, 1.0];
    let codes = RawNifti { sform_code: 2, qform_code: 2, ..RawNifti::new([2, 2, 2], 2, vec![0; 8]) };
    RawNifti { pixdim, quaternion, rows, ..codes }
}

/// A header whose sform and qform ITK takes for the same map.
fn same_forms() -> RawNifti {
    header(
        [1.5308636, 2.9328842, 2.7339618],
        [-0.018451689, 0.07509873, -0.7137066, 137.7, -43.0, -2.8],
        [
            [-0.045977756, 2.906314, -0.35787576, 137.7],
            [-1.5254802, -0.05700107, 0.22283474, -43.0],
            [-0.1197498, -0.38974416, -2.701262, -2.8],
        ],
    )
}

/// A header whose sform and qform differ for ITK by more than rounding errors.
fn other_forms() -> RawNifti {
    header(
        [2.2394884, 0.40311918, 1.7087463],
        [-0.68885136, 0.002969328, 0.7233422, -25.3, -118.7, -70.0],
        [
            [-0.10405875, -0.029318677, 1.7023705, -25.3],
            [0.14455415, -0.40129715, -0.11903385, -118.7],
            [-2.2323942, -0.02461855, -0.08706051, -70.0],
        ],
    )
}

#[test]
fn the_geometry_has_the_bits_of_itk() {
    let by_sform = Matrix3::new(
        0.03003386680190922,
        -0.990940533635228,
        0.1309000634467833,
        0.996483327496345,
        0.019435158051341273,
        -0.08150616498476299,
        -0.07822368481948051,
        -0.13288767222827255,
        -0.988039431631706,
    );
    let by_qform = Matrix3::new(
        0.030033895965612987,
        -0.9909405330725901,
        0.1309000634467833,
        0.9964833262430264,
        0.019435187254441356,
        -0.08150616498476299,
        -0.07822368958800842,
        -0.13288767215282138,
        -0.988039431631706,
    );
    for (sform_code, qform_code, direction) in
        [(1, 1, by_sform), (2, 0, by_sform), (2, 2, by_sform), (0, 2, by_qform)]
    {
        let found = read(&RawNifti { sform_code, qform_code, ..same_forms() });
        assert_eq!(found.direction, direction, "{sform_code} {qform_code}");
        assert_eq!(found.spacing, Vector3::new(1.530863642692566, 2.9328842163085938, 2.733961820602417));
        assert_eq!(found.origin, Vector3::new(-137.6999969482422, 43.0, -2.799999952316284));
    }
    let by_qform = Matrix3::new(
        0.046465452122453704,
        0.07272961376487323,
        -0.9962687215258813,
        -0.0645479138833886,
        0.9954802021849007,
        0.0696615672560715,
        -0.9968322469565071,
        -0.06107020828130216,
        -0.05094998092849443,
    );
    assert_eq!(read(&other_forms()).direction, by_qform);
}

#[test]
fn a_negative_voxel_size_reverses_its_axis() {
    let raw = RawNifti { sform_code: 1, ..same_forms() };
    let plain = read(&raw);
    let mut pixdim = raw.pixdim;
    pixdim[2] = -pixdim[2];
    let found = read(&RawNifti { pixdim, ..raw });
    assert_eq!(found.spacing, plain.spacing);
    assert_eq!(found.direction, plain.direction * Matrix3::from_diagonal(&[1.0, -1.0, 1.0].into()));
}

#[test]
fn an_image_without_forms_has_upright_axes() {
    let found = read(&RawNifti { sform_code: 0, qform_code: 0, ..same_forms() });
    assert_eq!((found.direction, found.origin), (Matrix3::identity(), Vector3::zeros()));
}
