//! Writes the result of a registration: transforms, images, labels, scores and the record.

use std::path::{Path, PathBuf};
use std::time::Instant;

use antsreg_core::Volume;
use antsreg_core::io::outputs::{Outputs, Writing as WritingFile, write_file};
use antsreg_core::io::{itk, nifti};
use antsreg_core::overlap::Overlap;
use antsreg_register::verdict::Verdict;
use antsreg_register::{Description, Options, Registration};

use super::compute::Ahead;
use super::files::{Names, PairFiles};
use super::head::HeadRecord;
use super::inputs::Inputs;
use super::overlap;
use super::page;
use super::record::{
    DeviceMemory, ImageRecord, InputsRecord, JacobianRecord, LesionRecord, LinearRecord, OverlapRecord, Parameters,
    Record, Seconds, SynRecord,
};
use crate::skulls::Skull;
use crate::{Error, WrittenFile};

/// What a registration wrote: the paths of the files, and the contents of the JSON record and of the table of label
/// overlap.
#[derive(Debug)]
pub struct Written {
    /// The record of the registration (inputs, options, results), as written to its JSON file.
    pub record: Record,
    /// Overlap of moving and fixed labels; `None` if there were no labels to score.
    pub overlap: Option<Overlap>,
    /// Paths of the files that the registration has written.
    pub paths: Vec<PathBuf>,
}

/// The inputs and settings of a registration that its JSON record contains.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// The input and output files of the registration.
    pub files: &'a PairFiles,
    /// Paths of the output files.
    pub names: &'a Names,
    /// The registration's images, masks and labels, as they were read.
    pub inputs: &'a Inputs,
    /// Options of the registration.
    pub options: &'a Options,
    /// The device on which the registration was computed.
    pub device: &'a Description,
    /// Number of threads that computed.
    pub threads: usize,
    /// The command line of the program, kept in the JSON record of the registration.
    pub command_line: &'a [String],
    /// Memory of the GPU; `None` on the CPU.
    pub device_memory: Option<DeviceMemory>,
    /// Times of the GPU's kernels, if they were measured.
    pub profile: Option<serde_json::Value>,
}

/// Files, entries of the JSON record and warnings that are written in addition to those of the registration.
#[derive(Default)]
pub struct Further<'a> {
    /// Path of each additional file, with the function that writes the file. The list of the registration's outputs,
    /// [`Names::further`], contains these paths too.
    pub files: Vec<(PathBuf, WritingFile<'a, Error>)>,
    /// Results for the moving head, for the JSON record; only in a normalisation (of a raw scan to a template).
    pub head: Option<HeadRecord>,
    /// Warnings about the brain mask that was found in the moving head, as sentences.
    pub warnings: Vec<String>,
    /// The verdict on the brain mask that was found in the moving head; `None` if none was found.
    pub verdict: Option<Verdict>,
}

/// Writes all outputs of a registration that are not written ahead already. The files appear together at the end.
/// `seconds` are the times before the registration; `total` computes the total time from the times of all parts.
///
/// # Errors
/// A file that cannot be written.
pub fn write(
    of: &Context,
    found: &Registration,
    ahead: Ahead,
    seconds: Seconds,
    total: impl FnOnce(&Seconds) -> f64,
) -> Result<Written, Error> {
    write_with(of, found, ahead, seconds, total, Further::default())
}

/// Writes all outputs of a registration as [`write()`] does, and the additional files in `further`. All files appear
/// together at the end.
///
/// # Errors
/// A file that cannot be written.
pub fn write_with(
    of: &Context,
    found: &Registration,
    ahead: Ahead,
    mut seconds: Seconds,
    total: impl FnOnce(&Seconds) -> f64,
    further: Further,
) -> Result<Written, Error> {
    let Further { files, head, warnings, verdict } = further;
    seconds.add(found);
    let began = Instant::now();
    let Ahead { mut outputs, seconds: of_compression } = ahead;
    // The pictures for the HTML page of the registration are drawn on threads that are idle while the output files are
    // compressed.
    let (pictures, volumes) = rayon::join(
        || of.names.report.is_some().then(|| page::pictures(of.files, of.inputs, found)).transpose(),
        || write_volumes(of, found, files, &mut outputs),
    );
    volumes?;
    let pictures = pictures?;
    let overlap = overlap::write(of.files, of.names, of.inputs, &found.forward, &mut outputs)?;
    outputs.wait()?;
    seconds.outputs += of_compression + began.elapsed().as_secs_f64();
    seconds.total = total(&seconds);
    let of_all = record(of, found, overlap.as_ref(), seconds);
    let mut record = Record { files_written: written(&mut outputs)?, head, ..of_all };
    record.warnings.splice(..0, warnings);
    record.verdict = record.verdict.into_iter().chain(verdict).reduce(Verdict::and);
    if let (Some(name), Some(pictures)) = (&of.names.report, &pictures) {
        let html = page::page(&record, found, pictures)?;
        outputs.write(name, |path| Ok::<_, Error>(write_file(path, html.as_bytes())?))?;
        record.files_written = written(&mut outputs)?;
    }
    outputs.write(&of.names.record, |path| {
        let json =
            serde_json::to_string_pretty(&record).map_err(|source| Error::Json { path: path.into(), source })?;
        Ok::<_, Error>(write_file(path, (json + "\n").as_bytes())?)
    })?;
    let paths = outputs.commit()?;
    Ok(Written { record, overlap, paths })
}

/// Writes only the HTML page of a registration; `seconds` are the times of the whole run.
///
/// # Errors
/// A page that cannot be made or written.
pub fn write_report(of: &Context, found: &Registration, seconds: Seconds, path: &Path) -> Result<(), Error> {
    let pictures = page::pictures(of.files, of.inputs, found)?;
    let html = page::page(&record(of, found, None, seconds), found, &pictures)?;
    Ok(write_file(path, html.as_bytes())?)
}

/// The output files of the registration written so far, with their sizes.
fn written(outputs: &mut Outputs) -> Result<Vec<WrittenFile>, Error> {
    let files = outputs.written()?;
    Ok(files.into_iter().map(|(path, bytes)| WrittenFile { path, bytes }).collect())
}

/// Writes the transforms and images of a registration, and the additional files in `further`, in parallel. Many threads
/// compress each file, and one thread writes it.
fn write_volumes<'a>(
    of: &'a Context,
    found: &'a Registration,
    further: Vec<(PathBuf, WritingFile<'a, Error>)>,
    outputs: &mut Outputs,
) -> Result<(), Error> {
    let Context { names, inputs, .. } = of;
    // ITK has two-dimensional transforms for slices across z only. Slices in other planes get three-dimensional
    // transforms.
    let planar = inputs.sides().iter().all(|side| side.grid().is_slice_across_z());
    let (affine, centre) = (&found.affine, inputs.fixed.centre()?);
    let heads = heads(of, found);
    let mut all: Vec<(&Path, WritingFile<Error>)> = Vec::new();
    if let Some(name) = &names.affine {
        all.push((
            name,
            Box::new(move |path| match planar {
                true => Ok(itk::write_affine_of_slices(path, affine, centre)?),
                false => Ok(itk::write_affine(path, affine, centre)?),
            }),
        ));
    }
    let dimensions = if planar { itk::Dimensions::Two } else { itk::Dimensions::Three };
    for (name, chain) in [(&names.composite, &found.forward), (&names.inverse_composite, &found.backward)] {
        if let Some(name) = name {
            all.push((name, Box::new(move |path| Ok(itk::write_composite(path, chain, centre, dimensions)?))));
        }
    }
    for (name, field) in [(&names.warp, found.warp()), (&names.inverse_warp, found.inverse_warp())] {
        if let (Some(name), Some(field)) = (name, field) {
            all.push((name, Box::new(move |path| Ok(itk::write_warp(path, field)?))));
        }
    }
    for (name, image, head) in
        [(&names.warped, &found.warped, &heads[0]), (&names.inverse_warped, &found.inverse_warped, &heads[1])]
    {
        if let (Some(name), Some(image)) = (name, head.as_ref().or(image.as_ref())) {
            all.push((name, Box::new(move |path| Ok(nifti::write_volume(path, image)?))));
        }
    }
    all.retain(|(name, _)| !outputs.contains(name));
    let (names, writings): (Vec<PathBuf>, Vec<_>) = further.into_iter().unzip();
    all.extend(names.iter().map(PathBuf::as_path).zip(writings));
    outputs.write_all(all)
}

/// The moving head warped to the fixed grid, and the fixed head warped to the moving grid. Each is `None` if no brain
/// was extracted from the head, or if the warped image is not wanted.
fn heads(of: &Context, found: &Registration) -> [Option<Volume>; 2] {
    let Some(wanted) = of.options.images else { return [None, None] };
    let [fixed, moving] = of.inputs.sides().map(|side| side.grid());
    let resampled = |skull: &Option<Skull>, onto, chain| {
        skull.as_ref().map(|skull| skull.resampled(onto, chain, wanted.interpolation))
    };
    let [of_fixed, of_moving] = &of.inputs.skulls;
    [
        resampled(of_moving, fixed, &found.forward).filter(|_| found.warped.is_some()),
        resampled(of_fixed, moving, &found.backward).filter(|_| found.inverse_warped.is_some()),
    ]
}

/// The verdict on a result: that on the registration with those on the brains that were extracted for it.
fn verdict(of: &Context, found: &Registration) -> Option<Verdict> {
    let of_brains = of.inputs.skulls.iter().flatten().filter_map(|skull| skull.record.verdict.clone());
    found.verdict.iter().cloned().chain(of_brains).reduce(Verdict::and)
}

/// Makes the record of a registration, before any file is written.
pub fn record(of: &Context, found: &Registration, overlap: Option<&Overlap>, seconds: Seconds) -> Record {
    let Context { files, names, inputs, .. } = of;
    let matrix = found.affine.to_homogeneous();
    let [fixed, moving] = inputs.sides();
    let channels = files.channels.iter().zip(fixed.channels.iter().zip(&moving.channels));
    let of_brains = inputs.skulls.iter().flatten().flat_map(|skull| &skull.record.warnings);
    let of_white_matter = inputs.white_matter.iter().flat_map(|found| &found.warnings);
    Record {
        program: "antsreg-gpu".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        command_line: of.command_line.to_vec(),
        device: of.device.clone(),
        threads: of.threads,
        inputs: InputsRecord {
            fixed: ImageRecord::new(&files.fixed, fixed.grid()),
            moving: ImageRecord::new(&files.moving, moving.grid()),
            channels: channels
                .map(|(files, (fixed, moving))| {
                    [ImageRecord::new(&files.fixed, fixed.grid()), ImageRecord::new(&files.moving, moving.grid())]
                })
                .collect(),
            fixed_mask: files.fixed_mask.clone(),
            white_matter: files.white_matter.clone(),
            moving_mask: files.moving_mask.clone(),
            fixed_lesion: LesionRecord::of(&files.fixed_lesions, fixed),
            moving_lesion: LesionRecord::of(&files.moving_lesions, moving),
            fixed_labels: files.labels.fixed.clone(),
            moving_labels: files.labels.moving.clone(),
        },
        parameters: Parameters::of(files, &inputs.fixed, of.options),
        linear: found.linear().map(LinearRecord::from),
        syn: SynRecord::of(found),
        affine_ras: std::array::from_fn(|row| std::array::from_fn(|column| matrix[(row, column)])),
        jacobian: found.scores.as_ref().map(JacobianRecord::from),
        similarity: found.similarity,
        coverage: found.coverage,
        verdict: verdict(of, found),
        warnings: of_brains
            .chain(of_white_matter)
            .cloned()
            .chain(found.warnings.iter().map(ToString::to_string))
            .collect(),
        warning_values: found.warnings.clone(),
        head: None,
        overlap: overlap.map(OverlapRecord::from),
        seconds,
        peak_memory_bytes: crate::memory::peak(),
        device_memory: of.device_memory,
        profile: of.profile.clone(),
        outputs: names.all().into_iter().map(Into::into).collect(),
        files_read: inputs.identities.clone(),
        files_written: Vec::new(),
        displacements_rounded_to_mm: found.step_mm.map(f64::from),
        brains: inputs.skulls.each_ref().map(|skull| skull.as_ref().map(|skull| skull.record.clone())),
        white_matter: inputs.white_matter.clone(),
    }
}
