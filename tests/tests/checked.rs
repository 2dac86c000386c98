//! Checks, without a device, that the kernels and their launches are those with which whole registrations were last compared
//! between CPU and GPU.

#[path = "../../crates/kernels/tests/record/mod.rs"]
#[expect(dead_code, reason = "the parity test writes records")]
mod record;

use record::{Record, Sources};

#[test]
fn whole_registrations_were_compared_on_a_device() {
    let record: Record = serde_json::from_str(include_str!("../parity/checked.json")).expect("a record");
    let folders = ["../crates/kernels/src/cuda", "parity"];
    let now = Sources::of(env!("CARGO_MANIFEST_DIR"), &folders, antsreg_kernels::cuda::all_code().into_values());
    let faults = record.faults(&now, &[("registration", 5), ("motion", 4)]);
    assert!(
        faults.is_empty(),
        "on a machine with a GPU, run `cargo test -p antsreg-tests --test pipeline_parity -- --record`:\n{}",
        faults.join("\n")
    );
}
