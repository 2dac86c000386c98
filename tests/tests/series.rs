//! Tests that `apply` treats each volume of a series as a single image.

use antsreg_core::io::nifti::{self, Series, Timing};
use antsreg_core::{Grid, Volume};
use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::Matrix3;

/// Makes a folder with the fixed image `f.nii.gz`, the series `s.nii.gz`, its volumes `s0.nii.gz` and so on, and a
/// transform.
fn series() -> Workplace {
    let place = Workplace::new();
    let onto = grid(8.0, [0.0; 3], Matrix3::identity());
    Brain::standard().write_image(&onto, &place.path("f.nii.gz"));
    let own: Grid = grid(12.0, [5.0, -3.0, 2.0], Matrix3::identity());
    let volumes: Vec<Volume> =
        (0..3).map(|n| Brain { warp_mm: 3.0 * f64::from(n), ..Brain::standard() }.image(&own)).collect();
    for (n, volume) in volumes.iter().enumerate() {
        nifti::write_volume(&place.path(&format!("s{n}.nii.gz")), volume).expect("written");
    }
    let timing = Timing { start: 0.0, step: 2.5, unit: 8 };
    nifti::write_series(&place.path("s.nii.gz"), &Series { volumes, timing }).expect("written");
    place.file(
        "shift.txt",
        b"#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\n\
          Parameters: 1 0.1 0 -0.1 1 0 0 0 1 4 -7 3\nFixedParameters: 0 0 0\n",
    );
    place
}

#[test]
fn each_volume_is_carried_as_if_it_were_alone() {
    let place = series();
    for how in ["linear", "nearest", "bspline"] {
        let line = |input: &str, output: &str| {
            place.succeed(&format!("apply -i {input} -r f.nii.gz -t shift.txt -n {how} --outside -7 -o {output}"));
        };
        line("s.nii.gz", "carried.nii.gz");
        let carried = nifti::read_series(&place.path("carried.nii.gz")).expect("a series");
        assert_eq!(carried.timing, Timing { start: 0.0, step: 2.5, unit: 8 });
        assert_eq!(carried.volumes.len(), 3);
        for (n, volume) in carried.volumes.iter().enumerate() {
            line(&format!("s{n}.nii.gz"), "alone.nii.gz");
            let alone = nifti::read_volume(&place.path("alone.nii.gz")).expect("a volume");
            assert!(volume.voxels == alone.voxels && volume.grid == alone.grid, "volume {n}, {how}");
        }
        assert_ne!(carried.volumes[0].voxels, carried.volumes[1].voxels);
    }
}

#[test]
fn what_takes_one_volume_refuses_a_series() {
    let place = series();
    for (code, line) in [
        (1, "apply -i f.nii.gz -r s.nii.gz -o o.nii.gz"),
        (1, "apply -i s.nii.gz -r f.nii.gz -n generic-label -o o.nii.gz"),
        (1, "register -f f.nii.gz -m s.nii.gz -o p -t rigid"),
        (1, "compare s.nii.gz s.nii.gz"),
    ] {
        let message = place.refuse(code, line);
        assert!(message.contains("s.nii.gz: the file holds 3 volumes"), "{line}: {message}");
    }
    let message = place.refuse(2, "apply -i s.nii.gz -r f.nii.gz --integer -o o.nii.gz");
    assert!(message.contains("--integer has no effect with a series of volumes"), "{message}");
}
