//! Brain extraction for Python.

use std::sync::Arc;

use antsreg_study::{brain, inputs};
use pyo3::prelude::*;

use crate::devices::Lease;
use crate::error::{Class, Failure};
use crate::image::Image;
use crate::observer::Watcher;
use crate::process;
use crate::studies::unnamed;

/// Measures of an extracted brain: volume (cm³), contrast of the template, correlation with the registered template,
/// agreement (Dice) before and after the border was moved, ratio of the surface to that of a ball, warnings, and the
/// verdict as JSON.
type Measures = (f64, String, f64, f64, f64, Vec<String>, String);

/// Extracts the brain from an image of a head. Returns the image with 0 outside the brain, the mask, the probability of
/// brain at each voxel, and measures; and the message about the device if the CPU was used in place of a GPU. `template`
/// is an image of a head and the mask of its brain; without it, `contrast` chooses the built-in template.
#[pyfunction]
#[pyo3(signature = (image, template, contrast, device, progress))]
pub fn extract_brain(
    py: Python,
    image: &Image,
    template: Option<(PyRef<Image>, PyRef<Image>)>,
    contrast: &str,
    device: &str,
    progress: Option<Py<PyAny>>,
) -> Result<([Image; 3], Measures, Option<String>), Failure> {
    let contrast = antsreg_cli::named::contrast(contrast).map_err(unnamed)?;
    let template = template.map(|(head, mask)| (head.clone(), mask.clone()));
    process::compute(py, || {
        let head = Arc::new(image.volume()?.clone());
        inputs::check_contrast(&head, &image.name)?;
        let template = match template {
            Some((of_head, mask)) => {
                let volume = of_head.volume()?.clone();
                let mask = inputs::as_mask(mask.volume()?.clone(), &mask.name, &of_head.name, &volume.grid)?;
                brain::template(&of_head.name, volume, mask)?
            }
            None => brain::built_in_template(contrast)?,
        };
        let mut lease = Lease::open(device)?;
        let mut watcher = Watcher::new(progress, Arc::default());
        let found = brain::find(&image.name, &head, &template, lease.device.clone(), &mut watcher);
        let found = found.map_err(|error| watcher.stopped(error))?;
        let verdict = serde_json::to_string(&found.verdict());
        let verdict = verdict.map_err(|error| Failure::own(Class::Input, error.to_string()))?;
        let warnings = found.warnings.iter().map(ToString::to_string).collect();
        let measures = (
            found.volume_cm3,
            found.contrast.to_string(),
            found.correlation,
            found.agreement,
            found.surface_ratio,
            warnings,
            verdict,
        );
        let images = [
            Image::made(brain::alone(&head, &found), "the brain", image.planar),
            Image::made(found.mask, "the mask of the brain", image.planar),
            Image::made(found.probability, "the probability of brain", image.planar),
        ];
        Ok((images, measures, lease.note.take().map(|note| note.to_string())))
    })
}
