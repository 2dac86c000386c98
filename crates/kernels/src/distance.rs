//! Limits of the distances to the border of a set of voxels.

/// The largest distances of voxels to the border of a set that are computed, mm. Voxels farther from the border get these
/// distances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DistanceLimits {
    /// Largest distance of a voxel in the set, mm.
    pub inside_mm: f32,
    /// Largest distance of a voxel outside the set, mm.
    pub outside_mm: f32,
}

impl DistanceLimits {
    /// The squares of the largest distances outside and in the set, mm².
    pub(crate) fn squares(self) -> [f32; 2] {
        [self.outside_mm, self.inside_mm].map(|mm| mm * mm)
    }
}
