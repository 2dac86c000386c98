//! Tests of the whole program on the example pair, two real brains at 2 mm, with default options.

use antsreg_tests::Workplace;
use serde_json::Value;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");

/// The mean Jaccard index in the table of `overlap`: the third column of its last row.
fn mean_jaccard(table: &str) -> f64 {
    let row = table.lines().last().expect("a table");
    assert!(row.starts_with("Mean"), "{table}");
    row.split_whitespace().nth(2).and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no number in {row}"))
}

#[test]
fn colin27_comes_to_icbm152() {
    let place = Workplace::new();
    let [fixed, moving, labels] =
        ["icbm152_t1_2mm", "colin27_t1_2mm", "colin27_aal_2mm"].map(|name| format!("{EXAMPLES}/{name}.nii.gz"));
    let run = place.succeed(&format!("register -f {fixed} -m {moving} --moving-labels {labels} -o p"));
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    let record: Value = serde_json::from_slice(&place.read("precord.json")).expect("the record is JSON");
    assert_eq!(record["warnings"], Value::from([""; 0]));
    let number =
        |pointer: &str| record.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {pointer}"));

    // Limits for the correlation of the two images. It was measured as 0.9597 before the registration and as 0.9977
    // after it. The pair is one brain and a mean of 152 brains.
    assert!(number("/similarity/correlation") > 0.993, "{}", number("/similarity/correlation"));
    assert!(number("/similarity/correlation_at_start") < 0.97);
    for warp in ["warp", "inverse_warp"] {
        assert_eq!(number(&format!("/jacobian/{warp}/folded")), 0.0);
        assert_eq!(number(&format!("/jacobian/{warp}/corner_folded")), 0.0);
        assert!(number(&format!("/jacobian/{warp}/minimum")) > 0.0);
    }
    // Inverse consistency in voxels of 2 mm. SyN keeps the error below 0.45 at every voxel. Then displacements are
    // rounded to 1/1024 mm, so each moves by at most 0.0004 voxels, and the error grows by a few times that at most. The
    // measured means are 0.025.
    for way in ["warp_then_inverse", "inverse_then_warp"] {
        assert!(number(&format!("/jacobian/{way}/mean_voxels")) < 0.04, "{way}");
        assert!(number(&format!("/jacobian/{way}/largest_voxels")) < 0.452, "{way}");
    }

    // Labels are resampled to the other image and back. They agree with the original labels except for the errors of
    // two interpolations: the measured mean Jaccard index is 0.951. The 116 regions are small and most of their voxels
    // lie at borders, so a shift by half a voxel would show.
    let back = "-t [p0GenericAffine.mat,1] -t p1InverseWarp.nii.gz";
    place.succeed(&format!("apply -i pLabels.nii.gz -r {moving} -n generic-label {back} -o back.nii.gz"));
    let jaccard = mean_jaccard(&place.succeed(&format!("overlap back.nii.gz {labels}")).stdout);
    assert!(jaccard > 0.93, "{jaccard}");
}
