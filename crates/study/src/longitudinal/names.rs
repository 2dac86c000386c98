//! Names of the output files of a longitudinal study.

use std::path::{Path, PathBuf};

use super::TimePoint;

/// Output files of a longitudinal study, all in one folder.
#[derive(Debug, Clone)]
pub struct Names {
    /// The template: the mean of all time points in their mean shape.
    pub template: PathBuf,
    /// The mask of the brain in the template.
    pub mask: PathBuf,
    /// The labels of the template, where time points have labels.
    pub labels: Option<PathBuf>,
    /// The table of volumes.
    pub table: PathBuf,
    /// The record.
    pub record: PathBuf,
    /// Files of each time point, in the order of the time points.
    pub points: Vec<PointNames>,
    /// Folder of the intermediate results from which a stopped run is continued.
    pub steps: PathBuf,
}

/// Output files of a time point.
#[derive(Debug, Clone)]
pub struct PointNames {
    /// The pose: points of the template to points of the time point, after the warp (ITK).
    pub affine: PathBuf,
    /// The warp from the template to the time point.
    pub warp: PathBuf,
    /// The inverse of the warp.
    pub inverse_warp: PathBuf,
    /// The image in the pose of the template, without the warp.
    pub rigid: PathBuf,
    /// The image in the shape of the template.
    pub warped: PathBuf,
    /// The logarithm of the Jacobian determinant of the warp.
    pub log_jacobian: PathBuf,
    /// The change of that logarithm since the first time point, per year if dates are known; `None` for the first.
    pub change: Option<PathBuf>,
    /// The intermediate warp to the mean of the other time points.
    pub step_warp: PathBuf,
    /// The fingerprint of that warp.
    pub step: PathBuf,
}

impl Names {
    /// The names in `folder`.
    pub fn new(folder: &Path, points: &[TimePoint]) -> Names {
        let steps = folder.join("steps");
        let of_point = |(n, point): (usize, &TimePoint)| {
            let name = |end: &str| folder.join(format!("{}_{end}", point.name));
            let change =
                if point.years.is_some() { "logJacobianChangePerYear.nii.gz" } else { "logJacobianChange.nii.gz" };
            PointNames {
                affine: name("0GenericAffine.mat"),
                warp: name("1Warp.nii.gz"),
                inverse_warp: name("1InverseWarp.nii.gz"),
                rigid: name("Rigid.nii.gz"),
                warped: name("Warped.nii.gz"),
                log_jacobian: name("logJacobian.nii.gz"),
                change: (n > 0).then(|| name(change)),
                step_warp: steps.join(format!("{}_warp.nii.gz", point.name)),
                step: steps.join(format!("{}.json", point.name)),
            }
        };
        Names {
            template: folder.join("template.nii.gz"),
            mask: folder.join("template_brain_mask.nii.gz"),
            labels: points.iter().any(|point| point.labels.is_some()).then(|| folder.join("template_labels.nii.gz")),
            table: folder.join("volumes.csv"),
            record: folder.join("record.json"),
            points: points.iter().enumerate().map(of_point).collect(),
            steps,
        }
    }

    /// Paths of all files that the user gets, without the intermediate results.
    pub fn all(&self) -> Vec<&Path> {
        let Names { template, mask, labels, table, record, points, steps: _ } = self;
        let mut all: Vec<&PathBuf> = vec![template, mask, table, record];
        all.extend(labels);
        for point in points {
            let PointNames { affine, warp, inverse_warp, rigid, warped, log_jacobian, change, .. } = point;
            all.extend([affine, warp, inverse_warp, rigid, warped, log_jacobian].into_iter().chain(change));
        }
        all.into_iter().map(PathBuf::as_path).collect()
    }
}
