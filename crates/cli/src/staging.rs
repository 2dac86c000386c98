//! Output files that appear all together or not at all.
//!
//! Everything is written into a hidden folder beside its place. [`Outputs::commit`] moves the files out once all are
//! complete; an error, a panic, Ctrl-C or a termination signal removes the hidden folder and what it holds. Several sets
//! of files may be on their way at once, each for itself.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rayon::prelude::*;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use tempfile::TempDir;

use crate::error::{CliError, UsageError};

/// What a signal's number is added to for an exit code, as shells have it: 130 after Ctrl-C, 143 after SIGTERM.
const INTERRUPTED: i32 = 128;

/// How often a hidden folder is tried to be removed.
const TRIES: usize = 20;

/// What this process has written and not yet named. Global because the signal handler must find it.
static STAGED: Mutex<Staged> = Mutex::new(Staged { next: 0, committed: false, sets: Vec::new() });

/// Whether what is written stays, to be gone on with.
static RESUMABLE: AtomicBool = AtomicBool::new(false);

/// The log, which no output may replace.
static LOG: OnceLock<PathBuf> = OnceLock::new();

struct Staged {
    /// The number of the next set.
    next: u64,
    /// Whether any set has got its names.
    committed: bool,
    sets: Vec<Set>,
}

/// The files of one [`Outputs`].
struct Set {
    number: u64,
    /// Output folder, and the hidden folder in it.
    folders: Vec<(PathBuf, TempDir)>,
    /// Where a file is now, and where it belongs.
    files: Vec<(PathBuf, PathBuf)>,
}

impl Staged {
    /// The set of this number, begun if need be.
    fn set(&mut self, number: u64) -> &mut Set {
        let place = self.sets.iter().position(|set| set.number == number).unwrap_or_else(|| {
            self.sets.push(Set { number, folders: Vec::new(), files: Vec::new() });
            self.sets.len() - 1
        });
        &mut self.sets[place]
    }

    /// Takes the set of this number out, if it was begun.
    fn take(&mut self, number: u64) -> Option<Set> {
        let place = self.sets.iter().position(|set| set.number == number)?;
        Some(self.sets.swap_remove(place))
    }
}

impl Set {
    fn clear(self) {
        for (_, folder) in self.folders {
            remove(&folder.keep());
        }
    }
}

/// Removes a hidden folder. While a signal is handled another thread may still give a file in it its name, so one try may
/// not be enough; that thread then comes to a stop at the lock.
fn remove(folder: &Path) {
    for _ in 0..TRIES {
        if std::fs::remove_dir_all(folder).is_ok() || !folder.exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    crate::output::say(format_args!("warning: {}: could not be removed", folder.display()));
}

/// Sees to it that a signal leaves nothing behind. To be called once, before anything is staged.
pub fn clean_up_on_signals() {
    if let Err(error) = watch_signals() {
        crate::output::say(format_args!("warning: Ctrl-C may leave temporary files behind: {error}"));
    }
}

fn watch_signals() -> std::io::Result<()> {
    // Where file sizes are limited, a file too large is then an error of its writer and not the end of the program.
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    // What `nohup` has switched off stays off.
    if !starts_ignored(SIGHUP) {
        signals.add_signal(SIGHUP)?;
    }
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            clean_up(signal);
        }
    })?;
    Ok(())
}

/// Whether this process was started to ignore a signal; no where the system does not tell.
fn starts_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Ends the program as a signal asks for.
fn clean_up(signal: i32) -> ! {
    // A commit that has begun holds the lock, so that either all files have their names or none has.
    let mut staged = lock();
    let what = if RESUMABLE.load(Ordering::Relaxed) {
        "the same command goes on from here"
    } else if staged.committed {
        "what was complete stays"
    } else {
        "no output was written"
    };
    crate::output::say(format_args!("\ninterrupted: {what}"));
    antsreg_core::io::remove_unfinished();
    staged.sets.drain(..).for_each(Set::clear);
    std::process::exit(INTERRUPTED + signal);
}

/// From now on no output takes the place of this file, which is being written.
pub fn keep_log(log: &Path) {
    if let Ok(log) = log.canonicalize() {
        // There is one log.
        let _ = LOG.set(log);
    }
}

/// From now on a signal leaves finished files to go on from.
pub fn resumable() {
    RESUMABLE.store(true, Ordering::Relaxed);
}

/// Writes a file of this name.
pub type Writing<'a> = Box<dyn FnOnce(&Path) -> Result<(), CliError> + Send + 'a>;

/// Output files that belong together: those of one command, or of one subject of many.
#[derive(Debug)]
pub struct Outputs {
    number: u64,
    targets: Vec<PathBuf>,
}

impl Outputs {
    /// No file yet.
    pub fn new() -> Outputs {
        let mut staged = lock();
        staged.next += 1;
        Outputs { number: staged.next, targets: Vec::new() }
    }

    /// Has `write` write the file that is to become `target`, under another name for now; the file name's end, which
    /// chooses the format, is the same. Errors name `target`.
    pub fn write(
        &mut self,
        target: &Path,
        write: impl FnOnce(&Path) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        write(&self.begin(target)?).map_err(|error| error.about(target))
    }

    /// The same for several files at once.
    pub fn write_all(&mut self, files: Vec<(&Path, Writing<'_>)>) -> Result<(), CliError> {
        let begun = files.into_iter().map(|(target, write)| Ok((target, self.begin(target)?, write)));
        let begun = begun.collect::<Result<Vec<_>, CliError>>()?;
        let written =
            begun.into_par_iter().map(|(target, path, write)| write(&path).map_err(|error| error.about(target)));
        // Of several errors the first file's.
        written.collect::<Vec<_>>().into_iter().collect()
    }

    /// Where what is to become `target` is written.
    fn begin(&mut self, target: &Path) -> Result<PathBuf, CliError> {
        let folder = check_target(target)?;
        let temporary = {
            let mut staged = lock();
            let set = staged.set(self.number);
            let hidden = match set.folders.iter().find(|(known, _)| known == folder) {
                Some((_, hidden)) => hidden.path().to_owned(),
                None => {
                    let hidden = hidden_folder(folder)?;
                    let path = hidden.path().to_owned();
                    set.folders.push((folder.to_owned(), hidden));
                    path
                }
            };
            let temporary = hidden.join(target.file_name().unwrap_or_default());
            set.files.push((temporary.clone(), target.to_owned()));
            temporary
        };
        self.targets.push(target.to_owned());
        Ok(temporary)
    }

    /// Gives every file its name, replacing what was there. Returns the names.
    pub fn commit(mut self) -> Result<Vec<PathBuf>, CliError> {
        let mut staged = lock();
        for (temporary, target) in staged.set(self.number).files.drain(..) {
            std::fs::rename(&temporary, &target).map_err(|source| CliError::Write { path: target, source })?;
        }
        staged.committed = true;
        Ok(std::mem::take(&mut self.targets))
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        // With the lock held: a signal in between would find nothing to remove.
        let mut staged = lock();
        if let Some(set) = staged.take(self.number) {
            set.clear();
        }
    }
}

/// Whether `target` can be written: its folder exists and takes files, and no folder has its name.
pub fn check_writable(target: &Path) -> Result<(), CliError> {
    hidden_folder(check_target(target)?).map(drop)
}

/// Refuses to write over what is read.
pub fn check_not_input<'a, P: AsRef<Path> + 'a>(
    target: &Path,
    inputs: impl IntoIterator<Item = &'a P>,
) -> Result<(), UsageError> {
    let Ok(existing) = target.canonicalize() else { return Ok(()) };
    if inputs.into_iter().any(|input| input.as_ref().canonicalize().is_ok_and(|input| input == existing)) {
        return Err(UsageError::OverInput(target.display().to_string()));
    }
    Ok(())
}

/// Whether `target` is the name of a file that is there or may be there: no folder, no device, not too long.
pub fn check_name(target: &Path) -> Result<(), CliError> {
    check_target(target).map(drop)
}

/// The folder of `target`, when it may hold a file of that name.
fn check_target(target: &Path) -> Result<&Path, CliError> {
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        return Err(CliError::NoOutputFolder { folder: folder.into() });
    }
    // A renamed file takes the place of whatever has its name: of /dev/null, too.
    match std::fs::metadata(target) {
        _ if target.file_name().is_none() => Err(CliError::OutputIsFolder { path: target.into() }),
        Ok(found) if found.is_dir() => Err(CliError::OutputIsFolder { path: target.into() }),
        Ok(found) if !found.is_file() || is_stream(target) => Err(CliError::OutputIsDevice { path: target.into() }),
        Ok(found) if found.permissions().readonly() => Err(CliError::OutputProtected { path: target.into() }),
        Ok(_) if is_log(target) => Err(CliError::OutputIsLog { path: target.into() }),
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(CliError::Write { path: target.into(), source })
        }
        _ => Ok(folder),
    }
}

/// Whether this is the log that is being written.
fn is_log(target: &Path) -> bool {
    LOG.get().is_some_and(|log| target.canonicalize().is_ok_and(|target| target == *log))
}

/// Whether this is a name for an open file, as /dev/stdout is, wherever that leads.
fn is_stream(target: &Path) -> bool {
    std::fs::read_link(target).is_ok_and(|link| link.starts_with("/proc"))
}

fn hidden_folder(folder: &Path) -> Result<TempDir, CliError> {
    tempfile::Builder::new()
        .prefix(".antsreg-partial-")
        .tempdir_in(folder)
        .map_err(|source| CliError::OutputFolder { folder: folder.into(), source })
}

/// The lock, also after a panic in another thread: the lists are valid after every operation on them.
fn lock() -> MutexGuard<'static, Staged> {
    STAGED.lock().unwrap_or_else(PoisonError::into_inner)
}
