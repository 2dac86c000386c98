//! Families of programs (ANTs, FSL) that read the same environment variables.

/// A family of programs that read the same environment variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// ANTs, and other programs based on ITK.
    Ants,
    /// FSL.
    Fsl,
}

impl Suite {
    /// Environment variables for the number of threads. The first variable that is set is used.
    pub fn threads(self) -> &'static [&'static str] {
        match self {
            Suite::Ants => &["ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS", "NSLOTS"],
            Suite::Fsl => &["OMP_NUM_THREADS"],
        }
    }
}
