//! Fuzzing loop: damages valid files and command lines at random and reads them, until the time or the number of inputs
//! is used up.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fastrand::Rng;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::mutate::mutate;
use crate::{MEMORY, Target};

/// Longest time that reading one damaged input may take. The largest undamaged input has 20 kB and is read in less than
/// a millisecond.
const LONGEST: Duration = Duration::from_secs(5);

/// Memory in bytes that the reading of any input may allocate, whatever its length. It covers buffers of fixed size and
/// the memory of the test program itself.
const OVERHEAD_BYTES: usize = 8 << 20;
/// Memory in bytes that the reading of an input may allocate for each byte of the input. A byte of a gzip file can
/// decompress to 1032 bytes, and each decompressed byte may be stored as a float of four bytes.
const BYTES_PER_BYTE: usize = 1032 * 4;

/// Limits of a fuzzing run. The run ends when one limit is reached.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Largest number of damaged inputs that are read in the run.
    pub executions: u64,
    /// Longest time of the fuzzing run.
    pub time: Duration,
}

/// A damaged file or command line at which the reader under test panicked, or took too much time or memory.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The bytes of the damaged file or command line at which the reader failed.
    pub input: Vec<u8>,
    /// How the reader failed: by a panic, or by taking too much time or memory.
    pub what: String,
}

/// Result of a fuzzing run: counts, times, memory and failures.
#[derive(Debug)]
pub struct Report {
    /// Number of damaged inputs that were read in the fuzzing run.
    pub executions: u64,
    /// Time in which all damaged inputs were made and read.
    pub time: Duration,
    /// Longest time that the reading of one damaged input took.
    pub longest: Duration,
    /// Largest memory that the reading of one input allocated, bytes.
    pub most_bytes: usize,
    /// The failures of the tested reader, one of each kind: the first failure with each description.
    pub failures: Vec<Failure>,
}

/// Reasons why a fuzzing run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Files with valid inputs (seeds) could not be written.
    #[error(transparent)]
    File(#[from] antsreg_core::io::Error),
    /// The temporary folder could not be created, or a file in it could not be written.
    #[error("a temporary folder: {0}")]
    Folder(#[from] std::io::Error),
}

/// Damages valid inputs of a reader (`target`) at random and reads them. The random numbers follow from `seed`.
///
/// # Errors
/// If seeds or inputs cannot be written.
pub fn run(target: &Target, seed: u64, budget: Budget) -> Result<Report, Error> {
    let folder = scratch()?;
    let seeds = (target.seeds)(folder.path())?;
    let mut rng = Rng::with_seed(seed);
    let began = Instant::now();
    let mut report =
        Report { executions: 0, time: Duration::ZERO, longest: Duration::ZERO, most_bytes: 0, failures: Vec::new() };
    while report.executions < budget.executions {
        // The time is checked only after every 64 inputs, because for some readers it takes longer to read the clock
        // than to read an input.
        if report.executions.is_multiple_of(64) && began.elapsed() >= budget.time {
            break;
        }
        let mut input = seeds[rng.usize(..seeds.len())].clone();
        mutate(&mut input, &seeds[rng.usize(..seeds.len())], &mut rng);
        if target.file.is_some() && rng.u8(..8) == 0 {
            input = gzip(&input)?;
        }
        read(target, folder.path(), input, &mut report)?;
    }
    report.time = began.elapsed();
    Ok(report)
}

/// Has the reader under test read one input, and adds the time, the memory and any failure to the report.
fn read(target: &Target, folder: &Path, input: Vec<u8>, report: &mut Report) -> Result<(), Error> {
    let path = target.file.map_or_else(PathBuf::new, |name| folder.join(name));
    if target.file.is_some() {
        std::fs::write(&path, &input)?;
    }
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let began = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.read)(&path, &input)));
    let took = began.elapsed();
    let bytes = MEMORY.peak_usage().saturating_sub(before);
    report.executions += 1;
    report.longest = report.longest.max(took);
    report.most_bytes = report.most_bytes.max(bytes);
    let what = match outcome {
        Err(panic) => Some(format!("panic: {}", words(&*panic))),
        Ok(()) if took > LONGEST => Some("the reader takes longer than 5 s".to_owned()),
        Ok(()) if bytes > OVERHEAD_BYTES + BYTES_PER_BYTE * input.len() => {
            Some("the reader allocates more memory than the length of the input justifies".to_owned())
        }
        Ok(()) => None,
    };
    if let Some(what) = what
        && report.failures.iter().all(|known| known.what != what)
    {
        report.failures.push(Failure { input, what });
    }
    Ok(())
}

/// Has the reader under test read one input as it is, without further damage. Returns the failure, if the reader fails.
///
/// # Errors
/// If the input cannot be written to a temporary file.
pub fn once(target: &Target, input: Vec<u8>) -> Result<Option<Failure>, Error> {
    let folder = scratch()?;
    let mut report =
        Report { executions: 0, time: Duration::ZERO, longest: Duration::ZERO, most_bytes: 0, failures: Vec::new() };
    read(target, folder.path(), input, &mut report)?;
    Ok(report.failures.pop())
}

/// Makes a temporary folder for the damaged files, in main memory if the system has such a file system.
fn scratch() -> Result<tempfile::TempDir, std::io::Error> {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }
}

/// The message of a Rust panic.
fn words(panic: &dyn std::any::Any) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    text.unwrap_or("without words").to_owned()
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>, std::io::Error> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}
