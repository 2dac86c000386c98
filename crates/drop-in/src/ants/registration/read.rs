//! Reads the command line of `antsRegistration`.

use std::path::PathBuf;

use antsreg_console::Refusal;
use antsreg_kernels::apply::{self, SplineOrder, Window};
use antsreg_study::transforms::TransformFile;

use super::flags::REFUSED;
use super::request::{Landmark, Output, Request, StartRequest};
use super::stages;
use crate::ants::words::{self, Given, Value, all, last};

/// Makes the request for a registration from the flags on the command line of `antsRegistration`.
///
/// # Errors
/// A flag that is missing, not understood or not supported.
pub fn request(given: &[Given]) -> Result<Request, Refusal> {
    for refused in given.iter().filter(|given| REFUSED.contains(&given.flag)) {
        if refused.values.iter().any(|value| value.text != "0") {
            return Err(Refusal::new(format!("--{}", refused.flag), "this option is not supported"));
        }
    }
    let slices = match last(given, "dimensionality").map(|value| value.text.as_str()) {
        None => false,
        Some(dimension) => super::super::dimension(dimension)? == 2,
    };
    let stages = stages::read(given, slices)?;
    let masks = masks(given)?;
    if masks.len() > 1 && masks.len() != stages.len() {
        let why = format!("found {} masks for {} stages", masks.len(), stages.len());
        return Err(Refusal::new("--masks", why).instead("give one mask for all stages, or one for each stage"));
    }
    Ok(Request {
        slices,
        stages,
        starts: starts(given, "initial-moving-transform")?,
        fixed_starts: starts(given, "initial-fixed-transform")?,
        masks,
        output: output(given)?,
        interpolation: last(given, "interpolation").map_or(Ok(apply::Interpolation::Linear), interpolation)?,
        winsorise: last(given, "winsorize-image-intensities").map(winsorise).transpose()?.flatten(),
        match_histograms: switch(given, "use-histogram-matching", false)?,
        collapse: switch(given, "collapse-output-transforms", true)?,
        per_stage: switch(given, "initialize-transforms-per-stage", false)?,
        single: switch(given, "float", false)?,
        verbose: switch(given, "verbose", false)?,
    })
}

fn switch(given: &[Given], flag: &str, default: bool) -> Result<bool, Refusal> {
    let typed = last(given, flag).map(|value| value.text.to_ascii_lowercase());
    match typed.as_deref() {
        None => Ok(default),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(text) => words::switch(&format!("--{flag}"), text),
    }
}

fn starts(given: &[Given], flag: &str) -> Result<Vec<StartRequest>, Refusal> {
    all(given, flag).map(|value| start(flag, value)).collect()
}

fn start(flag: &str, value: &Value) -> Result<StartRequest, Refusal> {
    let option = || format!("--{flag} {}", value.text);
    let landmark = |text: &str| match text {
        "0" => Ok(Landmark::Centre),
        "1" => Ok(Landmark::Mass),
        "2" => Ok(Landmark::Origin),
        _ => {
            Err(Refusal::new(option(), format!("expected a landmark (0, 1 or 2) after both images, found `{text}`")))
        }
    };
    let file = |path: &str, inverted| {
        // ITK writes `Identity` for the identity transform, so upper and lower case are treated alike.
        let path = if path.eq_ignore_ascii_case("identity") { "identity" } else { path };
        StartRequest::File(TransformFile { path: path.into(), inverted })
    };
    let parts: Option<Vec<&str>> = value.parameters.as_ref().map(|parts| parts.iter().map(String::as_str).collect());
    match parts.as_deref() {
        None => Ok(file(&value.text, false)),
        Some([path]) if !path.is_empty() => Ok(file(path, false)),
        Some([path, flag @ ("0" | "1" | "false" | "true")]) if !path.is_empty() => {
            Ok(file(path, matches!(*flag, "1" | "true")))
        }
        Some([fixed, moving, kind]) => {
            Ok(StartRequest::Between([PathBuf::from(fixed), PathBuf::from(moving)], landmark(kind)?))
        }
        _ => Err(Refusal::new(option(), "expected FILE, [FILE,0], [FILE,1] or [FIXED,MOVING,0|1|2]")),
    }
}

fn masks(given: &[Given]) -> Result<Vec<[Option<PathBuf>; 2]>, Refusal> {
    let mask = |text: &str| {
        let none = ["null", "nomask", "na", ""].contains(&text.to_ascii_lowercase().as_str());
        (!none).then(|| PathBuf::from(text))
    };
    let pair = |value: &Value| match value.parameters.as_deref() {
        None => Ok([mask(&value.text), None]),
        Some([fixed]) => Ok([mask(fixed), None]),
        Some([fixed, moving]) => Ok([mask(fixed), mask(moving)]),
        Some(_) => Err(Refusal::new(format!("--masks {}", value.text), "expected FIXED or [FIXED,MOVING]")),
    };
    all(given, "masks").map(pair).collect()
}

fn output(given: &[Given]) -> Result<Output, Refusal> {
    let Some(value) = last(given, "output") else {
        return Err(Refusal::new(
            "--output",
            "this option is missing; expected the start of the names of the output files",
        ));
    };
    let image = |place: usize| value.parameter(place).map(PathBuf::from);
    let prefix = match &value.parameters {
        None => Some(value.text.as_str()),
        Some(_) => value.parameter(0),
    };
    let prefix = prefix.ok_or_else(|| Refusal::new(format!("--output {}", value.text), "expected a prefix first"))?;
    // Scripts give 0 or 1 in place of the name of the inverse-warped image. ANTs writes no image then.
    let inverse_warped = image(2).filter(|path| !["0", "1"].iter().any(|flag| path.as_os_str() == *flag));
    let composite = switch(given, "write-composite-transform", false)?;
    for image in [image(1), inverse_warped.clone()].into_iter().flatten() {
        super::super::check_image_name(&format!("--output {}", value.text), &image)?;
    }
    Ok(Output { prefix: prefix.to_owned(), warped: image(1), inverse_warped, composite })
}

fn winsorise(value: &Value) -> Result<Option<(f64, f64)>, Refusal> {
    let share = |place: usize| value.parameter(place)?.parse::<f64>().ok();
    match (share(0), share(1)) {
        (Some(low), Some(high)) if (0.0..high).contains(&low) && high <= 1.0 => {
            Ok(Some((low, high)).filter(|shares| *shares != (0.0, 1.0)))
        }
        _ => Err(Refusal::new(
            format!("--winsorize-image-intensities {}", value.text),
            "expected two quantiles from 0 to 1, such as [0.005,0.995]",
        )),
    }
}

fn interpolation(value: &Value) -> Result<apply::Interpolation, Refusal> {
    let option = || format!("--interpolation {}", value.text);
    match value.name.to_ascii_lowercase().as_str() {
        "linear" => Ok(apply::Interpolation::Linear),
        "nearestneighbor" => Ok(apply::Interpolation::Nearest),
        "bspline" => match value.parameter(0).map(|order| order.parse().ok().and_then(SplineOrder::new)) {
            None | Some(Some(SplineOrder::CUBIC)) => Ok(apply::Interpolation::BSpline),
            Some(Some(order)) => Ok(apply::Interpolation::BSplineOfOrder(order)),
            Some(None) => Err(Refusal::new(option(), "expected an order from 0 to 5")),
        },
        "blackmanwindowedsinc" => Ok(apply::Interpolation::WindowedSinc(Window::Blackman)),
        "lanczoswindowedsinc" => Ok(apply::Interpolation::WindowedSinc(Window::Lanczos)),
        "hammingwindowedsinc" => Ok(apply::Interpolation::WindowedSinc(Window::Hamming)),
        "cosinewindowedsinc" => Ok(apply::Interpolation::WindowedSinc(Window::Cosine)),
        "welchwindowedsinc" => Ok(apply::Interpolation::WindowedSinc(Window::Welch)),
        "multilabel" | "genericlabel" | "gaussian" => {
            Err(Refusal::new(option(), "this interpolation is not supported for the images of a registration")
                .instead("resample the images with antsApplyTransforms"))
        }
        _ => Err(Refusal::new(option(), "expected Linear, NearestNeighbor, BSpline or LanczosWindowedSinc")),
    }
}
