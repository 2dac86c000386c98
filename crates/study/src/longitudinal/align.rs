//! The poses of the time points in the common space.

use antsreg_cohort::longitudinal::{between, disagreement_mm, halfway, part_of_way, recentred};
use antsreg_core::AffineTransform;
use antsreg_register::linear::Start;
use antsreg_register::verdict::Verdict;
use antsreg_register::{Device, Fixed, Options as Registering, Side, Stage};
use nalgebra::Point3;
use serde::{Deserialize, Serialize};

use super::deform::Common;
use super::read::Image;
use super::{Options, TimePoint, persons};
use crate::observer::{Event, Observer};

/// The time points in the common space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Aligned {
    /// The pose of each time point: common space → time point, RAS mm.
    pub poses: Vec<AffineTransform>,
    /// Largest distance between where a pairwise alignment and the poses take a point on a sphere of 70 mm, mm.
    pub disagreement_mm: f64,
    /// The worst verdict on the alignment of two time points.
    pub verdict: Option<Verdict>,
}

/// Aligns all pairs of time points in both directions, finds their poses, and refines these by alignments to the means of
/// the other time points.
///
/// # Errors
/// Images that cannot be registered; a registration that was stopped; a device that fails.
pub fn align(
    images: &[Image],
    points: &[TimePoint],
    options: &Options,
    device: &Device,
    observer: &mut dyn Observer,
) -> Result<Aligned, crate::Error> {
    let centres: Vec<Point3<f64>> = images.iter().map(|image| image.centre).collect();
    let sides: Vec<Side> = images.iter().map(|image| Side::new(image.brain.clone())).collect();
    let mut found = vec![vec![AffineTransform::identity(); images.len()]; images.len()];
    let mut verdict: Option<Verdict> = None;
    for (i, side) in sides.iter().enumerate() {
        let fixed = Fixed::new(device, side.clone(), options.pairs(side.grid().shape)?)?;
        for (j, moving) in sides.iter().enumerate().filter(|(j, _)| *j != i) {
            let result = fixed.register(moving, observer.progress())?.finish()?;
            found[i][j] = result.affine;
            let names = [images[i].point, images[j].point].map(|point| points[point].name.as_str());
            let correlation = result.similarity.correlation.unwrap_or(f64::NAN);
            observer
                .tell(&Event::Step(&format!("{} aligned to {}: correlation {correlation:.4}", names[1], names[0])));
            if let Some(of_pair) = result.verdict {
                let of_pair = persons::judge(names, of_pair);
                verdict = Some(match verdict {
                    Some(worst) if worst.judgement <= of_pair.judgement => worst,
                    _ => of_pair,
                });
            }
        }
    }
    let mut maps = found.clone();
    for i in 0..images.len() {
        for j in i + 1..images.len() {
            maps[i][j] = between(&found[i][j], &found[j][i], centres[i]).map_err(super::Error::from)?;
            maps[j][i] = between(&found[j][i], &found[i][j], centres[j]).map_err(super::Error::from)?;
        }
    }
    let mut poses = halfway(&maps, &centres).map_err(super::Error::from)?;
    let disagreement_mm = disagreement_mm(&maps, &poses, &centres).map_err(super::Error::from)?;
    for pass in 1..=options.rigid_passes {
        poses = refined(images, &poses, &centres, options, device, observer)?;
        observer.tell(&Event::Step(&format!(
            "pass {pass} of {}: all aligned to the mean of the others",
            options.rigid_passes
        )));
    }
    Ok(Aligned { poses, disagreement_mm, verdict })
}

/// The poses after each time point was aligned to the mean of the others.
fn refined(
    images: &[Image],
    poses: &[AffineTransform],
    centres: &[Point3<f64>],
    options: &Options,
    device: &Device,
    observer: &mut dyn Observer,
) -> Result<Vec<AffineTransform>, crate::Error> {
    let common = Common::new(images, poses)?;
    let share = share(images.len());
    let mut better = Vec::new();
    for (n, (image, pose)) in images.iter().zip(poses).enumerate() {
        let registering = Registering {
            start: Start::Transform(*pose),
            stages: vec![Stage::Linear(options.refining())],
            inverse_warp: false,
            scores: false,
            pairs: Vec::new(),
            images: None,
        };
        let fixed = Fixed::new(device, Side::new(common.mean_of_others(n)), registering)?;
        let moving = Side::new(common.in_own_space(image, pose));
        let found = fixed.register(&moving, observer.progress())?.finish()?;
        better.push(part_of_way(pose, &found.affine, share, common.centre).map_err(super::Error::from)?);
    }
    Ok(recentred(&better, centres).map_err(super::Error::from)?)
}

/// The share of the way from a time point to the mean of the others at which the mean of all n time points lies:
/// (n − 1)/n.
pub fn share(count: usize) -> f64 {
    count.saturating_sub(1) as f64 / count.max(1) as f64
}
