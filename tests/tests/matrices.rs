//! Matrices of random affine maps pass through the commands that invert, combine and convert them, and back.

use antsreg_core::io::fsl;
use antsreg_tests::{Workplace, grid};
use nalgebra::{Matrix3, Matrix4};

/// Numbers between -1 and 1 of a linear congruential generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn affine(&mut self) -> Matrix4<f64> {
        let mut matrix = Matrix4::identity();
        for row in 0..3 {
            for column in 0..3 {
                matrix[(row, column)] += 0.3 * self.next();
            }
            matrix[(row, 3)] = 90.0 * self.next();
        }
        matrix
    }
}

#[test]
fn random_matrices_pass_through_each_command_and_back() {
    let place = Workplace::new();
    let image = |name: &str, middle: [f64; 3], direction: Matrix3<f64>| {
        let image = antsreg_core::Volume::filled(grid(40.0, middle, direction), 1.0);
        antsreg_core::io::nifti::write_volume(&place.path(name), &image).expect("written");
    };
    image("f.nii", [0.0; 3], Matrix3::identity());
    image("m.nii", [7.0, -3.0, 11.0], Matrix3::from_diagonal(&[-1.0, 1.0, 1.0].into()));
    let mut random = Random(5);
    for case in 0..200 {
        let matrix = random.affine();
        fsl::write_numbers(&place.path("a.mat"), &matrix).expect("written");
        let read =
            |name: &str| fsl::read_numbers(&place.path(name)).unwrap_or_else(|error| panic!("{case}: {error}"));
        let equals = |name: &str, expected: &Matrix4<f64>| {
            let difference = (read(name) - expected).abs().max();
            assert!(difference < 1e-6, "{case}, {name}: {difference}");
            let text = String::from_utf8(place.read(name)).expect("text");
            let last: Vec<&str> = text.lines().last().expect("a line").split_whitespace().collect();
            assert_eq!(last, ["0", "0", "0", "1"], "{case}, {name}");
        };
        place.succeed("as convert_xfm -omat b.mat -inverse a.mat");
        place.succeed("as c3d_affine_tool b.mat -inv -o c.mat a.mat b.mat -mult -o one.mat");
        place.succeed("as c3d_affine_tool -ref f.nii -src m.nii a.mat -fsl2ras -oitk t.txt");
        place.succeed("as c3d_affine_tool -ref f.nii -src m.nii -itk t.txt -ras2fsl -o back.mat");
        place.succeed("as convert_xfm -omat two.mat -concat a.mat b.mat");
        equals("c.mat", &matrix);
        equals("back.mat", &matrix);
        equals("one.mat", &Matrix4::identity());
        equals("two.mat", &Matrix4::identity());
    }
}

#[test]
fn a_last_row_with_rounding_errors_is_read_and_another_is_refused() {
    let place = Workplace::new();
    place.file("a.mat", b"1 0 0 4\n0 2 0 0\n0 0 1 0\n1e-9 0 -2e-8 1.0000000001\n");
    place.succeed("as convert_xfm -omat b.mat -inverse a.mat");
    assert_eq!(fsl::read_numbers(&place.path("b.mat")).expect("a matrix").row(3), Matrix4::identity().row(3));
    place.file("c.mat", b"1 0 0 4\n0 2 0 0\n0 0 1 0\n1e-3 0 0 1\n");
    let refused = place.refuse(2, "as convert_xfm -omat d.mat -inverse c.mat");
    assert!(refused.contains("c.mat") && refused.contains("last row"), "{refused}");
    // Numbers that are finite on their own, whose product is not.
    place.file("e.mat", b"1e200 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n");
    let refused = place.refuse(2, "as convert_xfm -omat d.mat -concat e.mat e.mat");
    assert!(refused.contains("inf"), "{refused}");
}
