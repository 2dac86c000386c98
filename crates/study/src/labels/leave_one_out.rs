//! Leave-one-out scores of a set of atlases: each labelled image in turn is the target, and all other images are the
//! atlases of this target.

use std::path::PathBuf;
use std::time::Instant;

use antsreg_cohort::fusion::{Fused, JointOptions};
use antsreg_core::io::nifti;
use antsreg_core::io::outputs::{Outputs, Writing, write_file};
use antsreg_core::overlap::Overlap;
use antsreg_core::{Grid, LabelVolume};
use rayon::prelude::*;

use super::atlas::Atlas;
use super::brains;
use super::error::AtlasesError;
use super::fusion::Fusion;
use super::load::{LoadedAtlas, load, usable};
use super::options::LabelOptions;
use super::page::of_scores;
use super::plot;
use super::progress::LabelsProgress;
use super::propagate::{Fuser, Propagated, Propagation, Target};
use super::record::{AtlasRecord, Record, Seconds, TargetRecord};
use super::scores::{self, Method, TargetScores, mean_jaccard};
use super::study::AtlasStudy;
use crate::Error;

/// Leave-one-out scores of a set of atlases.
#[derive(Debug)]
pub struct Scored {
    /// Scores of the labels of each target, an atlas image that was labelled by the other atlases.
    pub targets: Vec<TargetScores>,
    /// Paths of the files with the scores that were written.
    pub paths: Vec<PathBuf>,
    /// Number of atlases that could be read.
    pub used: usize,
    /// Number of atlases given.
    pub of: usize,
    /// Whether every atlas that could be read was registered to every other such atlas; false if a registration failed.
    pub every_pair: bool,
}

/// Labels every image in three ways: by each of the other atlases alone, by their majority vote, and by their joint
/// fusion. Compares the results of all ways with the image's own labels. Joint fusion has the parameters of the
/// options, or the defaults if the options ask for majority vote.
///
/// The files appear together at the end: `PREFIXNAME_Labels` and `PREFIXNAME_MajorityLabels` of each image, and
/// `PREFIXjaccard.csv`, `PREFIXsummary.csv`, `PREFIXjaccard.svg`, `PREFIXrecord.json`, and the page if one is wanted.
///
/// # Errors
/// The errors of [`label_target`](super::label_target); fewer than two atlases.
pub fn leave_one_out(study: &AtlasStudy, progress: &dyn LabelsProgress) -> Result<Scored, Error> {
    let began = Instant::now();
    let joint = match study.options.fusion {
        Fusion::Joint(options) => options,
        Fusion::Majority => JointOptions::default(),
    };
    joint.check()?;
    let atlases = Atlas::list(study.atlases)?;
    check_count(atlases.len())?;
    study.check_outputs(&planned(study, &atlases), &atlases, &[])?;
    let label_list = study.labels_that_count()?;
    let opening = antsreg_pool::open(study.devices, None)?;
    let loaded = usable(load(&atlases), atlases.len(), study.keep_going, progress)?;
    check_count(loaded.len())?;
    let seconds = Seconds { read: began.elapsed().as_secs_f64(), ..Seconds::default() };
    let grids: Vec<&Grid> = loaded.iter().map(|atlas| atlas.side.grid()).collect();
    let mut propagation = Propagation::new(study.options, opening, false, &loaded, &grids, progress)?;
    let part = Instant::now();
    let all = (atlases.len(), study.keep_going);
    let loaded = brains::of_atlases(&mut propagation, loaded, all, progress)?;
    check_count(loaded.len())?;
    let seconds = Seconds { register: part.elapsed().as_secs_f64(), ..seconds };
    let fuser = propagation.fuser()?;
    let mut run = LeaveOneOut {
        study,
        fusion: Fusion::Joint(joint),
        atlases: &atlases,
        label_list,
        fuser,
        outputs: Outputs::new(),
        targets: Vec::new(),
        records: Vec::new(),
        seconds,
        every_pair: true,
    };
    let mut registered = None;
    for number in 0..=loaded.len() {
        let mut finished = Ok(());
        // The labels of a target are fused and scored while atlases are registered to the next target.
        let next = rayon::in_place_scope(|scope| {
            if let Some(before) = registered.take() {
                scope.spawn(|_| finished = run.finish(before, progress));
            }
            loaded.get(number).map(|left| register(study, &mut propagation, left, &loaded, progress))
        });
        finished?;
        if let Some(next) = next {
            registered = next?;
            run.every_pair &= registered.is_some();
        }
    }
    let LeaveOneOut { fusion, label_list, fuser, mut outputs, targets, records, mut seconds, every_pair, .. } = run;
    drop(fuser);
    propagation.release_devices();
    if targets.is_empty() {
        return Err(AtlasesError::NoneLeft { of: atlases.len() }.into());
    }
    write_scores(study, &targets, &mut outputs)?;
    if let Some(page) = study.page {
        let written = [study.file("summary.csv"), study.file("record.json")];
        let written = written.each_ref().map(PathBuf::as_path);
        let html = of_scores(&atlases, &loaded, &targets, &written, study.command_line)?;
        outputs.write(page, |path| Ok::<_, Error>(write_file(path, html.as_bytes())?))?;
    }
    seconds.total = began.elapsed().as_secs_f64();
    let parameters = LabelOptions { fusion, ..study.options.clone() };
    let record = Record::new(study, parameters, label_list, records, seconds, &propagation);
    outputs.write(&study.file("record.json"), |path| record.write(path))?;
    Ok(Scored { targets, paths: outputs.commit()?, used: loaded.len(), of: atlases.len(), every_pair })
}

/// A target, with all atlases that were registered to it.
struct Registered<'a> {
    /// The atlas whose image is the target.
    left: &'a LoadedAtlas,
    target: Target,
    /// The other atlases on the grid of the target.
    brought: Vec<Propagated>,
    /// Number of the other atlases, including those that failed.
    of: usize,
    /// Entry of the target in the record, without results.
    record: TargetRecord,
    seconds: f64,
}

/// Registers all other atlases to the image of the atlas `left`. Returns `None` if no atlas could be registered and the
/// study continues without this target.
fn register<'a>(
    study: &AtlasStudy,
    propagation: &mut Propagation,
    left: &'a LoadedAtlas,
    loaded: &[LoadedAtlas],
    progress: &dyn LabelsProgress,
) -> Result<Option<Registered<'a>>, Error> {
    let began = Instant::now();
    let others: Vec<&LoadedAtlas> = loaded.iter().filter(|other| !std::ptr::eq(*other, left)).collect();
    let LoadedAtlas { name, path, side, skull, .. } = left;
    let target = Target { name: name.clone(), path: path.clone(), side: side.clone(), skull: skull.clone() };
    let brought = propagation.run(&target, &others, progress)?;
    let brought = match usable(brought, others.len(), study.keep_going, progress) {
        Err(Error::Atlases(AtlasesError::NoneLeft { .. })) if study.keep_going => {
            progress.target_left_out(&target.name);
            return Ok(None);
        }
        other => other?,
    };
    let record = TargetRecord::new(&target, propagation)?;
    let seconds = began.elapsed().as_secs_f64();
    Ok(Some(Registered { left, target, brought, of: others.len(), record, seconds }))
}

/// The state of leave-one-out labelling (each atlas image is labelled by all other atlases): its inputs, and the
/// results of the targets that are done. The targets are labelled one after the other.
struct LeaveOneOut<'a> {
    study: &'a AtlasStudy<'a>,
    /// Joint fusion with its parameters.
    fusion: Fusion,
    atlases: &'a [Atlas],
    /// Labels for which the overlap with the true labels is computed; `None` for all labels except 0.
    label_list: Option<Vec<i32>>,
    fuser: Fuser,
    outputs: Outputs,
    targets: Vec<TargetScores>,
    records: Vec<TargetRecord>,
    seconds: Seconds,
    /// Whether all atlases have been used for every target so far; false if an atlas could not be registered.
    every_pair: bool,
}

impl LeaveOneOut<'_> {
    /// Fuses the labels of all atlases that were registered to a target, writes and scores them.
    fn finish(&mut self, registered: Registered, progress: &dyn LabelsProgress) -> Result<(), Error> {
        let Registered { left, target, brought, of, record, seconds } = registered;
        self.every_pair &= brought.len() == of;
        self.seconds.register += seconds;
        let began = Instant::now();
        let majority = self.fuser.compare(&Fusion::Majority, &target, &brought)?.count()?;
        let joint = self.fuser.compare(&self.fusion, &target, &brought)?.count()?;
        let fusing = began.elapsed().as_secs_f64();
        self.seconds.fuse += fusing;
        let began = Instant::now();
        let names = ["Labels", "MajorityLabels"].map(|rest| self.study.volume(&format!("{}_{rest}", target.name)));
        let writings = [&joint, &majority]
            .map(|fused| -> Writing<'_, Error> { Box::new(|path| Ok(nifti::write_labels(path, &fused.labels)?)) });
        self.outputs.write_all(names.iter().map(PathBuf::as_path).zip(writings).collect())?;
        let scores = self.score(left, &brought, [&majority, &joint])?;
        let [of_majority, of_joint] = [&scores.majority, &scores.joint].map(mean_jaccard);
        progress.scored(&target.name, of_majority, of_joint, fusing);
        let atlases = self.atlases.iter().filter(|atlas| atlas.name != target.name);
        self.records.push(TargetRecord {
            atlases: atlases.map(|atlas| AtlasRecord::new(atlas, &brought)).collect(),
            undecided_voxels: joint.undecided(),
            mean_jaccard: Some(of_joint),
            ..record
        });
        self.targets.push(scores);
        self.seconds.outputs += began.elapsed().as_secs_f64();
        Ok(())
    }

    /// Overlap of an atlas's own labels with the labels that each method found.
    fn score(
        &self,
        left: &LoadedAtlas,
        brought: &[Propagated],
        [majority, joint]: [&Fused; 2],
    ) -> Result<TargetScores, Error> {
        let score = |labels: &LabelVolume| Overlap::between(labels, &left.labels, self.label_list.as_deref());
        let single = |atlas: &Propagated| Ok(Method { name: atlas.name.clone(), overlap: score(&atlas.labels)? });
        let (single, fused) = rayon::join(
            || brought.par_iter().map(single).collect::<Result<_, Error>>(),
            || rayon::join(|| score(&majority.labels), || score(&joint.labels)),
        );
        Ok(TargetScores { name: left.name.clone(), single: single?, majority: fused.0?, joint: fused.1? })
    }
}

fn check_count(found: usize) -> Result<(), AtlasesError> {
    if found < 2 { Err(AtlasesError::TooFew { found }) } else { Ok(()) }
}

/// Paths of all files that a leave-one-out run will write, except the page.
fn planned(study: &AtlasStudy, atlases: &[Atlas]) -> Vec<PathBuf> {
    let mut planned: Vec<PathBuf> =
        ["jaccard.csv", "summary.csv", "jaccard.svg", "record.json"].map(|rest| study.file(rest)).to_vec();
    for atlas in atlases {
        planned.extend(["Labels", "MajorityLabels"].map(|rest| study.volume(&format!("{}_{rest}", atlas.name))));
    }
    planned
}

/// Writes the tables and the plot of the leave-one-out scores.
fn write_scores(study: &AtlasStudy, targets: &[TargetScores], outputs: &mut Outputs) -> Result<(), Error> {
    for (rest, table) in
        [("jaccard.csv", scores::per_label_csv(targets)), ("summary.csv", scores::summary_csv(targets))]
    {
        let name = study.file(rest);
        let table = table.map_err(|source| Error::Table { path: name.clone(), source })?;
        outputs.write(&name, |path| Ok::<_, Error>(write_file(path, table.as_bytes())?))?;
    }
    let name = study.file("jaccard.svg");
    let plot = plot::svg(targets).map_err(|source| Error::Plot { path: name.clone(), source })?;
    outputs.write(&name, |path| Ok(write_file(path, plot.as_bytes())?))
}
