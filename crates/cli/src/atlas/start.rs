//! The template before all passes: a subject, or a given image.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use antsreg_cohort::template::grid_around;
use antsreg_core::io::{nifti, outputs};
use antsreg_core::{Grid, TransformChain, Volume};
use antsreg_kernels::apply;
use antsreg_study::template::Manifest;

use super::content::{Content, write_all};
use super::plan::{StartFrom, channels};
use super::session::{Drawn, Session};
use super::template::Template;
use crate::error::CliError;

/// The first template, not written yet.
pub struct First {
    /// As it will be read from its files.
    pub template: Arc<Template>,
    /// Where its voxels lie before the headers round that.
    grid: Grid,
}

/// Makes it, unless it is there. Writes nothing: there may turn out to be no device for what follows.
pub fn make(session: &Session) -> Result<Option<First>, CliError> {
    if session.start_stage().done().is_some() {
        return Ok(None);
    }
    let mut images = match &session.plan.file.start {
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
    let grid = images[0].grid.clone();
    let stored = session.set_grid(nifti::stored_grid(&session.layout.template(None).images[0], &grid)?);
    images.iter_mut().for_each(|image| image.grid = stored.clone());
    Ok(Some(First { template: Arc::new(Template::new(images)), grid }))
}

/// Writes its files; what it gives records them.
pub fn write<'a>(
    session: &'a Session,
    first: &First,
) -> Result<impl FnOnce() -> Result<Manifest, CliError> + Send + use<'a>, CliError> {
    make_folder(&session.layout.start())?;
    let files = session.layout.template(None);
    let unrounded = |image: &Arc<Volume>| Volume { grid: first.grid.clone(), voxels: image.voxels.clone() };
    let images: Vec<Volume> = first.template.images.iter().map(unrounded).collect();
    let outputs: Vec<_> = files.images.iter().map(PathBuf::as_path).zip(images.iter().map(Content::Image)).collect();
    session.draw(Drawn::Template(None), &images[0])?;
    let written = write_all(&session.layout, &outputs)?;
    Ok(move || Ok(session.start_stage().finish(None, written, ())?))
}

/// Makes a folder and those above it.
pub fn make_folder(path: &Path) -> Result<(), CliError> {
    Ok(outputs::make_folder(path)?)
}
