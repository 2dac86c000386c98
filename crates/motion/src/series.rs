//! Alignment of all volumes of a series, in batches.

use antsreg_core::{AffineTransform, Volume};
use antsreg_kernels::Backend;

use crate::align::{approach, best, refine};
use crate::reference::Prepared;
use crate::{Aligned, Error, Reference, rms_deviation};

/// Number of volumes in a batch. All volumes of a batch are in memory at once.
pub const BATCH: usize = 32;

/// Two initial transforms that are closer than this are expected to lead to the same result. Their distance is the root
/// mean square over a sphere of the size of the head, mm.
const SAME_MM: f64 = 1.0;

/// Aligns the volumes of a series to a reference, in the order of time.
///
/// Each volume has several initial transforms, if they differ: the position of the reference, the result of the last
/// volume in the previous batch, and the results of the volumes before and after it in the same batch. The best result
/// is kept. Results do not depend on the number of threads.
pub struct Series<'a, B: Backend> {
    reference: &'a Reference<'a, B>,
    /// Transform of the last aligned volume of the previous batch, in the reference's unit.
    last: Option<AffineTransform>,
}

impl<'a, B: Backend> Series<'a, B> {
    /// Starts the alignment of a series to `reference`. No volume has been aligned so far.
    pub fn new(reference: &'a Reference<'a, B>) -> Series<'a, B> {
        Series { reference, last: None }
    }

    /// Aligns the next volumes of the series, in the order of time. All batches except the last must have [`BATCH`]
    /// volumes. If a volume cannot be aligned, its entry in the result is an error, and the other volumes are aligned.
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
        let in_mm = |found: Aligned| found.in_mm(self.reference.unit);
        prepared.iter().zip(aligned).for_each(|((n, _), aligned)| found[*n] = Some(aligned.map(in_mm)));
        Ok(found.into_iter().map(|found| found.unwrap_or(Err(Error::Undetermined))).collect())
    }

    /// Aligns the prepared volumes of a batch, which follow each other in time.
    fn together(&self, volumes: &[&Prepared<B>]) -> Result<Vec<Result<Aligned, Error>>, Error> {
        let still = AffineTransform::identity();
        let starts: Vec<AffineTransform> =
            [still].into_iter().chain(self.last.filter(|last| !self.near(last, &still))).collect();
        let alone = approach(self.reference, volumes, &vec![starts.as_slice(); volumes.len()])?;
        // If the transform of the volume before or after is far from the volume's own result, the alignment also starts
        // from this transform.
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

    /// Whether two initial transforms are so close that they are expected to lead to the same result.
    fn near(&self, a: &AffineTransform, b: &AffineTransform) -> bool {
        rms_deviation(a, b, &self.reference.generators.centre()) < SAME_MM
    }
}
