//! Naive implementations of the backend's operations in double precision.

use antsreg_core::AffineTransform;
use antsreg_kernels::gaussian;
use nalgebra::{Matrix3, Point3, Vector3};

use super::scene::voxels;

pub fn index([nx, ny, _]: [usize; 3], [i, j, k]: [usize; 3]) -> usize {
    i + nx * (j + ny * k)
}

/// The eight voxels around a point, clamped to the volume, with their interpolation weights.
pub fn neighbours(shape: [usize; 3], point: [f64; 3]) -> impl Iterator<Item = (usize, f64)> {
    let clamped: [f64; 3] = std::array::from_fn(|axis| point[axis].clamp(0.0, shape[axis] as f64 - 1.0));
    (0..8).map(move |corner| {
        let mut weight = 1.0;
        let voxel = std::array::from_fn(|axis| {
            let t = clamped[axis] - clamped[axis].floor();
            let up = corner >> axis & 1;
            weight *= if up == 1 { t } else { 1.0 - t };
            (clamped[axis] as usize + up).min(shape[axis] - 1)
        });
        (index(shape, voxel), weight)
    })
}

pub fn within_half_a_voxel(shape: [usize; 3], point: [f64; 3]) -> bool {
    (0..3).all(|axis| point[axis] >= -0.5 && point[axis] <= shape[axis] as f64 - 0.5)
}

pub fn trilinear(image: &[f32], shape: [usize; 3], point: [f64; 3]) -> f64 {
    neighbours(shape, point).map(|(at, weight)| weight * f64::from(image[at])).sum()
}

pub fn field_at(field: &[[f32; 3]], shape: [usize; 3], point: [f64; 3]) -> [f64; 3] {
    neighbours(shape, point).fold([0.0; 3], |sum, (at, weight)| {
        std::array::from_fn(|axis| sum[axis] + weight * f64::from(field[at][axis]))
    })
}

pub fn apply(map: &AffineTransform, point: [f64; 3]) -> [f64; 3] {
    map.apply(&Point3::from(point)).coords.into()
}

pub fn displaced(voxel: [usize; 3], u: [f32; 3]) -> [f64; 3] {
    std::array::from_fn(|axis| voxel[axis] as f64 + f64::from(u[axis]))
}

/// Gaussian smoothing along all three axes at once. Outside the volume, the values at its border are repeated.
pub fn smooth(image: &[f64], shape: [usize; 3], variances: [f64; 3]) -> Vec<f64> {
    let kernels = variances.map(gaussian::kernel);
    let mut current = image.to_vec();
    for axis in 0..3 {
        let radius = kernels[axis].len() as i64 - 1;
        current = voxels(shape)
            .map(|voxel| {
                (-radius..=radius)
                    .map(|offset| {
                        let mut at = voxel;
                        at[axis] = (voxel[axis] as i64 + offset).clamp(0, shape[axis] as i64 - 1) as usize;
                        f64::from(kernels[axis][offset.unsigned_abs() as usize]) * current[index(shape, at)]
                    })
                    .sum()
            })
            .collect();
    }
    current
}

pub fn on_border(shape: [usize; 3], voxel: [usize; 3]) -> bool {
    (0..3).any(|axis| shape[axis] > 1 && (voxel[axis] == 0 || voxel[axis] == shape[axis] - 1))
}

/// Gradient of an image at a voxel by central differences; one-sided at the border, and 0 along an axis of one voxel.
pub fn gradient(image: &[f32], shape: [usize; 3], voxel: [usize; 3]) -> [f64; 3] {
    std::array::from_fn(|axis| {
        let (mut low, mut high) = (voxel, voxel);
        low[axis] = voxel[axis].saturating_sub(1);
        high[axis] = (voxel[axis] + 1).min(shape[axis] - 1);
        let span = (high[axis] - low[axis]).max(1) as f64;
        f64::from(image[index(shape, high)] - image[index(shape, low)]) / span
    })
}

/// A naive windowed cross-correlation of two images, computed directly from the definition.
pub struct CrossCorrelation<'a> {
    pub shape: [usize; 3],
    pub fixed: &'a [f64],
    pub moving: &'a [f64],
    pub inside: &'a [bool],
    pub radius: usize,
    pub noise_variance: f64,
}

/// A window of the cross-correlation. `a` and `b` are the sums of squared deviations of the fixed and the moving
/// intensities from their means in the window, each plus the assumed noise; `c` is the sum of the products of both
/// deviations. `fixed` and `moving` are the deviations of the centre voxel from these means.
pub struct Window {
    pub a: f64,
    pub b: f64,
    pub c: f64,
    pub fixed: f64,
    pub moving: f64,
    /// Weight of the window: the share of the product `a`·`b` that comes from the images and not from the assumed
    /// noise.
    pub weight: f64,
}

impl Window {
    pub fn value(&self) -> f64 {
        if self.a * self.b > 0.0 { self.c * self.c / (self.a * self.b) } else { 0.0 }
    }
}

impl CrossCorrelation<'_> {
    pub fn window(&self, centre: [usize; 3]) -> Window {
        let ranges: [_; 3] = std::array::from_fn(|axis| {
            centre[axis].saturating_sub(self.radius)..=(centre[axis] + self.radius).min(self.shape[axis] - 1)
        });
        let [xs, ys, zs] = ranges;
        let mut members = Vec::new();
        for k in zs {
            for j in ys.clone() {
                for i in xs.clone() {
                    let at = index(self.shape, [i, j, k]);
                    if self.inside[at] {
                        members.push((self.fixed[at], self.moving[at]));
                    }
                }
            }
        }
        let count = members.len() as f64;
        let (f, m) = members.iter().fold((0.0, 0.0), |s, v| (s.0 + v.0 / count, s.1 + v.1 / count));
        let sum = |term: fn(f64, f64) -> f64| members.iter().map(|v| term(v.0 - f, v.1 - m)).sum::<f64>();
        let noise = count * self.noise_variance;
        let at = index(self.shape, centre);
        let (a, b) = (sum(|f, _| f * f), sum(|_, m| m * m));
        // A window without variance has no effect, even if the assumed noise is very small.
        let structure = a > 0.0 && b > 0.0;
        Window {
            a: if structure { a + noise } else { 0.0 },
            b: if structure { b + noise } else { 0.0 },
            c: sum(|f, m| f * m),
            fixed: self.fixed[at] - f,
            moving: self.moving[at] - m,
            weight: if structure { a * b / ((a + noise) * (b + noise)) } else { 0.0 },
        }
    }

    /// Expected sum of the squared correlations in all windows that contain `voxel` and whose centre is inside the
    /// masks.
    pub fn value_around(&self, voxel: [usize; 3]) -> f64 {
        voxels(self.shape)
            .filter(|v| (0..3).all(|axis| v[axis].abs_diff(voxel[axis]) <= self.radius))
            .filter(|v| self.inside[index(self.shape, *v)])
            .map(|v| self.window(v).value())
            .sum()
    }
}

/// The sample of the moving image that a transform assigns to a fixed voxel.
pub struct Sample {
    /// Index in memory of the fixed voxel to which the sample belongs.
    pub at: usize,
    /// Position to which the transform maps the fixed voxel, in moving voxels.
    pub point: [f64; 3],
    pub weight: f64,
}

/// All samples of the moving image with positive weight, at most one for each fixed voxel. The weight of a sample is a
/// product: for each axis a factor that rises from 0 at the border of the moving image to 1, the weight of the fixed
/// voxel, and the interpolated weight of the moving image.
pub fn samples(
    fixed_shape: [usize; 3],
    fixed_weight: Option<&[f32]>,
    moving_shape: [usize; 3],
    moving_weight: Option<&[f32]>,
    edge_voxels: [f64; 3],
    map: &AffineTransform,
) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (at, voxel) in voxels(fixed_shape).enumerate() {
        let point = apply(map, voxel.map(|i| i as f64));
        let mut weight = 1.0;
        for axis in 0..3 {
            let distance = point[axis].min(moving_shape[axis] as f64 - 1.0 - point[axis]);
            let ramp = if edge_voxels[axis] > 0.0 { distance / edge_voxels[axis] } else { 1.0 };
            weight *= if distance >= 0.0 { ramp.min(1.0) } else { 0.0 };
        }
        if weight > 0.0 {
            weight *= fixed_weight.map_or(1.0, |weights| f64::from(weights[at]));
            weight *= moving_weight.map_or(1.0, |weights| trilinear(weights, moving_shape, point));
            samples.push(Sample { at, point, weight });
        }
    }
    samples
}

/// Jacobian determinant of x + u(x) at a corner of a trilinear cell, after `moved` is added to the displacements u of
/// the voxels. Also returns the neighbours of `voxel` that span the cell; an axis of one voxel has no neighbour. `None`
/// if the cell lies outside the volume.
fn corner_determinant(
    field: &[[f32; 3]],
    shape: [usize; 3],
    voxel: [usize; 3],
    sides: [i64; 3],
    moved: &dyn Fn(usize) -> [f64; 3],
) -> Option<(f64, [Option<usize>; 3])> {
    let at = |voxel: [usize; 3]| {
        let (n, extra) = (index(shape, voxel), moved(index(shape, voxel)));
        Vector3::from_fn(|c, _| f64::from(field[n][c]) + extra[c])
    };
    let mut edges = Matrix3::identity();
    let mut neighbours = [None; 3];
    for axis in 0..3 {
        if shape[axis] == 1 {
            if sides[axis] < 0 {
                return None;
            }
            continue;
        }
        let mut other = voxel;
        other[axis] = voxel[axis].checked_add_signed(sides[axis] as isize).filter(|n| *n < shape[axis])?;
        let edge = (at(other) - at(voxel)) * sides[axis] as f64;
        edges.set_column(axis, &(edges.column(axis) + edge));
        neighbours[axis] = Some(index(shape, other));
    }
    Some((edges.determinant(), neighbours))
}

fn corners() -> impl Iterator<Item = [i64; 3]> {
    (0..8).map(|corner| [0, 1, 2].map(|axis| if corner >> axis & 1 == 1 { 1 } else { -1 }))
}

/// For each voxel, the smallest Jacobian determinant at the corners of the trilinear cells that meet at the voxel.
pub fn smallest_at_corners(field: &[[f32; 3]], shape: [usize; 3]) -> Vec<f64> {
    let still = |_| [0.0; 3];
    let at = |voxel| {
        let found = corners().filter_map(|sides| corner_determinant(field, shape, voxel, sides, &still));
        found.map(|(determinant, _)| determinant).fold(f64::INFINITY, f64::min)
    };
    voxels(shape).map(at).collect()
}

/// The expected field after one step that corrects folds. Each cell corner whose Jacobian determinant is below `limit`
/// requests displacements of its four voxels.
pub fn unfolded(field: &[[f32; 3]], shape: [usize; 3], limit: f64, allowed: [[f32; 3]; 3]) -> Vec<[f64; 3]> {
    let allowed = Matrix3::from_fn(|row, column| f64::from(allowed[row][column]));
    let on_border: Vec<bool> = voxels(shape)
        .map(|voxel| (0..3).any(|axis| shape[axis] > 1 && (voxel[axis] == 0 || voxel[axis] + 1 == shape[axis])))
        .collect();
    let (mut sums, mut counts) = (vec![Vector3::zeros(); field.len()], vec![0.0; field.len()]);
    for voxel in voxels(shape) {
        for sides in corners() {
            let determinant = |n: usize, step: Vector3<f64>| {
                let moved = |m| if m == n { step.into() } else { [0.0; 3] };
                corner_determinant(field, shape, voxel, sides, &moved)
            };
            let own = index(shape, voxel);
            let Some((found, neighbours)) = determinant(own, Vector3::zeros()).filter(|(found, _)| *found < limit)
            else {
                continue;
            };
            let ends: Vec<usize> = std::iter::once(own).chain(neighbours.into_iter().flatten()).collect();
            // The Jacobian determinant at a corner is linear in each component of each voxel's displacement. So the
            // difference of two determinants gives the exact derivative.
            let slope = |n: usize| {
                let by = |c| {
                    let [above, below] =
                        [1.0, -1.0].map(|step| determinant(n, Vector3::ith(c, step)).map_or(0.0, |of| of.0));
                    (above - below) / 2.0
                };
                allowed * Vector3::new(by(0), by(1), by(2))
            };
            let free = ends.iter().filter(|n| !on_border[**n]);
            let squared: f64 = free.map(|n| slope(*n).norm_squared()).sum();
            for n in ends {
                let wanted = slope(n) * ((limit + 0.3 - found) / squared.max(1e-6));
                sums[n] += wanted / wanted.norm().max(1.0);
                counts[n] += 1.0;
            }
        }
    }
    let at = |n: usize| {
        let step = if counts[n] > 0.0 && !on_border[n] { sums[n] / counts[n] } else { Vector3::zeros() };
        std::array::from_fn(|c| f64::from(field[n][c]) + step[c])
    };
    (0..field.len()).map(at).collect()
}
