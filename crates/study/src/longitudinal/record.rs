//! `record.json`: inputs, options and results of a longitudinal study; and the intermediate results of a stopped run.

use std::path::{Path, PathBuf};

use antsreg_core::AffineTransform;
use antsreg_core::io::outputs::{Outputs, write_file};
use antsreg_register::verdict::Verdict;
use antsreg_register::{Description, Recipe};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::table::Row;
use super::{Options, TimePoint};
use crate::skulls::ExtractedRecord;
use crate::{Error, FileIdentity, WrittenFile};

/// Name of the program in records.
pub const PROGRAM: &str = "antsreg-gpu";

/// The record of a longitudinal study.
#[derive(Debug, Clone, Serialize)]
pub struct Record {
    /// Name of the program.
    pub program: String,
    /// Version of the program.
    pub version: String,
    /// The command line of the program, for information only.
    pub command_line: Vec<String>,
    /// The device on which the study was computed.
    pub device: Description,
    /// Number of threads that computed.
    pub threads: usize,
    /// Options of the study.
    pub options: Options,
    /// Options of the deformable registrations.
    pub deformable: Recipe,
    /// The time points.
    pub time_points: Vec<PointRecord>,
    /// Largest distance between where a pairwise alignment and the poses take a point of a brain, mm.
    pub disagreement_mm: f64,
    /// The worst verdict on the alignment of two time points.
    pub verdict: Option<Verdict>,
    /// The rows of the table of volumes.
    pub volumes: Vec<Row>,
    /// Wall time, s.
    pub seconds: f64,
    /// The input files.
    pub files_read: Vec<FileIdentity>,
    /// The output files with their sizes, without this record.
    pub files_written: Vec<WrittenFile>,
}

/// A time point in the record.
#[derive(Debug, Clone, Serialize)]
pub struct PointRecord {
    /// Name.
    pub name: String,
    /// Path of the image.
    pub image: PathBuf,
    /// Date as given.
    pub date: Option<String>,
    /// Path of the label map.
    pub labels: Option<PathBuf>,
    /// Digest of grid and voxels of the image.
    pub digest: String,
    /// The pose: template → time point, RAS mm, row by row.
    pub pose_ras: [[f64; 4]; 3],
    /// The brain, if it was extracted.
    pub brain: Option<ExtractedRecord>,
}

impl PointRecord {
    /// The record of a time point.
    pub fn new(
        point: &TimePoint,
        digest: &str,
        pose: &AffineTransform,
        brain: Option<ExtractedRecord>,
    ) -> PointRecord {
        let TimePoint { name, image, date, labels, .. } = point.clone();
        let rows = pose.to_homogeneous();
        let pose_ras = std::array::from_fn(|row| std::array::from_fn(|column| rows[(row, column)]));
        PointRecord { name, image, date, labels, digest: digest.to_owned(), pose_ras, brain }
    }
}

/// An intermediate result, which a later run takes if it was made from the same data by the same options.
#[derive(Debug, Serialize, Deserialize)]
struct Step<T> {
    /// Digest of all data and options on which the result depends.
    fingerprint: String,
    /// The file that belongs to the result.
    file: Option<WrittenFile>,
    /// The result.
    result: T,
}

/// The digest of data that a result depends on, and of the version of the program.
///
/// # Errors
/// Data that cannot be written as JSON.
pub fn fingerprint(path: &Path, data: &impl Serialize) -> Result<String, Error> {
    let json = serde_json::to_vec(&(env!("CARGO_PKG_VERSION"), data));
    let json = json.map_err(|source| Error::Json { path: path.into(), source })?;
    Ok(Sha256::digest(json).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The intermediate result in the file `path`, if it has this fingerprint and its file is whole.
pub fn earlier<T: DeserializeOwned>(path: &Path, fingerprint: &str) -> Option<T> {
    let step: Step<T> = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let whole = step.file.as_ref().is_none_or(WrittenFile::is_whole);
    (whole && step.fingerprint == fingerprint).then_some(step.result)
}

/// A function that writes the file of an intermediate result.
pub type WriteBeside<'a> = &'a dyn Fn(&Path) -> Result<(), Error>;

/// Writes an intermediate result to the file `path`, with the file `beside` that `write` writes.
///
/// # Errors
/// A file that cannot be written.
pub fn keep<T: Serialize>(
    path: &Path,
    fingerprint: &str,
    result: &T,
    beside: Option<(&Path, WriteBeside)>,
) -> Result<(), Error> {
    let mut outputs = Outputs::new();
    if let Some((beside, write)) = beside {
        outputs.write::<Error>(beside, write)?;
    }
    let written = outputs.written()?;
    let file = written.into_iter().next().map(|(path, bytes)| WrittenFile { path, bytes });
    let step = Step { fingerprint: fingerprint.to_owned(), file, result };
    write_json(&mut outputs, path, &step)?;
    outputs.commit()?;
    Ok(())
}

/// Writes data as JSON.
///
/// # Errors
/// A file that cannot be written.
pub fn write_json(outputs: &mut Outputs, path: &Path, data: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(data).map_err(|source| Error::Json { path: path.into(), source })?;
    outputs.write::<Error>(path, |to| Ok(write_file(to, (text + "\n").as_bytes())?))
}
