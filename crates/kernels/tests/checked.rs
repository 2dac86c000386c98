//! Checks, without a device, that the committed kernels and launches are those that were last tested on a device.

#[expect(dead_code, reason = "the parity test writes records")]
mod record;

use record::{Record, Sources};

/// The least number of compared results of each operation: some of each kind, in nine sets of test data.
const LEAST: &[(&str, usize)] = &[
    ("add_scaled", 9),
    ("advance", 9),
    ("advance_both", 36),
    ("cc_gradient", 5500),
    ("compose", 10),
    ("contrast", 9),
    ("correlation", 9),
    ("correlation_ratio", 90),
    ("correlation_ratio_filtered", 54),
    ("fit_sums", 9),
    ("foreground_quantiles", 18),
    ("gradient_magnitude", 18),
    ("inverse_consistency", 18),
    ("invert", 10),
    ("invert_both", 18),
    ("jacobian_summary", 27),
    ("joint_entropies", 54),
    ("joint_histogram", 324),
    ("map_axis", 27),
    ("mi_gradient", 540),
    ("moments", 18),
    ("relax", 9),
    ("resample", 9),
    ("resize_field", 9),
    ("signed_distance", 18),
    ("smooth", 54),
    ("smooth_both_fields", 252),
    ("smoothed_update", 63),
    ("spline_coefficients", 10),
    ("warp", 20),
    ("warp_both", 36),
    ("warp_sinc", 10),
    ("warp_spline", 10),
];

#[test]
fn what_is_committed_was_checked_on_a_device() {
    let record: Record = serde_json::from_str(include_str!("../cu/checked.json")).expect("a record");
    let folders = ["src/cuda", "tests/parity"];
    let now = Sources::of(env!("CARGO_MANIFEST_DIR"), &folders, antsreg_kernels::cuda::all_code().into_values());
    let faults = record.faults(&now, LEAST);
    assert!(
        faults.is_empty(),
        "on a machine with a GPU, run `cargo test -p antsreg-kernels --test parity -- --record`:\n{}",
        faults.join("\n")
    );
}
