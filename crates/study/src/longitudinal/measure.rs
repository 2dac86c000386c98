//! The template, the volumes of its labels in each time point, and their output files.

use std::collections::BTreeMap;
use std::path::Path;

use antsreg_cohort::longitudinal::changes;
use antsreg_cohort::template::Votes;
use antsreg_core::io::outputs::{Outputs, Writing};
use antsreg_core::io::{itk, nifti};
use antsreg_core::{AffineTransform, DisplacementField, LabelVolume, Transform, TransformChain, Volume};
use antsreg_kernels::apply::{self, LabelInterpolation};
use rayon::prelude::*;

use super::deform::{Common, mean};
use super::read::Image;
use super::table::Row;
use super::{PointNames, TimePoint};
use crate::Error;

/// Smallest Jacobian determinant that has a logarithm in the images; as in the volumes of labels.
const LEAST: f32 = 1e-3;

/// The label of the brain in its own label map.
const BRAIN: i32 = 1;

/// A label map of the template, and for each label the mean share of the label maps that agree.
pub type Voted = (LabelVolume, BTreeMap<i32, f64>);

/// The results of a longitudinal study, on the grid of the common space. Lists are in the order of the images.
#[derive(Debug)]
pub struct Measured {
    /// The mean of the time points in their mean shape.
    pub template: Volume,
    /// The label that most label maps have, and for each label the mean share of the maps that agree.
    pub labels: Option<Voted>,
    /// The warps from the template to the time points.
    pub warps: Vec<DisplacementField>,
    /// Each time point in the shape of the template.
    pub warped: Vec<Volume>,
    /// Jacobian determinants of the warps.
    pub determinants: Vec<Volume>,
}

/// Makes template, labels and determinants from the warps.
///
/// # Errors
/// Label maps on different grids, which do not occur.
pub fn measure(
    images: &[Image],
    poses: &[AffineTransform],
    common: &Common,
    warps: Vec<DisplacementField>,
) -> Result<Measured, Error> {
    let (mut kept, mut warped, mut maps) = (Vec::new(), Vec::new(), Vec::new());
    for (n, ((image, pose), warp)) in images.iter().zip(poses).zip(warps).enumerate() {
        let chain = TransformChain::from(vec![Transform::Displacement(warp), Transform::Affine(*pose)]);
        warped.push(common.shown(image, n, &chain));
        if let Some(labels) = &image.labels {
            maps.push(apply::resample_labels(labels, &common.grid, &chain, LabelInterpolation::GenericLabel));
        }
        kept.push(chain.into_displacement().unwrap_or_else(|| DisplacementField::zeros(common.grid.clone())));
    }
    let labels = match maps.is_empty() {
        true => None,
        false => voted(maps)?,
    };
    let determinants = kept.iter().map(apply::jacobian).collect();
    Ok(Measured { template: mean(&warped), labels, warps: kept, warped, determinants })
}

/// The label that most maps have at each voxel, and for each label the mean share of the maps that agree.
fn voted(maps: Vec<LabelVolume>) -> Result<Option<Voted>, Error> {
    let votes = Votes::new(maps.clone())?;
    let Some(labels) = votes.majority() else { return Ok(None) };
    let mut sums: BTreeMap<i32, [f64; 2]> = BTreeMap::new();
    for (n, label) in labels.voxels.iter().enumerate().filter(|(_, label)| **label != 0) {
        let agree = maps.iter().filter(|map| map.voxels[n] == *label).count();
        let [sum, count] = sums.entry(*label).or_default();
        *sum += agree as f64 / maps.len() as f64;
        *count += 1.0;
    }
    let agreement = sums.into_iter().map(|(label, [sum, count])| (label, sum / count)).collect();
    Ok(Some((labels, agreement)))
}

impl Measured {
    /// The rows of the table: time points in the order of `points`, each with the brain and all labels. `place_of` is the
    /// place of each time point in the order of the images.
    ///
    /// # Errors
    /// Volumes on different grids, which do not occur.
    pub fn rows(&self, points: &[TimePoint], place_of: &[usize], common: &Common) -> Result<Vec<Row>, Error> {
        let brain = common.mask.voxels.iter().map(|inside| if *inside > 0.5 { BRAIN } else { 0 });
        let brain = LabelVolume { voxels: brain.collect(), grid: common.grid.clone() };
        let first = &self.determinants[place_of[0]];
        let maps: Vec<(&LabelVolume, Option<&BTreeMap<i32, f64>>)> = std::iter::once((&brain, None))
            .chain(self.labels.iter().map(|(labels, agreement)| (labels, Some(agreement))))
            .collect();
        let base = maps.iter().map(|(map, _)| Ok(changes(map, first)?)).collect::<Result<Vec<_>, Error>>()?;
        let mut rows = Vec::new();
        for (point, place) in points.iter().zip(place_of) {
            let determinants = &self.determinants[*place];
            let years = point.years.zip(points[0].years).map(|(now, first)| now - first);
            let ratio = ratio(determinants, first);
            for ((map, agreement), base) in maps.iter().zip(&base) {
                let (now, since) = (changes(map, determinants)?, changes(map, &ratio)?);
                for (label, now) in now {
                    let name = agreement.map_or_else(|| "brain".to_owned(), |_| label.to_string());
                    let volumes = [now, base[&label], since[&label]];
                    let agreement = agreement.and_then(|all| all.get(&label).copied());
                    rows.push(Row::new((point.name.clone(), point.date.clone(), name), years, volumes, agreement));
                }
            }
        }
        Ok(rows)
    }

    /// Writes the files of a time point. `first` is the place of the first time point in the order of the images.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write_point(
        &self,
        outputs: &mut Outputs,
        names: &PointNames,
        place: [usize; 2],
        pose: &AffineTransform,
        common: &Common,
        years: Option<f64>,
    ) -> Result<(), Error> {
        let [place, first] = place;
        let warp = &self.warps[place];
        let inverse = apply::invert(warp, &common.grid);
        let log_jacobian = logarithm(&self.determinants[place], 1.0);
        let since = ratio(&self.determinants[place], &self.determinants[first]);
        let change = names.change.as_deref().map(|path| (path, logarithm(&since, years.unwrap_or(1.0))));
        outputs.write::<Error>(&names.affine, |path| Ok(itk::write_affine(path, pose, common.centre)?))?;
        let mut all: Vec<(&Path, Writing<Error>)> = vec![
            (&names.warp, Box::new(|path| Ok(itk::write_warp(path, warp)?))),
            (&names.inverse_warp, Box::new(|path| Ok(itk::write_warp(path, &inverse)?))),
            (&names.rigid, Box::new(|path| Ok(nifti::write_volume(path, &common.images[place])?))),
            (&names.warped, Box::new(|path| Ok(nifti::write_volume(path, &self.warped[place])?))),
            (&names.log_jacobian, Box::new(|path| Ok(nifti::write_volume(path, &log_jacobian)?))),
        ];
        if let Some((path, change)) = &change {
            all.push((*path, Box::new(|path| Ok(nifti::write_volume(path, change)?))));
        }
        outputs.write_all(all)
    }
}

/// The determinants of the map between two time points, on the template: the quotient.
fn ratio(now: &Volume, before: &Volume) -> Volume {
    let quotient = |(now, before): (&f32, &f32)| now.max(LEAST) / before.max(LEAST);
    Volume { voxels: now.voxels.par_iter().zip(&before.voxels).map(quotient).collect(), grid: now.grid.clone() }
}

/// The logarithm of determinants, divided by `by`.
fn logarithm(determinants: &Volume, by: f64) -> Volume {
    let of_voxel = |value: &f32| (f64::from(value.max(LEAST)).ln() / by) as f32;
    Volume { voxels: determinants.voxels.par_iter().map(of_voxel).collect(), grid: determinants.grid.clone() }
}
