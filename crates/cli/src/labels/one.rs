//! Labels of one image from several atlases.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use antsreg_core::io::{itk, nifti};

use super::Args;
use super::atlas::{self, Atlas, stem};
use super::propagate::{Propagated, Propagation, Target};
use super::record::{AtlasRecord, Record, Seconds, TargetRecord};
use crate::error::{CliError, UsageError};
use crate::progress::Console;
use crate::register;
use crate::{inputs, overlap};
use antsreg_core::io::outputs::{self, Outputs};

/// Brings every atlas to the target, fuses their labels and writes what was asked for.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let Some(fixed) = &args.fixed else {
        return Err(
            UsageError::Missing { option: "--fixed", why: "to have an image to label, or --leave-one-out" }.into()
        );
    };
    register::check(&args.settings, &[])?;
    let fusion = args.fusion.resolve()?;
    let atlases = Atlas::list(&args.atlas)?;
    let names = Names { args };
    check(args, &atlases, fixed, &names)?;
    let itself = |atlas: &&Atlas| atlas.image.canonicalize().ok() == fixed.canonicalize().ok();
    if let Some(atlas) = atlases.iter().find(itself) {
        console.warn(format_args!("atlas {} is the image to label; its labels will be its own", atlas.name));
    }
    let mut seconds = Seconds::default();
    let image = inputs::image(fixed)?;
    let truth = args.target.as_deref().map(|truth| inputs::labels_of(truth, fixed, &image.grid)).transpose()?;
    let list = args.label_list.as_deref().map(inputs::label_list).transpose()?;
    let loaded = atlas::read(&atlases, args.keep_going, console)?;
    seconds.read = console.elapsed().as_secs_f64();
    let target = Target { name: stem(fixed), path: fixed.clone(), image: Arc::new(image), mask: None };
    let (how, warps) = (args.interpolation, args.keep_transforms);
    let mut propagation = Propagation::new(&args.settings, how, warps, &loaded, &[&target.image], console)?;
    let began = Instant::now();
    let brought = propagation.run(&target, &loaded.iter().collect::<Vec<_>>(), console)?;
    drop(loaded);
    let brought = atlas::usable(brought, atlases.len(), args.keep_going, console)?;
    seconds.register = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let fused = fusion.fuse(&target.image, &brought)?;
    seconds.fuse = began.elapsed().as_secs_f64();
    console.note(format_args!(
        "{} atlases fused, {} voxels in dispute, {:.2} s",
        brought.len(),
        fused.undecided(),
        seconds.fuse
    ));
    let began = Instant::now();
    let mut outputs = Outputs::new();
    outputs.write(&names.volume("Labels"), |path| nifti::write_labels(path, &fused.labels))?;
    if args.fusion.posteriors {
        let labels: BTreeSet<i32> = brought.iter().flat_map(|atlas| atlas.labels.voxels.iter().copied()).collect();
        for label in labels {
            let name = names.volume(&format!("Posterior{label:04}"));
            outputs.write(&name, |path| nifti::write_volume(path, &fused.posterior(label)))?;
        }
    }
    if args.keep_transforms {
        for atlas in &brought {
            keep(atlas, &target, &names, &mut outputs)?;
        }
    }
    let overlap = truth.map(|truth| overlap::score(&fused.labels, &truth, list.as_deref())).transpose()?;
    if let Some(overlap) = &overlap {
        outputs.write(&names.file("overlap.csv"), |path| overlap::write_csv(path, overlap))?;
    }
    seconds.outputs = began.elapsed().as_secs_f64();
    seconds.total = console.elapsed().as_secs_f64();
    let used: Vec<AtlasRecord> = atlases.iter().map(|atlas| AtlasRecord::new(atlas, &brought)).collect();
    let target = TargetRecord {
        atlases: used,
        undecided_voxels: fused.undecided(),
        mean_jaccard: overlap.as_ref().map(super::scores::mean_jaccard),
        ..TargetRecord::new(&target, &propagation)?
    };
    let record = Record::new(args, fusion, vec![target], seconds, &propagation, console);
    outputs.write(&names.file("record.json"), |path| record.write(path))?;
    for path in outputs.commit()? {
        console.note(format_args!("wrote {}", path.display()));
    }
    if let Some(overlap) = &overlap {
        crate::output::print(&overlap::show(overlap))?;
    }
    left_out(atlases.len(), brought.len())
}

/// An error of its own kind if some atlases were left out.
pub fn left_out(of: usize, used: usize) -> Result<(), CliError> {
    if used < of { Err(CliError::AtlasesLeftOut { failed: of - used, of }) } else { Ok(()) }
}

/// Names of the outputs.
pub struct Names<'a> {
    /// The prefix and the format are there.
    pub args: &'a Args,
}

impl Names<'_> {
    /// A file that is no volume.
    pub fn file(&self, rest: &str) -> PathBuf {
        PathBuf::from(format!("{}{rest}", self.args.output))
    }

    /// A volume in the format asked for.
    pub fn volume(&self, rest: &str) -> PathBuf {
        self.file(&format!("{rest}.{}", self.args.format.extension()))
    }
}

/// Whether the outputs can be written, and none of them is an input.
fn check(args: &Args, atlases: &[Atlas], fixed: &Path, names: &Names) -> Result<(), CliError> {
    let mut planned = vec![names.volume("Labels"), names.file("record.json"), names.file("overlap.csv")];
    if args.keep_transforms {
        for atlas in atlases {
            planned.push(names.file(&format!("{}_0GenericAffine.mat", atlas.name)));
            planned.extend(
                ["1Warp", "1InverseWarp", "Warped", "Labels"]
                    .map(|rest| names.volume(&format!("{}_{rest}", atlas.name))),
            );
        }
    }
    check_outputs(&planned, atlases, std::iter::once(fixed).chain(args.target.as_deref()))
}

/// Whether the outputs can be written, and none of them is one of these files or of those of the atlases.
pub fn check_outputs<'a>(
    planned: &[PathBuf],
    atlases: &'a [Atlas],
    others: impl Iterator<Item = &'a Path>,
) -> Result<(), CliError> {
    // They share one folder: trying it once is enough.
    planned.first().map_or(Ok(()), |first| outputs::check_writable(first))?;
    let inputs: Vec<&Path> = others.chain(atlases.iter().flat_map(Atlas::files)).collect();
    for name in planned {
        outputs::check_name(name)?;
        outputs::check_not_input(name, &inputs)?;
    }
    Ok(())
}

/// Writes the transforms of one atlas, its image and its labels on the target's grid.
fn keep(atlas: &Propagated, target: &Target, names: &Names, outputs: &mut Outputs) -> Result<(), CliError> {
    let file = |rest: &str| format!("{}_{rest}", atlas.name);
    let centre = target.image.centre_of_mass().unwrap_or_else(|| target.image.grid.centre());
    outputs.write(&names.file(&file("0GenericAffine.mat")), |path| itk::write_affine(path, &atlas.affine, centre))?;
    if let Some(warps) = &atlas.warps {
        for (rest, warp) in ["1Warp", "1InverseWarp"].iter().zip(warps) {
            outputs.write(&names.volume(&file(rest)), |path| itk::write_warp(path, warp))?;
        }
    }
    outputs.write(&names.volume(&file("Warped")), |path| nifti::write_volume(path, &atlas.image))?;
    Ok(outputs.write(&names.volume(&file("Labels")), |path| nifti::write_labels(path, &atlas.labels))?)
}
