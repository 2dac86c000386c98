//! Interpolations in the notation of ANTs' commands: `BSpline[3]`, `Gaussian[1x1x2,1.5]`.

use antsreg_console::Refusal;
use antsreg_kernels::apply::{SplineOrder, Window};
use antsreg_study::apply::{Reading, Sigma};

use super::words::Value;

/// Names of interpolations that take no parameters.
const PLAIN: &[(&str, Reading)] = &[
    ("Linear", Reading::Linear),
    ("NearestNeighbor", Reading::Nearest),
    ("CosineWindowedSinc", Reading::Sinc(Window::Cosine)),
    ("WelchWindowedSinc", Reading::Sinc(Window::Welch)),
    ("HammingWindowedSinc", Reading::Sinc(Window::Hamming)),
    ("LanczosWindowedSinc", Reading::Sinc(Window::Lanczos)),
    ("BlackmanWindowedSinc", Reading::Sinc(Window::Blackman)),
];

/// Reads the value of an interpolation flag; upper and lower case are treated alike.
///
/// # Errors
/// A name that ANTs does not have; parameters that are not understood or not supported.
pub fn reading(value: &Value) -> Result<Reading, Refusal> {
    let refuse = |why: &str| Err(Refusal::new(format!("interpolation {}", value.text), why));
    if let Some((_, reading)) = PLAIN.iter().find(|(name, _)| value.is(name)) {
        return Ok(*reading);
    }
    if value.is("BSpline") {
        let order = value.parameter(0).map_or(Some(SplineOrder::CUBIC), |text| SplineOrder::new(text.parse().ok()?));
        return order.map_or_else(|| refuse("expected an order from 0 to 5"), |order| Ok(Reading::Spline(order)));
    }
    if value.is("GenericLabel") {
        return match value.parameter(0).map(str::to_lowercase).as_deref() {
            None | Some("linear") => Ok(Reading::GenericLabel),
            Some("nearestneighbor") => Ok(Reading::Nearest),
            Some(_) => Err(Refusal::not_served(
                format!("interpolation {}", value.text),
                "use GenericLabel or GenericLabel[NearestNeighbor]",
            )),
        };
    }
    let (default, make): (f64, fn(Sigma, f64) -> Reading) = match value {
        value if value.is("Gaussian") => (1.0, Reading::Gaussian),
        value if value.is("MultiLabel") => (4.0, Reading::MultiLabel),
        _ => {
            return refuse("is no interpolation of ANTs; expected for example Linear, NearestNeighbor or BSpline[3]");
        }
    };
    let positive = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    let sigma = value.parameter(0).map_or(Some(Sigma::Spacing), sigma);
    let alpha = value.parameter(1).map_or(Some(default), positive);
    match (sigma, alpha) {
        (Some(sigma), Some(alpha)) => Ok(make(sigma, alpha)),
        _ => refuse("expected a standard deviation in mm such as 1.5 or 1x1x2, and a cutoff in standard deviations"),
    }
}

/// Reads the standard deviation of a Gaussian, in mm: one number for all axes, or one number for each axis. If the
/// count is wrong, the first number is used for all axes, as in ANTs.
fn sigma(text: &str) -> Option<Sigma> {
    let numbers = text.split('x').map(str::parse).collect::<Result<Vec<f64>, _>>().ok()?;
    let sigma = match numbers[..] {
        [x, y, z] => [x, y, z],
        // Two standard deviations of the Gaussian are given for slices. A slice has only one voxel along the third
        // axis, so the standard deviation for this axis has no effect.
        [x, y] => [x, y, x],
        [first, ..] => [first; 3],
        [] => return None,
    };
    sigma.iter().all(|number| number.is_finite() && *number > 0.0).then_some(Sigma::Mm(sigma))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Reading, Refusal> {
        reading(&Value::parse(text))
    }

    #[test]
    fn names_have_parameters_with_defaults() {
        assert_eq!(read("linear"), Ok(Reading::Linear));
        assert_eq!(read("BSpline[5]"), Ok(Reading::Spline(SplineOrder::new(5).expect("an order"))));
        assert_eq!(read("bspline"), Ok(Reading::Spline(SplineOrder::CUBIC)));
        assert_eq!(read("Gaussian"), Ok(Reading::Gaussian(Sigma::Spacing, 1.0)));
        assert_eq!(read("Gaussian[1x2x3,1.5]"), Ok(Reading::Gaussian(Sigma::Mm([1.0, 2.0, 3.0]), 1.5)));
        assert_eq!(read("MultiLabel[2]"), Ok(Reading::MultiLabel(Sigma::Mm([2.0; 3]), 4.0)));
        assert_eq!(read("GenericLabel[NearestNeighbor]"), Ok(Reading::Nearest));
        assert_eq!(read("BlackmanWindowedSinc"), Ok(Reading::Sinc(Window::Blackman)));
    }

    #[test]
    fn what_is_no_interpolation_is_refused() {
        for text in ["cubic", "BSpline[6]", "BSpline[x]", "Gaussian[0]", "Gaussian[1,-1]", "GenericLabel[BSpline]"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
