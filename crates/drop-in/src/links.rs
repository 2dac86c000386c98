//! The subcommand (verb) `links`: makes links to this program under the names of the ANTs and FSL commands that it
//! supports.

use std::path::{Path, PathBuf};

use antsreg_console::{CliError, Refusal, command_line, output::print};
use antsreg_core::io::outputs;

use crate::served;

/// Make links to this program under the names of the supported ANTs and FSL commands.
///
/// Pipelines that find these links on PATH before the programs themselves run unchanged. Prints what of each command is
/// served.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder of the links, made if it does not exist
    folder: PathBuf,
    /// Names of the commands that get a link [default: all supported commands]
    #[arg(long, value_name = "NAME", num_args = 1..)]
    only: Vec<String>,
}

/// Runs the subcommand `links`: makes a link to this program for each command of ANTs and FSL that it replaces.
///
/// # Errors
/// A command that this program does not replace; another file with the name of a link; a folder that cannot be written.
pub fn run(args: &Args) -> Result<(), CliError> {
    let unknown = args.only.iter().find(|name| served::command(name).is_none());
    if let Some(name) = unknown {
        let served = served::names().collect::<Vec<_>>().join(", ");
        let refusal = Refusal::new(format!("--only {name}"), "this program supports no command of this name");
        return Err(refusal.instead(format!("use {served}")).into());
    }
    let wrap = |path: &Path| {
        let path = path.to_owned();
        move |source| CliError::Write { path, source }
    };
    let own = command_line::program().unwrap_or(Path::new("antsreg-gpu"));
    let own = own.canonicalize().map_err(wrap(own))?;
    outputs::make_folder(&args.folder)?;
    let folder = args.folder.canonicalize().map_err(wrap(&args.folder))?;
    let links: Vec<PathBuf> = match args.only.as_slice() {
        [] => served::names().map(|name| folder.join(name)).collect(),
        only => only.iter().map(|name| folder.join(name)).collect(),
    };
    // All names are checked before the first link is made, so that all links are made or none.
    if let Some(taken) = links.iter().find(|link| is_taken(link, &own)) {
        let why = "this file exists and is no link to antsreg-gpu";
        return Err(Refusal::new(taken.display(), why).instead("give another folder, or remove this file").into());
    }
    for link in &links {
        match std::fs::remove_file(link) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(wrap(link)(error)),
            _ => std::os::unix::fs::symlink(&own, link).map_err(wrap(link))?,
        }
    }
    let extent = |link: &PathBuf| {
        let command = link.file_name().and_then(|name| served::command(name.to_str()?));
        command.map_or(String::new(), |command| command.extent.to_string())
    };
    let lines: String = links.iter().map(|link| format!("{}  {}\n", link.display(), extent(link))).collect();
    let folder = folder.display();
    print(&format!(
        "{lines}\nPut this folder before the folders of ANTs and FSL on PATH:\n  export PATH={folder}:$PATH\n"
    ))
}

/// Whether the path of a new link is taken by something other than a link to this program or to an earlier build of it.
fn is_taken(link: &Path, own: &Path) -> bool {
    match std::fs::read_link(link) {
        Ok(target) => target != own && target.file_name() != own.file_name(),
        Err(_) => link.symlink_metadata().is_ok(),
    }
}
