//! Checks, without a device, that the committed CUDA kernels of the histogram algorithms are the kernels that were last
//! checked on a device.

#[path = "../../kernels/tests/code_digest/mod.rs"]
mod code_digest;

const RECORD: &str = include_str!("../cu/checked.json");

#[test]
fn the_committed_code_was_checked_on_a_device() {
    let digest = code_digest::digest(&antsreg_lab::schemes::CODE);
    assert!(
        RECORD.contains(&format!("\"code_sha256\": \"{digest}\"")),
        "the code of the schemes, now {digest}, changed since the last check on a device; on a machine with one, run \
         `cargo test -p antsreg-lab --test parity -- --record`. The record says:\n{RECORD}"
    );
    assert!(RECORD.contains("\"differ\": 0\n"), "the last check found differences:\n{RECORD}");
}
