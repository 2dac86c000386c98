//! Position and orientation of the object in an image: centre of mass and principal axes.

use antsreg_core::{Grid, Volume};
use nalgebra::{Matrix3, Point3, SymmetricEigen, Vector3};

/// Largest plausible stretch between two brains. A larger stretch results from different fields of view.
const MOST_STRETCH: f64 = 1.5;

/// Centre of mass and principal axes in the world, RAS mm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pose {
    /// Centre of mass, mm.
    pub centre: Point3<f64>,
    /// Principal axes as columns, from the least to the greatest extent; right-handed.
    pub axes: Matrix3<f64>,
    /// Standard deviation of the mass along each principal axis, mm.
    pub extent: Vector3<f64>,
}

impl Pose {
    /// The pose of a volume; positive voxels are masses. Without any mass, the pose is the centre of the grid and the
    /// axes of the world.
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
            // Both slices get the same small thickness, so that their normal is the axis of least extent, the first
            // axis below.
            let normal = normal(&volume.grid);
            covariance += normal * normal.transpose();
        }
        let eigen = SymmetricEigen::new(covariance);
        let mut order = [0, 1, 2];
        order.sort_by(|a, b| eigen.eigenvalues[*a].total_cmp(&eigen.eigenvalues[*b]));
        let column = |axis: usize| eigen.eigenvectors.column(order[axis]).into_owned();
        let (mut least, middle) = (column(0), column(1));
        if volume.grid.is_slice() {
            // Both slices get the same sign of the normal, so that rotations between them stay in the plane.
            least = normal(&volume.grid);
        }
        let axes = Matrix3::from_columns(&[least, middle, least.cross(&middle)]);
        let extent = Vector3::from_fn(|axis, _| eigen.eigenvalues[order[axis]].max(0.0).sqrt());
        Pose { centre: volume.grid.centre() + mean, axes, extent }
    }

    /// The four rotations that align the axes of this pose with those of `other` (axes have no sign). Each follows a
    /// stretch along the axes of this pose.
    pub fn maps_to(&self, other: &Pose, stretch: &Vector3<f64>) -> [Matrix3<f64>; 4] {
        [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]].map(|signs| {
            other.axes * Matrix3::from_diagonal(&stretch.component_mul(&Vector3::from(signs))) * self.axes.transpose()
        })
    }

    /// The stretch without rotation that, after the linear part `to_other` (M), gives this pose the covariance of
    /// `other`: the symmetric S with S·M·Σ·Mᵀ·S = Σ′. `None` if it is not plausible.
    pub fn stretch_after(&self, to_other: &Matrix3<f64>, other: &Pose) -> Option<Matrix3<f64>> {
        let root = |matrix: Matrix3<f64>, power: f64| {
            let eigen = SymmetricEigen::new(matrix);
            let roots = eigen.eigenvalues.map(|value| value.max(0.0).powf(power));
            let of_power = eigen.eigenvectors * Matrix3::from_diagonal(&roots) * eigen.eigenvectors.transpose();
            of_power.iter().all(|value| value.is_finite()).then_some(of_power)
        };
        let own = to_other * self.covariance() * to_other.transpose();
        let (half, inverse_half) = (root(own, 0.5)?, root(own, -0.5)?);
        let stretch = inverse_half * root(half * other.covariance() * half, 0.5)? * inverse_half;
        let eigen = SymmetricEigen::new(stretch);
        let plausible = eigen.eigenvalues.map(|value| value.clamp(1.0 / MOST_STRETCH, MOST_STRETCH));
        Some(eigen.eigenvectors * Matrix3::from_diagonal(&plausible) * eigen.eigenvectors.transpose())
    }

    fn covariance(&self) -> Matrix3<f64> {
        self.axes * Matrix3::from_diagonal(&self.extent.map(|extent| extent * extent)) * self.axes.transpose()
    }

    /// The stretch along this pose's axes that gives it the extent of `other`, limited to plausible values.
    pub fn stretch_to(&self, other: &Pose) -> Vector3<f64> {
        self.extent.zip_map(&other.extent, |own, wanted| {
            if own > 0.0 { (wanted / own).clamp(1.0 / MOST_STRETCH, MOST_STRETCH) } else { 1.0 }
        })
    }
}

/// The unit normal of a slice, with the sign that makes the normal's largest component positive.
fn normal(grid: &Grid) -> Vector3<f64> {
    let across = grid.direction.column(2).into_owned();
    across * across[across.iamax()].signum()
}

#[cfg(test)]
mod tests;
