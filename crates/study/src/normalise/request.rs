//! The input of a normalisation (raw scans of heads are brought to a template) as plain data, and the batch of
//! registrations made from this input.

use std::collections::BTreeMap;
use std::path::PathBuf;

use antsreg_pool::Devices;
use antsreg_register::{Interpolation, Recipe, WarpedImages};

use super::dataset::Dataset;
use super::listing::Scan;
use super::names::{BidsName, Derivatives, Place};
use super::shard::Shard;
use super::space::Space;
use super::steps::{Normalising, Task};
use crate::batch::{self, BatchObserver, Job, OfAll, Order, Outcome, Study};
use crate::bias::Corrected;
use crate::pair::{FixedInputs, Format, Labels, PairFiles, StartFile, Writing};
use crate::skulls::BrainChoice;
use crate::subjects;
use crate::{Error, Invocation, brain};

/// Where the derivatives (in BIDS: images, transforms and masks made from a scan) are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Derivatives are written into the BIDS dataset in this folder.
    Dataset(PathBuf),
    /// Derivatives of one scan are written under file names that begin with this prefix, which includes the folder.
    Prefix(String),
}

/// The input of a normalisation (raw scans of heads are brought to a template): the scans, the template, options and
/// outputs.
#[derive(Debug, Clone)]
pub struct Request {
    /// All scans. If there is a shard (one of n equal shares of the scans), only the scans of the shard are processed.
    pub scans: Vec<Scan>,
    /// The shard (one of n equal shares of the scans) to process; `None` for all scans.
    pub shard: Option<Shard>,
    /// Where the derivatives (in BIDS: images, transforms and masks made from a scan) are written.
    pub output: Output,
    /// The template space to which heads are registered.
    pub space: Space,
    /// Whether the shading is removed from the scans.
    pub bias: bool,
    /// Options of the registration of the brains.
    pub recipe: Recipe,
    /// The initial transform of each registration.
    pub start: StartFile,
    /// Interpolation of the images.
    pub interpolation: Interpolation,
    /// Whether an HTML page is written for each scan.
    pub page: bool,
}

/// A normalisation that is ready to run: the batch of registrations made from a request.
#[derive(Debug)]
pub struct Normalisation {
    /// The registrations of all scans.
    pub study: Study,
    /// The work on each scan before and after the registration of its brain: extraction of the brain, then resampling
    /// of the whole head.
    pub steps: Normalising,
    /// The files that describe all scans together.
    of_all: OfAll,
    /// The folders that must exist before the files are written.
    folders: Vec<PathBuf>,
    /// The template space to which heads are registered.
    space: Space,
}

impl Request {
    /// Makes the batch of registrations for this normalisation.
    ///
    /// # Errors
    /// Several scans for one prefix of output files; scans whose derivatives would have the same names; the built-in
    /// template is damaged.
    pub fn plan(&self) -> Result<Normalisation, Error> {
        let (place, dataset) = match &self.output {
            Output::Dataset(folder) => (Place::Dataset(folder.clone()), Some(Dataset::of(folder, &self.scans))),
            Output::Prefix(prefix) if self.scans.len() == 1 => (Place::Prefix(prefix.clone()), None),
            Output::Prefix(prefix) => {
                return Err(subjects::Error::OnePrefix { prefix: prefix.clone(), found: self.scans.len() }.into());
            }
        };
        let mut tasks = BTreeMap::new();
        let mut jobs = Vec::new();
        let mut starts: BTreeMap<String, &Scan> = BTreeMap::new();
        for (number, scan) in self.scans.iter().enumerate() {
            let derivatives =
                Derivatives::new(place.clone(), BidsName::of(&scan.name, &scan.image), &self.space.name);
            if let Some(first) = starts.insert(derivatives.start().to_lowercase(), scan) {
                return Err(subjects::Error::Twice {
                    names: [first, scan].map(|one| one.name.clone()),
                    images: [first, scan].map(|one| one.image.clone()),
                }
                .into());
            }
            if !self.shard.is_none_or(|shard| shard.has(number)) {
                continue;
            }
            let suffixes: Vec<String> = scan.carried.iter().map(|(suffix, _)| suffix.clone()).collect();
            let names = derivatives.names(&suffixes, self.page);
            let carried = scan.carried.iter().map(|(_, path)| path.clone()).collect();
            let moving = [Some(scan.image.clone()), scan.mask.clone()];
            let mut files = self.files(moving, carried, derivatives.start());
            files.report.clone_from(&names.report);
            files.moving_lesions.clone_from(&scan.lesions);
            jobs.push(Job { name: scan.name.clone(), files, names });
            tasks.insert(scan.name.clone(), Task { scan: scan.clone(), derivatives });
        }
        let images = WarpedImages { interpolation: self.interpolation, warped: false, inverse_warped: false };
        let recipe = Recipe { images: Some(images), inverse_warp: true, ..self.recipe.clone() };
        let steps = Normalising {
            template: brain::built_in_template(None)?,
            space: self.space.clone(),
            interpolation: self.interpolation,
            tasks,
        };
        let of_jobs = steps.tasks.values().flat_map(|task| task.derivatives.folders());
        let folders = dataset.iter().map(|dataset| dataset.folder.clone()).chain(of_jobs).collect();
        let of_all = self.of_all(dataset.as_ref())?;
        let shared = self.files([None, None], Vec::new(), String::new());
        let masked = jobs.iter().any(|job: &Job| !job.files.moving_lesions.is_empty());
        let study = Study { shared, recipe, jobs, masked };
        Ok(Normalisation { study, steps, of_all, folders, space: self.space.clone() })
    }

    /// The files that describe all scans together. With a shard, there is no summary table and no page about all scans,
    /// because they would contain only this share.
    fn of_all(&self, dataset: Option<&Dataset>) -> Result<OfAll, Error> {
        let Some(dataset) = dataset else { return Ok(OfAll::default()) };
        let all = self.shard.is_none();
        Ok(OfAll {
            summary: all.then(|| batch::summary_name(&dataset.folder)),
            page: (all && self.page).then(|| batch::page_name(&dataset.folder)),
            texts: dataset.texts()?,
        })
    }

    fn files(&self, [moving, moving_mask]: [Option<PathBuf>; 2], carried: Vec<PathBuf>, prefix: String) -> PairFiles {
        PairFiles {
            fixed: self.space.path(),
            moving: moving.unwrap_or_default(),
            channels: Vec::new(),
            fixed_mask: self.space.mask().map(Into::into),
            white_matter: None,
            moving_mask,
            fixed_lesions: Vec::new(),
            moving_lesions: Vec::new(),
            carried,
            bias: if self.bias { Corrected::Moving } else { Corrected::None },
            labels: Labels::default(),
            start: self.start.clone(),
            brain: BrainChoice::Both,
            prefix,
            writing: Writing { format: Format::NiiGz, composite: true, ..Writing::default() },
            report: None,
        }
    }
}

impl Normalisation {
    /// Reads the fixed side of the registrations: the brain of the template.
    ///
    /// # Errors
    /// Files that cannot be read or do not fit each other.
    pub fn fixed(&self) -> Result<FixedInputs, Error> {
        let (side, identities) = self.space.read()?;
        let start = &self.study.shared.start;
        let mut fixed = FixedInputs::of_side(side, start.read()?, start.clone());
        fixed.identities = identities;
        Ok(fixed)
    }

    /// How the registrations are run on `devices`. `sources` are the files and folders from which the scans were listed.
    pub fn order<'a>(
        &self,
        devices: &'a Devices,
        workers: Option<usize>,
        resume: bool,
        sources: &'a [PathBuf],
    ) -> Order<'a> {
        Order { devices, workers, resume, folders: self.folders.clone(), sources, of_all: self.of_all.clone() }
    }

    /// Reads the template and the subjects' records of earlier runs. Nothing is written.
    ///
    /// # Errors
    /// The errors of [`batch::plan`].
    pub fn plan<'a>(
        &'a self,
        order: &'a Order<'a>,
        observer: &dyn BatchObserver,
    ) -> Result<batch::Plan<'a, Normalising>, Error> {
        batch::plan(&self.study, order, &self.steps, || self.fixed(), observer)
    }
}

/// Normalises scans and writes their derivatives.
///
/// # Errors
/// The errors of [`batch::run`].
pub fn run(
    normalisation: &Normalisation,
    order: &Order,
    invocation: &Invocation,
    observer: &dyn BatchObserver,
) -> Result<Outcome, Error> {
    normalisation.plan(order, observer)?.run(invocation, observer)
}
