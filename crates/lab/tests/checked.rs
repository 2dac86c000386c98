//! Checks, without a device, that the committed kernels of the histogram algorithms and their launches are those that were
//! last checked on a device.

#[path = "../../kernels/tests/record/mod.rs"]
#[expect(dead_code, reason = "the parity test writes records")]
mod record;

use record::{Record, Sources};

#[test]
fn what_is_committed_was_checked_on_a_device() {
    let record: Record = serde_json::from_str(include_str!("../cu/checked.json")).expect("a record");
    let folders = ["src/schemes", "tests/parity"];
    let now = Sources::of(env!("CARGO_MANIFEST_DIR"), &folders, &antsreg_lab::schemes::CODE);
    let faults = record.faults(&now, &[]);
    assert!(
        faults.is_empty(),
        "on a machine with a GPU, run `cargo test -p antsreg-lab --test parity -- --record`:\n{}",
        faults.join("\n")
    );
}
