//! Runs a longitudinal study from files to files.

use std::path::{Path, PathBuf};

use antsreg_cohort::longitudinal::fraction;
use antsreg_core::io::outputs::{self, Outputs};
use antsreg_core::io::{itk, nifti};
use antsreg_core::{DisplacementField, Grid};
use antsreg_register::DeviceChoice;
use antsreg_register::Opened;

use super::align::{Aligned, align, share};
use super::deform::{Common, subtract_mean};
use super::measure::{Measured, measure};
use super::read::{AsRead, Image, read};
use super::record::{PROGRAM, PointRecord, Record, earlier, fingerprint, keep, write_json};
use super::{Names, Options, TimePoint, table};
use crate::observer::{Event, Invocation, Observer, RunWarning};
use crate::{Error, FileIdentity, WrittenFile};

/// A longitudinal study: time points, options, folder and device.
#[derive(Debug, Clone)]
pub struct Request {
    /// The time points, as [`time_points`](super::time_points) gives them.
    pub points: Vec<TimePoint>,
    /// Folder of all outputs, which is created.
    pub folder: PathBuf,
    /// Options.
    pub options: Options,
    /// Whether intermediate results of an earlier run are taken, if they were made from the same data by the same options.
    pub resume: bool,
    /// Tables and folders from which the time points were read. No output may replace them.
    pub sources: Vec<PathBuf>,
    /// The device.
    pub device: DeviceChoice,
}

/// A study whose images have been read. Nothing has been written.
#[derive(Debug)]
pub struct Plan<'a> {
    request: &'a Request,
    /// Names of the output files.
    pub names: Names,
    images: Vec<AsRead>,
    opened: Opened,
}

/// A finished study whose files are written.
#[derive(Debug)]
pub struct Done {
    /// The record.
    pub record: Record,
    /// Paths of the files.
    pub paths: Vec<PathBuf>,
}

/// Runs a study.
///
/// # Errors
/// The errors of [`plan`] and [`Plan::run`].
pub fn run(request: &Request, invocation: &Invocation, observer: &mut dyn Observer) -> Result<Done, Error> {
    plan(request, observer)?.run(invocation, observer)
}

/// Reads the images while the device is opened. Nothing is written.
///
/// # Errors
/// Files that cannot be read, or do not fit each other; a device that cannot be used; a folder whose name a file has.
pub fn plan<'a>(request: &'a Request, observer: &mut dyn Observer) -> Result<Plan<'a>, Error> {
    let names = Names::new(&request.folder, &request.points);
    outputs::check_folder(&request.folder)?;
    check_own(&names.record)?;
    let (images, opened) = request.device.open_during(|| read(&request.points));
    let (images, opened) = (images?, opened?);
    opened.note().iter().for_each(|note| observer.tell(&Event::Device(note)));
    Ok(Plan { request, names, images, opened })
}

/// Refuses a folder with the record of another program, whose files would be mixed with those of the study.
fn check_own(record: &Path) -> Result<(), Error> {
    let Ok(text) = std::fs::read(record) else { return Ok(()) };
    let found: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
    match found.as_ref().and_then(|found| found.get("program")).and_then(serde_json::Value::as_str) {
        Some(PROGRAM) => Ok(()),
        _ => Err(Error::NotOwn { path: record.into() }),
    }
}

impl Plan<'_> {
    /// The grids of the time points, in their order.
    pub fn grids(&self) -> Vec<&Grid> {
        let mut images: Vec<&AsRead> = self.images.iter().collect();
        images.sort_by_key(|image| image.point);
        images.into_iter().map(|image| &image.image.grid).collect()
    }

    /// Aligns and registers the time points, and writes all files. The files that the user gets appear together at the end.
    ///
    /// # Errors
    /// Outputs that cannot be written or would replace an input; a brain that cannot be found; a registration that fails or
    /// was stopped; a device that fails.
    pub fn run(self, invocation: &Invocation, observer: &mut dyn Observer) -> Result<Done, Error> {
        let Plan { request, names, images, opened } = self;
        let Request { points, options, .. } = request;
        outputs::make_folder(&request.folder)?;
        outputs::make_folder(&names.steps)?;
        let inputs = || points.iter().flat_map(TimePoint::inputs);
        outputs::check(names.all(), inputs().chain(request.sources.iter().map(PathBuf::as_path)))?;
        let files_read = FileIdentity::of_all(inputs());
        let device = opened.device;
        observer.device(&device);
        let mut ready = Vec::new();
        for image in images {
            ready.push(image.with_brain(points, options.brain, &device, observer)?);
        }
        let images: Vec<Image> = ready;
        let study = Study { request, names: &names, images: &images };
        let aligned = study.aligned(&device, observer)?;
        if let Some(verdict) = &aligned.verdict {
            verdict.reasons.iter().for_each(|text| observer.tell(&Event::Warning(&RunWarning::Text(text.clone()))));
        }
        let common = Common::new(&images, &aligned.poses)?;
        let mut warps = Vec::new();
        for place in 0..images.len() {
            let warp = study.warp(&common, &aligned, place, &device, observer)?;
            warps.push(fraction(&warp, share(images.len())));
        }
        subtract_mean(&mut warps);
        let measured = measure(&images, &aligned.poses, &common, warps)?;
        study.write(&measured, &common, aligned, files_read, &device, invocation, observer)
    }
}

/// A study while it runs.
struct Study<'a> {
    request: &'a Request,
    names: &'a Names,
    images: &'a [Image],
}

impl Study<'_> {
    /// What all registrations depend on: the options and the images, in their order.
    fn basis(&self) -> (Options, Vec<&str>, Vec<bool>) {
        let digests = self.images.iter().map(|image| image.digest.as_str()).collect();
        let beyond = self.images.iter().map(|image| image.beyond_brain).collect();
        (self.request.options, digests, beyond)
    }

    /// The time points in the common space, of an earlier run if possible.
    fn aligned(&self, device: &antsreg_register::Device, observer: &mut dyn Observer) -> Result<Aligned, Error> {
        let Request { points, options, resume, .. } = self.request;
        let path = self.names.steps.join("poses.json");
        let masks: Vec<Option<FileIdentity>> =
            self.images.iter().map(|image| FileIdentity::of(points[image.point].mask.as_deref()?)).collect();
        let names: Vec<&str> = self.images.iter().map(|image| points[image.point].name.as_str()).collect();
        let fingerprint = fingerprint(&path, &(self.basis(), masks, names, options.linear()))?;
        if let Some(aligned) = resume.then(|| earlier(&path, &fingerprint)).flatten() {
            observer.tell(&Event::Step("poses: done before"));
            return Ok(aligned);
        }
        let aligned = align(self.images, points, options, device, observer)?;
        keep(&path, &fingerprint, &aligned, None)?;
        Ok(aligned)
    }

    /// The warp from the common space to the image at `place`, by the mean of the others; of an earlier run if possible.
    fn warp(
        &self,
        common: &Common,
        aligned: &Aligned,
        place: usize,
        device: &antsreg_register::Device,
        observer: &mut dyn Observer,
    ) -> Result<DisplacementField, Error> {
        let Request { points, options, resume, .. } = self.request;
        let (image, recipe) = (&self.images[place], options.deformable(&common.grid));
        let (files, name) = (&self.names.points[image.point], &points[image.point].name);
        let fingerprint = fingerprint(&files.step, &(self.basis(), &aligned.poses, &recipe, place))?;
        if *resume && earlier::<()>(&files.step, &fingerprint).is_some() {
            observer.tell(&Event::Step(&format!("{name}: warp done before")));
            return Ok(DisplacementField { grid: common.grid.clone(), ..itk::read_warp(&files.step_warp)? });
        }
        let warp = common.warp(place, &recipe, device, observer)?;
        observer.tell(&Event::Step(&format!("{name}: registered to the mean of the others")));
        let write = |to: &Path| Ok(itk::write_warp(to, &warp)?);
        keep(&files.step, &fingerprint, &(), Some((files.step_warp.as_path(), &write)))?;
        Ok(warp)
    }

    /// Writes all files, the record last.
    #[expect(clippy::too_many_arguments, reason = "all results of the study come together here")]
    fn write(
        &self,
        measured: &Measured,
        common: &Common,
        aligned: Aligned,
        files_read: Vec<FileIdentity>,
        device: &antsreg_register::Device,
        invocation: &Invocation,
        observer: &mut dyn Observer,
    ) -> Result<Done, Error> {
        let Study { request, names, images } = self;
        let points = &request.points;
        let mut place_of = vec![0; points.len()];
        images.iter().enumerate().for_each(|(place, image)| place_of[image.point] = place);
        let rows = measured.rows(points, &place_of, common)?;
        let mut outputs = Outputs::new();
        outputs.write::<Error>(&names.template, |path| Ok(nifti::write_volume(path, &measured.template)?))?;
        outputs.write::<Error>(&names.mask, |path| Ok(nifti::write_volume(path, &common.mask)?))?;
        if let (Some(path), Some((labels, _))) = (&names.labels, &measured.labels) {
            outputs.write::<Error>(path, |path| Ok(nifti::write_labels(path, labels)?))?;
        }
        for ((point, place), files) in points.iter().zip(&place_of).zip(&names.points) {
            let years = point.years.zip(points[0].years).map(|(now, first)| now - first).filter(|years| *years > 0.0);
            let pose = &aligned.poses[*place];
            measured.write_point(&mut outputs, files, [*place, place_of[0]], pose, common, years)?;
        }
        outputs.write(&names.table, |path| table::write(path, &rows))?;
        let files_written = outputs.written()?.into_iter().map(|(path, bytes)| WrittenFile { path, bytes }).collect();
        let of_point = |(point, place): (&TimePoint, &usize)| {
            let image = &images[*place];
            PointRecord::new(point, &image.digest, &aligned.poses[*place], image.extracted.clone())
        };
        let record = Record {
            program: PROGRAM.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            command_line: invocation.command_line.to_vec(),
            device: device.description().clone(),
            threads: invocation.threads,
            options: request.options,
            deformable: request.options.deformable(&common.grid),
            time_points: points.iter().zip(&place_of).map(of_point).collect(),
            disagreement_mm: aligned.disagreement_mm,
            verdict: aligned.verdict,
            volumes: rows,
            seconds: invocation.began.elapsed().as_secs_f64(),
            files_read,
            files_written,
        };
        write_json(&mut outputs, &names.record, &record)?;
        let paths = outputs.commit()?;
        paths.iter().for_each(|path| observer.tell(&Event::Wrote(path)));
        Ok(Done { record, paths })
    }
}
