//! The command-line options of `apply`.

use std::path::PathBuf;

use antsreg_kernels::apply::{self, LabelInterpolation, Window};
use clap::ValueEnum;

use crate::options::ReportArgs;
use crate::values;
use antsreg_study::transforms::TransformFile;

/// Apply transforms to an image, a label map, points, a surface or a tract.
///
/// Order and inversion are those of antsApplyTransforms: `-t 1Warp.nii.gz -t 0GenericAffine.mat` resamples the moving
/// image of a registration on the fixed grid; `-t '[0GenericAffine.mat,1]' -t 1InverseWarp.nii.gz` resamples the
/// fixed image on the moving grid. Points, surfaces and tracts go the other way: the first list maps points of the
/// fixed image to the moving image. Without any transform, and with `-t identity`, the identity is applied.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = AFTER)]
pub struct Args {
    /// Image, series of images (4-D) or label map to resample; or points, a surface or a tract to map, which
    /// keep their format and all other data: .csv (columns x, y, z), .fcsv, .mrk.json, .json, .tck, .trk, .trx, .gii, .vtk, .ply, surfaces of FreeSurfer
    #[arg(short, long, value_name = "IMAGE")]
    pub input: Option<PathBuf>,
    /// Image whose grid the output gets; for a .trk or .trx, the image in whose space the points end, for its header
    #[arg(short, long, value_name = "IMAGE")]
    pub reference: Option<PathBuf>,
    /// Points to map, as by --input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "reference", "shrink", "interpolation", "outside", "integer"])]
    pub points: Option<PathBuf>,
    /// File to write: an image (.nii.gz, .nii, .mgz, .mgh, .nrrd, .nhdr, .mha, .mhd), or the format of the input for points; .h5 writes
    /// all transforms to one file, without --input and --reference
    #[arg(short, long, value_name = "FILE", required_unless_present = "explain")]
    pub output: Option<PathBuf>,
    #[arg(
        short,
        long,
        value_name = "TRANSFORM",
        help = "Transform: ITK affine (.mat, .txt, .tfm), displacement field \
        (.nii.gz, .nii) or composite (.h5); FILE, or [FILE,1] for the inverse of an affine. May be repeated; the last one \
        acts on the image first"
    )]
    pub transform: Vec<TransformFile>,
    /// Motion of the input (a series of volumes): the prefix that was given to `motion`, or a file with a transform for
    /// each volume (PREFIXmotion.txt). This transform acts on the volume before the transforms of --transform
    #[arg(long, value_name = "PREFIX", requires = "input")]
    pub motion: Option<PathBuf>,
    /// Interpolation of the input
    #[arg(short = 'n', long, value_enum, default_value_t, value_name = "HOW")]
    pub interpolation: Interpolation,
    /// Value of output voxels that lie outside the input
    #[arg(long, value_name = "VALUE", default_value_t = 0.0, allow_negative_numbers = true, value_parser = values::voxel)]
    pub outside: f32,
    /// Make the reference grid coarser by this whole factor
    #[arg(long, value_name = "FACTOR", default_value_t = 1, value_parser = values::at_least_one)]
    pub shrink: usize,
    /// Round the output to whole numbers and write the smallest integer type that can store them
    #[arg(long)]
    pub integer: bool,
    /// Coordinate system of points whose file does not say it: lps as for antsApplyTransformsToPoints and ITK, ras as
    /// for NIfTI and FreeSurfer. Default for .csv and .json: lps
    #[arg(long, value_enum, value_name = "WORLD")]
    pub coordinates: Option<Coordinates>,
    #[command(flatten)]
    pub report: ReportArgs,
    /// Print the spaces between which each transform maps, for points and for images, and stop
    #[arg(long)]
    pub explain: bool,
}

const AFTER: &str = "\
Examples:
  antsreg-gpu apply -i moving.nii.gz -r fixed.nii.gz -o warped.nii.gz -t p1Warp.nii.gz -t p0GenericAffine.mat
  antsreg-gpu apply -i labels.nii.gz -r fixed.nii.gz -o carried.nii.gz -n generic-label \\
      -t p1Warp.nii.gz -t p0GenericAffine.mat
  antsreg-gpu apply -i tract.trk -o carried.trk -r fixed.nii.gz -t '[p0GenericAffine.mat,1]' -t p1InverseWarp.nii.gz
  antsreg-gpu apply -o pComposite.h5 -t p1Warp.nii.gz -t p0GenericAffine.mat
  antsreg-gpu apply --explain -t p1Warp.nii.gz -t p0GenericAffine.mat";

/// Interpolation of images and label maps. The names that ANTs uses are accepted as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Interpolation {
    /// Trilinear
    #[default]
    #[value(alias = "Linear")]
    Linear,
    /// The value of the nearest voxel; whole numbers stay whole
    #[value(aliases = ["NearestNeighbor", "nearestNeighbor", "nearest-neighbour", "nearest-neighbor"])]
    Nearest,
    /// Cubic B-spline
    #[value(aliases = ["BSpline", "bSpline", "b-spline"])]
    Bspline,
    /// Sinc with Lanczos window
    #[value(aliases = ["LanczosWindowedSinc", "lanczosWindowedSinc"])]
    Sinc,
    /// Sinc with cosine window, under ANTs' name
    #[value(name = "CosineWindowedSinc", alias = "cosineWindowedSinc", hide = true)]
    CosineSinc,
    /// Sinc with Hamming window, under ANTs' name
    #[value(name = "HammingWindowedSinc", alias = "hammingWindowedSinc", hide = true)]
    HammingSinc,
    /// Sinc with Welch window, under ANTs' name
    #[value(name = "WelchWindowedSinc", alias = "welchWindowedSinc", hide = true)]
    WelchSinc,
    /// Sinc with Blackman window, under ANTs' name
    #[value(name = "BlackmanWindowedSinc", alias = "blackmanWindowedSinc", hide = true)]
    BlackmanSinc,
    /// Mean weighted by a Gaussian of one voxel's size, which smooths the image
    #[value(alias = "Gaussian")]
    Gaussian,
    /// For label maps: the label with the most weight among the neighbours
    #[value(aliases = ["GenericLabel", "genericLabel", "MultiLabel", "multiLabel"])]
    GenericLabel,
}

impl Interpolation {
    /// Returns the interpolation of an image whose voxel spacing is `spacing_mm`. The interpolation `generic-label` is
    /// for label maps; for images it is replaced by the nearest voxel.
    pub fn of_images(self, spacing_mm: [f64; 3]) -> apply::Interpolation {
        match self {
            Interpolation::Linear => apply::Interpolation::Linear,
            Interpolation::Nearest | Interpolation::GenericLabel => apply::Interpolation::Nearest,
            Interpolation::Bspline => apply::Interpolation::BSpline,
            Interpolation::Sinc => apply::Interpolation::WindowedSinc(Window::Lanczos),
            Interpolation::CosineSinc => apply::Interpolation::WindowedSinc(Window::Cosine),
            Interpolation::HammingSinc => apply::Interpolation::WindowedSinc(Window::Hamming),
            Interpolation::WelchSinc => apply::Interpolation::WindowedSinc(Window::Welch),
            Interpolation::BlackmanSinc => apply::Interpolation::WindowedSinc(Window::Blackman),
            Interpolation::Gaussian => apply::Interpolation::Gaussian { sigma_mm: spacing_mm, alpha: 1.0 },
        }
    }

    /// The interpolation of a label map.
    pub fn of_labels(self) -> LabelInterpolation {
        match self {
            Interpolation::GenericLabel => LabelInterpolation::GenericLabel,
            _ => LabelInterpolation::Nearest,
        }
    }
}

/// The coordinate system of the points in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Coordinates {
    /// x to the left, y to the back, z up
    Lps,
    /// x to the right, y to the front, z up
    Ras,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_ants_and_of_antspy_are_understood() {
        for name in [
            "Linear",
            "NearestNeighbor",
            "Gaussian",
            "BSpline",
            "GenericLabel",
            "MultiLabel",
            "CosineWindowedSinc",
            "WelchWindowedSinc",
            "HammingWindowedSinc",
            "LanczosWindowedSinc",
            "BlackmanWindowedSinc",
        ] {
            let (first, rest) = name.split_at(1);
            for name in [name, &(first.to_lowercase() + rest)] {
                assert!(Interpolation::from_str(name, false).is_ok(), "{name}");
            }
        }
        assert!(Interpolation::from_str("cubic", false).is_err());
    }
}
