//! Tests that `--bias` gives the same result as the subcommand `bias` followed by the registration.

use antsreg_core::AffineTransform;
use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::{Matrix3, Rotation3, Vector3};

/// Voxel size of the synthetic brains, mm. It is coarse, so that a registration takes a moment.
const SPACING: f64 = 8.0;

/// Makes a folder with two brains (`f` and `m`), their labels, and the images after correction by `bias` (`fb.nii` and
/// `mb.nii`).
fn pair() -> Workplace {
    let place = Workplace::new();
    let onto = grid(SPACING, [0.0; 3], Matrix3::identity());
    let turn = Rotation3::from_euler_angles(0.1, -0.1, 0.05).into_inner();
    let moved = Brain::moved(&AffineTransform { matrix: turn, translation: Vector3::new(6.0, -8.0, 5.0) });
    place.write_pair((&Brain { warp_mm: 4.0, ..Brain::standard() }, &onto), (&moved, &onto));
    for side in ["f", "m"] {
        place.succeed(&format!("bias -i {side}.nii.gz -o {side}b.nii"));
    }
    place
}

fn same(place: &Workplace, pairs: &[[&str; 2]]) {
    for [one, other] in pairs {
        assert!(place.read(one) == place.read(other), "{one} differs from {other}");
    }
}

#[test]
fn a_pair_is_registered_without_its_shading() {
    let place = pair();
    let rest = "--device cpu --format nii";
    place.succeed(&format!("register -f fb.nii -m mb.nii -o two_ {rest}"));
    place.succeed(&format!("register -f f.nii.gz -m m.nii.gz --bias -o one_ {rest}"));
    place.succeed(&format!("register -f f.nii.gz -m m.nii.gz -o none_ {rest}"));
    same(&place, &[["one_Warped.nii", "two_Warped.nii"], ["one_1Warp.nii", "two_1Warp.nii"]]);
    assert!(place.read("none_Warped.nii") != place.read("one_Warped.nii"), "nothing is corrected");
    assert_eq!(place.record("one_record.json")["parameters"]["bias"], "both");
    assert_eq!(place.record("none_record.json")["parameters"]["bias"], "none");
    place.succeed(&format!("labels -f f.nii.gz -m m.nii.gz -l ml.nii.gz --bias -o l_ {rest}"));
    same(&place, &[["l_Warped.nii", "one_Warped.nii"]]);
    let plan = place.succeed("register -f f.nii.gz -m m.nii.gz --bias=moving -o one_ --dry-run").stdout;
    assert!(plan.contains("--bias=moving"), "{plan}");
}

#[test]
fn subjects_of_a_batch_are_corrected_and_done_again_if_that_changes() {
    let place = pair();
    let batch = |rest: &str| place.succeed(&format!("batch m.nii.gz -f f.nii.gz -o b --format nii {rest}")).stdout;
    batch("--device cpu --bias");
    place.succeed("register -f f.nii.gz -m mb.nii -o two_ --device cpu --format nii");
    same(&place, &[["b/m_Warped.nii", "two_Warped.nii"]]);
    assert!(batch("--device cpu --bias=moving --resume").contains("0 done, 1 skipped"));
    assert!(batch("--device cpu --resume").contains("1 done, 0 skipped"));
}

#[test]
fn atlases_and_templates_are_made_of_corrected_images() {
    let place = pair();
    let rest = "--device cpu --format nii";
    place.succeed(&format!("labels -f f.nii.gz -a m.nii.gz=ml.nii.gz --bias --keep-transforms -o one_ {rest}"));
    place.succeed(&format!("labels -f fb.nii -a mb.nii=ml.nii.gz --keep-transforms -o two_ {rest}"));
    same(&place, &[["one_m_Warped.nii", "two_mb_Warped.nii"]]);
    let rest = "--device cpu --format nii --passes 1";
    place.succeed(&format!("atlas f.nii.gz m.nii.gz --bias -o one {rest}"));
    place.succeed(&format!("atlas fb.nii mb.nii -o two {rest}"));
    same(&place, &[["one/template.nii", "two/template.nii"]]);
}
