//! Parsers of command-line values that no table of the library reads.

use std::path::Path;
use std::str::FromStr;

use antsreg_core::io::ImageFormat;
use antsreg_register::option::value::{Number, Range};
use antsreg_register::syn;

/// Error in a command-line value. Clap adds the name of the option to the message.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("expected {expected}, found `{found}`")]
pub struct ValueError {
    /// Description of the expected value.
    expected: String,
    /// The value of the option, as given on the command line.
    found: String,
}

impl ValueError {
    /// Makes the error of an option that takes other values than the one given on the command line.
    pub fn new(expected: impl Into<String>, found: &str) -> ValueError {
        ValueError { expected: expected.into(), found: found.into() }
    }
}

/// Returns `value` if it holds, else the error.
fn checked<T>(value: Option<T>, expected: &str, found: &str) -> Result<T, ValueError> {
    value.ok_or_else(|| ValueError::new(expected, found))
}

/// Parses a number within a range.
fn number<T: Number>(text: &str, range: impl Into<Range>) -> Result<T, ValueError> {
    let range = range.into();
    T::read(text, range).ok_or_else(|| ValueError::new(format!("{} {range}", T::ONE), text))
}

/// Parses a label for BIDS names: letters and digits.
pub fn label(text: &str) -> Result<String, ValueError> {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric());
    checked(plain.then(|| text.to_owned()), "letters and digits only, as in MNI152NLin2009cAsym", text)
}

/// Numbers of iterations on the resolution levels, coarsest level first.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts(pub Vec<usize>);

/// Parses the numbers of iterations on the resolution levels: whole numbers, one for each level, with `x` between them.
pub fn counts(text: &str) -> Result<Counts, ValueError> {
    let counts = usize::read_list(text, 'x', (0..).into()).map(Counts);
    checked(counts, "whole numbers, one per level, such as 100x70x50x20", text)
}

/// Parses a finite number above 0.
pub fn positive(text: &str) -> Result<f64, ValueError> {
    number(text, Range::above_zero(f64::INFINITY))
}

/// Parses a share from 0 to 1.
pub fn share(text: &str) -> Result<f64, ValueError> {
    number(text, 0.0..=1.0)
}

/// Parses the relative weight of a channel (an image of each subject).
pub fn weight(text: &str) -> Result<f64, ValueError> {
    number(text, syn::Options::CHANNEL_WEIGHT)
}

/// Parses the value of a voxel. It must be finite, because an image with other values could not be read again.
pub fn voxel(text: &str) -> Result<f32, ValueError> {
    let value = f32::from_str(text).ok().filter(|value| value.is_finite());
    checked(value, "a finite number in single precision", text)
}

/// Parses a whole number ≥ 1.
pub fn at_least_one(text: &str) -> Result<usize, ValueError> {
    number(text, 1..)
}

/// Parses the number of registrations that run at the same time on one device (workers).
pub fn workers(text: &str) -> Result<usize, ValueError> {
    number(text, 1..=antsreg_pool::MOST_WORKERS)
}

/// Parses a number of threads. The maximum is more than the cores of any machine; further threads would only wait.
pub fn threads(text: &str) -> Result<usize, ValueError> {
    number(text, 1..=1024_usize)
}

/// File name extensions of transforms, in lower case.
const FILES: [&str; 4] = [".mat", ".txt", ".tfm", ".h5"];

/// Parses the prefix (the common start of the names of all outputs). A prefix that ends in a file extension is an
/// error: the user may have given a complete file name, as other programs expect here. So is an empty one: a script's
/// variable may have no value.
pub fn prefix(text: &str) -> Result<String, ValueError> {
    let name = text.to_lowercase();
    let is_file = ImageFormat::stem(Path::new(text)).is_some() || FILES.iter().any(|end| name.ends_with(end));
    let expected = "the common start of the names of all outputs, such as out_ for out_Warped.nii.gz";
    checked((!is_file && !text.is_empty()).then(|| text.to_owned()), expected, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_no_file() {
        for text in ["p", "out/", "out/sub-01_", "a.nii.gz_", "scan.mat."] {
            assert_eq!(prefix(text), Ok(text.to_owned()));
        }
        assert!(
            ["", "out.nii.gz", "out/a.nii", "A.MAT", "a.h5", "a.mgz"].into_iter().all(|text| prefix(text).is_err())
        );
    }

    #[test]
    fn numbers_that_would_only_take_forever_or_overflow_are_refused() {
        assert_eq!(threads("1024"), Ok(1024));
        assert!(["0", "-1", "1025", "1e9"].into_iter().all(|text| threads(text).is_err()));
        assert_eq!(counts("100x0"), Ok(Counts(vec![100, 0])));
        assert_eq!(voxel("-1024"), Ok(-1024.0));
        assert!(["nan", "-inf", "1e99", "x"].into_iter().all(|text| voxel(text).is_err()));
        assert_eq!(weight("0.5"), Ok(0.5));
        assert!(["0", "-1", "nan", "1e99", "1e-99"].into_iter().all(|text| weight(text).is_err()));
    }
}
