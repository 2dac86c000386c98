//! Operations of `ImageMath` on series and on images of tensors.

use antsreg_console::Refusal;
use antsreg_core::io::nifti::{Planes, Timing};
use antsreg_images::tensors;

use super::plan::{Made, Parser, Plan, Words, beside, first};
use crate::ants::files::Image;

/// The names of the operations, and the functions that parse their arguments.
pub const PARSERS: &[(&str, Parser)] = &[
    ("TensorFA", |words| of_tensors(words, tensors::fractional_anisotropy)),
    ("TensorMeanDiffusion", |words| of_tensors(words, tensors::mean_diffusivity)),
    ("TimeSeriesSubset", subset),
    ("TimeSeriesDisassemble", |words| apart(words, 1000, |count| (0..count).collect())),
    ("TimeSeriesAssemble", assemble),
    // ANTs reads the image and prints nothing.
    ("nvols", |words| Ok(Plan::on(vec![words.path(0)?], |_| Ok(Made::Printed(None, String::new()))))),
];

fn of_tensors(words: &Words, measure: fn(&[f32; 6]) -> f32) -> Result<Plan, Refusal> {
    let name = format!("ImageMath {}", words.operation);
    Ok(Plan::on(vec![words.path(0)?], move |images| {
        let image = first(images)?;
        let each = image.grid.len();
        if image.count() != 6 {
            let why = format!("expected an image of tensors with six components, found {}", image.count());
            return Err(Refusal::new(name, why).into());
        }
        let tensor = |voxel: usize| std::array::from_fn(|part| image.voxels[part * each + voxel]);
        let voxels = (0..each).map(|voxel| measure(&tensor(voxel))).collect();
        Ok(Made::Image(Image { voxels, planes: Planes::One, grid: image.grid }))
    }))
}

/// Writes volumes of a series to files of their own, whose names have numbers from `first_number` on before the
/// extension. `chosen` lists the volumes of a series of a length.
fn apart(
    words: &Words,
    first_number: usize,
    chosen: impl FnOnce(usize) -> Vec<usize> + 'static,
) -> Result<Plan, Refusal> {
    if words.dimensions != 4 {
        let why = format!("ImageMath {} … {}", words.dimensions, words.operation);
        return Err(Refusal::not_served(why, "use dimension 4, for a series of volumes"));
    }
    let output = words.output.to_owned();
    Ok(Plan::on(vec![words.path(0)?], move |images| {
        let series = first(images)?;
        let each = series.grid.len();
        let volume = |index: usize| Image {
            grid: series.grid.clone(),
            voxels: series.voxels[index * each..(index + 1) * each].to_vec(),
            planes: Planes::One,
        };
        let numbered = |(n, index)| (beside(&output, first_number + n), volume(index));
        Ok(Made::Several(chosen(series.count()).into_iter().enumerate().map(numbered).collect()))
    }))
}

/// Volumes at equal steps of a series.
fn subset(words: &Words) -> Result<Plan, Refusal> {
    words.needed(1)?;
    let asked = words.count(1, 1)?;
    apart(words, 100, move |count| match asked {
        asked if asked >= count => (0..count).collect(),
        asked => (0..asked).map(|n| ((n as f32 * (count as f32 / asked as f32)) as usize).min(count - 1)).collect(),
    })
}

fn assemble(words: &Words) -> Result<Plan, Refusal> {
    let timing = Timing { step: words.needed(0)?, start: words.needed(1)?, unit: Timing::SECONDS };
    Ok(Plan::on(words.paths(2)?, move |images| {
        let voxels = images.iter().flat_map(|image| image.voxels.iter().copied()).collect();
        Ok(Made::Image(Image { grid: first(images)?.grid, voxels, planes: Planes::Series(timing) }))
    }))
}
