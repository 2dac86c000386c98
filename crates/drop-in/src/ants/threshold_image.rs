//! The command `ThresholdImage`: thresholds of intensities, given or found by Otsu's method or k-means.

use std::path::{Path, PathBuf};

use antsreg_console::{CliError, Refusal};
use antsreg_core::io::nifti::Stored;
use antsreg_images::threshold;
use antsreg_register::Description;

use super::files::{self, Image};
use super::words::positional;
use crate::call::Call;

const USAGE: &str = "\
ThresholdImage DIMENSION INPUT OUTPUT LOW HIGH [INSIDE=1] [OUTSIDE=0]
ThresholdImage DIMENSION INPUT OUTPUT Otsu|Kmeans THRESHOLDS [MASK]

Served by antsreg-gpu. The limits LOW and HIGH belong to the inside.
";

/// What is done with the intensities.
enum Threshold {
    Between([f32; 2], [f32; 2]),
    Found { otsu: bool, count: usize, mask: Option<PathBuf> },
}

/// Runs `ThresholdImage`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some([dimensions, input, output, rest @ ..]) = positional(&call.arguments, 5..=7, USAGE)? else {
        return Ok(());
    };
    let dimensions = files::dimensions(dimensions)?;
    let (input, output) = (Path::new(input), Path::new(output));
    let threshold = parse(rest)?;
    files::check_output(output)?;
    let mut image = Image::read(input, dimensions)?;
    match threshold {
        Threshold::Between(limits, values) => threshold::between(&mut image.voxels, limits, values),
        Threshold::Found { otsu, count, mask } => {
            let mask = mask.map(|path| {
                let mask = Image::read(&path, dimensions)?;
                image.check_shape(&path, &mask)?;
                Ok::<_, CliError>(mask.voxels.iter().map(|value| *value as i32 == 1).collect::<Vec<bool>>())
            });
            let mask = mask.transpose()?;
            let found = match otsu {
                true => threshold::otsu(&mut image.voxels, count, mask.as_deref()),
                false => threshold::k_means(&mut image.voxels, count + 1, mask.as_deref()),
            };
            found.map_err(|error| Refusal::new(input.display(), error))?;
        }
    }
    image.write(output, Stored::Float32)?;
    call.tell(&Description::Cpu, &[]);
    Ok(())
}

fn parse(words: &[String]) -> Result<Threshold, Refusal> {
    let number = |place: usize, default: f32| match words.get(place) {
        None => Ok(default),
        Some(word) => word.parse::<f32>().map_err(|_| Refusal::new(word, "expected a number")),
    };
    match words[0].as_str() {
        method @ ("Otsu" | "Kmeans") => {
            let count = words[1].parse().ok().filter(|count| (1..=100).contains(count));
            let refusal = || Refusal::new(&words[1], "expected a number of thresholds from 1 to 100");
            Ok(Threshold::Found {
                otsu: method == "Otsu",
                count: count.ok_or_else(refusal)?,
                mask: words.get(2).map(PathBuf::from),
            })
        }
        _ => Ok(Threshold::Between([number(0, 0.0)?, number(1, 0.0)?], [number(2, 1.0)?, number(3, 0.0)?])),
    }
}
