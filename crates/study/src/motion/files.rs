//! Input and output files of a motion correction.

use std::path::{Path, PathBuf};

use antsreg_core::io::outputs;

use super::ReferenceVolume;
use crate::Error;

/// End of the name of the file with the transforms.
const TRANSFORMS: &str = "motion.txt";

/// Input and output files of a motion correction.
#[derive(Debug, Clone)]
pub struct MotionFiles {
    /// Path of the series.
    pub input: PathBuf,
    /// The volume to which the volumes of the series are aligned.
    pub reference: ReferenceVolume,
    /// Paths of the output files of the motion correction.
    pub names: Names,
    /// Whether the output files may replace the input files.
    pub in_place: bool,
}

/// Paths of the output files of a motion correction; `None` for a file that is not written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Text file (ITK format) of the transforms of all volumes, each from points of the reference to points of the
    /// volume.
    pub transforms: Option<PathBuf>,
    /// The table (TSV) of the motion parameters of each volume.
    pub table: Option<PathBuf>,
    /// Image of the mean of the corrected volumes.
    pub mean: Option<PathBuf>,
    /// Image of the variance of the corrected volumes over time, with the number of volumes less one as divisor.
    pub variance: Option<PathBuf>,
    /// Image of the standard deviation of the corrected volumes over time.
    pub deviation: Option<PathBuf>,
    /// Path of the JSON record of the motion correction.
    pub record: Option<PathBuf>,
    /// Path of the corrected series of volumes.
    pub corrected: Option<PathBuf>,
    /// Path of the HTML page that shows the result of the motion correction.
    pub page: Option<PathBuf>,
    /// The folder of the transforms as FSL matrices, one file for each volume.
    pub matrices: Option<PathBuf>,
}

/// Path of the file of transforms that a motion correction has written. `given` is this path or the prefix of the
/// correction's output files.
pub fn transforms_file(given: PathBuf) -> PathBuf {
    let mut name = given.clone().into_os_string();
    name.push(TRANSFORMS);
    if !given.is_file() && Path::new(&name).is_file() { name.into() } else { given }
}

impl Names {
    /// Paths of the output files, which all begin with `prefix`, folder included. If `corrected` is true, the corrected
    /// series is written, too; if `fsl` is true, the folder of FSL matrices.
    pub fn of(prefix: &str, corrected: bool, fsl: bool) -> Names {
        let name = |end: &str| Some(PathBuf::from(format!("{prefix}{end}")));
        Names {
            transforms: name(TRANSFORMS),
            table: name("motion.tsv"),
            mean: name("mean.nii.gz"),
            record: name("record.json"),
            corrected: name("corrected.nii.gz").filter(|_| corrected),
            matrices: name("motion.mat").filter(|_| fsl),
            ..Names::default()
        }
    }

    /// Paths of all output files of a motion correction except the FSL matrices.
    pub fn files(&self) -> Vec<&Path> {
        let Names { transforms, table, mean, variance, deviation, record, corrected, page, matrices: _ } = self;
        let all = [transforms, table, mean, variance, deviation, record, corrected, page];
        all.into_iter().flatten().map(PathBuf::as_path).collect()
    }
}

impl MotionFiles {
    /// Refuses output files of a motion correction that cannot be written, or that would replace an input unless
    /// `in_place`.
    ///
    /// # Errors
    /// The path that is refused, and why.
    pub fn check(&self) -> Result<(), Error> {
        let inputs = [Some(self.input.as_path()), self.reference.file()].into_iter().flatten();
        outputs::check(self.names.files(), inputs.filter(|_| !self.in_place))?;
        self.names.matrices.iter().try_for_each(|folder| Ok(outputs::check_folder(folder)?))
    }
}
