//! How good labels from atlases are: each labelled image in turn is the target, and the others are its atlases.

use std::path::{Path, PathBuf};
use std::time::Instant;

use antsreg_core::Volume;
use antsreg_core::io::nifti;

use super::Args;
use super::atlas::{self, Atlas, Loaded};
use super::one::{Names, check_outputs, left_out};
use super::options::Fusion;
use super::propagate::{Propagation, Target};
use super::record::{AtlasRecord, Record, Seconds, TargetRecord};
use super::scores::{self, Method};
use super::{plot, scores::mean_jaccard};
use crate::error::{CliError, UsageError};
use crate::progress::Console;
use crate::{inputs, overlap, register};
use antsreg_core::io::outputs::Outputs;

/// Labels every image by the others, by each of them alone, by majority vote and by joint fusion, and scores all.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    register::check(&args.settings, &[])?;
    let fusion = args.fusion.joint();
    let atlases = Atlas::list(&args.atlas)?;
    let enough = |found: usize| if found < 2 { Err(UsageError::TooFewToLeaveOut { found }) } else { Ok(()) };
    enough(atlases.len())?;
    let names = Names { args };
    check_outputs(&planned(&atlases, &names), &atlases, std::iter::empty())?;
    let list = args.label_list.as_deref().map(inputs::label_list).transpose()?;
    let loaded = atlas::read(&atlases, args.keep_going, console)?;
    enough(loaded.len())?;
    let mut seconds = Seconds { read: console.elapsed().as_secs_f64(), ..Seconds::default() };
    let images: Vec<&Volume> = loaded.iter().map(|atlas| atlas.image.as_ref()).collect();
    let mut propagation = Propagation::new(&args.settings, args.interpolation, false, &loaded, &images, console)?;
    let mut outputs = Outputs::new();
    let (mut targets, mut records, mut complete) = (Vec::new(), Vec::new(), true);
    for (number, left) in loaded.iter().enumerate() {
        let others: Vec<&Loaded> = loaded.iter().enumerate().filter(|(n, _)| *n != number).map(|(_, o)| o).collect();
        let (name, path) = (left.name.clone(), left.path.clone());
        let target = Target { name, path, image: left.image.clone(), mask: left.mask.clone() };
        let began = Instant::now();
        let brought = propagation.run(&target, &others, console)?;
        let brought = match atlas::usable(brought, others.len(), args.keep_going, console) {
            Err(CliError::NoAtlasLeft { .. }) if args.keep_going => {
                console.warn(format_args!("{}: no atlas could be brought to it; left out", target.name));
                complete = false;
                continue;
            }
            other => other?,
        };
        complete &= brought.len() == others.len();
        seconds.register += began.elapsed().as_secs_f64();
        let began = Instant::now();
        let [majority, joint] = [Fusion::Majority, fusion].map(|fusion| fusion.fuse(&target.image, &brought));
        let (majority, joint) = (majority?, joint?);
        let took = began.elapsed().as_secs_f64();
        seconds.fuse += took;
        let began = Instant::now();
        for (rest, fused) in [("Labels", &joint), ("MajorityLabels", &majority)] {
            let name = names.volume(&format!("{}_{rest}", target.name));
            outputs.write(&name, |path| nifti::write_labels(path, &fused.labels))?;
        }
        let score = |labels| overlap::score(labels, &left.labels, list.as_deref());
        let single =
            brought.iter().map(|atlas| Ok(Method { name: atlas.name.clone(), overlap: score(&atlas.labels)? }));
        let scored = scores::Target {
            name: target.name.clone(),
            single: single.collect::<Result<_, CliError>>()?,
            majority: score(&majority.labels)?,
            joint: score(&joint.labels)?,
        };
        console.note(format_args!(
            "{}: mean Jaccard {:.4} by majority vote, {:.4} by joint fusion, {took:.2} s",
            target.name,
            mean_jaccard(&scored.majority),
            mean_jaccard(&scored.joint)
        ));
        let atlases = atlases.iter().filter(|atlas| atlas.name != target.name);
        records.push(TargetRecord {
            atlases: atlases.map(|atlas| AtlasRecord::new(atlas, &brought)).collect(),
            undecided_voxels: joint.undecided(),
            mean_jaccard: Some(mean_jaccard(&scored.joint)),
            ..TargetRecord::new(&target, &propagation)?
        });
        targets.push(scored);
        seconds.outputs += began.elapsed().as_secs_f64();
    }
    if targets.is_empty() {
        return Err(CliError::NoAtlasLeft { of: atlases.len() });
    }
    for (rest, table) in
        [("jaccard.csv", scores::per_label_csv(&targets)), ("summary.csv", scores::summary_csv(&targets))]
    {
        let name = names.file(rest);
        let table = table.map_err(|source| CliError::Table { path: name.clone(), source })?;
        outputs.write(&name, |path| write_text(path, &table))?;
    }
    let svg = names.file("jaccard.svg");
    let drawn = plot::svg(&targets).map_err(|source| CliError::Plot { path: svg.clone(), source })?;
    outputs.write(&svg, |path| write_text(path, &drawn))?;
    seconds.total = console.elapsed().as_secs_f64();
    let record = Record::new(args, fusion, records, seconds, &propagation, console);
    outputs.write(&names.file("record.json"), |path| record.write(path))?;
    for path in outputs.commit()? {
        console.note(format_args!("wrote {}", path.display()));
    }
    crate::output::print(&scores::show(&targets))?;
    left_out(atlases.len(), loaded.len())?;
    if complete { Ok(()) } else { Err(CliError::NotEveryPair) }
}

fn write_text(path: &Path, text: &str) -> Result<(), CliError> {
    std::fs::write(path, text).map_err(|source| CliError::Write { path: path.into(), source })
}

/// Every file that will be written.
fn planned(atlases: &[Atlas], names: &Names) -> Vec<PathBuf> {
    let mut planned: Vec<PathBuf> =
        ["jaccard.csv", "summary.csv", "jaccard.svg", "record.json"].map(|rest| names.file(rest)).to_vec();
    for atlas in atlases {
        planned.extend(["Labels", "MajorityLabels"].map(|rest| names.volume(&format!("{}_{rest}", atlas.name))));
    }
    planned
}
