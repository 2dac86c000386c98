//! What is read and written.

use std::path::{Path, PathBuf};

use antsreg_core::io::outputs;

use super::ReferenceVolume;
use crate::Error;

/// Files of a motion correction.
#[derive(Debug, Clone)]
pub struct MotionFiles {
    /// The series.
    pub input: PathBuf,
    /// The volume that the others are aligned to.
    pub reference: ReferenceVolume,
    /// The start of all names of outputs, folder included.
    pub prefix: String,
    /// Whether the corrected series is written.
    pub corrected: bool,
    /// Whether FSL's matrices are written as well, a file a volume.
    pub fsl: bool,
}

/// Names of the outputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// Transforms of all volumes, from points of the reference to points of the volume: ITK's text.
    pub transforms: PathBuf,
    /// The table of the motion.
    pub table: PathBuf,
    /// The mean of the corrected volumes.
    pub mean: PathBuf,
    /// The record.
    pub record: PathBuf,
    /// The corrected series.
    pub corrected: Option<PathBuf>,
    /// The folder of FSL's matrices.
    pub matrices: Option<PathBuf>,
}

impl MotionFiles {
    /// The names of the outputs.
    pub fn names(&self) -> Names {
        let name = |end: &str| PathBuf::from(format!("{}{end}", self.prefix));
        Names {
            transforms: name("motion.txt"),
            table: name("motion.tsv"),
            mean: name("mean.nii.gz"),
            record: name("record.json"),
            corrected: self.corrected.then(|| name("corrected.nii.gz")),
            matrices: self.fsl.then(|| name("motion.mat")),
        }
    }

    /// Refuses outputs that cannot be written, or that would replace an input. Makes the folder of FSL's matrices.
    ///
    /// # Errors
    /// What is wrong with a name.
    pub fn check(&self) -> Result<(), Error> {
        let names = self.names();
        let inputs: Vec<&Path> = [Some(self.input.as_path()), self.reference.file()].into_iter().flatten().collect();
        outputs::check(names.files(), inputs)?;
        match &names.matrices {
            Some(folder) => Ok(outputs::make_folder(folder)?),
            None => Ok(()),
        }
    }
}

impl Names {
    /// All files but FSL's matrices.
    pub fn files(&self) -> Vec<&Path> {
        let Names { transforms, table, mean, record, corrected, .. } = self;
        [Some(transforms), Some(table), Some(mean), Some(record), corrected.as_ref()]
            .into_iter()
            .flatten()
            .map(PathBuf::as_path)
            .collect()
    }
}
