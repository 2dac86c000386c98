//! The record of a check on a device: what was checked, on which device, and how many results were compared.
//!
//! What is checked consists of parts: the compiled kernels, each family of launches in `src/cuda`, what these share, and
//! the tests themselves. Each has a digest, so that a record says which parts were changed after it was made.

mod tokens;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use antsreg_kernels::cuda::{Code, DeviceInfo};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The sources of which a record speaks, as they were when the test was built.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sources {
    /// The commit, with `+` if files differ from it.
    pub commit: String,
    /// For each part of what is checked, the SHA-256 digest of its code.
    pub parts: BTreeMap<String, String>,
}

/// The record of a check on a device.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    #[serde(flatten)]
    pub sources: Sources,
    pub device: String,
    pub capability: String,
    pub driver_cuda: String,
    pub date: String,
    /// Number of results that were compared, for each operation.
    pub results: BTreeMap<String, usize>,
    pub values_compared: usize,
    pub differ: usize,
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn update(hash: &mut Sha256, part: &[u8]) {
    hash.update((part.len() as u64).to_le_bytes());
    hash.update(part);
}

/// The SHA-256 digest of the names, the PTX and the machine code of kernels, which are in the order of their names.
pub fn digest_of_code<'a>(code: impl IntoIterator<Item = &'a Code>) -> String {
    let mut hash = Sha256::new();
    for code in code {
        let [ptx, cubin] =
            [code.ptx, code.cubin].map(|file| file.bytes().expect("the embedded code can be unpacked"));
        [code.name.as_bytes(), &ptx, &cubin].into_iter().for_each(|part| update(&mut hash, part));
    }
    hex(hash)
}

/// All Rust files below a folder, sorted.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.expect("a folder can be read").path()) {
        match path.is_dir() {
            true => files.extend(files_below(&path)),
            false if path.extension().is_some_and(|extension| extension == "rs") => files.push(path),
            false => {}
        }
    }
    files.sort();
    files
}

impl Sources {
    /// Describes the kernels `code` and the Rust files below `folders` of a crate. The files of a folder are one part, and
    /// those of each folder in it are another.
    pub fn of<'a>(root: &str, folders: &[&str], code: impl IntoIterator<Item = &'a Code>) -> Sources {
        let mut hashes: BTreeMap<String, Sha256> = BTreeMap::new();
        for folder in folders {
            let folder_path = Path::new(root).join(folder);
            for file in files_below(&folder_path) {
                let name = file.strip_prefix(&folder_path).expect("a file below the folder");
                let part = match name.components().next().filter(|_| name.components().count() > 1) {
                    Some(family) => format!("{folder}/{}", family.as_os_str().to_string_lossy()),
                    None => (*folder).to_owned(),
                };
                let text = std::fs::read_to_string(&file).expect("a source can be read");
                let hash = hashes.entry(part).or_default();
                update(hash, name.to_string_lossy().as_bytes());
                update(hash, tokens::tokens(&text).expect("Rust code").as_bytes());
            }
        }
        let mut parts: BTreeMap<_, _> = hashes.into_iter().map(|(part, hash)| (part, hex(hash))).collect();
        parts.insert("kernels".into(), digest_of_code(code));
        let git = |arguments: &[&str]| {
            let output = Command::new("git").current_dir(root).args(arguments).output().ok()?;
            output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let dirty = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|files| !files.is_empty());
        let commit = git(&["rev-parse", "HEAD"]).unwrap_or_else(|| "unknown".into());
        Sources { commit: commit + if dirty { "+" } else { "" }, parts }
    }
}

/// The name of an operation, from the name of one of its results.
pub fn name(result: &str) -> &str {
    result.split([' ', ',', ':']).next().unwrap_or_default()
}

impl Record {
    /// A record of no comparisons yet.
    pub fn new(sources: Sources, info: &DeviceInfo) -> Record {
        let version = |(major, minor): (u32, u32)| format!("{major}.{minor}");
        Record {
            sources,
            device: info.name.clone(),
            capability: version(info.capability),
            driver_cuda: version(info.driver),
            date: today(),
            results: BTreeMap::new(),
            values_compared: 0,
            differ: 0,
        }
    }

    /// Counts one more compared result of an operation, which has `values` numbers.
    pub fn add(&mut self, operation: &str, values: usize, differs: bool) {
        *self.results.entry(name(operation).into()).or_default() += 1;
        self.values_compared += values;
        self.differ += usize::from(differs);
    }

    /// What speaks against this record: parts of other digests, too few results of an operation, differences.
    pub fn faults(&self, now: &Sources, least: &[(&str, usize)]) -> Vec<String> {
        let old = &self.sources.parts;
        let names: std::collections::BTreeSet<&String> = old.keys().chain(now.parts.keys()).collect();
        let changed = names.into_iter().filter(|name| old.get(*name) != now.parts.get(*name));
        let mut faults: Vec<String> = changed.map(|name| format!("{name} changed since the check")).collect();
        for (operation, least) in least {
            let found = self.results.get(*operation).copied().unwrap_or(0);
            if found < *least {
                faults.push(format!("{operation}: {found} results were compared, expected at least {least}"));
            }
        }
        if self.differ > 0 {
            faults.push(format!("{} results differ between the devices", self.differ));
        }
        faults
    }

    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a record is JSON") + "\n"
    }
}

impl std::fmt::Display for Record {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let results: usize = self.results.values().sum();
        let Record { device, driver_cuda, values_compared, differ, .. } = self;
        write!(out, "{device}, CUDA {driver_cuda}: {results} results of {values_compared} values, {differ} differ")
    }
}

/// Options of a check: `--record FILE` writes its record. `--describe FILE` only describes the sources, where they are;
/// `--described FILE` reads that description on a machine without them.
pub struct Options {
    pub record: Option<String>,
    sources: Sources,
}

impl Options {
    /// Reads the options from the command line. `default` is the file of the record if none is named.
    pub fn read(arguments: &[String], default: &str, sources: impl FnOnce() -> Sources) -> Options {
        let at = |name: &str| arguments.iter().position(|argument| argument == name);
        let file = |name: &str| at(name).map(|at| arguments.get(at + 1).cloned());
        let sources = match file("--described").flatten() {
            Some(file) => {
                let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
            }
            None => sources(),
        };
        if let Some(file) = file("--describe").flatten() {
            let text = serde_json::to_string_pretty(&sources).expect("JSON");
            std::fs::write(&file, text).unwrap_or_else(|error| panic!("{file}: {error}"));
            std::process::exit(0);
        }
        Options { record: file("--record").map(|named| named.unwrap_or_else(|| default.into())), sources }
    }

    pub fn begin(&self, info: &DeviceInfo) -> Record {
        Record::new(self.sources.clone(), info)
    }

    /// Writes the record, if this was asked for.
    pub fn write(&self, record: &Record) {
        if let Some(file) = &self.record {
            std::fs::write(file, record.json()).unwrap_or_else(|error| panic!("{file}: {error}"));
        }
    }
}

/// Today's date (UTC) as year-month-day, computed from the number of days since 1970.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}
