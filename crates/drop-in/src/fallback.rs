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
    let fell_back = std::env::var(FELL_BACK).unwrap_or_default();
    let refuse = |why: String| Refusal::new(&refused, why).into();
    if fell_back.split(':').any(|known| known == name) {
        return refuse(format!(
            "ANTSREG_FALLBACK=1 led back to antsreg-gpu: the next {name} on PATH calls antsreg-gpu"
        ));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let Some(next) = next_on_path(name, std::env::split_paths(&path), command_line::program()) else {
        return refuse(format!("ANTSREG_FALLBACK=1 finds no other {name} on PATH"));
    };
    say(format_args!("{name}: {refused}; {} runs instead", next.display()));
    let fell_back = if fell_back.is_empty() { name.to_owned() } else { format!("{fell_back}:{name}") };
    let error = Command::new(&next).args(arguments).env(FELL_BACK, fell_back).exec();
    refuse(format!("the next program on PATH, {}, could not be run: {error}", next.display()))
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
