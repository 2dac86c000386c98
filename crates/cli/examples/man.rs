//! Writes the program's man pages into a folder, for releases: `cargo run -p antsreg-cli --example man -- FOLDER`.

use std::io::Error;
use std::path::PathBuf;

fn main() -> Result<(), Error> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.ok_or_else(|| Error::other("expected one argument: the folder for the man pages"))?;
    std::fs::create_dir_all(&folder)?;
    clap_mangen::generate_to(antsreg_cli::described(), folder)
}
