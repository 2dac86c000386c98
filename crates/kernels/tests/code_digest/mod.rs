//! The digest of a crate's compiled kernels.

use antsreg_kernels::cuda::Code;
use sha2::{Digest, Sha256};

/// SHA-256 over names, PTX and machine code, in the given order, which is that of the names.
pub fn digest<'a>(code: impl IntoIterator<Item = &'a Code>) -> String {
    let mut hash = Sha256::new();
    for code in code {
        let ptx = code.ptx.text().expect("the embedded PTX is text");
        for part in [code.name.as_bytes(), ptx.as_bytes(), code.cubin] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
