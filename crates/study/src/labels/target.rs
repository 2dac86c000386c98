//! Labels one image by several atlases.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use antsreg_core::io::outputs::{Outputs, Writing, write_file};
use antsreg_core::io::{itk, nifti};
use antsreg_core::overlap::Overlap;
use antsreg_register::Side;

use super::atlas::Atlas;
use super::brains;
use super::load::{LoadedAtlas, load, usable};
use super::page::OfTarget;
use super::progress::LabelsProgress;
use super::propagate::{Propagated, Propagation, Target};
use super::record::{AtlasRecord, Record, Seconds, TargetRecord};
use super::scores::mean_jaccard;
use super::study::AtlasStudy;
use crate::words::stem;
use crate::{Error, inputs};

/// The image that gets labels, and the optional outputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFiles {
    /// Path of the image.
    pub image: PathBuf,
    /// Path of the image's true labels, with which the fused labels are compared.
    pub truth: Option<PathBuf>,
    /// Whether to write the transforms of each atlas, and its image and labels on the target's grid.
    pub keep_transforms: bool,
    /// Whether to write a posterior map of each label: the label's share of the votes at each voxel.
    pub posteriors: bool,
}

/// The result of labelling a target.
#[derive(Debug)]
pub struct Labelled {
    /// Overlap (Jaccard, Dice) of the fused labels with the true labels; `None` if the true labels are not known.
    pub overlap: Option<Overlap>,
    /// Paths of the files that the labelling has written.
    pub paths: Vec<PathBuf>,
    /// Number of atlases used.
    pub used: usize,
    /// Number of atlases given.
    pub of: usize,
}

/// Registers every atlas to the target, fuses their labels and writes them. The files appear together at the end:
/// `PREFIXLabels`, `PREFIXrecord.json`, with true labels `PREFIXoverlap.csv`, and the optional outputs, a page among
/// them.
///
/// # Errors
/// Files that cannot be read or written, or do not fit each other; outputs that are inputs; options out of range; an
/// atlas that cannot be used, unless the study continues without such atlases; a device that fails.
pub fn label_target(
    study: &AtlasStudy,
    files: &TargetFiles,
    progress: &dyn LabelsProgress,
) -> Result<Labelled, Error> {
    let began = Instant::now();
    let fusion = study.options.fusion;
    fusion.check()?;
    let atlases = Atlas::list(study.atlases)?;
    check_outputs(study, files, &atlases, planned(study, files, &atlases))?;
    let is_target = |atlas: &&Atlas| atlas.image.canonicalize().ok() == files.image.canonicalize().ok();
    atlases.iter().filter(is_target).for_each(|atlas| progress.is_target(&atlas.name));
    // The devices are opened while the files are read.
    let opening = antsreg_pool::open(study.devices, None)?;
    let read_target = || match &files.truth {
        Some(truth) => inputs::image_and_labels(&files.image, truth).map(|(image, truth)| (image, Some(truth))),
        None => inputs::image(&files.image).map(|image| (image, None)),
    };
    let (read, loaded) = rayon::join(read_target, || load(&atlases));
    let (image, truth) = read?;
    let label_list = study.labels_that_count()?;
    let loaded = usable(loaded, atlases.len(), study.keep_going, progress)?;
    if files.posteriors {
        // With probability maps of the labels (posteriors), the output names are checked again after the atlases have
        // been read: these names contain the labels of the atlases.
        check_outputs(study, files, &atlases, labels_of(&loaded).map(|label| posterior(study, label)).collect())?;
    }
    let mut seconds = Seconds { read: began.elapsed().as_secs_f64(), ..Seconds::default() };
    let name = stem(&files.image);
    let mut target = Target { name, path: files.image.clone(), side: Side::new(image), skull: None };
    let (grids, warps) = ([target.side.grid()], files.keep_transforms);
    let mut propagation = Propagation::new(study.options, opening, warps, &loaded, &grids, progress)?;
    let part = Instant::now();
    let all = (atlases.len(), study.keep_going);
    let loaded = brains::of_target(&mut propagation, &mut target, loaded, all, progress)?;
    let brought = propagation.run(&target, &loaded.iter().collect::<Vec<_>>(), progress)?;
    // The atlases are freed before the fusion, because the fusion needs much memory.
    drop(loaded);
    let brought = usable(brought, atlases.len(), study.keep_going, progress)?;
    seconds.register = part.elapsed().as_secs_f64();
    let part = Instant::now();
    let votes = propagation.compare(&fusion, &target, &brought)?;
    propagation.release_devices();
    let fused = votes.count()?;
    seconds.fuse = part.elapsed().as_secs_f64();
    progress.fused(brought.len(), fused.undecided(), seconds.fuse);
    let part = Instant::now();
    let mut outputs = Outputs::new();
    outputs.write(&study.volume("Labels"), |path| Ok::<_, Error>(nifti::write_labels(path, &fused.labels)?))?;
    if files.posteriors {
        let labels: BTreeSet<i32> = brought.iter().flat_map(|atlas| atlas.labels.voxels.iter().copied()).collect();
        let names: Vec<(PathBuf, i32)> = labels.into_iter().map(|label| (posterior(study, label), label)).collect();
        let write = |label: i32| -> Writing<'_, Error> {
            let fused = &fused;
            Box::new(move |path| Ok(nifti::write_volume(path, &fused.posterior(label))?))
        };
        outputs.write_all(names.iter().map(|(name, label)| (name.as_path(), write(*label))).collect())?;
    }
    if files.keep_transforms {
        brought.iter().try_for_each(|atlas| write_atlas(study, atlas, &target, &mut outputs))?;
    }
    let overlap = truth.map(|truth| Overlap::between(&fused.labels, &truth, label_list.as_deref())).transpose()?;
    if let Some(overlap) = &overlap {
        let csv = overlap.to_csv();
        outputs.write(&study.file("overlap.csv"), |path| Ok::<_, Error>(write_file(path, csv.as_bytes())?))?;
    }
    seconds.outputs = part.elapsed().as_secs_f64();
    let record = TargetRecord {
        atlases: atlases.iter().map(|atlas| AtlasRecord::new(atlas, &brought)).collect(),
        undecided_voxels: fused.undecided(),
        mean_jaccard: overlap.as_ref().map(mean_jaccard),
        ..TargetRecord::new(&target, &propagation)?
    };
    if let Some(page) = study.page {
        let image = match &target.skull {
            Some(skull) => &skull.head,
            None => target.side.image.volume()?,
        };
        let of = OfTarget {
            image,
            atlases: &brought,
            labels: &fused.labels,
            record: &record,
            overlap: overlap.as_ref(),
            written: &[&study.volume("Labels"), &study.file("record.json")],
            command_line: study.command_line,
        };
        outputs.write(page, |path| Ok::<_, Error>(write_file(path, of.page()?.as_bytes())?))?;
    }
    seconds.total = began.elapsed().as_secs_f64();
    let record = Record::new(study, study.options.clone(), label_list, vec![record], seconds, &propagation);
    outputs.write(&study.file("record.json"), |path| record.write(path))?;
    Ok(Labelled { overlap, paths: outputs.commit()?, used: brought.len(), of: atlases.len() })
}

/// Paths of all outputs of a labelling whose names are known before the inputs are read.
fn planned(study: &AtlasStudy, files: &TargetFiles, atlases: &[Atlas]) -> Vec<PathBuf> {
    let mut planned = vec![study.volume("Labels"), study.file("record.json"), study.file("overlap.csv")];
    for atlas in atlases.iter().filter(|_| files.keep_transforms) {
        let volumes = ["1Warp", "1InverseWarp", "Warped", "Labels"];
        planned.push(study.file(&format!("{}_0GenericAffine.mat", atlas.name)));
        planned.extend(volumes.map(|rest| study.volume(&format!("{}_{rest}", atlas.name))));
    }
    planned
}

fn check_outputs(
    study: &AtlasStudy,
    files: &TargetFiles,
    atlases: &[Atlas],
    outputs: Vec<PathBuf>,
) -> Result<(), Error> {
    let others: Vec<&Path> = std::iter::once(&files.image).chain(&files.truth).map(PathBuf::as_path).collect();
    study.check_outputs(&outputs, atlases, &others)
}

/// All labels that occur in the label maps of the atlases, and 0 for the background outside these maps.
fn labels_of(atlases: &[LoadedAtlas]) -> impl Iterator<Item = i32> {
    let labels: BTreeSet<i32> =
        atlases.iter().flat_map(|atlas| atlas.labels.voxels.iter().copied()).chain([0]).collect();
    labels.into_iter()
}

/// The path of the posterior map of a label.
fn posterior(study: &AtlasStudy, label: i32) -> PathBuf {
    study.volume(&format!("Posterior{label:04}"))
}

/// Writes the transforms of one atlas, and its image and labels on the grid of the target.
fn write_atlas(study: &AtlasStudy, atlas: &Propagated, target: &Target, outputs: &mut Outputs) -> Result<(), Error> {
    let name = |rest: &str| format!("{}_{rest}", atlas.name);
    let image = target.side.image.volume()?;
    let centre = image.centre_of_mass().unwrap_or_else(|| image.grid.centre());
    outputs.write(&study.file(&name("0GenericAffine.mat")), |path| {
        Ok::<_, Error>(itk::write_affine(path, &atlas.affine, centre)?)
    })?;
    for (rest, warp) in ["1Warp", "1InverseWarp"].iter().zip(atlas.warps.iter().flatten()) {
        outputs.write(&study.volume(&name(rest)), |path| Ok::<_, Error>(itk::write_warp(path, warp)?))?;
    }
    let image = atlas.head.as_ref().unwrap_or(&atlas.image);
    outputs.write(&study.volume(&name("Warped")), |path| Ok::<_, Error>(nifti::write_volume(path, image)?))?;
    outputs.write(&study.volume(&name("Labels")), |path| Ok::<_, Error>(nifti::write_labels(path, &atlas.labels)?))
}
