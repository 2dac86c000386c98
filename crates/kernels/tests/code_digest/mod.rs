//! Computes a digest of a crate's compiled kernels.

use antsreg_kernels::cuda::Code;
use sha2::{Digest, Sha256};

/// The SHA-256 digest of the names, the PTX and the machine code of kernels. The kernels must be in the order of their
/// names.
pub fn digest<'a>(code: impl IntoIterator<Item = &'a Code>) -> String {
    let mut hash = Sha256::new();
    for code in code {
        let [ptx, cubin] =
            [code.ptx, code.cubin].map(|file| file.bytes().expect("the embedded code can be unpacked"));
        for part in [code.name.as_bytes(), &ptx, &cubin] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
