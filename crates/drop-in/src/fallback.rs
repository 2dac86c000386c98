//! The fallback for a refused command: the next program with the same name on PATH.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use antsreg_console::{CliError, Refusal, command_line, output::say};

/// Environment variable with the names of commands that have already fallen back to another program. It prevents an
/// endless loop if a script on PATH calls this program by the same name.
const FELL_BACK: &str = "ANTSREG_FELL_BACK";

/// Replaces this process by the next program with this name on `PATH`. If no such program can be run, returns the error
/// `refused`, with the reason why no other program runs.
pub fn exec(name: &str, arguments: &[OsString], refused: CliError) -> CliError {
    match replace(name, arguments, &refused) {
        Why::LedBack => {
            let why =
                format!("ANTSREG_FALLBACK=1 led back to antsreg-gpu: the next {name} on PATH calls antsreg-gpu");
            Refusal::new(&refused, why).into()
        }
        Why::NoOther => Refusal::new(&refused, format!("ANTSREG_FALLBACK=1 finds no other {name} on PATH")).into(),
        Why::Failed(why) => Refusal::new(&refused, why).into(),
    }
}

/// Replaces this process by the next program with this name on `PATH`, if there is one. Otherwise returns the error
/// `refused`, with the advice to install that program.
pub fn exec_if_present(name: &str, arguments: &[OsString], refused: CliError) -> CliError {
    match replace(name, arguments, &refused) {
        Why::Failed(why) => Refusal::new(&refused, why).into(),
        Why::LedBack | Why::NoOther => {
            let why = format!("no other {name} is on PATH, which would run instead");
            Refusal::new(&refused, why).into()
        }
    }
}

/// Why no other program runs in place of a refused command.
enum Why {
    /// The next program on `PATH` has called this program, which would call that program again.
    LedBack,
    /// No other program has this name.
    NoOther,
    /// The program could not be started, for this reason.
    Failed(String),
}

/// Replaces this process by the next program with this name on `PATH`. Returns only if no program was started.
fn replace(name: &str, arguments: &[OsString], refused: &CliError) -> Why {
    let fell_back = std::env::var(FELL_BACK).unwrap_or_default();
    if fell_back.split(':').any(|known| known == name) {
        return Why::LedBack;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let Some(next) = next_on_path(name, std::env::split_paths(&path), command_line::program()) else {
        return Why::NoOther;
    };
    say(format_args!("{name}: {refused}; {} runs instead", next.display()));
    let fell_back = if fell_back.is_empty() { name.to_owned() } else { format!("{fell_back}:{name}") };
    let error = Command::new(&next).args(arguments).env(FELL_BACK, fell_back).exec();
    Why::Failed(format!("the next program on PATH, {}, could not be run: {error}", next.display()))
}

/// The first program called `name` in these folders, except the running program.
fn next_on_path(name: &str, folders: impl Iterator<Item = PathBuf>, own: Option<&Path>) -> Option<PathBuf> {
    let own = own.and_then(|own| own.canonicalize().ok());
    let is_other = |path: &PathBuf| {
        let executable = path.metadata().is_ok_and(|found| {
            found.is_file() && std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o111 != 0
        });
        executable && path.canonicalize().ok() != own
    };
    folders.map(|folder| folder.join(name)).find(is_other)
}
