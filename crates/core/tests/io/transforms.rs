//! Affine transforms in ITK's and FSL's files, against files and values of those programs.

use std::path::{Path, PathBuf};

use crate::support::grids;
use antsreg_core::io::points::PointTable;
use antsreg_core::io::{ErrorKind, fsl, itk};
use antsreg_core::{AffineTransform, Grid, Transform};
use nalgebra::{Matrix3, Matrix4, Point3, Rotation3, Vector3};

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn sample() -> AffineTransform {
    let turn = Rotation3::from_euler_angles(0.3, -0.2, 0.7).into_inner();
    let matrix = turn * Matrix3::new(1.1, 0.05, 0.0, 0.0, 0.9, -0.1, 0.0, 0.0, 1.2);
    AffineTransform { matrix, translation: Vector3::new(12.5, -34.25, 7.125) }
}

fn difference(a: &AffineTransform, b: &AffineTransform) -> f64 {
    (a.to_homogeneous() - b.to_homogeneous()).amax()
}

/// Applies a transform to a point in ITK's LPS coordinates.
fn apply_lps(affine: &AffineTransform, [x, y, z]: [f64; 3]) -> [f64; 3] {
    let image = affine.apply(&Point3::new(-x, -y, z));
    [-image.x, -image.y, image.z]
}

/// Points (LPS mm) for which ITK 5.4, through antspyx 0.6.3, computed the expected results of these tests.
const POINTS: [[f64; 3]; 2] = [[10.0, -20.0, 30.0], [-5.5, 40.25, -60.0]];

/// Tolerance, mm: antspyx returns coordinates and takes parameters in single precision.
pub const SINGLE_MM: f64 = 2e-5;

fn assert_maps_as_itk(name: &str, affine: &AffineTransform, images: [[f64; 3]; 2]) {
    for (point, expected) in POINTS.into_iter().zip(images) {
        let found = apply_lps(affine, point);
        for axis in 0..3 {
            assert!((found[axis] - expected[axis]).abs() < SINGLE_MM, "{name}: {found:?}, ITK says {expected:?}");
        }
    }
}

#[test]
fn files_written_by_ants_map_points_as_ants_does() {
    let general = [
        [12.969999313354492, -19.899999618530273, 38.56999969482422],
        [0.732499361038208, 28.957500457763672, -58.51499938964844],
    ];
    for (name, images) in [
        ("ants_affine.mat", general),
        ("ants_affine.txt", general),
        (
            "ants_euler.mat",
            [
                [15.720982551574707, -20.44629669189453, 28.896793365478516],
                [-22.447589874267578, 55.030029296875, -40.5063591003418],
            ],
        ),
        (
            "ants_similarity.mat",
            [
                [8.37706184387207, -24.637569427490234, 35.81520080566406],
                [6.615179061889648, 69.37582397460938, -63.49236297607422],
            ],
        ),
    ] {
        assert_maps_as_itk(name, &itk::read_affine(&fixture(name)).unwrap(), images);
    }
}

#[test]
fn every_kind_of_linear_transform_means_what_itk_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tfm");
    let rotated = [
        [7.901647567749023, -20.71005630493164, 31.452159881591797],
        [6.492143630981445, 54.50065612792969, -47.993892669677734],
    ];
    for (kind, parameters, fixed, images) in [
        (
            "Euler3DTransform",
            "0.3 -0.2 0.5 1 2 3",
            "5 -7 11 1",
            [
                [16.451663970947266, -19.840158462524414, 29.017738342285156],
                [-25.339923858642578, 53.224063873291016, -40.877864837646484],
            ],
        ),
        ("VersorRigid3DTransform", "0.1 -0.2 0.15 1 2 3", "5 -7 11", rotated),
        ("QuaternionRigidTransform", "0.1 -0.2 0.15 0.9630680142129112 1 2 3", "5 -7 11", rotated),
        ("TranslationTransform", "1 2 3", "", [[11.0, -18.0, 33.0], [-4.5, 42.25, -57.0]]),
        ("Rigid3DTransform", "0 -1 0 1 0 0 0 0 1 1 2 3", "5 -7 11", [[19.0, 0.0, 33.0], [-41.25, -15.5, -57.0]]),
        ("IdentityTransform", "", "", POINTS),
    ] {
        let text = format!(
            "#Insight Transform File V1.0\n#Transform 0\nTransform: {kind}_double_3_3\nParameters: {parameters}\n\
             FixedParameters: {fixed}"
        );
        std::fs::write(&path, text).unwrap();
        assert_maps_as_itk(kind, &itk::read_affine(&path).unwrap(), images);
    }
}

#[test]
fn affines_come_back_whatever_the_centre() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.mat", "a.txt", "a.tfm"] {
        let path = folder.path().join(name);
        for centre in [Point3::origin(), Point3::new(3.0, -80.0, 120.0)] {
            itk::write_affine(&path, &sample(), centre).unwrap();
            let back = itk::read_affine(&path).unwrap();
            // Tolerance: rounding of the translation, which depends on the centre and is converted twice.
            assert!(difference(&back, &sample()) < 1e-12, "{name}");
        }
    }
}

#[test]
fn matlab_records_in_both_precisions_and_byte_orders() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mat");
    let numbers = [1.5_f64, 0.25, 0.0, 0.0, 0.5, 0.0, 0.125, 0.0, 2.0, 10.0, -20.0, 30.0];
    let fixed = [1.0, 2.0, 4.0];
    let write = |code: i32, big: bool, single: bool| {
        let int = |value: i32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
        let mut bytes = Vec::new();
        for (name, numbers) in [("AffineTransform_float_3_3", numbers.as_slice()), ("fixed", &fixed)] {
            for value in [code, numbers.len() as i32, 1, 0, name.len() as i32 + 1] {
                bytes.extend(int(value));
            }
            bytes.extend(name.bytes());
            bytes.push(0);
            for &number in numbers {
                match (single, big) {
                    (true, true) => bytes.extend((number as f32).to_be_bytes()),
                    (true, false) => bytes.extend((number as f32).to_le_bytes()),
                    (false, true) => bytes.extend(number.to_be_bytes()),
                    (false, false) => bytes.extend(number.to_le_bytes()),
                }
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        itk::read_affine(&path).unwrap()
    };
    for (code, big, single) in [(0, false, false), (10, false, true), (1000, true, false), (1010, true, true)] {
        // The map is y = A(x − c) + c + t in LPS, with the matrix A, the centre c and the translation t. At x = c the
        // result is c + t.
        assert_eq!(apply_lps(&write(code, big, single), fixed), [11.0, -18.0, 34.0], "type {code}");
        // If x moves by 1 mm along the first axis, the result y moves by the first column of the matrix A.
        assert_eq!(apply_lps(&write(code, big, single), [2.0, 2.0, 4.0]), [12.5, -18.0, 34.125], "type {code}");
    }
}

#[test]
fn affine_files_that_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mat");
    let refusal = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let error = itk::read_affine(&path).expect_err("refused");
        assert_eq!(error.path, path);
        error.kind.to_string()
    };
    let good = std::fs::read(fixture("ants_affine.mat")).unwrap();
    let four_dimensions = std::fs::read(fixture("ants_affine.txt")).unwrap();
    let four_dimensions = String::from_utf8(four_dimensions).unwrap().replace("_3_3", "_4_4");
    assert_eq!(
        refusal(four_dimensions.as_bytes()),
        "transform of type AffineTransform_double_4_4, expected an affine, rigid, similarity or translation transform of \
         two or three dimensions"
    );
    assert_eq!(refusal(&[]), "the file is empty");
    for length in 1..good.len() {
        let text = refusal(&good[..length]);
        // With 143 bytes, the MATLAB 4 file ends after its first record (the matrix and the translation). The second
        // record, which has the centre of rotation, is missing.
        let expected =
            if length == 143 { "fixed parameters: expected 3 numbers, found 0" } else { "the file is truncated" };
        assert!(text.starts_with(expected), "{length}: {text}");
    }
    let mut with_nan = good.clone();
    with_nan[20 + 27..20 + 27 + 8].copy_from_slice(&f64::NAN.to_le_bytes());
    assert_eq!(refusal(&with_nan), "number 0 of the parameters is NaN, expected a finite number");
    assert!(refusal(b"hello, this is no transform at all").starts_with("not an ITK transform"));
    assert!(refusal(b"MNI Transform File\nTransform_Type = Linear;\n").ends_with("found a MINC transform"));
    assert!(refusal(&[[0; 128].as_slice(), b"DICM"].concat()).contains("found a DICOM file"));

    let text = |kind: &str, parameters: &str| {
        let head = "#Insight Transform File V1.0\n#Transform 0\n";
        refusal(format!("{head}Transform: {kind}\nParameters: {parameters}\nFixedParameters: 0 0 0\n").as_bytes())
    };
    assert_eq!(text("AffineTransform_double_3_3", "1 0 0"), "parameters: expected 12 numbers, found 3");
    assert_eq!(text("TranslationTransform_double_3_3", "1 x 0"), "line 4: expected a number, found \"x\"");
    assert_eq!(
        text("TranslationTransform_double_3_3", "1 inf 0"),
        "number 1 of the parameters is inf, expected a finite number"
    );
    assert!(text("BSplineTransform_double_3_3", "").starts_with("transform of type BSplineTransform_double_3_3"));
    assert!(refusal(b"#Insight Transform File V1.0\n").contains("no line \"Transform:"));
    assert!(matches!(
        itk::write_affine(&folder.path().join("a.xml"), &sample(), Point3::origin()).unwrap_err().kind,
        ErrorKind::Extension(_)
    ));
}

#[test]
fn transforms_tell_their_kind() {
    let steps = |name| itk::read_transforms(&fixture(name)).unwrap();
    for name in ["ants_affine.mat", "ants_affine.txt"] {
        assert!(matches!(steps(name)[..], [Transform::Affine(_)]), "{name}");
    }
    assert!(matches!(steps("ants_warp.nii.gz")[..], [Transform::Displacement(_)]));
}

#[test]
fn fsl_matrices_come_back_between_all_grids() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mat");
    for (fixed_name, fixed) in grids() {
        for (moving_name, mut moving) in grids() {
            moving.shape = [9, 4, 6];
            moving.spacing = Vector3::new(0.8, 2.0, 1.1);
            fsl::write_matrix(&path, &sample(), &fixed, &moving).unwrap();
            let back = fsl::read_matrix(&path, &fixed, &moving).unwrap();
            let error = difference(&back, &sample());
            assert!(error < 1e-9, "{fixed_name} ← {moving_name}: {error}");
        }
    }
}

#[test]
fn fsl_counts_the_first_axis_from_the_left() {
    // FSL's identity matrix maps equal scaled millimetres to each other. A scaled millimetre coordinate is index ×
    // size, and the first axis is counted from its far end if the volume's axes are right-handed.
    let grid = |shape: [usize; 3], spacing: [f64; 3], x: f64| Grid {
        origin: Point3::new(5.0, 6.0, 7.0),
        direction: Matrix3::from_diagonal(&Vector3::new(x, 1.0, 1.0)),
        ..Grid::axis_aligned(shape, spacing)
    };
    for (fixed_x, moving_x) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
        let (fixed, moving) = (grid([10, 8, 6], [1.0; 3], fixed_x), grid([5, 8, 6], [2.0, 1.0, 1.0], moving_x));
        let world = fsl::to_world(&Matrix4::identity(), &fixed, &moving).unwrap();
        for i in [0.0, 1.0, 9.0] {
            let scaled = if fixed_x > 0.0 { 9.0 - i } else { i };
            let j = if moving_x > 0.0 { 4.0 - scaled / 2.0 } else { scaled / 2.0 };
            let from = fixed.voxel_to_world().apply(&Point3::new(i, 3.0, 2.0));
            let to = moving.voxel_to_world().apply(&Point3::new(j, 3.0, 2.0));
            assert!((world.apply(&from) - to).norm() < 1e-12, "{fixed_x} {moving_x} {i}");
        }
    }
}

#[test]
fn fsl_files_that_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mat");
    let grid = Grid::axis_aligned([4, 4, 4], [1.0; 3]);
    for (text, message) in [
        ("", "the file is empty"),
        ("1 0 0 0\n0 1 0 0\n", "matrix: expected 16 numbers, found 8"),
        ("1 0 0 0\n0 one 0 0\n", "line 2: expected a number, found \"one\""),
        ("0 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1", "the matrix is singular"),
        ("1 0 0 0\n0 1 0 nan\n0 0 1 0\n0 0 0 1", "number 7 of the matrix is NaN, expected a finite number"),
        (
            "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 2 1",
            "the last row of the matrix is [0.0, 0.0, 2.0, 1.0], expected 0 0 0 1",
        ),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = fsl::read_matrix(&path, &grid, &grid).expect_err(text);
        assert_eq!(error.kind.to_string(), message);
    }
}

#[test]
fn tables_of_points() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.csv");
    std::fs::write(&path, "label,x,y,z,t,comment\n3,1.5,-2,30,0,\"left, upper\"\n4,0,0,-1e-3,0,\n").unwrap();
    let mut table = PointTable::read(&path).unwrap();
    assert_eq!(table.points(), [Point3::new(-1.5, 2.0, 30.0), Point3::new(0.0, 0.0, -0.001)]);
    table.write(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "label,x,y,z,t,comment\n3,1.5,-2,30,0,\"left, upper\"\n4,0,0,-0.001,0,\n");
    table.move_points(|point| point + Vector3::new(1.0, 2.0, 3.0));
    table.write(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "label,x,y,z,t,comment\n3,0.5,-4,33,0,\"left, upper\"\n4,-1,-2,2.999,0,\n");

    let fresh = PointTable::new(vec![Point3::new(1.0, 2.0, 3.0)]);
    fresh.write(&path).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "x,y,z\n-1,-2,3\n");
    assert_eq!(PointTable::read(&path).unwrap().points(), fresh.points());

    for (text, message) in [
        ("a,b\n1,2\n", "no column \"x\", found [\"a\", \"b\"]"),
        ("x,y,z\n1,2,3\n1,two,3\n", "line 3: expected a finite number, found \"two\""),
        ("x,y,z\n1,NaN,3\n", "line 2: expected a finite number, found \"NaN\""),
    ] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(PointTable::read(&path).expect_err(text).kind.to_string(), message);
    }
    std::fs::write(&path, "x,y,z\n1,2,3\n1,2\n").unwrap();
    assert!(matches!(PointTable::read(&path).unwrap_err().kind, ErrorKind::Table(_)));
}

#[test]
fn zero_has_no_sign_in_a_table_of_points() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.csv");
    PointTable::new(vec![Point3::new(0.0, -0.0, -0.0)]).write(&path).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "x,y,z\n0,0,0\n");
}

#[test]
fn scaled_coordinates_of_fsl_are_index_times_size() {
    // Voxel (3, 2, 1) of a grid with 10 voxels along the first axis.
    let mut grid = Grid { origin: Point3::new(5.0, 6.0, 7.0), ..Grid::axis_aligned([10, 8, 6], [2.0, 3.0, 4.0]) };
    assert_eq!(fsl::scaled(&Point3::new(11.0, 12.0, 11.0), &grid), Some(Point3::new(2.0 * (9.0 - 3.0), 6.0, 4.0)));
    grid.direction[(0, 0)] = -1.0;
    assert_eq!(fsl::scaled(&Point3::new(-1.0, 12.0, 11.0), &grid), Some(Point3::new(6.0, 6.0, 4.0)));
    grid.direction.fill_column(2, 0.0);
    assert_eq!(fsl::scaled(&Point3::origin(), &grid), None);
}

#[test]
fn the_centre_of_rotation_is_stored_in_lps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    itk::write_affine(&path, &sample(), Point3::new(3.0, -80.0, 120.0)).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.ends_with("\nFixedParameters: -3 80 120\n"), "{text}");
}

#[test]
fn a_matlab_file_that_is_cut_off_tells_the_bytes_of_its_next_part() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mat");
    itk::write_affine(&path, &sample(), Point3::origin()).unwrap();
    let whole = std::fs::read(&path).unwrap();
    // A record has a head of 20 bytes, a name that ends with zero and numbers of 8 bytes: 27 bytes and 12 numbers, then
    // 6 bytes and 3 numbers.
    assert_eq!(whole.len(), 20 + 27 + 12 * 8 + 20 + 6 + 3 * 8);
    for (length, expected) in [(7, 20), (40, 47), (142, 143), (150, 163), (165, 169), (192, 193)] {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert_eq!(
            itk::read_affine(&path).unwrap_err().kind.to_string(),
            format!("the file is truncated: expected {expected} bytes, found {length}")
        );
    }
}

#[test]
fn text_transforms_that_are_several_or_headless_or_too_long_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    let refusal = |text: &str| {
        std::fs::write(&path, text).unwrap();
        itk::read_affine(&path).expect_err("refused").kind.to_string()
    };
    let head = "#Insight Transform File V1.0\n";
    let one = "#Transform 0\nTransform: TranslationTransform_double_3_3\nParameters: 1 2 3\nFixedParameters:\n";
    assert_eq!(refusal(&format!("{head}{one}{one}")), "not one ITK transform: found 2 of them");
    for key in ["Parameters", "FixedParameters"] {
        assert_eq!(
            refusal(&format!("{head}{key}: 1 2 3\n{one}")),
            format!("line 2: expected \"Transform: …\" before this line, found \"{key}: 1 2 3\"")
        );
    }
    // A comment brings the file to the largest size, and one byte beyond it.
    let comment = |size: usize| format!("{head}{one}{}", "#".repeat(size - head.len() - one.len()));
    assert_eq!(
        refusal(&comment((1 << 16) + 1)),
        "the file has more than 65536 bytes, the most that a transform may have"
    );
    std::fs::write(&path, comment(1 << 16)).unwrap();
    assert_eq!(apply_lps(&itk::read_affine(&path).unwrap(), [0.0; 3]), [1.0, 2.0, 3.0]);
}

#[test]
fn the_transforms_of_a_series_come_back_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let all: Vec<AffineTransform> =
        (0..3).map(|n| AffineTransform { translation: Vector3::new(f64::from(n), 2.0, 3.0), ..sample() }).collect();
    for name in ["a.txt", "A.TFM"] {
        itk::write_affines(&at(name), &all, Point3::new(3.0, -80.0, 120.0)).unwrap();
        let back = itk::read_affines(&at(name)).unwrap();
        assert_eq!(back.len(), 3, "{name}");
        // Tolerance: rounding of the translation, which depends on the centre and is converted twice.
        assert!(back.iter().zip(&all).all(|(back, map)| difference(back, map) < 1e-12), "{name}");
    }
    assert_eq!(itk::read_affines(&fixture("ants_affine.txt")).unwrap().len(), 1);
    let error = itk::write_affines(&at("a.mat"), &all, Point3::origin()).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Extension(_)), "{error}");
    assert!(!at("a.mat").exists());
    std::fs::write(at("b.txt"), "1 0 0 0\n").unwrap();
    let error = itk::read_affines(&at("b.txt")).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Format { .. }), "{error}");
}
