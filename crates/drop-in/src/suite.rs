//! Families of programs, whose commands share conventions.

/// Programs that share conventions of their environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// ANTs, and other programs based on ITK.
    Ants,
    /// FSL.
    Fsl,
}

impl Suite {
    /// Environment variables for the number of threads; the first one that is set is used.
    pub fn threads(self) -> &'static [&'static str] {
        match self {
            Suite::Ants => &["ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS", "NSLOTS"],
            Suite::Fsl => &["OMP_NUM_THREADS"],
        }
    }
}
