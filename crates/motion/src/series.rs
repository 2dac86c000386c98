//! All volumes of a series, a batch at a time.

use antsreg_core::{AffineTransform, Volume};
use rayon::prelude::*;

use crate::align::align;
use crate::{Aligned, Error, Reference};

/// Volumes that are in memory at once.
pub const BATCH: usize = 32;

/// Aligns the volumes of a series to a reference, in their order.
///
/// Each volume starts from the place of the reference and from the results of its neighbours; the best result stays. Neighbours are
/// those of the same batch, and the last one of the batch before, so that results do not depend on the number of threads.
pub struct Series<'a> {
    reference: &'a Reference,
    /// The last volume of the batch before.
    last: Option<AffineTransform>,
}

impl<'a> Series<'a> {
    /// A series of which no volume has been aligned yet.
    pub fn new(reference: &'a Reference) -> Series<'a> {
        Series { reference, last: None }
    }

    /// Aligns the next volumes, in the order of time; all but the last batch have [`BATCH`] volumes. A volume that cannot be
    /// aligned does not keep the others from it.
    pub fn align(&mut self, volumes: &[Volume]) -> Vec<Result<Aligned, Error>> {
        let starts: Vec<AffineTransform> =
            [Some(AffineTransform::identity()), self.last].into_iter().flatten().collect();
        let alone: Vec<_> = volumes
            .par_iter()
            .map(|volume| {
                let prepared = self.reference.prepare(volume)?;
                let found = align(self.reference, &prepared, volume, &starts)?;
                Ok((prepared, found))
            })
            .collect();
        let known: Vec<Option<AffineTransform>> = alone
            .iter()
            .map(|found| found.as_ref().ok().map(|(_, aligned): &(_, Aligned)| aligned.transform))
            .collect();
        let found: Vec<_> = alone
            .into_par_iter()
            .enumerate()
            .map(|(n, alone): (usize, Result<_, Error>)| {
                let (prepared, found) = alone?;
                let neighbours = [n.checked_sub(1), Some(n + 1)].into_iter().flatten();
                let starts: Vec<_> = neighbours.filter_map(|other| *known.get(other)?).collect();
                match align(self.reference, &prepared, &volumes[n], &starts) {
                    Ok(other) if other.cost < found.cost => Ok(other),
                    _ => Ok(found),
                }
            })
            .collect();
        self.last =
            found.iter().rev().find_map(|found| found.as_ref().ok().map(|found| found.transform)).or(self.last);
        found
    }
}
