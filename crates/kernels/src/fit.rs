//! Operands and results of least-squares fits of volumes by functions.

use antsreg_core::AffineTransform;

use crate::Error;

/// Which reference points count in a fit, and how the values of volumes are scaled; see
/// [`Similarity::fit_sums`](crate::ops::Similarity::fit_sums).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitRule {
    /// Number of voxels at the border of a volume, along each axis, in which points do not count.
    pub margin: [usize; 3],
    /// A value of a volume enters the fit as v = (value − `origin`)·`scale`.
    pub origin: f32,
    /// Factor in the scaled value v = (value − `origin`)·`scale` of a volume.
    pub scale: f32,
}

/// Sums for a least-squares fit over the reference points that lie inside a volume; see
/// [`Similarity::fit_sums`](crate::ops::Similarity::fit_sums).
#[derive(Debug, Clone, PartialEq)]
pub struct FitSums {
    /// Number of reference points inside the volume.
    pub inside: f64,
    /// Σv² over the reference points inside the volume, where v is the volume's value at a point, scaled as in
    /// [`FitRule`].
    pub square: f64,
    /// Σf·v for each function f of the fit, over the reference points inside the volume, with the scaled value v of the
    /// volume.
    pub with_value: Vec<f64>,
    /// Σf·g for each pair of functions f and g of the fit, over the reference points that are *not* inside the volume.
    /// The sums form a symmetric matrix, of which the lower triangle is stored row by row.
    pub outside: Vec<f64>,
}

impl FitSums {
    /// Largest number of functions by which a volume can be fitted.
    pub const MOST_FUNCTIONS: usize = 64;

    /// Number of sums over reference points that the fit of a volume by this number of functions needs.
    pub(crate) fn rows(functions: usize) -> usize {
        2 + functions + functions * (functions + 1) / 2
    }

    /// Makes a `FitSums` from the list `rows` of its sums, which are in the order of the members of `FitSums`.
    pub(crate) fn of(rows: &[f64], functions: usize) -> FitSums {
        let [inside, square, rest @ ..] = rows else {
            return FitSums { inside: 0.0, square: 0.0, with_value: Vec::new(), outside: Vec::new() };
        };
        let (with_value, outside) = rest.split_at(functions);
        FitSums { inside: *inside, square: *square, with_value: with_value.into(), outside: outside.into() }
    }

    /// Checks all operands of `fit_sums`. Returns the number of reference points and the number of functions in the
    /// image `points`.
    pub(crate) fn check(
        points: [usize; 3],
        volumes: impl IntoIterator<Item = [usize; 3]>,
        at: &[(usize, AffineTransform)],
    ) -> Result<(usize, usize), Error> {
        let [count, rows, depth] = points;
        let functions = rows.saturating_sub(3);
        if depth != 1 || rows < 3 || functions > FitSums::MOST_FUNCTIONS {
            let expected = [count, rows.clamp(3, 3 + FitSums::MOST_FUNCTIONS), 1];
            return Err(Error::Shape { operation: "fit_sums", expected, found: points });
        }
        let volumes: Vec<[usize; 3]> = volumes.into_iter().collect();
        if let Some(first) = volumes.first() {
            Error::check_shapes("fit_sums", *first, volumes.iter().copied())?;
        }
        match at.iter().map(|(volume, _)| *volume).find(|volume| *volume >= volumes.len()) {
            Some(volume) => Err(Error::Volume { volume, count: volumes.len() }),
            None => Ok((count, functions)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_has_at_most_64_functions() {
        let check = |points| FitSums::check(points, [[5, 4, 3]], &[]);
        assert_eq!(check([10, 3, 1]).unwrap(), (10, 0));
        assert_eq!(check([10, 67, 1]).unwrap(), (10, 64));
        // The shape that is expected is the nearest allowed one.
        for (wrong, nearest) in [([10, 68, 1], [10, 67, 1]), ([10, 2, 1], [10, 3, 1]), ([10, 9, 2], [10, 9, 1])] {
            match check(wrong) {
                Err(Error::Shape { expected, found, .. }) => assert_eq!((expected, found), (nearest, wrong)),
                other => panic!("{wrong:?} gives {other:?}"),
            }
        }
    }
}
