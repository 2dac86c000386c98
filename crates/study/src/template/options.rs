//! Options of building a template: plain data, with the allowed ranges.

use std::ops::RangeInclusive;

use antsreg_cohort::template::Averaging;
use antsreg_register::Interpolation;
use serde::{Deserialize, Serialize};

use super::Error;
use crate::skulls::BrainChoice;

/// Options of building a template.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TemplateOptions {
    /// Largest number of passes, within [`TemplateOptions::PASSES`]. Passes may be added to a finished template.
    pub passes: usize,
    /// Share of the mean warp by which one update moves the template towards the mean shape, within
    /// [`TemplateOptions::SHAPE_STEP`]. Each pass makes four such updates.
    pub shape_step: f64,
    /// Whether every average is sharpened by its Laplacian, as ANTs does.
    pub sharpen: bool,
    /// Template building ends when the template moves by less than this distance on average in a pass, voxels, within
    /// [`TemplateOptions::STOP_BELOW_VOXELS`]. With 0 all passes are run.
    pub stop_below_voxels: f64,
    /// Margin that is added around the foreground of the first subject, to get the grid of a template that is made from
    /// this subject, mm, within [`TemplateOptions::MARGIN_MM`].
    pub margin_mm: f64,
    /// Whether the subjects' images are bias corrected after reading.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bias: bool,
    /// Images whose brain is extracted before they are registered and averaged. Subjects are moving images, the images
    /// that the template starts from are fixed images.
    #[serde(skip_serializing_if = "BrainChoice::is_auto")]
    pub brain: BrainChoice,
    /// How the subjects' values at a voxel are averaged.
    pub average: Averaging,
    /// Interpolation of the subjects' images.
    pub interpolation: Interpolation,
}

impl Default for TemplateOptions {
    fn default() -> TemplateOptions {
        TemplateOptions {
            passes: 4,
            shape_step: 0.25,
            sharpen: false,
            stop_below_voxels: 0.02,
            margin_mm: 10.0,
            bias: false,
            brain: BrainChoice::default(),
            average: Averaging::Mean,
            interpolation: Interpolation::Sinc,
        }
    }
}

impl TemplateOptions {
    /// Allowed numbers of passes.
    pub const PASSES: RangeInclusive<usize> = 1..=1000;
    /// Allowed shares of the mean warp by which one update moves the template towards the mean shape.
    pub const SHAPE_STEP: RangeInclusive<f64> = 0.0..=1.0;
    /// Allowed values of the mean movement of the template in a pass below which template building ends, voxels.
    pub const STOP_BELOW_VOXELS: RangeInclusive<f64> = 0.0..=100.0;
    /// Allowed margins around the foreground of the first subject, mm.
    pub const MARGIN_MM: RangeInclusive<f64> = 0.0..=200.0;
    /// Allowed weights of a channel in the template's registrations.
    pub const WEIGHT: RangeInclusive<f64> = 1e-3..=1e3;

    /// Checks that all options are in range.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn check(&self) -> Result<(), Error> {
        check_range("the number of passes", &Self::PASSES, self.passes)?;
        check_range("the step towards the mean shape", &Self::SHAPE_STEP, self.shape_step)?;
        check_range(
            "the movement of the template below which no further pass is run, voxels,",
            &Self::STOP_BELOW_VOXELS,
            self.stop_below_voxels,
        )?;
        check_range("the margin, mm,", &Self::MARGIN_MM, self.margin_mm)
    }
}

/// Checks that a value is in range. `what` names the option in the message.
pub(super) fn check_range<T: PartialOrd + std::fmt::Display>(
    what: &'static str,
    range: &RangeInclusive<T>,
    found: T,
) -> Result<(), Error> {
    match range.contains(&found) {
        true => Ok(()),
        false => Err(Error::Range {
            what,
            expected: format!("{} to {}", range.start(), range.end()),
            found: found.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_out_of_range_are_refused() {
        let usual = TemplateOptions::default;
        assert!(usual().check().is_ok());
        let ends =
            TemplateOptions { passes: 1000, shape_step: 1.0, stop_below_voxels: 0.0, margin_mm: 200.0, ..usual() };
        assert!(ends.check().is_ok());
        for (options, word) in [
            (TemplateOptions { passes: 0, ..usual() }, "passes must be 1 to 1000, found 0"),
            (TemplateOptions { shape_step: 1e9, ..usual() }, "shape must be 0 to 1, found 1000000000"),
            (TemplateOptions { stop_below_voxels: -0.1, ..usual() }, "must be 0 to 100, found -0.1"),
            (TemplateOptions { margin_mm: f64::NAN, ..usual() }, "must be 0 to 200, found NaN"),
        ] {
            let message = options.check().expect_err(word).to_string();
            assert!(message.contains(word), "`{word}` is missing in: {message}");
        }
    }
}
