//! Label fusion for Python: combines the label maps of several atlases.

use antsreg_register::Device;
use antsreg_study::labels::{CarriedAtlas, Fusion};
use pyo3::prelude::*;
use serde_json::Value;

use crate::error::Failure;
use crate::image::Image;
use crate::labels::Labels;
use crate::plan::{merge, read, unreadable};
use crate::process;

/// Fuses the label maps of several atlases. Images and label maps of the atlases have already been resampled on the
/// grid of the target image. `options` are JSON, with the fusion method as `kind`; missing options have their defaults.
#[pyfunction]
pub fn fuse(
    py: Python,
    target: &Image,
    images: Vec<PyRef<Image>>,
    labels: Vec<PyRef<Labels>>,
    options: &str,
) -> Result<Labels, Failure> {
    let given: Value = read(options)?;
    let usual = serde_json::to_value(Fusion::default()).map_err(unreadable)?;
    let value = match given.get("kind") == usual.get("kind") {
        true => {
            let mut value = usual;
            merge(&mut value, given);
            value
        }
        false => given,
    };
    let fusion: Fusion = serde_json::from_value(value).map_err(unreadable)?;
    let atlases = images.iter().zip(&labels);
    let carried = atlases
        .map(|(image, labels)| Ok(CarriedAtlas { image: image.volume()?, labels: &labels.labels }))
        .collect::<Result<Vec<_>, Failure>>()?;
    process::compute(py, || {
        fusion.check()?;
        let fused = fusion.fuse_carried(target.volume()?, &carried, &Device::cpu())?;
        Ok(Labels { labels: fused.labels, name: "the fused labels".into(), planar: target.planar })
    })
}
