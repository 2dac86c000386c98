//! A template during its building: its plan, its files, the subjects' images, and the steps that are done.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use antsreg_core::io::nifti;
use antsreg_core::{Grid, Volume};

use super::channels::{Channels, masked, read_channels};
use super::digest::FileRecord;
use super::layout::Layout;
use super::manifest::{Manifest, Stage, results_of};
use super::pictures::{PictureOf, Pictures};
use super::plan::{Plan, PlannedSubject};
use super::planning::SubjectImages;
use super::reference::Reference;
use super::results::TemplateResults;
use super::step::Step;
use super::{Error as TemplateError, compared};
use crate::Error;

/// Largest number of voxels of subjects' images that are kept in memory. Images beyond this number are read again in
/// every pass.
pub const KEPT_VOXELS: usize = 1 << 30;

/// The state of a template that is being built.
pub struct Session {
    /// The paths of all files of the template.
    pub(super) layout: Layout,
    /// The plan.
    pub(super) plan: Plan,
    /// Indices, in the template's list of subjects, of the subjects that are not left out.
    pub(super) included: Vec<usize>,
    /// Pictures of templates and subjects for the report.
    pub(super) pictures: Pictures,
    /// Whether the subjects' files may have changed since the template's plan recorded their digests.
    planned_before: bool,
    images: Vec<OnceLock<Arc<Channels>>>,
    /// Brain masks that this run has extracted, for subjects whose brain is registered instead of the head.
    masks: Vec<OnceLock<Arc<Volume>>>,
    kept_voxels: Mutex<usize>,
    /// The manifest of each step that was found to be done, with unchanged files.
    done: Mutex<BTreeMap<Step, Arc<Manifest>>>,
    grid: OnceLock<Grid>,
}

impl Session {
    /// Opens a template whose folder contains its plan.
    ///
    /// # Errors
    /// The errors of [`Plan::read`].
    pub fn open(folder: &Path) -> Result<Session, Error> {
        Ok(Session { planned_before: true, ..Session::new(Plan::read(folder)?, folder) })
    }

    /// Creates the state of building a template from a new plan, which lists the subjects and options.
    pub(super) fn new(plan: Plan, folder: &Path) -> Session {
        let layout = Layout::new(folder, &plan.channels);
        let included = (0..plan.subjects.len()).filter(|&n| plan.subjects[n].left_out.is_none()).collect();
        Session {
            layout,
            included,
            pictures: Pictures::default(),
            planned_before: false,
            images: plan.subjects.iter().map(|_| OnceLock::new()).collect(),
            masks: plan.subjects.iter().map(|_| OnceLock::new()).collect(),
            kept_voxels: Mutex::default(),
            done: Mutex::default(),
            grid: OnceLock::new(),
            plan,
        }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Keeps in memory the subjects' images that were read to plan the template. Images of heads whose brain must be
    /// extracted are returned instead; [`keep_brain`](Session::keep_brain) keeps their brains.
    pub(super) fn keep(&self, images: SubjectImages) -> Vec<(usize, Channels)> {
        let read = images.into_iter().enumerate().filter_map(|(subject, images)| Some((subject, images?)));
        let (heads, others): (Vec<_>, Vec<_>) = read.partition(|(subject, _)| self.subject(*subject).brain);
        for (subject, images) in others {
            self.kept(subject, Arc::new(images));
        }
        heads
    }

    /// Keeps in memory the images of a subject's extracted brain, and the brain mask.
    pub(super) fn keep_brain(&self, subject: usize, images: Channels, mask: Arc<Volume>) {
        // The brain of a subject is extracted only once, so no brain mask has been stored for this subject before.
        let _ = self.masks[subject].set(mask);
        self.kept(subject, Arc::new(images));
    }

    fn kept(&self, subject: usize, images: Arc<Channels>) -> Arc<Channels> {
        let mut voxels = self.kept_voxels.lock().unwrap_or_else(PoisonError::into_inner);
        let more: usize = images.iter().map(|image| image.voxels.len()).sum();
        if *voxels + more <= KEPT_VOXELS && self.images[subject].set(images.clone()).is_ok() {
            *voxels += more;
        }
        images
    }

    /// The subject with this index in the template's list of subjects.
    pub(super) fn subject(&self, subject: usize) -> &PlannedSubject {
        &self.plan.subjects[subject]
    }

    /// The index of the subject with this name, in the template's list of subjects.
    pub(super) fn position(&self, name: &str) -> Result<usize, TemplateError> {
        let subjects = &self.plan.subjects;
        subjects.iter().position(|subject| subject.name == name).ok_or_else(|| TemplateError::NoSubject {
            name: name.into(),
            there: subjects.iter().map(|subject| subject.name.clone()).collect(),
        })
    }

    /// The images of a subject as they are registered: images of the brain if its brain is registered instead of the
    /// whole head.
    pub(super) fn images(&self, subject: usize) -> Result<Arc<Channels>, Error> {
        if let Some(images) = self.images[subject].get() {
            return Ok(images.clone());
        }
        let mut images = self.whole_images(subject)?;
        if self.subject(subject).brain {
            images = match self.masks[subject].get() {
                Some(mask) => masked(images, mask),
                None => {
                    self.template(None)?;
                    masked(images, &nifti::read_volume(&self.layout.brain(&self.subject(subject).name))?)
                }
            };
        }
        Ok(self.kept(subject, Arc::new(images)))
    }

    /// Reads the images of a subject from their files: the whole head, even if its brain is registered.
    pub(super) fn whole_images(&self, subject: usize) -> Result<Channels, Error> {
        let files = &self.subject(subject).images;
        self.check_inputs(files)?;
        let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
        read_channels(&paths, self.plan.options.bias)
    }

    /// Checks that input files of the template have not changed since its plan was made.
    pub(super) fn check_inputs(&self, files: &[FileRecord]) -> Result<(), TemplateError> {
        if self.planned_before { compared::check_inputs(files) } else { Ok(()) }
    }

    /// Returns the picture of a template or subject for the HTML report.
    pub(super) fn picture(&self, shown: PictureOf) -> Result<String, Error> {
        let mut images = match shown {
            PictureOf::Template(pass) => self.layout.template(pass).images,
            PictureOf::Subject(subject) => self.layout.subject(&self.subject(subject).name, self.extension()).warped,
        };
        self.pictures.get(shown, &images.swap_remove(0))
    }

    /// File name extension of the final images and warps, such as `nii.gz`.
    pub(super) fn extension(&self) -> &'static str {
        self.plan.image_format.extension()
    }

    /// Number of the pass before `pass`; `None` for the first pass.
    pub(super) fn before(&self, pass: usize) -> Option<usize> {
        (pass > self.plan.first_pass).then(|| pass - 1)
    }

    /// Checks that the template's plan contains this pass.
    pub(super) fn check_pass(&self, pass: usize) -> Result<(), TemplateError> {
        let (first, last) = (self.plan.first_pass, self.plan.last_pass);
        if (first..=last).contains(&pass) { Ok(()) } else { Err(TemplateError::NoPass { pass, first, last }) }
    }

    /// Whether the pass registers by affine transforms only.
    pub(super) fn is_affine(&self, pass: usize) -> bool {
        pass == 0
    }

    /// Describes one step of building this template: `step`, and the records of the files `inputs` that the step
    /// reads. The step is not run.
    pub(super) fn stage(&self, step: Step, inputs: Vec<FileRecord>) -> Stage<'_> {
        Stage::new(&self.layout, &self.plan.digest, step, inputs)
    }

    /// Reads the manifest of a step; an error if the step has not been done. After the first call the manifest stays
    /// in memory.
    fn required<'a>(
        &'a self,
        step: Step,
        stage: impl FnOnce() -> Result<Stage<'a>, Error>,
    ) -> Result<Arc<Manifest>, Error> {
        if let Some(known) = self.done.lock().unwrap_or_else(PoisonError::into_inner).get(&step) {
            return Ok(known.clone());
        }
        let manifest = Arc::new(stage()?.require()?);
        self.done.lock().unwrap_or_else(PoisonError::into_inner).insert(step, manifest.clone());
        Ok(manifest)
    }

    /// The step that makes the first template.
    pub(super) fn start_stage(&self) -> Stage<'_> {
        self.stage(Step::Start, Vec::new())
    }

    /// The step that registers a subject in a pass.
    pub(super) fn register_stage(&self, pass: usize, subject: usize) -> Result<Stage<'_>, Error> {
        let template = self.template(self.before(pass))?;
        let subject = self.subject(subject);
        let mut inputs = [images_of(&template), subject.images.clone()].concat();
        if subject.brain {
            let mask = self.layout.relative(&self.layout.brain(&subject.name));
            inputs.extend(self.template(None)?.outputs.iter().filter(|file| file.path == mask).cloned());
        }
        Ok(self.stage(Step::Register { pass, subject: subject.name.clone() }, inputs))
    }

    /// The manifest of a subject's registration in a pass; an error if the registration has not been done.
    pub(super) fn registered(&self, pass: usize, subject: usize) -> Result<Manifest, Error> {
        self.register_stage(pass, subject)?.require()
    }

    /// The step that averages the subjects of a pass; an error if a registration of the pass has not been done.
    pub(super) fn average_stage(&self, pass: usize) -> Result<Stage<'_>, Error> {
        let mut inputs = Vec::new();
        for &subject in &self.included {
            inputs.extend(self.registered(pass, subject)?.outputs);
        }
        Ok(self.stage(Step::Average { pass }, inputs))
    }

    /// The manifest of the step that averages the subjects in a pass; an error if the average has not been made.
    pub(super) fn averaged(&self, pass: usize) -> Result<Arc<Manifest>, Error> {
        self.required(Step::Average { pass }, || self.average_stage(pass))
    }

    /// The step that makes the template of a pass; an error if the average of the pass has not been made.
    pub(super) fn update_stage(&self, pass: usize) -> Result<Stage<'_>, Error> {
        let inputs = self.averaged(pass)?.outputs.clone();
        Ok(self.stage(Step::Update { pass }, inputs))
    }

    /// The manifest of the template of a pass, or of the first template; an error if this template has not been made.
    pub(super) fn template(&self, pass: Option<usize>) -> Result<Arc<Manifest>, Error> {
        match pass {
            None => self.required(Step::Start, || Ok(self.start_stage())),
            Some(pass) => self.required(Step::Update { pass }, || self.update_stage(pass)),
        }
    }

    /// Reads the template of a pass from its files; `None` stands for the template before all passes.
    pub(super) fn reference(&self, pass: Option<usize>) -> Result<Reference, Error> {
        self.template(pass)?;
        // The numbers in a file's header are rounded. Every template gets the grid of the first template instead, so
        // that a template read from a file gives the same results as a template in memory.
        let grid = self.grid()?;
        let read = |path: &PathBuf| {
            let mut image = nifti::read_volume(path)?;
            image.grid = grid.clone();
            Ok(image)
        };
        let images = self.layout.template(pass).images.iter().map(read).collect::<Result<_, Error>>()?;
        Ok(Reference::new(images))
    }

    /// The grid that the templates of all passes share.
    pub(super) fn grid(&self) -> Result<Grid, Error> {
        if let Some(grid) = self.grid.get() {
            return Ok(grid.clone());
        }
        let grid = nifti::inspect(&self.layout.template(None).images[0])?.grid;
        Ok(self.set_grid(grid))
    }

    /// Sets the common grid of the templates of all passes, unless this grid is known already; returns the grid.
    pub(super) fn set_grid(&self, grid: Grid) -> Grid {
        self.grid.get_or_init(|| grid).clone()
    }

    /// Number of the pass after which the template stopped moving, if this happened before `pass`.
    pub(super) fn converged_before(&self, pass: usize) -> Result<Option<usize>, Error> {
        let Some(before) = self.before(pass) else { return Ok(None) };
        let manifest = self.template(Some(before))?;
        if manifest.converged_after.is_some() {
            return Ok(manifest.converged_after);
        }
        let results: TemplateResults = results_of(&manifest, self.layout.template(Some(before)).manifest)?;
        Ok(results.converged.then_some(before))
    }

    /// Number of the last pass that was needed; an error if this pass has not been done.
    pub(super) fn final_pass(&self) -> Result<usize, Error> {
        for pass in self.plan.first_pass..=self.plan.last_pass {
            if let Some(after) = self.converged_before(pass)? {
                return Ok(after);
            }
        }
        self.template(Some(self.plan.last_pass))?;
        Ok(self.plan.last_pass)
    }
}

/// Records of the images among the files of a template.
fn images_of(template: &Manifest) -> Vec<FileRecord> {
    let is_image =
        |file: &&FileRecord| file.path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("template"));
    template.outputs.iter().filter(is_image).cloned().collect()
}
