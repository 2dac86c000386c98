//! The template before all passes: a subject, or a given image.

use std::path::{Path, PathBuf};

use antsreg_cohort::template::grid_around;
use antsreg_core::{TransformChain, Volume};
use antsreg_kernels::apply;

use super::content::{Content, write_all};
use super::plan::{StartFrom, channels};
use super::session::Session;
use crate::error::CliError;

/// Makes it, unless it is there.
pub fn run(session: &Session) -> Result<(), CliError> {
    let stage = session.start_stage();
    if stage.done().is_some() {
        return Ok(());
    }
    let images = match &session.plan.file.start {
        StartFrom::Template(files) => {
            let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
            channels(&paths)?
        }
        StartFrom::Subject(name) | StartFrom::AverageOnto(name) => {
            let images = session.images(session.position(name)?)?;
            let grid = grid_around(&images[0], session.plan.args.margin);
            // Its voxels are the image's: nothing lies between them.
            let how = apply::Interpolation::Linear;
            let onto = |image: &Volume| apply::resample(image, &grid, &TransformChain::new(), how, 0.0);
            images.iter().map(onto).collect()
        }
    };
    make_folder(&session.layout.start())?;
    let files = session.layout.template(None);
    let outputs: Vec<_> = files.images.iter().map(PathBuf::as_path).zip(images.iter().map(Content::Image)).collect();
    stage.finish(None, write_all(&session.layout, &outputs)?, ())?;
    Ok(())
}

/// Makes a folder and those above it.
pub fn make_folder(path: &Path) -> Result<(), CliError> {
    std::fs::create_dir_all(path).map_err(|source| CliError::OutputFolder { folder: path.into(), source })
}
