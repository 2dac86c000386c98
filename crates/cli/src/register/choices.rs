//! Choices of a registration that have names, as typed: each is shown by the name that asks for it.

use antsreg_kernels::{CcDerivative, JointSampling};
use antsreg_linear::{self as linear, Cost};
use antsreg_syn as syn;
use clap::ValueEnum;

use crate::values;

/// What the images may do to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Model {
    /// Rotation and translation (6 degrees of freedom)
    #[value(alias = "r")]
    Rigid,
    /// Rigid and one scale (7)
    Similarity,
    /// Rigid and a scale per axis (9)
    Scales,
    /// Every affine map (12)
    #[value(alias = "a")]
    Affine,
    /// Affine, then SyN
    #[value(alias = "s")]
    Syn,
    /// SyN alone, from the start given
    #[value(alias = "so")]
    SynOnly,
}

/// How each start of the affine stage is optimised, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Optimiser {
    /// One parameter after the other, then Newton steps
    Flirt,
    /// Powell's method, at no two points closer than 0.05° and 0.02 mm times the level's mm
    Powell,
    /// Steepest descent
    Descent,
}

impl From<linear::Optimiser> for Optimiser {
    fn from(optimiser: linear::Optimiser) -> Optimiser {
        match optimiser {
            linear::Optimiser::Flirt => Optimiser::Flirt,
            linear::Optimiser::Powell => Optimiser::Powell,
            linear::Optimiser::Descent => Optimiser::Descent,
        }
    }
}

impl From<Optimiser> for linear::Optimiser {
    fn from(optimiser: Optimiser) -> linear::Optimiser {
        match optimiser {
            Optimiser::Flirt => linear::Optimiser::Flirt,
            Optimiser::Powell => linear::Optimiser::Powell,
            Optimiser::Descent => linear::Optimiser::Descent,
        }
    }
}

/// What the affine stage minimises, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Measure {
    /// Correlation ratio: one modality or two
    Cr,
    /// Mutual information: any two modalities
    Mi,
    /// Normalised mutual information: any two, of differing fields of view
    Nmi,
    /// Normalised correlation: one modality
    Ncc,
    /// Least squares: one modality, one scale of intensity
    Lsq,
}

impl From<Cost> for Measure {
    fn from(cost: Cost) -> Measure {
        match cost {
            Cost::CorrelationRatio => Measure::Cr,
            Cost::MutualInformation => Measure::Mi,
            Cost::NormalisedMutualInformation => Measure::Nmi,
            Cost::NormalisedCorrelation => Measure::Ncc,
            Cost::LeastSquares => Measure::Lsq,
        }
    }
}

impl From<Measure> for Cost {
    fn from(measure: Measure) -> Cost {
        match measure {
            Measure::Cr => Cost::CorrelationRatio,
            Measure::Mi => Cost::MutualInformation,
            Measure::Nmi => Cost::NormalisedMutualInformation,
            Measure::Ncc => Cost::NormalisedCorrelation,
            Measure::Lsq => Cost::LeastSquares,
        }
    }
}

impl Measure {
    /// In words, for reports.
    pub fn words(self) -> &'static str {
        Cost::from(self).words()
    }
}

/// How a joint histogram is filled, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Filling {
    /// Interpolated moving values
    Trilinear,
    /// The values of the eight voxels around a point, by their partial volume
    PartialVolume,
}

impl From<JointSampling> for Filling {
    fn from(sampling: JointSampling) -> Filling {
        match sampling {
            JointSampling::Trilinear => Filling::Trilinear,
            JointSampling::PartialVolume => Filling::PartialVolume,
        }
    }
}

impl From<Filling> for JointSampling {
    fn from(filling: Filling) -> JointSampling {
        match filling {
            Filling::Trilinear => JointSampling::Trilinear,
            Filling::PartialVolume => JointSampling::PartialVolume,
        }
    }
}

/// How alike two images are, as typed: by ANTs' names, in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Metric {
    /// Windowed cross-correlation, for images of one kind
    #[default]
    Cc,
    /// Mutual information after Mattes (also: mi), for images of different kinds as well
    #[value(alias = "mi")]
    Mattes,
}

impl From<Metric> for syn::Metric {
    fn from(metric: Metric) -> syn::Metric {
        match metric {
            Metric::Cc => syn::Metric::Cc,
            Metric::Mattes => syn::Metric::Mattes,
        }
    }
}

impl From<syn::Metric> for Metric {
    fn from(metric: syn::Metric) -> Metric {
        match metric {
            syn::Metric::Cc => Metric::Cc,
            syn::Metric::Mattes => Metric::Mattes,
        }
    }
}

/// Which gradient of the windowed correlation drives the update, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Derivative {
    /// The term of the window's centre, as ANTs does it
    #[value(alias = "center")]
    Centre,
    /// The derivative of the sum over all windows
    Exact,
}

impl From<CcDerivative> for Derivative {
    fn from(derivative: CcDerivative) -> Derivative {
        match derivative {
            CcDerivative::Centre => Derivative::Centre,
            CcDerivative::Exact => Derivative::Exact,
        }
    }
}

impl From<Derivative> for CcDerivative {
    fn from(derivative: Derivative) -> CcDerivative {
        match derivative {
            Derivative::Centre => CcDerivative::Centre,
            Derivative::Exact => CcDerivative::Exact,
        }
    }
}

macro_rules! shown_as_typed {
    ($($choice:ty),*) => {$(
        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&values::name(self))
            }
        }
    )*};
}

shown_as_typed!(Model, Optimiser, Measure, Filling, Metric, Derivative);
