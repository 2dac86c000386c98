//! An atlas being built: its plan, its places, the subjects' images, and which steps are done.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use antsreg_core::io::nifti;
use antsreg_core::{Grid, Volume};
use antsreg_study::template::{FileRecord, Layout, Manifest, Stage};

use super::plan::{Plan, Subject, SubjectImages, channels};
use super::template::Template;
use super::update::TemplateResults;
use super::{Error, plan, slices};
use crate::error::CliError;

/// Voxels of subjects that are kept in memory; beyond them images are read again for every pass.
pub const KEPT_VOXELS: usize = 1 << 30;

/// An atlas being built.
pub struct Session {
    pub layout: Layout,
    pub plan: Plan,
    /// Positions in the plan of the subjects that take part.
    pub included: Vec<usize>,
    images: Vec<OnceLock<Arc<Vec<Volume>>>>,
    kept_voxels: Mutex<usize>,
    templates: Mutex<BTreeMap<Option<usize>, Arc<Manifest>>>,
    pictures: Mutex<BTreeMap<Drawn, String>>,
    grid: OnceLock<Grid>,
}

/// What the report shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Drawn {
    /// The template of a pass, or that before all passes.
    Template(Option<usize>),
    /// A subject on the last one, by its position in the plan.
    Subject(usize),
}

impl Session {
    /// Of a plan in its folder.
    pub fn new(plan: Plan, folder: &std::path::Path) -> Session {
        let layout = Layout::new(folder, &plan.file.channels);
        let subjects = &plan.file.subjects;
        let included = (0..subjects.len()).filter(|&n| subjects[n].left_out.is_none()).collect();
        let images = subjects.iter().map(|_| OnceLock::new()).collect();
        let (kept_voxels, templates, pictures) = (Mutex::default(), Mutex::default(), Mutex::default());
        Session { layout, included, images, kept_voxels, templates, pictures, grid: OnceLock::new(), plan }
    }

    /// Keeps images that have been read already.
    pub fn keep(&self, images: SubjectImages) {
        for (subject, images) in images.into_iter().enumerate() {
            if let Some(images) = images {
                self.kept(subject, Arc::new(images));
            }
        }
    }

    fn kept(&self, subject: usize, images: Arc<Vec<Volume>>) -> Arc<Vec<Volume>> {
        let mut voxels = self.kept_voxels.lock().unwrap_or_else(PoisonError::into_inner);
        let more: usize = images.iter().map(|image| image.voxels.len()).sum();
        if *voxels + more <= KEPT_VOXELS && self.images[subject].set(images.clone()).is_ok() {
            *voxels += more;
        }
        images
    }

    /// A subject of the plan.
    pub fn subject(&self, subject: usize) -> &Subject {
        &self.plan.file.subjects[subject]
    }

    /// The position of a subject in the plan, by its name.
    pub fn position(&self, name: &str) -> Result<usize, Error> {
        let subjects = &self.plan.file.subjects;
        subjects.iter().position(|subject| subject.name == name).ok_or_else(|| Error::NoSubject {
            name: name.into(),
            there: subjects.iter().map(|subject| subject.name.clone()).collect(),
        })
    }

    /// A subject's images.
    pub fn images(&self, subject: usize) -> Result<Arc<Vec<Volume>>, CliError> {
        if let Some(images) = self.images[subject].get() {
            return Ok(images.clone());
        }
        let paths: Vec<PathBuf> = self.subject(subject).images.iter().map(|file| file.path.clone()).collect();
        Ok(self.kept(subject, Arc::new(plan::channels(&paths)?)))
    }

    /// The pass before, or `None` before the first.
    pub fn before(&self, pass: usize) -> Option<usize> {
        (pass > self.plan.file.first_pass).then(|| pass - 1)
    }

    /// Refuses a pass that is not planned.
    pub fn check_pass(&self, pass: usize) -> Result<(), Error> {
        let (first, last) = (self.plan.file.first_pass, self.plan.file.last_pass);
        if (first..=last).contains(&pass) { Ok(()) } else { Err(Error::NoPass { pass, first, last }) }
    }

    /// Whether a pass is the affine one.
    pub fn is_affine(&self, pass: usize) -> bool {
        pass == 0
    }

    fn stage(&self, step: String, path: PathBuf, inputs: Vec<FileRecord>) -> Stage<'_> {
        Stage::new(&self.layout, &self.plan.file.digest, step, path, inputs)
    }

    /// The making of the first template.
    pub fn start_stage(&self) -> Stage<'_> {
        self.stage("start".into(), self.layout.template(None).manifest, Vec::new())
    }

    /// The registration of a subject in a pass.
    pub fn register_stage(&self, pass: usize, subject: usize) -> Result<Stage<'_>, CliError> {
        let template = self.template(self.before(pass))?;
        let subject = self.subject(subject);
        let inputs = [images_of(&template), subject.files()].concat();
        let path = self.layout.registration(pass, &subject.name).manifest;
        Ok(self.stage(format!("register {} in pass {pass}", subject.name), path, inputs))
    }

    /// The manifest of a registration, which must be done.
    pub fn registered(&self, pass: usize, subject: usize) -> Result<Manifest, CliError> {
        let name = &self.subject(subject).name;
        let command = || format!("atlas register-one {} --pass {pass} --subject {name}", self.folder());
        Ok(self.register_stage(pass, subject)?.require(command)?)
    }

    /// The average of a pass, all of whose registrations must be done.
    pub fn average_stage(&self, pass: usize) -> Result<Stage<'_>, CliError> {
        let mut inputs = Vec::new();
        for &subject in &self.included {
            inputs.extend(self.registered(pass, subject)?.outputs);
        }
        Ok(self.stage(format!("average pass {pass}"), self.layout.average(pass).manifest, inputs))
    }

    /// The manifest of an average, which must be done.
    pub fn averaged(&self, pass: usize) -> Result<Manifest, CliError> {
        Ok(self.average_stage(pass)?.require(|| format!("atlas average {} --pass {pass}", self.folder()))?)
    }

    /// The template of a pass, whose average must be done.
    pub fn update_stage(&self, pass: usize) -> Result<Stage<'_>, CliError> {
        let inputs = self.averaged(pass)?.outputs;
        Ok(self.stage(format!("update pass {pass}"), self.layout.template(Some(pass)).manifest, inputs))
    }

    /// The manifest of a template, which must be done.
    pub fn template(&self, pass: Option<usize>) -> Result<Arc<Manifest>, CliError> {
        if let Some(known) = self.templates.lock().unwrap_or_else(PoisonError::into_inner).get(&pass) {
            return Ok(known.clone());
        }
        let manifest = match pass {
            None => self.start_stage().require(|| "atlas … --plan-only".into())?,
            Some(pass) => {
                self.update_stage(pass)?.require(|| format!("atlas update {} --pass {pass}", self.folder()))?
            }
        };
        let manifest = Arc::new(manifest);
        self.templates.lock().unwrap_or_else(PoisonError::into_inner).insert(pass, manifest.clone());
        Ok(manifest)
    }

    /// The images of a template.
    pub fn template_images(&self, pass: Option<usize>) -> Result<Template, CliError> {
        self.template(pass)?;
        let mut images = channels(&self.layout.template(pass).images)?;
        // Headers are rounded when they are written. With the first one's numbers throughout it makes no difference
        // whether a template was read from its file.
        let grid = self.grid()?;
        images.iter_mut().for_each(|image| image.grid = grid.clone());
        Ok(Template::new(images))
    }

    /// Draws the first channel of something for the report; gives the picture.
    pub fn draw(&self, what: Drawn, first: &Volume) -> Result<String, CliError> {
        let picture = slices::data_address(first)?;
        self.pictures.lock().unwrap_or_else(PoisonError::into_inner).insert(what, picture.clone());
        Ok(picture)
    }

    /// A picture, drawn from its file if it was not yet.
    pub fn picture(&self, what: Drawn) -> Result<String, CliError> {
        if let Some(picture) = self.pictures.lock().unwrap_or_else(PoisonError::into_inner).get(&what) {
            return Ok(picture.clone());
        }
        let path = match what {
            Drawn::Template(pass) => self.layout.template(pass).images.swap_remove(0),
            Drawn::Subject(subject) => {
                let extension = self.plan.args.format.extension();
                self.layout.subject(&self.subject(subject).name, extension).warped.swap_remove(0)
            }
        };
        self.draw(what, &nifti::read_volume(&path)?)
    }

    /// The grid of all templates.
    pub fn grid(&self) -> Result<Grid, CliError> {
        if let Some(grid) = self.grid.get() {
            return Ok(grid.clone());
        }
        let grid = nifti::inspect(&self.layout.template(None).images[0])?.grid;
        Ok(self.set_grid(grid))
    }

    /// The same, as soon as it is known; gives it.
    pub fn set_grid(&self, grid: Grid) -> Grid {
        self.grid.get_or_init(|| grid).clone()
    }

    /// The pass after which the template no longer moved, if that was before `pass`.
    pub fn converged_before(&self, pass: usize) -> Result<Option<usize>, CliError> {
        let Some(before) = self.before(pass) else { return Ok(None) };
        let manifest = self.template(Some(before))?;
        if manifest.converged_after.is_some() {
            return Ok(manifest.converged_after);
        }
        let path = self.layout.template(Some(before)).manifest;
        let results: TemplateResults =
            serde_json::from_value(manifest.results.clone()).map_err(|source| Error::Json { path, source })?;
        Ok(results.converged.then_some(before))
    }

    /// The last pass that was needed, which must be done.
    pub fn final_pass(&self) -> Result<usize, CliError> {
        for pass in self.plan.file.first_pass..=self.plan.file.last_pass {
            if let Some(after) = self.converged_before(pass)? {
                return Ok(after);
            }
        }
        self.template(Some(self.plan.file.last_pass))?;
        Ok(self.plan.file.last_pass)
    }

    fn folder(&self) -> String {
        self.layout.root().display().to_string()
    }
}

/// The images among a template's files.
fn images_of(template: &Manifest) -> Vec<FileRecord> {
    let is_image =
        |file: &&FileRecord| file.path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("template"));
    template.outputs.iter().filter(is_image).cloned().collect()
}
