//! Checks, without a device, that the committed kernels are the kernels that were last tested on a device.

mod code_digest;

const RECORD: &str = include_str!("../cu/checked.json");

#[test]
fn the_committed_code_was_checked_on_a_device() {
    let digest = code_digest::digest(antsreg_kernels::cuda::all_code().into_values());
    assert!(
        RECORD.contains(&format!("\"code_sha256\": \"{digest}\"")),
        "the code of kernels, now {digest}, changed since the last check on a device; on a machine with one, run \
         `cargo test -p antsreg-kernels --test parity -- --record`. The record says:\n{RECORD}"
    );
    assert!(RECORD.contains("\"differ\": 0\n"), "the last check found differences:\n{RECORD}");
}
