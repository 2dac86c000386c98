//! Extracts the brain of each head before its registration to the template, and resamples the whole head after the
//! registration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use antsreg_core::io::outputs::{Writing, write_file};
use antsreg_core::io::{itk, nifti};
use antsreg_core::{LabelVolume, Transform, TransformChain, Volume};
use antsreg_heads::brain::{Contrast, Template, device_bytes, in_contrast_of, mask_of_brain, without_skull};
use antsreg_kernels::apply::{self, LabelInterpolation};
use antsreg_pool::Worker;
use antsreg_register::verdict::Verdict;
use antsreg_register::{Device, Interpolation, Options, Registration, Side};
use rayon::prelude::*;
use serde_json::Value;

use super::carried::{Carried, align};
use super::contrast;
use super::listing::Scan;
use super::names::Derivatives;
use super::sidecar::{self, source};
use super::space::Space;
use crate::batch::{FixedSide, Job, Steps};
use crate::brain::BrainRecord;
use crate::pair::{FixedInputs, Further, HeadRecord, Inputs};
use crate::{Error, bias, brain, inputs};

/// A scan and the names of its BIDS derivatives: the files that the normalisation writes for the scan.
#[derive(Debug, Clone)]
pub struct Task {
    /// The scan.
    pub scan: Scan,
    /// BIDS names of the scan's derivatives: the images, transforms and masks made from the scan.
    pub derivatives: Derivatives,
}

/// The steps of a normalisation: the brain is extracted before the registration, and the whole head is resampled
/// after it.
#[derive(Debug)]
pub struct Normalising {
    /// The head template by which brains are extracted.
    pub template: Template,
    /// The template space to which heads are registered.
    pub space: Space,
    /// Interpolation of the scans.
    pub interpolation: Interpolation,
    /// Each scan with the BIDS names of its derivatives (images, transforms and masks made from the scan). The key is
    /// the name of the scan in the batch of registrations.
    pub tasks: BTreeMap<String, Task>,
}

/// A scanned head whose brain was extracted, with other images of the same head.
#[derive(Debug)]
pub struct Prepared {
    head: Arc<Volume>,
    mask: Arc<Volume>,
    record: HeadRecord,
    warnings: Vec<String>,
    verdict: Option<Verdict>,
    carried: Vec<Carried>,
    /// The fixed side as read, if the fixed image was made in the contrast of the scan.
    as_read: Option<Side>,
}

impl Normalising {
    fn task(&self, job: &Job) -> &Task {
        &self.tasks[&job.name]
    }
}

impl Steps for Normalising {
    type Read = Vec<Arc<Volume>>;
    type Prepared = Prepared;

    fn read(&self, fixed: FixedInputs, job: &Job) -> Result<(Inputs, Vec<Arc<Volume>>), Error> {
        let inputs = Inputs::beside(fixed, &job.files)?;
        let image = |path: &PathBuf| inputs::image(path).map(Arc::new);
        let further = job.files.carried.iter().map(image).collect::<Result<_, _>>()?;
        Ok((inputs, further))
    }

    fn prepare(
        &self,
        worker: &mut Worker,
        options: &Options,
        fixed: &FixedSide,
        job: &Job,
        inputs: &mut Inputs,
        further: Vec<Arc<Volume>>,
    ) -> Result<Prepared, Error> {
        // No brain is extracted from a scan or a template that shows a brain alone, or that has a mask.
        let [of_template, of_scan] = job.files.brain.sides(inputs.sides())?;
        if of_template {
            fixed.extract_own(worker, job, inputs)?;
        }
        let head = inputs.moving.image.volume()?.clone();
        let given = inputs.moving.mask.of_stage(0).cloned();
        let (mut warnings, mut verdict, mut to_template) = (self.task(job).scan.left_out.clone(), None, None);
        let is_given = given.is_some();
        let (mask, found) = match given {
            Some(mask) => (mask, None),
            None if !of_scan => (Arc::new(mask_of_brain(&head)), None),
            None => {
                let bytes = device_bytes(&self.template, &head.grid);
                let compared = inputs.moving.compared()?;
                let seen = compared.image.volume()?;
                let find =
                    |device: &Device| brain::find(&job.files.moving, seen, &self.template, device.clone(), &mut ());
                let found = worker.with_device(bytes, find)?;
                warnings.extend(found.warnings.iter().map(ToString::to_string));
                (verdict, to_template) = (Some(found.verdict()), Some(found.head_to_template));
                let record = BrainRecord::from(&found);
                (Arc::new(found.mask), Some(record))
            }
        };
        let scan = &self.task(job).scan;
        let found_contrast = found.as_ref().map(|found| found.contrast);
        let of_template = inputs.skulls[0].as_ref().map(|skull| skull.record.found.contrast);
        warnings.extend(contrast::warnings(&scan.image, found_contrast, of_template, options));
        let mut carried = Vec::new();
        for (mut image, (suffix, path)) in further.into_iter().zip(&self.task(job).scan.carried) {
            if job.files.bias.moving() {
                image = Arc::new(bias::corrected_on(worker, path, &image)?);
            }
            let rigid = align(worker, &head, &image, [&job.files.moving, path])?;
            carried.push(Carried { path: path.clone(), suffix: suffix.clone(), image, rigid });
        }
        let lesion = inputs.moving.lesion.take();
        if let Some(lesion) = &lesion {
            let name = &job.files.moving;
            inputs::check_lesion(lesion, name, name, |n| mask.voxels[n] > 0.5)?;
        }
        let brain = without_skull(&head, &mask);
        let is_other = contrast::of_scan(&scan.image, found_contrast) != Contrast::T1;
        let made = to_template
            .filter(|_| is_other && self.space.template.is_none())
            .and_then(|to_template| in_contrast_of(&brain, &self.template, &to_template));
        let as_read = made.is_some().then(|| inputs.fixed.side.clone());
        inputs.moving = Side { lesion, ..Side::new(brain) };
        let record = HeadRecord {
            brain_cm3: inputs::mask_cm3(&mask),
            found,
            without_skull: !of_scan && !is_given,
            template_in_contrast: made.is_some(),
            carried: carried.iter().map(Carried::record).collect(),
        };
        if let Some(made) = made {
            inputs.fixed.side = Side::new(made);
        }
        Ok(Prepared { head, mask, record, warnings, verdict, carried, as_read })
    }

    fn finish<'a>(
        &'a self,
        job: &'a Job,
        inputs: &mut Inputs,
        found: &mut Registration,
        prepared: Prepared,
    ) -> Result<Further<'a>, Error> {
        let Prepared { head, mask, record, warnings, verdict, carried, as_read } = prepared;
        if let Some(side) = as_read {
            // The pictures of the fixed image are shared by all scans, and show the template.
            inputs.fixed.side = side;
        }
        let Task { scan, derivatives } = self.task(job);
        let grid = inputs.fixed.side.grid().clone();
        let onto = |image: &Volume, chain: &TransformChain, grid| {
            apply::resample(image, grid, chain, self.interpolation.into(), 0.0)
        };
        found.warped = Some(onto(&head, &found.forward, &grid));
        let voxels = mask.voxels.par_iter().map(|inside| i32::from(*inside > 0.5)).collect();
        let mask = LabelVolume { grid: head.grid.clone(), voxels };
        let in_space = apply::resample_labels(&mask, &grid, &found.forward, LabelInterpolation::GenericLabel);
        let centre = head.centre_of_mass().unwrap_or_else(|| head.grid.centre());
        // The HTML pages show the whole head, not the extracted brain.
        inputs.moving = Side::new(head.clone());

        let mut files = Files::default();
        let of_scan = [source(scan, &scan.image)];
        let space = Some(&self.space);
        let (suffix, stripped) = (derivatives.suffix(), record.without_skull);
        files.image(derivatives.image(suffix), sidecar::image(&of_scan, None, stripped), Some(volume(head.clone())));
        files.image(derivatives.image_in_space(suffix), sidecar::image(&of_scan, space, stripped), None);
        files.image(derivatives.mask(), sidecar::mask(&of_scan, None), Some(labels(mask)));
        files.image(derivatives.mask_in_space(), sidecar::mask(&of_scan, space), Some(labels(in_space)));
        for Carried { path, suffix, image, rigid } in carried {
            let sources = [source(scan, &path)];
            let to_image = TransformChain::from(vec![Transform::Affine(rigid)]);
            let on_scan = onto(&image, &to_image, &head.grid);
            let mut chain = found.forward.clone();
            chain.steps.extend(to_image.steps);
            let on_template = onto(&image, &chain, &grid);
            files.image(
                derivatives.image(&suffix),
                sidecar::image(&sources, None, false),
                Some(volume(Arc::new(on_scan))),
            );
            let in_space = Some(volume(Arc::new(on_template)));
            files.image(derivatives.image_in_space(&suffix), sidecar::image(&sources, space, false), in_space);
            let write = Box::new(move |path: &Path| Ok(itk::write_affine(path, &rigid, centre)?));
            files.0.push((derivatives.to_scan(&suffix), write));
        }
        Ok(Further { files: files.0, head: Some(record), warnings, verdict })
    }
}

/// Derivatives of one scan (images, transforms and masks made from the scan) that will be written together: path of
/// each file, and the function that writes it.
#[derive(Default)]
struct Files<'a>(Vec<(PathBuf, Writing<'a, Error>)>);

impl<'a> Files<'a> {
    /// Adds the JSON sidecar of an image to the files to write. Adds the image too if `write`, the function that writes
    /// it, is given; else the image is written elsewhere.
    fn image(&mut self, path: PathBuf, beside: Value, write: Option<Writing<'a, Error>>) {
        self.0.push((Derivatives::sidecar(&path), json(beside)));
        self.0.extend(write.map(|write| (path, write)));
    }
}

fn volume<'a>(volume: Arc<Volume>) -> Writing<'a, Error> {
    Box::new(move |path| Ok(nifti::write_volume(path, &volume)?))
}

fn labels<'a>(labels: LabelVolume) -> Writing<'a, Error> {
    Box::new(move |path| Ok(nifti::write_labels(path, &labels)?))
}

fn json<'a>(value: Value) -> Writing<'a, Error> {
    Box::new(move |path| {
        let text =
            serde_json::to_string_pretty(&value).map_err(|source| Error::Json { path: path.into(), source })?;
        Ok(write_file(path, (text + "\n").as_bytes())?)
    })
}
