//! One digest for all committed code of kernels.

use sha2::{Digest, Sha256};

/// SHA-256 over names, PTX and machine code, in the order of the names.
pub fn digest() -> String {
    let mut hash = Sha256::new();
    for code in antsreg_kernels::cuda::all_code().values() {
        for part in [code.name.as_bytes(), code.ptx.as_bytes(), code.cubin] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
