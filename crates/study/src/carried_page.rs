//! The HTML page of an image that was resampled through transforms: the reference, and the image before and after.

use std::path::Path;

use antsreg_core::TransformChain;
use antsreg_kernels::apply::Interpolation;
use antsreg_report::{Chart, Compared, ComparisonPage, Facts, File, Reference, compare, comparison_page, histograms};

use crate::transforms::TransformFile;
use crate::words::{self, stem};
use crate::{Error, geometry, inputs};

/// Names of the pictures on the HTML page: the reference, the image before the transforms, and the resampled image.
const NAMES: [&str; 3] = ["Reference", "Before", "After"];

/// An image that was resampled through transforms, from which its HTML page is made.
#[derive(Debug, Clone, Copy)]
pub struct Carried<'a> {
    /// Path of the input image.
    pub input: &'a Path,
    /// Path of the image that gives the output grid.
    pub reference: &'a Path,
    /// Path of the output image.
    pub output: &'a Path,
    /// Files of the transforms; the last file is applied to the image first.
    pub transforms: &'a [TransformFile],
    /// All transforms of the image, joined into one chain.
    pub chain: &'a TransformChain,
    /// Interpolation of the input image.
    pub interpolation: Interpolation,
    /// The command line of the program, shown on the HTML page.
    pub command_line: &'a [String],
}

/// Makes the page of a resampled image as HTML.
///
/// # Errors
/// An image that cannot be read; a page that cannot be made.
pub fn carried_page(carried: &Carried) -> Result<String, Error> {
    let Carried { input, reference, output, transforms, chain, interpolation, command_line } = *carried;
    let (image, onto) = (inputs::any_image(input)?, inputs::any_image(reference)?);
    let unmoved = TransformChain::new();
    let compared = Compared {
        image: &image,
        before: (!transforms.is_empty()).then_some(&unmoved),
        after: chain,
        warp: chain.displacement(),
        // The HTML page uses linear interpolation, even if the image was resampled with splines or sincs. Splines and
        // sincs need the whole image, and the difference is invisible in a picture.
        interpolation: match interpolation {
            Interpolation::Nearest | Interpolation::GenericLabel | Interpolation::MultiLabel { .. } => {
                Interpolation::Nearest
            }
            _ => Interpolation::Linear,
        },
        labels: None,
    };
    let pictures = compare(&Reference::new(&onto, None)?, &compared)?;
    let file = |role: &str, path: &Path, detail: String| File {
        role: role.into(),
        path: path.display().to_string(),
        detail,
    };
    let mut files = vec![
        file("image", input, geometry::describe(&image.grid)),
        file("reference", reference, geometry::describe(&onto.grid)),
    ];
    files.extend(transforms.iter().map(|transform| File {
        role: "transform".into(),
        path: transform.to_string(),
        detail: String::new(),
    }));
    files.push(file("written", output, String::new()));
    let facts = Facts {
        title: format!("{} onto {}", stem(input), stem(reference)),
        subtitle: "An image resampled through transforms".into(),
        warnings: chain.check(&onto.grid, Some(&image.grid))?.iter().map(ToString::to_string).collect(),
        command: words::command(command_line),
        files,
        details: vec![["The transforms in words".into(), chain.explain().to_string()]],
        program: format!("antsreg-gpu {}", env!("CARGO_PKG_VERSION")),
        ..Facts::default()
    };
    let charts = [Chart {
        title: "Intensities".into(),
        svg: histograms(["reference", "image, after"], &pictures.histograms)?,
        note: "Intensities in the slices that this page shows, without black pixels. Each image has its own range."
            .into(),
    }];
    Ok(comparison_page(&ComparisonPage { facts: &facts, pictures: &pictures, names: NAMES, charts: &charts })?.html)
}
