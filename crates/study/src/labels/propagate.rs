//! Registers atlases to a target, and resamples their images and labels on the target's grid.

use std::path::{Path, PathBuf};
use std::time::Instant;

use antsreg_core::{AffineTransform, DisplacementField, Grid, LabelVolume, Volume};
use antsreg_kernels::apply;
use antsreg_pool::{DeviceWorkers, Opening, StageThreads, Worker};
use antsreg_register::linear::Start;
use antsreg_register::{
    self as register, Computed, Description, Grids, Image, Recipe, Registration, Side, Warning, WarpedImages,
};

use super::fusion::{CarriedAtlas, Comparing, Fusion, Votes};
use super::load::LoadedAtlas;
use super::options::LabelOptions;
use super::progress::{LabelsProgress, Registered};
use crate::pair::{StartFile, check_in_plane, name_files};
use crate::skulls::{ExtractedRecord, Role, Skull};
use crate::transforms::check_of_volumes;
use crate::{Error, bias, inputs};

/// Numbers of threads for the work before and after each registration. Before a registration one thread suffices,
/// because the atlases are in memory already. After the registrations the images are resampled by as many threads as a
/// GPU has workers, because a few atlases are registered at the same time and are ready at the same time.
const THREADS: StageThreads = StageThreads { readers: 1, writers: 4 };

/// The image that gets labels.
#[derive(Debug)]
pub(super) struct Target {
    /// Name of the target.
    pub name: String,
    /// Path of the target's image.
    pub path: PathBuf,
    /// The target's image, with its mask if there is a mask.
    pub side: Side,
    /// The whole head, if its extracted brain is registered instead.
    pub skull: Option<Skull>,
}
/// The image of a target or an atlas, whose shading may be removed and from which the brain may be extracted.
pub(super) struct Head<'a> {
    /// Name of the target or the atlas.
    pub name: &'a str,
    /// Path of the image.
    pub path: &'a Path,
    /// Role of the image in the registrations: always fixed, always moving, or fixed in some and moving in others.
    pub role: Role,
    /// The target's or the atlas's image with its mask. If the brain is extracted, the image of the brain replaces this
    /// image.
    pub side: &'a mut Side,
    /// Receives the whole head and its brain mask when the brain has been extracted.
    pub skull: &'a mut Option<Skull>,
}

/// An atlas that was registered to the target and resampled on the target's grid.
#[derive(Debug)]
pub(super) struct Propagated {
    /// Name of the atlas.
    pub name: String,
    /// The atlas's image on the target's grid: the brain, if the brain was registered instead of the head.
    pub image: Volume,
    /// The whole head on the target's grid, if the brain of the atlas was registered and the transforms are kept.
    pub head: Option<Volume>,
    /// The atlas's labels on the target's grid.
    pub labels: LabelVolume,
    /// Correlation of the atlas's image with the target's image, inside the target's mask.
    pub correlation: Option<f64>,
    /// The brain of the atlas's image, if it was registered in the place of the whole head.
    pub brain: Option<ExtractedRecord>,
    /// Affine transform from points of the target to points of the atlas, RAS mm.
    pub affine: AffineTransform,
    /// The warp and its inverse, displacements in RAS mm on the grid of the target, if they are kept. The warp is
    /// applied to points before the affine transform.
    pub warps: Option<[DisplacementField; 2]>,
}

/// Registers atlases to one target after the other. The devices are opened once for all targets.
pub(super) struct Propagation<'a> {
    options: &'a LabelOptions,
    start: Start,
    keep_warps: bool,
    workers: DeviceWorkers,
}

impl<'a> Propagation<'a> {
    /// Waits for the devices, which are being opened, for the registration of `atlases` to targets on the grids `targets`.
    ///
    /// # Errors
    /// An initial transform that cannot be read; levels of the registration that do not suit a grid; a device that
    /// cannot be used.
    pub fn new(
        options: &'a LabelOptions,
        devices: Opening,
        keep_warps: bool,
        atlases: &[LoadedAtlas],
        targets: &[&Grid],
        progress: &dyn LabelsProgress,
    ) -> Result<Propagation<'a>, Error> {
        let start = options.start.read()?;
        let masked = atlases.iter().any(|atlas| atlas.side.mask.is_some());
        let (devices, note) = devices.for_window(options.recipe.too_wide_for_gpu(masked))?;
        note.iter().for_each(|note| progress.device(note));
        let registration = |grid: &Grid| registration(options, start, keep_warps, grid);
        let needed_bytes = || {
            let largest = atlases.iter().map(|atlas| atlas.side.grid()).max_by_key(|grid| grid.len());
            let needed = |target: &&Grid| {
                let images = [*target, largest.unwrap_or(target)];
                let grids = Grids { images, channels: Default::default(), masked: [masked; 2] };
                let options = registration(target)?;
                Ok(options.device_bytes(&grids) + options.prepared_device_bytes(&grids))
            };
            let all = targets.iter().map(needed).collect::<Result<Vec<u64>, Error>>()?;
            Ok::<_, Error>(all.into_iter().max().unwrap_or(0))
        };
        let workers = DeviceWorkers::new(devices, needed_bytes)?.all()?;
        workers.notes().try_iter().for_each(|note| progress.device(&note));
        Ok(Propagation { options, start, keep_warps, workers })
    }

    /// The devices on which atlases are registered, each listed once.
    pub fn devices(&self) -> Vec<Description> {
        let mut devices = self.workers.devices();
        devices.dedup();
        devices
    }

    /// The options of registration and fusion.
    pub fn options(&self) -> &'a LabelOptions {
        self.options
    }

    /// Removes the shading of images on the devices. `done` is called for each image, with its index in `heads` and the
    /// result.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn remove_shading(
        &mut self,
        heads: &mut [Head],
        mut done: impl FnMut(usize, Result<(), Error>),
    ) -> Result<(), Error> {
        let jobs: Vec<(usize, (&Path, &mut Image))> =
            heads.iter_mut().map(|head| (head.path, &mut head.side.image)).enumerate().collect();
        let remove = |worker: &mut Worker, (number, (path, image)): (usize, (&Path, &mut Image))| {
            let corrected = image.volume().map_err(Error::from);
            let corrected = corrected.and_then(|volume| bias::corrected_on(worker, path, volume));
            (number, corrected.map(|volume| *image = volume.into()))
        };
        self.workers.run(
            jobs,
            THREADS,
            |job| job,
            remove,
            |done| done,
            |(number, found)| {
                done(number, found);
            },
        )?;
        Ok(())
    }

    /// Extracts the brains of heads on the devices. `done` is called for each head, with its index, its name, and the
    /// record of its brain.
    ///
    /// # Errors
    /// A thread that cannot be started; levels of the registration that do not suit a grid.
    pub fn extract_brains<'h>(
        &mut self,
        heads: Vec<(usize, Head<'h>)>,
        mut done: impl FnMut(usize, &str, Result<ExtractedRecord, Error>),
    ) -> Result<(), Error> {
        let jobs = heads.into_iter().map(|(number, head)| Ok((number, self.registration(head.side.grid())?, head)));
        let extract = |worker: &mut Worker, (number, options, head): (usize, register::Options, Head<'h>)| {
            let Head { name, path, side, skull, .. } = head;
            let found = Skull::remove_on(worker, &options, path, side);
            let found = found.map(|found| skull.insert(found).record.clone());
            (number, name, found)
        };
        let jobs = jobs.collect::<Result<Vec<_>, Error>>()?;
        self.workers.run(
            jobs,
            THREADS,
            |job| job,
            extract,
            |done| done,
            |(number, name, found)| {
                done(number, name, found);
            },
        )?;
        Ok(())
    }

    /// Options of the registration of an atlas to a target on the grid `target`.
    ///
    /// # Errors
    /// Degrees of freedom or levels of the registration that do not suit the grid.
    pub fn registration(&self, target: &Grid) -> Result<register::Options, Error> {
        registration(self.options, self.start, self.keep_warps, target)
    }

    /// Registers every atlas to the target and resamples it. The results are in the order of the atlases; an atlas
    /// that fails has its error as result.
    ///
    /// # Errors
    /// Errors that concern all atlases: options that do not fit the target, a device or a thread that fails.
    pub fn run(
        &mut self,
        target: &Target,
        atlases: &[&LoadedAtlas],
        progress: &dyn LabelsProgress,
    ) -> Result<Vec<Result<Propagated, Error>>, Error> {
        let options = self.registration(target.side.grid())?;
        self.check(target, atlases, &options)?;
        let (start, interpolation, shown) = (&self.options.start, self.options.interpolation, self.keep_warps);
        let mut results: Vec<Option<Result<Propagated, Error>>> = atlases.iter().map(|_| None).collect();
        let mut jobs = Vec::new();
        for (number, atlas) in atlases.iter().enumerate() {
            match check_pair(target, atlas, start, &self.start) {
                Ok(()) => jobs.push(number),
                Err(error) => results[number] = Some(Err(error.of_atlas(&atlas.name))),
            }
        }
        let prepared = antsreg_pool::Target::new(target.side.clone(), options.clone());
        let register = |worker: &mut Worker, number: usize| {
            let (began, atlas) = (Instant::now(), atlases[number]);
            let files = [target.path.as_path(), &atlas.path];
            let computed = worker.register(&prepared, &atlas.side, &mut (), |found| found.download());
            let computed =
                computed.map_err(|error| name_files(error, files, [target.side.grid(), atlas.side.grid()], start));
            (number, computed, began.elapsed().as_secs_f64())
        };
        let bring = |(number, computed, seconds): (usize, Result<Computed, Error>, f64)| {
            let atlas = atlases[number];
            let found = computed.and_then(|found| Ok(found.finish([&target.side, &atlas.side], &options)?));
            let brought = found.and_then(|found| bring(target, atlas, found, interpolation, shown));
            (number, brought.map_err(|error| error.of_atlas(&atlas.name)), seconds)
        };
        let mut done = 0;
        self.workers.run(
            jobs,
            THREADS,
            |job| job,
            register,
            bring,
            |(number, brought, seconds)| {
                done += 1;
                results[number] = Some(brought.map(|(brought, warnings)| {
                    let Propagated { name, correlation, .. } = &brought;
                    warnings.iter().for_each(|warning| progress.warning(&target.name, name, warning));
                    let of = atlases.len();
                    progress
                        .registered(&target.name, &Registered { name, done, of, seconds, correlation: *correlation });
                    brought
                }));
            },
        )?;
        Ok(results.into_iter().flatten().collect())
    }

    /// Compares the images of atlases that were registered to the target and resampled, for the fusion of their labels.
    /// No further atlas is registered to this target.
    ///
    /// # Errors
    /// The errors of [`Fuser::compare`].
    pub fn compare<'t>(
        &mut self,
        fusion: &Fusion,
        target: &Target,
        atlases: &'t [Propagated],
    ) -> Result<Votes<'t>, Error> {
        self.workers.release_prepared();
        compare(self.workers.one(), fusion, target, atlases)
    }

    /// Makes a fuser of labels, which works beside the registrations on one of the devices.
    ///
    /// # Errors
    /// A GPU that fails.
    pub fn fuser(&mut self) -> Result<Fuser, Error> {
        Ok(Fuser(self.workers.one().beside()?))
    }

    /// Releases the devices in the background. No further registration or fusion is possible.
    pub fn release_devices(&mut self) {
        self.workers.release_idle();
    }

    /// Checks for errors that would occur with every atlas.
    fn check(&self, target: &Target, atlases: &[&LoadedAtlas], options: &register::Options) -> Result<(), Error> {
        options.check()?;
        options.check_levels(target.side.grid())?;
        if let StartFile::File(file) = &self.options.start
            && !target.side.grid().is_slice()
        {
            check_of_volumes(file)?;
        }
        let masked = target.side.mask.is_some() || atlases.iter().any(|atlas| atlas.side.mask.is_some());
        match options.too_wide_for_gpu(masked).filter(|_| self.workers.are_gpus()) {
            Some(too_wide) => Err(register::Error::Window(too_wide).into()),
            None => Ok(()),
        }
    }
}

/// Fuses the labels of atlases on one device.
pub(super) struct Fuser(Worker);

impl Fuser {
    /// Compares the images of atlases that were registered to the target and resampled, for the fusion of their labels.
    /// All devices find the same.
    ///
    /// # Errors
    /// Options out of range; a device that fails.
    pub fn compare<'t>(
        &self,
        fusion: &Fusion,
        target: &Target,
        atlases: &'t [Propagated],
    ) -> Result<Votes<'t>, Error> {
        compare(&self.0, fusion, target, atlases)
    }
}

/// Compares the images of atlases with the image of the target on the device of a worker.
fn compare<'t>(
    worker: &Worker,
    fusion: &Fusion,
    target: &Target,
    atlases: &'t [Propagated],
) -> Result<Votes<'t>, Error> {
    let carried = atlases.iter().map(|atlas| CarriedAtlas { image: &atlas.image, labels: &atlas.labels });
    let carried: Vec<CarriedAtlas> = carried.collect();
    worker.run_here_or_on_cpu(Comparing { fusion, target: target.side.image.volume()?, atlases: &carried })
}

/// Options of the registration of an atlas to a target on the grid `target`. The registration returns the image of the
/// atlas on the grid of the target, and no scores.
fn registration(
    options: &LabelOptions,
    start: Start,
    inverse_warp: bool,
    target: &Grid,
) -> Result<register::Options, Error> {
    let image = WarpedImages { interpolation: register::Interpolation::Linear, warped: true, inverse_warped: false };
    let recipe = Recipe { start, inverse_warp, scores: false, images: Some(image), ..options.recipe.clone() };
    Ok(recipe.options(target.shape)?)
}

/// Checks that no slice is registered to a volume, and that the initial transform does not move a slice out of its
/// plane.
fn check_pair(target: &Target, atlas: &LoadedAtlas, start_file: &StartFile, start: &Start) -> Result<(), Error> {
    let grids = [target.side.grid(), atlas.side.grid()];
    inputs::check_alike([&target.path, &atlas.path], grids)?;
    check_in_plane(start_file, start, grids)
}

/// Resamples the labels of an atlas on the grid of the target, and the image if the registration has not done so. Also
/// returns the warnings about the registration.
fn bring(
    target: &Target,
    atlas: &LoadedAtlas,
    found: Registration,
    interpolation: apply::LabelInterpolation,
    shown: bool,
) -> Result<(Propagated, Vec<Warning>), Error> {
    let Registration { affine, forward, backward, warped, similarity, warnings, .. } = found;
    let grid = target.side.grid();
    let image = match warped {
        Some(image) => image,
        None => apply::resample(atlas.side.image.volume()?, grid, &forward, apply::Interpolation::Linear, 0.0),
    };
    let head = atlas.skull.as_ref().filter(|_| shown);
    let head = head.map(|skull| skull.resampled(grid, &forward, register::Interpolation::Linear));
    let labels = apply::resample_labels(&atlas.labels, grid, &forward, interpolation);
    // The inverse warp is computed only if the warps are kept; else `warps` is `None`.
    let inverse = backward.into_displacement();
    let warps = inverse.and_then(|inverse| Some([forward.into_displacement()?, inverse]));
    let brain = atlas.skull.as_ref().map(|skull| skull.record.clone());
    let name = atlas.name.clone();
    let correlation = similarity.correlation;
    Ok((Propagated { name, image, head, labels, correlation, brain, affine, warps }, warnings))
}
