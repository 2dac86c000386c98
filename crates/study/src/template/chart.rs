//! Charts of the convergence of a template over the passes of template building.

use antsreg_report::{Chart, Curve, Curves, Error, curves};

use super::update::TemplateResults;

/// Draws charts of three measures over the passes of template building: movement of the template, length of the mean
/// warp, and sharpness.
///
/// # Errors
/// A chart that cannot be drawn.
pub fn charts(passes: &[TemplateResults]) -> Result<Vec<Chart>, Error> {
    let curve = |name: &str, value: fn(&TemplateResults) -> f64| Curve {
        name: name.into(),
        points: passes.iter().map(|pass| (pass.pass as f64, value(pass))).collect(),
        marks: true,
    };
    let moved =
        [curve("template moved by", |pass| pass.moved_mean_voxels), curve("mean warp", |pass| pass.mean_warp_voxels)];
    let sharp = [curve("sharpness", |pass| pass.sharpness_per_mm)];
    let chart = |title: &str, y: &str, from_zero: bool, shown: &[Curve], note: &str| -> Result<Chart, Error> {
        let svg = curves(&Curves { x: "pass", y, from_zero, curves: shown })?;
        Ok(Chart { title: title.into(), svg, note: note.into() })
    };
    Ok(vec![
        chart(
            "Course",
            "voxels",
            true,
            &moved,
            "Length of the mean warp and movement of the template, mean over the foreground. Both fall to 0 as \
             the template converges.",
        )?,
        chart(
            "Sharpness",
            "1 / mm",
            false,
            &sharp,
            "Mean gradient magnitude divided by mean intensity, in the foreground.",
        )?,
    ])
}
