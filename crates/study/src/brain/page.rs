//! The HTML page of an extracted brain: its outline on the whole head, warnings and measures.

use std::path::Path;

use antsreg_core::{TransformChain, Volume};
use antsreg_heads::brain::Extraction;
use antsreg_kernels::apply::Interpolation;
use antsreg_report::{
    Chart, Compared, ComparisonPage, Facts, File, Reference, Section, compare, comparison_page, histograms,
};

use super::files::BrainFiles;
use crate::words::{self, stem};
use crate::{Error, geometry};

/// Names of the three pictures on the HTML page of an extracted brain. The first shows the brain. The second is empty,
/// because no image exists before a registration. The third shows the whole head.
const NAMES: [&str; 3] = ["Brain", "", "Head"];

/// Makes the page of an extracted brain as HTML.
///
/// # Errors
/// A page that cannot be made.
pub fn brain_page(
    input: &Path,
    head: &Volume,
    found: &Extraction,
    files: &BrainFiles,
    command_line: &[String],
) -> Result<String, Error> {
    let unmoved = TransformChain::new();
    let compared = Compared {
        image: head,
        before: None,
        after: &unmoved,
        warp: None,
        interpolation: Interpolation::Linear,
        labels: None,
    };
    let pictures = compare(&Reference::cut_out(head, &found.mask)?, &compared)?;
    let charts = [Chart {
        title: "Intensities".into(),
        svg: histograms(["brain", "head"], &pictures.histograms)?,
        note: "Intensities in the slices that this page shows, without black pixels. Each image has its own range."
            .into(),
    }];
    let facts = facts(input, head, found, files, command_line);
    Ok(comparison_page(&ComparisonPage { facts: &facts, pictures: &pictures, names: NAMES, charts: &charts })?.html)
}

fn facts(input: &Path, head: &Volume, found: &Extraction, files: &BrainFiles, command_line: &[String]) -> Facts {
    let row = |name: &str, value: String| [name.to_owned(), value];
    let volume = format!("{:.0} cm³", found.volume_cm3);
    let file = |role: &str, path: &Path, detail: String| File {
        role: role.into(),
        path: path.display().to_string(),
        detail,
    };
    let written = [("brain", files.image), ("mask", files.mask), ("probability", files.probability)];
    let written = written.into_iter().filter_map(|(role, path)| Some(file(role, path?, String::new())));
    Facts {
        title: format!("The brain of {}", stem(input)),
        subtitle: "The outline shows the border of the brain".into(),
        highlights: vec![
            row(&volume, "volume of the brain".into()),
            row(&found.contrast.to_string(), "contrast of the template".into()),
            row(&found.verdict().judgement.to_string(), "verdict".into()),
        ],
        warnings: found.warnings.iter().map(ToString::to_string).collect(),
        sections: vec![Section {
            title: "Brain".into(),
            rows: vec![
                row("volume", volume.clone()),
                row("surface area, relative to a ball of equal volume", format!("{:.2}", found.surface_ratio)),
                row("correlation with the template's head", format!("{:.4}", found.correlation)),
                row("overlap with the template's brain", format!("{:.4}", found.agreement)),
            ],
        }],
        command: words::command(command_line),
        files: std::iter::once(file("head", input, geometry::describe(&head.grid))).chain(written).collect(),
        program: format!("antsreg-gpu {}", env!("CARGO_PKG_VERSION")),
        ..Facts::default()
    }
}
