//! Pairs of images beside the first: as typed, how they are read, and which options act on them.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use antsreg_core::{Transform, TransformChain, Volume};
use antsreg_syn as syn;
use clap::ValueEnum;

use super::args::Args;
use super::settings::{Metric, Settings};
use crate::error::{CliError, UsageError};
use crate::inputs;
use crate::values::{self, ValueError};

/// A further pair as typed: `FIXED,MOVING[,METRIC[,WEIGHT]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelFiles {
    /// Image aligned with the fixed one.
    pub fixed: PathBuf,
    /// Image aligned with the moving one.
    pub moving: PathBuf,
    /// Its metric, unless that of the first pair.
    pub metric: Option<Metric>,
    /// Its weight beside the first pair's 1.
    pub weight: f64,
}

const EXPECTED: &str =
    "FIXED,MOVING, FIXED,MOVING,METRIC or FIXED,MOVING,METRIC,WEIGHT, such as T2f.nii,T2m.nii,cc,0.5";

impl FromStr for ChannelFiles {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<ChannelFiles, ValueError> {
        let malformed = || ValueError::Malformed { expected: EXPECTED, found: text.into() };
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let (fixed, moving, metric, weight) = match parts[..] {
            [fixed, moving] => (fixed, moving, None, None),
            [fixed, moving, metric] => (fixed, moving, Some(metric), None),
            [fixed, moving, metric, weight] => (fixed, moving, Some(metric), Some(weight)),
            _ => return Err(malformed()),
        };
        if fixed.is_empty() || moving.is_empty() {
            return Err(malformed());
        }
        let metric = metric.map(|name| {
            let expected = "the metric cc or mattes after both images";
            Metric::from_str(name, true).map_err(|_| ValueError::Malformed { expected, found: name.into() })
        });
        let weight = weight.map_or(Ok(1.0), values::weight)?;
        Ok(ChannelFiles { fixed: fixed.into(), moving: moving.into(), metric: metric.transpose()?, weight })
    }
}

/// Reads the further images of the fixed side, which any number of registrations may share.
pub fn read_fixed(args: &Args, first: &Volume) -> Result<Vec<Arc<Volume>>, CliError> {
    args.channels.iter().map(|files| beside(&files.fixed, &args.fixed, first).map(Arc::new)).collect()
}

/// Reads those of the moving side.
pub fn read_moving(args: &Args, first: &Volume) -> Result<Vec<Volume>, CliError> {
    args.channels.iter().map(|files| beside(&files.moving, &args.moving, first)).collect()
}

/// Reads an image that may have a grid of its own, but lies where the first one of its side does.
fn beside(path: &Path, other: &Path, first: &Volume) -> Result<Volume, CliError> {
    let volume = inputs::image(path)?;
    inputs::check_alike([path, other], [&volume.grid, &first.grid])?;
    let mut unmoved = TransformChain::new();
    unmoved.push("headers", Transform::Affine(antsreg_core::AffineTransform::identity()), false)?;
    match unmoved.check(&first.grid, Some(&volume.grid)) {
        Ok(_) => Ok(volume),
        Err(_) => Err(CliError::Elsewhere { path: path.into(), other: other.into() }),
    }
}

/// Metric and weight of the first pair.
pub fn first(settings: &Settings) -> syn::Channel {
    syn::Channel { metric: metric(settings), weight: 1.0 }
}

/// Metric and weight of a further pair.
pub fn channel(settings: &Settings, files: &ChannelFiles) -> syn::Channel {
    syn::Channel { metric: files.metric.map_or_else(|| metric(settings), Into::into), weight: files.weight }
}

/// The metric as typed, or the preset's.
fn metric(settings: &Settings) -> syn::Metric {
    let usual = || settings.preset.syn().channels.first().map(|channel| channel.metric).unwrap_or_default();
    settings.metric.map_or_else(usual, Into::into)
}

/// Refuses parameters of a metric that no pair has.
pub fn check(settings: &Settings, channels: &[ChannelFiles]) -> Result<(), UsageError> {
    let all = std::iter::once(first(settings)).chain(channels.iter().map(|files| channel(settings, files)));
    let metrics: Vec<syn::Metric> = all.map(|channel| channel.metric).collect();
    let unused = |metric| !metrics.contains(&metric);
    let given = [
        ("--cc-radius", unused(syn::Metric::Cc) && settings.cc_radius.is_some()),
        ("--cc-derivative", unused(syn::Metric::Cc) && settings.cc_derivative.is_some()),
        ("--noise", unused(syn::Metric::Cc) && settings.noise.is_some()),
        ("--edge-weight", unused(syn::Metric::Cc) && settings.edge_weight.is_some()),
        ("--metric-bins", unused(syn::Metric::Mattes) && settings.metric_bins.is_some()),
    ];
    match given.into_iter().find(|(_, useless)| *useless) {
        Some((option, _)) => {
            let with = format!("--metric {}", Metric::from(metrics[0]));
            Err(UsageError::NoEffect { option, with })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_two_files_a_metric_and_a_weight() {
        let read = |text: &str| text.parse::<ChannelFiles>();
        let files = |metric, weight| ChannelFiles { fixed: "a.nii".into(), moving: "b.nii".into(), metric, weight };
        assert_eq!(read("a.nii,b.nii"), Ok(files(None, 1.0)));
        assert_eq!(read("a.nii, b.nii,MI"), Ok(files(Some(Metric::Mattes), 1.0)));
        assert_eq!(read("a.nii,b.nii,CC,0.25"), Ok(files(Some(Metric::Cc), 0.25)));
        for text in [
            "a.nii",
            "a.nii,",
            ",b.nii",
            "a,b,cc,1,2",
            "a,b,meansquares",
            "a,b,cc,0",
            "a,b,cc,-1",
            "a,b,cc,nan",
            "a,b,cc,1e99",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
