//! Writes a few small synthetic brains and a table of subjects that names them, to try the subcommands for groups of
//! subjects. Its argument is the folder for these files: `brains FOLDER`.

use std::fmt::Write;
use std::path::PathBuf;

use antsreg_core::AffineTransform;
use antsreg_tests::{Brain, grid};
use nalgebra::{Matrix3, Rotation3, Vector3};

/// Voxel size of the synthetic brains, mm. It is coarse, so that a registration takes a second.
const SPACING: f64 = 5.0;

fn main() {
    let folder = PathBuf::from(std::env::args_os().nth(1).expect("a folder to write to"));
    std::fs::create_dir_all(&folder).expect("the folder");
    let mut table = String::from("subject,image,labels\n");
    for (n, factor) in [0.94, 1.0, 1.07].into_iter().enumerate() {
        let turn = Rotation3::from_euler_angles(0.05 * n as f64, -0.04, 0.1 * (n as f64 - 1.0)).into_inner();
        let shift = Vector3::new(10.0 * n as f64, -5.0, 3.0);
        let stretch = Matrix3::from_diagonal(&Vector3::new(factor, 1.0, 1.0 / factor));
        let to_world = AffineTransform { matrix: turn * stretch, translation: shift };
        let brain = Brain { warp_mm: 4.0 * (n as f64 - 1.0), ..Brain::moved(&to_world) };
        let onto = grid(SPACING, shift.into(), Matrix3::identity());
        brain.write_image(&onto, &folder.join(format!("s{n}.nii.gz")));
        brain.write_labels(&onto, &folder.join(format!("s{n}_labels.nii.gz")));
        writeln!(table, "s{n},s{n}.nii.gz,s{n}_labels.nii.gz").expect("text grows");
    }
    std::fs::write(folder.join("subjects.csv"), table).expect("the table");
}
