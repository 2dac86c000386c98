//! Position and orientation of the object in an image: centre of mass and principal axes.

use antsreg_core::{Grid, Volume};
use nalgebra::{Const, Matrix3, Point3, SymmetricEigen, Vector3};

/// Largest plausible factor by which one brain is longer than another along an axis. If the measured factor is larger,
/// the reason is different fields of view.
const MOST_STRETCH: f64 = 1.5;

/// Pose (position and orientation) of the object in an image: its centre of mass and its principal axes in the world,
/// RAS mm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pose {
    /// Centre of mass of the object, RAS mm.
    pub centre: Point3<f64>,
    /// Principal axes of the object as columns, from the smallest to the greatest extent; right-handed.
    pub axes: Matrix3<f64>,
    /// Standard deviation of the object's mass along each principal axis, mm.
    pub extent: Vector3<f64>,
}

impl Pose {
    /// The pose of the object in a volume. Positive voxel values are masses. If no voxel is positive, the pose has the
    /// centre of the grid and the axes of the world.
    pub fn of(volume: &Volume) -> Pose {
        let to_world = volume.grid.voxel_to_world();
        let [nx, ny, _] = volume.grid.shape;
        let (mut mass, mut first, mut second) = (0.0, Vector3::zeros(), Matrix3::zeros());
        for (number, value) in volume.voxels.iter().enumerate().filter(|(_, value)| **value > 0.0) {
            let index = [number % nx, number / nx % ny, number / nx / ny].map(|i| i as f64);
            let at = to_world.apply(&Point3::from(index)) - volume.grid.centre();
            let value = f64::from(*value);
            mass += value;
            first += value * at;
            second += value * at * at.transpose();
        }
        if mass <= 0.0 {
            return Pose { centre: volume.grid.centre(), axes: Matrix3::identity(), extent: Vector3::zeros() };
        }
        let mean = first / mass;
        let mut covariance = second / mass - mean * mean.transpose();
        if volume.grid.is_slice() {
            // Both slices get the same small thickness. So their normal is the axis with the smallest extent, which
            // becomes the first principal axis.
            let normal = normal(&volume.grid);
            covariance += normal * normal.transpose();
        }
        let eigen = SymmetricEigen::new(covariance);
        let mut order = [0, 1, 2];
        order.sort_by(|a, b| eigen.eigenvalues[*a].total_cmp(&eigen.eigenvalues[*b]));
        let column = |axis: usize| eigen.eigenvectors.column(order[axis]).into_owned();
        let (mut least, middle) = (column(0), column(1));
        if volume.grid.is_slice() {
            // The normals of both slices get the same sign, so that rotations between the slices stay in the plane.
            least = normal(&volume.grid);
        }
        let axes = Matrix3::from_columns(&[least, middle, least.cross(&middle)]);
        let extent = Vector3::from_fn(|axis, _| eigen.eigenvalues[order[axis]].max(0.0).sqrt());
        Pose { centre: volume.grid.centre() + mean, axes, extent }
    }

    /// The four linear maps that stretch the object of this pose along its principal axes and then rotate these axes to
    /// the axes of the pose `other`. There are four because axes have no sign.
    pub fn maps_to(&self, other: &Pose, stretch: &Vector3<f64>) -> [Matrix3<f64>; 4] {
        [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]].map(|signs| {
            other.axes * Matrix3::from_diagonal(&stretch.component_mul(&Vector3::from(signs))) * self.axes.transpose()
        })
    }

    /// The stretch S that gives the object of this pose the covariance of the object of `other`, after the linear map
    /// `to_other` (M). S is the symmetric matrix with S·M·Σ·Mᵀ·S = Σ′, where Σ and Σ′ are the covariances of both
    /// objects. S is limited to plausible values. `None` if S is not determined.
    pub fn stretch_after(&self, to_other: &Matrix3<f64>, other: &Pose) -> Option<Matrix3<f64>> {
        let power_of = |eigen: &SymmetricEigen<f64, Const<3>>, power: f64| {
            let roots = eigen.eigenvalues.map(|value| value.max(0.0).powf(power));
            let of_power = eigen.eigenvectors * Matrix3::from_diagonal(&roots) * eigen.eigenvectors.transpose();
            of_power.iter().all(|value| value.is_finite()).then_some(of_power)
        };
        let own = SymmetricEigen::new(to_other * self.covariance() * to_other.transpose());
        let (half, inverse_half) = (power_of(&own, 0.5)?, power_of(&own, -0.5)?);
        let middle = SymmetricEigen::new(half * other.covariance() * half);
        let stretch = inverse_half * power_of(&middle, 0.5)? * inverse_half;
        let eigen = SymmetricEigen::new(stretch);
        let plausible = eigen.eigenvalues.map(|value| value.clamp(1.0 / MOST_STRETCH, MOST_STRETCH));
        Some(eigen.eigenvectors * Matrix3::from_diagonal(&plausible) * eigen.eigenvectors.transpose())
    }

    fn covariance(&self) -> Matrix3<f64> {
        self.axes * Matrix3::from_diagonal(&self.extent.map(|extent| extent * extent)) * self.axes.transpose()
    }

    /// The scale factors along the principal axes that give this object the extent of the object of `other`, limited to
    /// plausible values.
    pub fn stretch_to(&self, other: &Pose) -> Vector3<f64> {
        self.extent.zip_map(&other.extent, |own, wanted| {
            if own > 0.0 { (wanted / own).clamp(1.0 / MOST_STRETCH, MOST_STRETCH) } else { 1.0 }
        })
    }
}

/// The unit normal of a slice. Its sign makes the largest component positive.
fn normal(grid: &Grid) -> Vector3<f64> {
    let across = grid.direction.column(2).into_owned();
    across * across[across.iamax()].signum()
}

#[cfg(test)]
mod tests;
