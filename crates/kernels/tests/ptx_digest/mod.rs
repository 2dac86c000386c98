//! One digest for all committed PTX.

use sha2::{Digest, Sha256};

/// SHA-256 over names and texts, in the order of the names.
pub fn digest() -> String {
    let mut hash = Sha256::new();
    for (name, text) in antsreg_kernels::cuda::all_ptx() {
        for part in [name, text] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
