//! Operations of `ImageMath` that change one image.

use antsreg_console::Refusal;
use antsreg_core::io::nifti::{Planes, Stored};
use antsreg_images::morphology::{self, Operation};
use antsreg_images::{distance, filters, grids, intensity, threshold};

use super::plan::{Made, Parser, Plan, Words, first};
use crate::ants::files::Image;
use crate::ants::numbers;

/// The names of the operations, and the functions that parse their arguments.
pub const PARSERS: &[(&str, Parser)] = &[
    ("MD", |words| binary(words, Operation::Dilate)),
    ("ME", |words| binary(words, Operation::Erode)),
    ("MO", |words| binary(words, Operation::Open)),
    ("MC", |words| binary(words, Operation::Close)),
    ("GD", |words| grey(words, Operation::Dilate)),
    ("GE", |words| grey(words, Operation::Erode)),
    ("GO", |words| grey(words, Operation::Open)),
    ("GC", |words| grey(words, Operation::Close)),
    ("GetLargestComponent", |words| {
        let least = words.count(1, 50)?;
        words.of_volume(move |mut image| {
            morphology::keep_largest_region(&mut image, least);
            Ok(image)
        })
    }),
    ("FillHoles", |words| {
        let least = words.number(1, 2.0)?;
        words.of_volume(move |mut image| {
            morphology::fill_holes(&mut image, Some(least));
            Ok(image)
        })
    }),
    ("PadImage", pad),
    ("Laplacian", |words| {
        let (sigma, rescales) = (sigma(words)?, words.switch(2)?);
        words.of_volume(move |image| {
            let mut found = filters::laplacian(&image, sigma)?;
            if rescales {
                intensity::rescale(&mut found.voxels, 0.0, 1.0);
            }
            Ok(found)
        })
    }),
    ("Grad", |words| {
        let (sigma, rescales) = (sigma(words)?, words.switch(2)?);
        words.of_volume(move |image| {
            let mut found = filters::gradient_magnitude(&image, sigma)?;
            if rescales {
                intensity::rescale(&mut found.voxels, 0.0, 1.0);
            }
            Ok(found)
        })
    }),
    ("G", |words| {
        let sigma = match words.rest.get(1) {
            Some(word) => numbers::of_axes(word, words.dimensions.into())?,
            None => [1.0; 3],
        };
        words.of_volume(move |image| Ok(filters::discrete_gaussian(&image, sigma)))
    }),
    ("Sharpen", |words| {
        let by_spacing = words.number(1, 1.0)? as i32 != 0;
        words.of_volume(move |image| Ok(filters::sharpened(&image, by_spacing)))
    }),
    ("UnsharpMask", |words| {
        let (amount, radius) = (words.number(1, 0.5)?, f64::from(words.number(2, 1.0)?));
        let (threshold, in_mm) = (words.number(3, 0.0)?, words.switch(4)?);
        words.of_volume(move |image| {
            let sigma = image.grid.spacing.map(|spacing| if in_mm { radius } else { radius * spacing });
            filters::unsharp_masked(&image, amount.into(), sigma.into(), threshold.into())
        })
    }),
    ("D", |words| {
        words.of_volume(|mut image| {
            let set: Vec<bool> = image.voxels.iter().map(|value| *value != 0.0).collect();
            let squares = distance::squared_distances(image.grid.shape, image.grid.spacing.into(), &set);
            image.voxels = squares.into_iter().map(|square| square.sqrt() as f32).collect();
            Ok(image)
        })
    }),
    ("MaurerDistance", |words| {
        let foreground = words.number(1, 1.0)?;
        words.of_volume(move |mut image| {
            let set: Vec<bool> = image.voxels.iter().map(|value| *value == foreground).collect();
            image.voxels = distance::signed_distances(&image.grid, &set);
            Ok(image)
        })
    }),
    ("RescaleImage", |words| {
        let (low, high) = (words.needed(1)?, words.needed(2)?);
        Ok(Plan::of_voxels(words.path(0)?, move |voxels| intensity::rescale(voxels, low, high)))
    }),
    ("WindowImage", |words| {
        let (from, to) = ([words.needed(1)?, words.needed(2)?], [words.needed(3)?, words.needed(4)?]);
        Ok(Plan::of_voxels(words.path(0)?, move |voxels| intensity::window(voxels, from, to)))
    }),
    ("Normalize", normalise),
    ("Neg", |words| Ok(Plan::of_voxels(words.path(0)?, intensity::negate))),
    ("Byte", |words| {
        Ok(Plan::on(vec![words.path(0)?], |images| {
            let mut image = first(images)?;
            intensity::rescale(&mut image.voxels, 0.0, 255.0);
            Ok(Made::Whole(image, Stored::Uint8))
        }))
    }),
    ("ReplaceVoxelValue", |words| {
        let [low, high, value] = [words.needed(1)?, words.needed(2)?, words.needed(3)?];
        Ok(Plan::of_voxels(words.path(0)?, move |voxels| intensity::replace(voxels, low, high, value)))
    }),
    ("Finite", |words| {
        let value = words.number(1, 0.0)?;
        let plan = Plan::of_voxels(words.path(0)?, move |voxels| intensity::make_finite(voxels, value));
        Ok(Plan { keeps_missing: true, ..plan })
    }),
    ("ThresholdAtMean", |words| {
        let factor = words.number(1, 1.0)?;
        Ok(Plan::of_voxels(words.path(0)?, move |voxels| threshold::at_mean(voxels, factor)))
    }),
    ("TruncateImageIntensity", truncate),
    ("ExtractSlice", slice),
];

fn radius(words: &Words) -> Result<usize, Refusal> {
    match words.count(1, 1)? {
        radius @ 0..=1000 => Ok(radius),
        radius => Err(words.refusal(format!("expected a radius of up to 1000 voxels, found {radius}"))),
    }
}

fn sigma(words: &Words) -> Result<f64, Refusal> {
    let sigma = words.number(1, 1.0)?;
    Ok(f64::from(if sigma <= 0.0 { 0.5 } else { sigma }))
}

fn binary(words: &Words, operation: Operation) -> Result<Plan, Refusal> {
    let (radius, foreground) = (radius(words)?, words.number(2, 1.0)?);
    words.of_volume(move |mut image| {
        morphology::binary(&mut image, operation, radius, foreground)?;
        Ok(image)
    })
}

fn grey(words: &Words, operation: Operation) -> Result<Plan, Refusal> {
    let radius = radius(words)?;
    words.of_volume(move |mut image| {
        morphology::grey(&mut image, operation, radius)?;
        Ok(image)
    })
}

fn pad(words: &Words) -> Result<Plan, Refusal> {
    let (margin, value) = (words.needed(1)?, words.number(2, 0.0)?);
    if margin.fract() != 0.0 || margin.abs() > 32767.0 {
        return Err(words.refusal(format!("expected a whole number of voxels, found {margin}")));
    }
    words.of_volume(move |image| match margin as isize {
        margin @ 0.. => grids::padded(&image, margin as usize, value),
        margin => grids::cropped(&image, margin.unsigned_abs()),
    })
}

fn normalise(words: &Words) -> Result<Plan, Refusal> {
    let image = words.path(0)?;
    // ANTs reads the second argument as a mask if there is such a file, else as a number.
    match words.rest.get(1) {
        None => Ok(Plan::of_voxels(image, intensity::normalise)),
        Some(word) if super::plan::number(word).is_some() && !std::path::Path::new(word).exists() => {
            let by_mean = words.switch(1)?;
            Ok(Plan::of_voxels(image, move |voxels| match by_mean {
                true => intensity::divide_by_mean(voxels, |_| true),
                false => intensity::normalise(voxels),
            }))
        }
        Some(_) => Ok(Plan::on(vec![image, words.path(1)?], |images| {
            let mut images = images.into_iter();
            let (Some(mut image), Some(mask)) = (images.next(), images.next()) else {
                return Err(Refusal::new("INPUT", "is missing; expected an image and a mask").into());
            };
            intensity::divide_by_mean(&mut image.voxels, |voxel| intensity::is_inside(&mask.voxels, voxel));
            Ok(Made::Image(image))
        })),
    }
}

fn truncate(words: &Words) -> Result<Plan, Refusal> {
    let low = words.number(1, 0.025)?;
    let high = match words.given(2)? {
        Some(high) => high,
        None if words.rest.len() > 1 => 1.0 - low,
        None => 0.975,
    };
    let bins = words.count(3, 64)?;
    if !(0.0..=1.0).contains(&low) || !(0.0..=1.0).contains(&high) || low >= high || bins == 0 {
        let why = format!(
            "expected two quantiles from 0 to 1 in ascending order and a number of bins, found {low} {high} {bins}"
        );
        return Err(words.refusal(why));
    }
    let mut inputs = vec![words.path(0)?];
    inputs.extend(words.rest.get(4).map(std::path::PathBuf::from));
    let name = format!("ImageMath {}", words.operation);
    Ok(Plan::on(inputs, move |images| {
        let mut images = images.into_iter();
        let mut image = first(images.by_ref().take(1).collect())?;
        let mask = images.next().map(|mask| mask.voxels);
        let planes = image.planes;
        let mut volume = antsreg_core::Volume { grid: image.grid, voxels: image.voxels };
        // ANTs reads the mask as whole numbers.
        let inside = |voxel: usize| mask.as_ref().is_none_or(|mask| mask[voxel].trunc() >= 0.5);
        intensity::truncate(&mut volume, [low, high], bins, inside).map_err(|error| Refusal::new(name, error))?;
        image = Image { planes, ..volume.into() };
        Ok(Made::Image(image))
    }))
}

fn slice(words: &Words) -> Result<Plan, Refusal> {
    let number = words.needed(1)?;
    if number < 0.0 || number.fract() != 0.0 {
        return Err(words.refusal(format!("expected the number of a slice from 0, found {number}")));
    }
    let (number, series) = (number as usize, words.dimensions == 4);
    let name = format!("ImageMath {}", words.operation);
    if words.dimensions == 2 {
        return Err(Refusal::not_served("ImageMath 2 … ExtractSlice", "use dimension 3 or 4"));
    }
    Ok(Plan::on(vec![words.path(0)?], move |images| {
        let image = first(images)?;
        if !series {
            let slice = grids::slice(&image.single(&name)?, number).map_err(|error| Refusal::new(name, error))?;
            return Ok(Made::Image(slice.into()));
        }
        let (each, count) = (image.grid.len(), image.count());
        if number >= count {
            let error = antsreg_images::Error::NoSlice { found: number, count };
            return Err(Refusal::new(name, error).into());
        }
        let voxels = image.voxels[number * each..(number + 1) * each].to_vec();
        Ok(Made::Image(Image { voxels, planes: Planes::One, ..image }))
    }))
}
