//! The Markov random field of a segmentation.

use antsreg_core::Grid;

/// The neighbours of a voxel in the Markov random field.
pub struct Neighbours {
    shape: [usize; 3],
    /// Offsets to the neighbours, and the inverses of their distances in mm.
    offsets: Vec<([isize; 3], f64)>,
}

impl Neighbours {
    /// The voxels within `radius` voxels along each axis; none across a slice.
    pub fn within(grid: &Grid, radius: [usize; 3]) -> Neighbours {
        let axes = crate::dimensions(grid);
        let radius: [isize; 3] = std::array::from_fn(|axis| if axis < axes { radius[axis] as isize } else { 0 });
        let mut offsets = Vec::new();
        for z in -radius[2]..=radius[2] {
            for y in -radius[1]..=radius[1] {
                for offset in (-radius[0]..=radius[0]).map(|x| [x, y, z]).filter(|offset| *offset != [0; 3]) {
                    let square: f64 = (0..3).map(|axis| (offset[axis] as f64 * grid.spacing[axis]).powi(2)).sum();
                    offsets.push((offset, 1.0 / square.sqrt()));
                }
            }
        }
        Neighbours { shape: grid.shape, offsets }
    }

    /// The probabilities of the classes of a voxel by the labels of its neighbours: proportional to e^(β·Σ 1/d) over the
    /// neighbours of the class at distances d, with the weight β. Labels are counted from 1; 0 is no class.
    pub fn probabilities(&self, voxel: usize, labels: &[u8], classes: usize, weight: f64) -> Vec<f64> {
        if weight <= 0.0 || self.offsets.is_empty() {
            return vec![1.0; classes];
        }
        let mut sums = vec![0.0; classes];
        for (neighbour, inverse) in self.around(voxel) {
            if let Some(class) = usize::from(labels[neighbour]).checked_sub(1) {
                sums[class] += inverse;
            }
        }
        let powers: Vec<f64> = sums.into_iter().map(|sum| (weight * sum).exp()).collect();
        let all: f64 = powers.iter().sum();
        powers.into_iter().map(|power| power / all).collect()
    }

    /// The neighbours of a voxel, with the inverses of their distances.
    fn around(&self, voxel: usize) -> impl Iterator<Item = (usize, f64)> {
        let [nx, ny, _] = self.shape;
        let place = [voxel % nx, voxel / nx % ny, voxel / (nx * ny)];
        self.offsets.iter().filter_map(move |(offset, inverse)| {
            let mut other = 0;
            for axis in (0..3).rev() {
                let at = place[axis].checked_add_signed(offset[axis]).filter(|at| *at < self.shape[axis])?;
                other = other * self.shape[axis] + at;
            }
            Some((other, *inverse))
        })
    }

    /// Divides voxels into sets without neighbours: each set takes, in order, the voxels that have no neighbour in it.
    pub fn independent_sets(&self, voxels: &[usize]) -> Vec<Vec<usize>> {
        let mut codes = vec![0u32; self.shape.iter().product()];
        let mut left = voxels.to_vec();
        let mut sets = Vec::new();
        while !left.is_empty() {
            let code = sets.len() as u32 + 1;
            let (mut set, mut rest) = (Vec::new(), Vec::new());
            for voxel in left {
                if self.around(voxel).any(|(other, _)| codes[other] == code) {
                    rest.push(voxel);
                } else {
                    codes[voxel] = code;
                    set.push(voxel);
                }
            }
            sets.push(set);
            left = rest;
        }
        sets
    }
}
