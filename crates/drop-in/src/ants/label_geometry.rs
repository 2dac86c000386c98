//! The command `LabelGeometryMeasures`: a table of the shapes of labels.

use std::path::Path;

use antsreg_console::{CliError, Refusal, output::print};
use antsreg_core::Volume;
use antsreg_core::io::outputs;
use antsreg_images::shapes::{LabelShape, shapes};

use super::files::Image;
use super::words::positional;
use crate::call::Call;

const USAGE: &str = "\
LabelGeometryMeasures DIMENSION LABELS [IMAGE|none] [TABLE.csv|none]

Served by antsreg-gpu. Without TABLE.csv, the table is printed.
";

/// Columns of all tables.
const COLUMNS: [&str; 8] = [
    "Label",
    "VolumeInVoxels",
    "VolumeInMillimeters",
    "SurfaceAreaInMillimetersSquared",
    "Eccentricity",
    "Elongation",
    "Roundness",
    "Flatness",
];

/// Columns of the intensities of an image.
const INTENSITIES: [&str; 5] =
    ["MeanIntensity", "SigmaIntensity", "MinIntensity", "MaxIntensity", "IntegratedIntensity"];

/// Runs `LabelGeometryMeasures`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some([dimension, input, rest @ ..]) = positional(&call.arguments, 2..=4, USAGE)? else { return Ok(()) };
    let axes = super::dimension(dimension)?;
    let given = |place: usize| {
        rest.get(place).filter(|name| !["none", "na"].contains(&name.as_str())).map(|name| Path::new(name.as_str()))
    };
    let (image, table) = (given(0), given(1));
    outputs::check(table, [Some(Path::new(input)), image].into_iter().flatten())?;
    let labels = Image::read(Path::new(input), axes)?;
    super::check_dimension(axes == 2, [(Path::new(input), &labels.grid)])?;
    let image = match image {
        None => None,
        Some(path) => {
            let image = Image::read(path, axes)?;
            labels.check_shape(path, &image)?;
            Some(image.voxels)
        }
    };
    let labels = labels.single("LabelGeometryMeasures")?;
    if labels.voxels.iter().any(|value| !(0.0..=4e9).contains(value)) {
        return Err(Refusal::new(input, "expected labels that are whole numbers from 0").into());
    }
    let text = text(&labels, image.as_deref(), usize::from(axes), table.is_some());
    match table {
        None => print(&text),
        Some(path) => Ok(outputs::write_file(path, text.as_bytes())?),
    }
}

/// The table, a line for each label. A table for a file has commas and a column for each axis; one that is printed has
/// tabs and lists in brackets.
fn text(labels: &Volume, image: Option<&[f32]>, axes: usize, in_file: bool) -> String {
    let per_axis =
        |name: &str| ["x", "y", "z"][..axes].iter().map(|axis| format!("{name}_{axis}")).collect::<Vec<_>>();
    let mut header: Vec<String> = COLUMNS.map(str::to_owned).into();
    match in_file {
        true => ["Centroid", "AxesLength", "BoundingBoxLower", "BoundingBoxUpper"]
            .iter()
            .for_each(|name| header.extend(per_axis(name))),
        false => header.extend(["Centroid", "AxesLengths", "BoundingBox"].map(str::to_owned)),
    }
    if image.is_some() {
        header.extend(INTENSITIES.map(str::to_owned));
    }
    let mut rows = vec![header];
    for shape in shapes(labels) {
        let mut row = vec![shape.label.to_string(), shape.count.to_string()];
        let measures = [shape.volume, shape.surface, shape.eccentricity(), shape.elongation()];
        row.extend(
            measures.into_iter().chain([shape.roundness(), shape.flatness()]).map(|value| format!("{value:.6}")),
        );
        row.extend(places(&shape, axes, in_file));
        if let Some(image) = image {
            row.extend(intensities(labels, image, shape.label).map(|value| format!("{value:.6}")));
        }
        rows.push(row);
    }
    let between = if in_file { "," } else { "\t" };
    rows.iter().map(|row| row.join(between) + "\n").collect()
}

/// Centre, lengths of axes and box of a label. ANTs' world has x to the left and y to the back.
fn places(shape: &LabelShape, axes: usize, in_file: bool) -> Vec<String> {
    let centre = [-shape.centre.x + 0.0, -shape.centre.y + 0.0, shape.centre.z];
    let bounds: Vec<String> =
        shape.bounds.iter().flat_map(|corner| corner[..axes].iter().map(ToString::to_string)).collect();
    let numbers = |values: &mut dyn Iterator<Item = f64>, digits: usize| {
        values.map(|value| format!("{value:.digits$}")).collect::<Vec<_>>()
    };
    let digits = if in_file { 6 } else { 4 };
    let lists = [numbers(&mut centre[..axes].iter().copied(), digits), numbers(&mut shape.axes(), digits), bounds];
    match in_file {
        true => lists.concat(),
        false => lists.iter().map(|list| format!("[{}]", list.join(", "))).collect(),
    }
}

/// Mean, standard deviation, least and largest intensity of a label, and the sum.
fn intensities(labels: &Volume, image: &[f32], label: u32) -> [f64; 5] {
    let values = || {
        let own = labels.voxels.iter().zip(image).filter(move |(found, _)| **found as u32 == label);
        own.map(|(_, value)| f64::from(*value))
    };
    let (count, sum) = values().fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    let mean = sum / count;
    let variance = values().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let deviation = if count > 1.0 { variance.sqrt() } else { 0.0 };
    [mean, deviation, values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max), sum]
}
