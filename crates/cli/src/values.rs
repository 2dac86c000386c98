//! Parsers of command-line values such as `8x4x2x1`, `0.005,0.995` and `[0GenericAffine.mat,1]`.

use std::str::FromStr;

use clap::ValueEnum;

/// Error in a command-line value. Clap adds the name of the option to the message.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ValueError {
    /// The value of a command-line option, or an element of a list in this value, does not have the expected form.
    #[error("expected {expected}, found `{found}`")]
    Malformed {
        /// Description of the expected value, with an example.
        expected: &'static str,
        /// The value of the option, as given on the command line.
        found: String,
    },
    /// A number in the value of a command-line option is outside its allowed range.
    #[error("expected {expected}, found {found}")]
    OutOfRange {
        /// Description of the range in which the number must lie.
        expected: &'static str,
        /// The value of the option, as given on the command line.
        found: String,
    },
}

/// Parses a label for BIDS names: letters and digits.
pub fn label(text: &str) -> Result<String, ValueError> {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric());
    check(plain, "letters and digits only, as in MNI152NLin2009cAsym", text)?;
    Ok(text.to_owned())
}

/// Name of a possible value of an option, as given on the command line.
pub fn name(choice: &impl ValueEnum) -> String {
    choice.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// A list with one value for each resolution level of a registration, coarsest level first. On the command line, `x`
/// separates the values, as in ANTs.
#[derive(Debug, Clone, PartialEq)]
pub struct PerLevel<T>(pub Vec<T>);

/// Splits a text at `separator` and parses every part.
fn list<T: FromStr>(text: &str, separator: char, expected: &'static str) -> Result<Vec<T>, ValueError> {
    let malformed = || ValueError::Malformed { expected, found: text.into() };
    text.split(separator).map(|part| part.trim().parse().map_err(|_| malformed())).collect()
}

/// Parses the shrink factors of the resolution levels: whole numbers ≥ 1, one for each level, such as `8x4x2x1`.
pub fn factors(text: &str) -> Result<PerLevel<usize>, ValueError> {
    let expected = "whole numbers from 1, one per level, such as 8x4x2x1";
    let values = list(text, 'x', expected)?;
    check(values.iter().all(|v| *v >= 1), expected, text)?;
    Ok(PerLevel(values))
}

/// Parses the numbers of iterations on the resolution levels: whole numbers ≥ 0, one for each level.
pub fn counts(text: &str) -> Result<PerLevel<usize>, ValueError> {
    Ok(PerLevel(list(text, 'x', "whole numbers, one per level, such as 100x70x50x20")?))
}

/// Parses whole numbers ≥ 1, one for each level, or one number for all levels.
pub fn intervals(text: &str) -> Result<PerLevel<usize>, ValueError> {
    let expected = "whole numbers from 1, one per level, such as 1x1x4x4, or one for all levels";
    let values: Vec<usize> = list(text, 'x', expected)?;
    check(values.iter().all(|n| *n >= 1), expected, text)?;
    Ok(PerLevel(values))
}

/// Parses the standard deviations of the smoothing on the resolution levels: numbers ≥ 0, voxels, one for each level.
/// The list may end in `vox`, as in ANTs.
pub fn sigmas(text: &str) -> Result<PerLevel<f64>, ValueError> {
    let expected = "numbers from 0 to 100, in voxels, one per level, such as 3x2x1x0";
    // In "8x4x2x1vox" the x of "vox" is not a separator.
    let values: Vec<f64> = list(text.strip_suffix("vox").unwrap_or(text), 'x', expected)?;
    check(values.iter().all(|v| (0.0..=100.0).contains(v)), expected, text)?;
    Ok(PerLevel(values))
}

/// Parses one angle for all axes, or three angles.
pub fn angles(text: &str) -> Result<[f64; 3], ValueError> {
    let expected = "one angle or three from 0 to 180, in degrees, such as 90 or 30,30,60";
    let values: Vec<f64> = list(text, ',', expected)?;
    let angles = match values[..] {
        [all] => [all; 3],
        [x, y, z] => [x, y, z],
        _ => return Err(ValueError::Malformed { expected, found: text.into() }),
    };
    check(angles.iter().all(|a| (0.0..=180.0).contains(a)), expected, text)?;
    Ok(angles)
}

/// The two quantiles of an image's intensities to which lower and higher intensities are clipped, as shares (0…1) of
/// the voxels; `None` for no clipping.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Winsorise(pub Option<(f64, f64)>);

/// Parses the two quantiles to which intensities are clipped, as shares (0…1) of the voxels, or the word `none`.
pub fn winsorise(text: &str) -> Result<Winsorise, ValueError> {
    let expected = "two shares of the voxels, such as 0.005,0.995, or none";
    if text == "none" {
        return Ok(Winsorise(None));
    }
    let values: Vec<f64> = list(text, ',', expected)?;
    match values[..] {
        [low, high] if (0.0..1.0).contains(&low) && low < high && high <= 1.0 => Ok(Winsorise(Some((low, high)))),
        _ => Err(ValueError::OutOfRange { expected, found: text.into() }),
    }
}

/// Two shares of an image's voxels, from 0 to 1, which give two quantiles of its intensities; the smaller share comes
/// first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares(pub [f64; 2]);

/// Parses two shares of an image's voxels, with 0 ≤ low < high ≤ 1.
pub fn shares(text: &str) -> Result<Shares, ValueError> {
    let expected = "two shares of the voxels, 0 ≤ low < high ≤ 1, such as 0.02,0.98";
    match winsorise(text) {
        Ok(Winsorise(Some((low, high)))) => Ok(Shares([low, high])),
        _ => Err(ValueError::OutOfRange { expected, found: text.into() }),
    }
}

/// Parses an angle from 1 to 180 degrees.
pub fn step_degrees(text: &str) -> Result<f64, ValueError> {
    let expected = "an angle from 1 to 180, in degrees";
    let value: f64 = text.parse().map_err(|_| ValueError::Malformed { expected, found: text.into() })?;
    check((1.0..=180.0).contains(&value), expected, text)?;
    Ok(value)
}

/// Parses a finite number above 0.
pub fn positive(text: &str) -> Result<f64, ValueError> {
    let expected = "a number above 0";
    let value: f64 = text.parse().map_err(|_| ValueError::Malformed { expected, found: text.into() })?;
    check(value.is_finite() && value > 0.0, expected, text)?;
    Ok(value)
}

/// Parses the largest allowed inverse inconsistency of a warp, above 0 and at most 100 voxels. A higher limit would
/// have no effect, because no warp is so inconsistent.
pub fn miss_voxels(text: &str) -> Result<f64, ValueError> {
    let expected = "a number above 0, at most 100";
    let value = positive(text).map_err(|_| ValueError::OutOfRange { expected, found: text.into() })?;
    check(value <= 100.0, expected, text)?;
    Ok(value)
}

/// Parses a share from 0 to 1.
pub fn share(text: &str) -> Result<f64, ValueError> {
    up_to(1.0, "a number from 0 to 1", text)
}

/// Parses the gradient step of SyN: the largest displacement that an iteration adds, above 0 and at most 10 voxels.
/// Larger steps are not useful.
pub fn step_voxels(text: &str) -> Result<f64, ValueError> {
    let expected = "a number above 0, at most 10";
    let value = positive(text).map_err(|_| ValueError::OutOfRange { expected, found: text.into() })?;
    check(value <= 10.0, expected, text)?;
    Ok(value)
}

/// Parses the variance of the smoothing of a displacement field, voxels². The largest variance is that of the widest
/// smoothing that [`sigmas`] allows.
pub fn variance(text: &str) -> Result<f64, ValueError> {
    up_to(1e4, "a number from 0 to 10000", text)
}

/// Parses the relative weight of a term of the similarity, from 0 to 1000. A term of weight 0 is not used.
pub fn share_or_none(text: &str) -> Result<f64, ValueError> {
    up_to(1e3, "a number from 0 to 1000", text)
}

/// Parses the relative weight of a channel (an image of each subject), from 0.001 to 1000.
pub fn weight(text: &str) -> Result<f64, ValueError> {
    let expected = "a number from 0.001 to 1000";
    let value: f64 = text.trim().parse().map_err(|_| ValueError::Malformed { expected, found: text.into() })?;
    check((1e-3..=1e3).contains(&value), expected, text)?;
    Ok(value)
}

fn up_to(most: f64, expected: &'static str, text: &str) -> Result<f64, ValueError> {
    let value: f64 = text.parse().map_err(|_| ValueError::Malformed { expected, found: text.into() })?;
    check((0.0..=most).contains(&value), expected, text)?;
    Ok(value)
}

/// Parses the value of a voxel. It must be finite, because an image with other values could not be read again.
pub fn voxel(text: &str) -> Result<f32, ValueError> {
    let expected = "a finite number in single precision";
    let value: f32 = text.parse().map_err(|_| ValueError::Malformed { expected, found: text.into() })?;
    check(value.is_finite(), expected, text)?;
    Ok(value)
}

/// Parses the convergence threshold of SyN, from 0 to 1000: a level ends when the slope of its energy over the last
/// iterations is below this threshold.
pub fn slope(text: &str) -> Result<f64, ValueError> {
    up_to(1e3, "a number from 0 to 1000", text)
}

/// Parses a whole number ≥ 1.
pub fn at_least_one(text: &str) -> Result<usize, ValueError> {
    let expected = "a whole number from 1";
    let value: usize = text.parse().map_err(|_| ValueError::Malformed { expected, found: text.into() })?;
    check(value >= 1, expected, text)?;
    Ok(value)
}

/// Parses the number of registrations that run at the same time on one device (workers).
pub fn workers(text: &str) -> Result<usize, ValueError> {
    let expected = "a whole number from 1 to 64";
    let value: usize = text.parse().map_err(|_| ValueError::Malformed { expected, found: text.into() })?;
    check((1..=antsreg_pool::MOST_WORKERS).contains(&value), expected, text)?;
    Ok(value)
}

/// Parses a number of threads. The maximum is more than the cores of any machine; further threads would only wait.
pub fn threads(text: &str) -> Result<usize, ValueError> {
    let expected = "a whole number from 1 to 1024";
    let value: usize = text.parse().map_err(|_| ValueError::Malformed { expected, found: text.into() })?;
    check((1..=1024).contains(&value), expected, text)?;
    Ok(value)
}

fn check(holds: bool, expected: &'static str, found: &str) -> Result<(), ValueError> {
    if holds { Ok(()) } else { Err(ValueError::OutOfRange { expected, found: found.into() }) }
}

/// Parses the weights of the x, y and z components in the updates of SyN's displacement fields: three numbers from 0,
/// not all 0.
pub fn restriction(text: &str) -> Result<[f64; 3], ValueError> {
    let expected = "three numbers from 0, not all 0, such as 0x1x0";
    let values: Vec<f64> = list(text, 'x', expected)?;
    let weights: [f64; 3] = values.try_into().map_err(|_| ValueError::Malformed { expected, found: text.into() })?;
    let positive = weights.iter().any(|weight| *weight > 0.0);
    check(positive && weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0), expected, text)?;
    Ok(weights)
}

/// File name extensions of images and transforms, in lower case.
const FILES: [&str; 8] = [".nii", ".nii.gz", ".hdr", ".img", ".mat", ".txt", ".tfm", ".h5"];

/// Parses the prefix (the common start of the names of all outputs). A prefix that ends in a file extension is an
/// error: the user may have given a complete file name, as other programs expect here.
pub fn prefix(text: &str) -> Result<String, ValueError> {
    let expected = "the common start of the names of all outputs, such as out_ for out_Warped.nii.gz";
    let name = text.to_lowercase();
    check(!FILES.iter().any(|end| name.ends_with(end)), expected, text)?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_no_file() {
        for text in ["p", "out/", "out/sub-01_", "a.nii.gz_", "scan.mat."] {
            assert_eq!(prefix(text), Ok(text.to_owned()));
        }
        assert!(["out.nii.gz", "out/a.nii", "A.MAT", "a.h5"].into_iter().all(|text| prefix(text).is_err()));
    }

    #[test]
    fn levels_are_read_as_ants_writes_them() {
        assert_eq!(factors("8x4x2x1"), Ok(PerLevel(vec![8, 4, 2, 1])));
        assert_eq!(sigmas("3x2x1x0vox"), Ok(PerLevel(vec![3.0, 2.0, 1.0, 0.0])));
        assert_eq!(counts("100x0"), Ok(PerLevel(vec![100, 0])));
        assert!(factors("8x0").is_err());
        assert!(factors("8,4").is_err());
        assert!(sigmas("3x-1").is_err());
        assert!(sigmas("3xnan").is_err());
        assert!(sigmas("1e9").is_err());
    }

    #[test]
    fn numbers_that_would_only_take_forever_or_overflow_are_refused() {
        assert_eq!(threads("1024"), Ok(1024));
        assert!(["0", "-1", "1025", "1e9"].into_iter().all(|text| threads(text).is_err()));
        assert_eq!(step_voxels("0.25"), Ok(0.25));
        assert!(["0", "-1", "nan", "10.5", "1e99"].into_iter().all(|text| step_voxels(text).is_err()));
        assert_eq!(variance("0"), Ok(0.0));
        assert!(["-1", "nan", "inf", "10001"].into_iter().all(|text| variance(text).is_err()));
        assert_eq!(voxel("-1024"), Ok(-1024.0));
        assert!(["nan", "-inf", "1e99", "x"].into_iter().all(|text| voxel(text).is_err()));
        assert_eq!(weight("0.5"), Ok(0.5));
        assert!(["0", "-1", "nan", "1e99", "1e-99"].into_iter().all(|text| weight(text).is_err()));
    }

    #[test]
    fn angles_are_one_or_three() {
        assert_eq!(angles("90"), Ok([90.0; 3]));
        assert_eq!(angles("10,20,30"), Ok([10.0, 20.0, 30.0]));
        assert!(angles("10,20").is_err());
        assert!(angles("200").is_err());
    }

    #[test]
    fn winsorising_may_be_switched_off() {
        assert_eq!(winsorise("none"), Ok(Winsorise(None)));
        assert_eq!(winsorise("0.005,0.995"), Ok(Winsorise(Some((0.005, 0.995)))));
        assert!(winsorise("0.9,0.1").is_err());
    }

    #[test]
    fn a_restriction_is_three_weights() {
        assert_eq!(restriction("0x1x0"), Ok([0.0, 1.0, 0.0]));
        assert!(["0x0x0", "1x1", "1x-1x1", "nanx1x1", "1"].into_iter().all(|text| restriction(text).is_err()));
    }
}
