//! Operations of `ImageMath` that combine several images, or measure images.

use std::path::Path;

use antsreg_console::{CliError, Refusal};
use antsreg_core::histogram_matching::Landmarks;
use antsreg_core::io::nifti::Stored;
use antsreg_images::arithmetic::{self, Arithmetic};
use antsreg_images::{dimensions, filters, grids, intensity, labels, propagate};

use super::plan::{Made, Parser, Plan, Words, beside, first, number};
use crate::ants::files::Image;
use crate::ants::numbers::general;

/// The names of the operations, and the functions that parse their arguments.
pub const PARSERS: &[(&str, Parser)] = &[
    ("m", |words| arithmetic(words, Arithmetic::Multiply)),
    ("+", |words| arithmetic(words, Arithmetic::Add)),
    ("-", |words| arithmetic(words, Arithmetic::Subtract)),
    ("/", |words| arithmetic(words, Arithmetic::Divide)),
    ("^", |words| arithmetic(words, Arithmetic::Power)),
    ("exp", |words| arithmetic(words, Arithmetic::Exponential)),
    ("max", |words| arithmetic(words, Arithmetic::Maximum)),
    ("abs", |words| arithmetic(words, Arithmetic::Absolute)),
    ("addtozero", |words| arithmetic(words, Arithmetic::AddToZero)),
    ("overadd", |words| arithmetic(words, Arithmetic::Over)),
    ("Decision", |words| arithmetic(words, Arithmetic::Decision)),
    ("total", |words| sum(words, false)),
    ("mean", |words| sum(words, true)),
    ("PureTissueN4WeightMask", |words| {
        Ok(Plan::on(words.paths(0)?, |images| {
            let maps: Vec<&[f32]> = images.iter().map(|image| image.voxels.as_slice()).collect();
            let voxels = arithmetic::pure_tissue_weights(&maps);
            Ok(Made::Image(Image { voxels, ..first(images)? }))
        }))
    }),
    ("Convolve", convolve),
    ("PropagateLabelsThroughMask", propagate),
    ("CompareHeadersAndImages", |words| {
        words.not_of_series()?;
        let plan = Plan::on(vec![words.path(0)?, words.path(1)?], |images| {
            let [reference, mut image] = two(images)?;
            intensity::make_finite(&mut image.voxels, 0.0);
            grids::repair(&mut image.grid, &reference.grid);
            Ok(Made::Image(image))
        });
        Ok(Plan { same_shape: false, ..plan })
    }),
    ("LabelStats", label_statistics),
    ("MajorityVoting", vote),
    ("PearsonCorrelation", correlation),
    ("HistogramMatch", match_histogram),
];

/// The second operand of an arithmetic operation.
enum Second {
    Number(f32),
    Image(std::path::PathBuf),
}

impl Second {
    /// Reads the second operand. As in ANTs, a number is no file name; without the operand, the number is 1.
    fn of(words: &Words) -> Second {
        match words.rest.get(1) {
            None => Second::Number(1.0),
            Some(word) => number(word).map_or_else(|| Second::Image(word.into()), Second::Number),
        }
    }
}

/// Applies an operation to two images, or to an image and a number, and passes the image on.
fn with_second(
    words: &Words,
    operation: Arithmetic,
    then: impl FnOnce(Image) -> Result<Made, CliError> + 'static,
) -> Result<Plan, Refusal> {
    let (image, second) = (words.path(0)?, Second::of(words));
    let (inputs, constant) = match second {
        Second::Number(value) => (vec![image], value),
        Second::Image(other) => (vec![image, other], 1.0),
    };
    Ok(Plan::on(inputs, move |images| {
        let mut images = images.into_iter();
        let mut image = first(images.by_ref().take(1).collect())?;
        match images.next() {
            Some(other) => operation.apply(&mut image.voxels, |voxel| other.voxels[voxel]),
            None => operation.apply(&mut image.voxels, |_| constant),
        }
        then(image)
    }))
}

fn arithmetic(words: &Words, operation: Arithmetic) -> Result<Plan, Refusal> {
    with_second(words, operation, |image| Ok(Made::Image(image)))
}

/// Prints the sum or the mean of the products of two images, or of an image and a number.
fn sum(words: &Words, mean: bool) -> Result<Plan, Refusal> {
    with_second(words, Arithmetic::Total, move |image| {
        let total = image.voxels.last().copied().unwrap_or(0.0);
        let text = if mean {
            format!("{}\n", general((total / image.voxels.len() as f32).into()))
        } else {
            let axes = dimensions(&image.grid);
            let each = (0..axes).fold(1.0, |volume, axis| volume * image.grid.spacing[axis] as f32);
            format!("total: {} total-volume: {}\n", general(total.into()), general((total * each).into()))
        };
        Ok(Made::Printed(Some(image), text))
    })
}

fn label_statistics(words: &Words) -> Result<Plan, Refusal> {
    words.not_of_series()?;
    let mut inputs = vec![words.path(0)?];
    inputs.extend(words.rest.get(1).filter(|name| name.len() > 3).map(std::path::PathBuf::from));
    let work = |images: Vec<Image>| {
        let mut images = images.into_iter();
        let map = first(images.by_ref().take(1).collect())?.single("ImageMath LabelStats")?;
        let intensities = images.next().map(|image| image.voxels);
        let slice = map.grid.is_slice();
        let mut text = "x,y,z,t,label,mass,volume,count\n".to_owned();
        for found in labels::statistics(&map, intensities.as_deref()) {
            // The world of ANTs has x to the left and y to the back.
            let place = [-found.centre.x, -found.centre.y, if slice { 0.0 } else { found.centre.z }, 0.0];
            let rest = [found.label, found.mass, found.volume, found.count].map(f64::from);
            let line: Vec<String> = place.into_iter().chain(rest).map(|value| general(value + 0.0)).collect();
            text += &format!("{}\n", line.join(","));
        }
        Ok(Made::Text(text))
    };
    Ok(Plan { writes_text: true, ..Plan::on(inputs, work) })
}

/// The images of an operation on two.
fn two(images: Vec<Image>) -> Result<[Image; 2], Refusal> {
    images.try_into().map_err(|_| Refusal::new("INPUT", "is missing; expected two images"))
}

fn convolve(words: &Words) -> Result<Plan, Refusal> {
    words.not_of_series()?;
    let name = format!("ImageMath {}", words.operation);
    let normalises = words.number(2, 1.0)? as i32 != 0;
    let plan = Plan::on(vec![words.path(0)?, words.path(1)?], move |images| {
        let [image, kernel] = two(images)?;
        let (image, kernel) = (image.single(&name)?, kernel.single(&name)?);
        let made = filters::convolved(&image, &kernel, normalises).map_err(|error| Refusal::new(name, error))?;
        Ok(Made::Image(made.into()))
    });
    Ok(Plan { same_shape: false, ..plan })
}

fn propagate(words: &Words) -> Result<Plan, Refusal> {
    words.not_of_series()?;
    let stop = words.number(2, 100.0)?;
    if words.switch(3)? {
        return Err(Refusal::not_served("ImageMath PropagateLabelsThroughMask with topology", "use 0"));
    }
    let name = format!("ImageMath {}", words.operation);
    let (output, arrival) = (words.output.to_owned(), beside(words.output, "_speed"));
    Ok(Plan::on(vec![words.path(0)?, words.path(1)?], move |images| {
        let [speed, labels] = two(images)?;
        let (speed, labels) = (speed.single(&name)?, labels.single(&name)?);
        let (labels, times) = propagate::through_mask(&speed, &labels, stop);
        Ok(Made::Several(vec![(output, labels.into()), (arrival, times.into())]))
    }))
}

fn vote(words: &Words) -> Result<Plan, Refusal> {
    if words.rest.first().is_some_and(|word| number(word).is_some() && !Path::new(word).exists()) {
        return Err(Refusal::not_served("ImageMath MajorityVoting with a share of votes", "leave the share out"));
    }
    Ok(Plan::on(words.paths(0)?, |images| {
        let maps: Vec<Vec<i32>> =
            images.iter().map(|image| image.voxels.iter().map(|value| *value as i32).collect()).collect();
        let (voted, _) = labels::majority(&maps.iter().map(Vec::as_slice).collect::<Vec<_>>(), None);
        let voxels = voted.into_iter().map(|label| label as f32).collect();
        Ok(Made::Whole(Image { voxels, ..first(images)? }, Stored::Int32))
    }))
}

fn correlation(words: &Words) -> Result<Plan, Refusal> {
    let mut inputs = vec![words.path(0)?, words.path(1)?];
    inputs.extend(words.rest.get(2).map(std::path::PathBuf::from));
    Ok(Plan::on(inputs, |images| {
        let inside = |voxel: usize| images.get(2).is_none_or(|mask| mask.voxels[voxel] > 0.0);
        let found = arithmetic::correlation(&images[0].voxels, &images[1].voxels, inside);
        Ok(Made::Printed(None, format!("{}\n", general(found.into()))))
    }))
}

fn match_histogram(words: &Words) -> Result<Plan, Refusal> {
    let (levels, points, above_mean) = (words.count(2, 255)?, words.count(3, 64)?, words.switch(4)?);
    if (levels, points, above_mean) != (256, 12, true) {
        let instead =
            "use 256 levels, 12 points and the threshold at the mean: HistogramMatch SOURCE REFERENCE 256 12 1";
        return Err(Refusal::not_served("ImageMath HistogramMatch with these numbers", instead));
    }
    let plan = Plan::on(vec![words.path(0)?, words.path(1)?], |images| {
        let mut images = images.into_iter();
        let mut image = first(images.by_ref().take(1).collect())?;
        let reference = first(images.collect())?;
        if let (Some(own), Some(others)) = (Landmarks::of(&image.voxels), Landmarks::of(&reference.voxels)) {
            own.match_to(&others, &mut image.voxels);
        }
        Ok(Made::Image(image))
    });
    Ok(Plan { same_shape: false, ..plan })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_operand_is_a_number_or_an_image() {
        let of =
            |rest: &[String]| Second::of(&Words { operation: "m", output: Path::new("o.nii"), dimensions: 3, rest });
        assert!(matches!(of(&["a.nii".into(), "1e3".into()]), Second::Number(1000.0)));
        assert!(matches!(of(&["a.nii".into(), "2b.nii".into()]), Second::Image(path) if path == Path::new("2b.nii")));
        assert!(matches!(of(&["a.nii".into()]), Second::Number(1.0)));
    }
}
