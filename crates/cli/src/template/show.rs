//! Prints the progress of building a template.

use antsreg_console::{Console, device_notes};
use antsreg_register::DeviceNote;
use antsreg_study::skulls::ExtractedRecord;
use antsreg_study::template::{FinishResults, Registered, TemplateProgress, TemplateResults};

use crate::pair::found_brain;

/// Prints the progress of building a template, a line for each event.
pub struct Lines<'a>(pub &'a mut Console);

impl TemplateProgress for Lines<'_> {
    fn device(&mut self, note: &DeviceNote) {
        device_notes::show(note, self.0);
    }

    fn brain(&mut self, subject: &str, brain: &ExtractedRecord) {
        self.0.note(format_args!(
            "{subject}: its brain is registered instead of the whole head: {}",
            found_brain(brain)
        ));
        brain.warnings.iter().for_each(|warning| self.0.warn(format_args!("{subject}: {warning}")));
    }

    fn registered(&mut self, registered: &Registered) {
        let Registered { pass, done, all, subject, correlation, seconds } = registered;
        let correlation = correlation.unwrap_or(f64::NAN);
        let took = seconds.map_or("done before".to_owned(), |seconds| format!("{seconds:.2} s"));
        self.0.note(format_args!("pass {pass}: {done} of {all}, {subject}: correlation {correlation:.4}, {took}"));
    }

    fn pass_done_before(&mut self, pass: usize) {
        self.0.note(format_args!("pass {pass}: done before"));
    }

    fn pass_done(&mut self, results: &TemplateResults, seconds: f64) {
        let TemplateResults { pass, moved_mean_voxels, mean_warp_voxels, sharpness_per_mm, converged, .. } = results;
        let end = if *converged { "; the template no longer moves" } else { "" };
        self.0.note(format_args!(
            "pass {pass}: template moved by {moved_mean_voxels:.3} voxels, mean warp {mean_warp_voxels:.3} voxels, \
             sharpness {sharpness_per_mm:.4} / mm, {seconds:.1} s{end}"
        ));
    }

    fn finished(&mut self, results: &FinishResults) {
        self.0.note(format_args!("mean of the final warps: {:.4} voxels", results.mean_final_warp_voxels));
        if let Some(sharper) = results.sharper_than_affine_average {
            self.0.note(format_args!("{sharper:.2} times as sharp as the affine average"));
        }
    }
}
