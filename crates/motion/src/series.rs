//! All volumes of a series, a batch at a time.

use antsreg_core::{AffineTransform, Volume};
use antsreg_kernels::Backend;

use crate::align::{approach, best, refine};
use crate::reference::Prepared;
use crate::{Aligned, Error, Reference, rms_deviation};

/// Volumes that are in memory at once.
pub const BATCH: usize = 32;

/// Two starts nearer to each other than this lead to the same result: root mean squared distance over the head, mm.
const SAME_MM: f64 = 1.0;

/// Aligns the volumes of a series to a reference, in their order.
///
/// Each volume starts from the place of the reference, from the last volume of the batch before, and from the results of its
/// neighbours in the batch, as far as these starts differ; the best result stays. Results do not depend on the number of threads.
pub struct Series<'a, B: Backend> {
    reference: &'a Reference<'a, B>,
    /// The last volume of the batch before.
    last: Option<AffineTransform>,
}

impl<'a, B: Backend> Series<'a, B> {
    /// A series of which no volume has been aligned yet.
    pub fn new(reference: &'a Reference<'a, B>) -> Series<'a, B> {
        Series { reference, last: None }
    }

    /// Aligns the next volumes, in the order of time; all but the last batch have [`BATCH`] volumes. A volume that cannot be
    /// aligned does not keep the others from it.
    ///
    /// # Errors
    /// A device that fails.
    pub fn align(&mut self, volumes: &[&Volume]) -> Result<Vec<Result<Aligned, Error>>, Error> {
        let mut found: Vec<Option<Result<Aligned, Error>>> = volumes.iter().map(|_| None).collect();
        let mut prepared: Vec<(usize, Prepared<B>)> = Vec::new();
        for (n, volume) in self.reference.prepare_all(volumes).into_iter().enumerate() {
            match volume {
                Ok(volume) => prepared.push((n, volume)),
                Err(Error::Device(error)) => return Err(Error::Device(error)),
                Err(error) => found[n] = Some(Err(error)),
            }
        }
        let images: Vec<&Prepared<B>> = prepared.iter().map(|(_, image)| image).collect();
        let aligned = self.together(&images)?;
        self.last =
            aligned.iter().rev().find_map(|found| found.as_ref().ok().map(|found| found.transform)).or(self.last);
        prepared.iter().zip(aligned).for_each(|((n, _), aligned)| found[*n] = Some(aligned));
        Ok(found.into_iter().map(|found| found.unwrap_or(Err(Error::Undetermined))).collect())
    }

    /// Aligns prepared volumes, which follow each other in time.
    fn together(&self, volumes: &[&Prepared<B>]) -> Result<Vec<Result<Aligned, Error>>, Error> {
        let still = AffineTransform::identity();
        let starts: Vec<AffineTransform> =
            [still].into_iter().chain(self.last.filter(|last| !self.near(last, &still))).collect();
        let alone = approach(self.reference, volumes, &vec![starts.as_slice(); volumes.len()])?;
        // A neighbour that was found elsewhere is a start of its own.
        let others: Vec<Vec<AffineTransform>> = (0..volumes.len())
            .map(|n| {
                let neighbours = [n.checked_sub(1), Some(n + 1)].into_iter().flatten();
                let places = neighbours.filter_map(|other| Some(alone.get(other)?.as_ref().ok()?.transform));
                let own = alone[n].as_ref().ok().map(|found| found.transform);
                places.filter(|place| own.is_none_or(|own| !self.near(&own, place))).collect()
            })
            .collect();
        let from_others = approach(self.reference, volumes, &others.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        let found = alone.into_iter().zip(from_others).map(|(alone, other)| best([alone, other])).collect();
        refine(self.reference, volumes, found)
    }

    /// Whether two starts lead to the same result.
    fn near(&self, a: &AffineTransform, b: &AffineTransform) -> bool {
        rms_deviation(a, b, &self.reference.centre()) < SAME_MM
    }
}
