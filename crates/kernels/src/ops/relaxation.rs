//! Relaxation of two displacement fields that should be inverse to each other.

use super::Memory;
use crate::{Error, RelaxRound};

/// Relaxation of two displacement fields that should be inverse to each other. Conventions are those of [`Backend`](crate::Backend).
pub trait Relaxation: Memory {
    /// Memory of [`relax`](Relaxation::relax) for two fields of one shape: scratch memory, and the marks of the voxels
    /// that the next round must examine.
    type RelaxWorkspace: Send;

    /// New memory for [`relax`](Relaxation::relax) of two fields of this shape. All voxels are marked, so that the first
    /// round examines all of them.
    fn relax_workspace(&self, shape: [usize; 3]) -> Result<Self::RelaxWorkspace, Error>;

    /// Marks all voxels of both fields again, so that the next round of [`relax`](Relaxation::relax) examines all of them.
    fn examine_all(&self, workspace: &mut Self::RelaxWorkspace) -> Result<(), Error>;

    /// One round of relaxation: corrects two displacement fields that should be inverse to each other, at the voxels
    /// where they fold or deviate by more than the limits. Returns the number of examined voxels beyond the limits, in
    /// the first and in the second field. Large deviations need several rounds.
    ///
    /// The first field u is examined first. A voxel folds if the determinant at any corner of the trilinear cells
    /// around it is below the limit. A voxel that does not fold, but where u deviates from the inverse of the second
    /// field v, is set to the inverse of v, as by [`invert`](crate::ops::Fields::invert). Where v is steep, a change of u by a
    /// hundredth of a voxel can be enough to remove the deviation. If the deviation then still exceeds 0.1 voxel, or
    /// the change exceeds one voxel, u is blended with its smoothed copy instead (smoothed as by
    /// [`smooth_both_fields`](crate::ops::Fields::smooth_both_fields)). The share of the smoothed copy is min(1, (residual/limit −
    /// 1)/2 + 0.05). At neighbours within `reach_voxels` along each axis that are not corrected themselves, this share
    /// is multiplied by 1 − d²/(`reach_voxels` + 1)², where d is the distance to the voxel. Then v is set to the
    /// inverse of the new u, as by `invert`. After that, v is examined and corrected in the same way, and u is set to
    /// the inverse of the new v.
    ///
    /// A voxel that folds is moved together with its neighbours along the axes. The determinant at a cell corner
    /// depends on four voxels: the corner and the other ends of its three edges. For each corner whose determinant is
    /// below the limit, the function computes the smallest displacements of these four voxels that raise the
    /// determinant to 0.3 above the limit, to first order. These are along the derivative of the determinant, within
    /// the allowed directions, no voxel by more than one voxel. A voxel is moved by the mean of the displacements for
    /// all such corners that it belongs to. Border voxels are not moved. In a round with `unfolds` = false, u is
    /// replaced by its smoothed copy at the voxels that fold.
    ///
    /// The first call examines all voxels. Further calls examine the bricks of 8³ voxels that contain a neighbour of a
    /// changed voxel, and the bricks around the position in the other field to which a changed voxel is mapped. v is
    /// computed again only in the bricks within 3 voxels of the mapped positions of changed voxels of u. When no
    /// examined voxel is beyond the limits, [`examine_all`](Relaxation::examine_all) marks all voxels, to check that this
    /// holds everywhere.
    fn relax(
        &self,
        pair: [&mut Self::Field; 2],
        round: &RelaxRound,
        workspace: &mut Self::RelaxWorkspace,
    ) -> Result<[usize; 2], Error>;
}
