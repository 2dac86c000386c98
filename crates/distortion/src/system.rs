//! The linear system of a Gauss-Newton step, and its solution by preconditioned conjugate gradients.

use rayon::prelude::*;

use crate::lines::{Lines, sum_over};

/// The linear system W·Dᵀ·D·W + α·L of a step at the faces. W holds the weights of the faces, D takes differences
/// along the lines, and L is the negative Laplacian (mm⁻²), with zero gradient across the border of the volume.
pub(crate) struct System<'a> {
    lines: &'a Lines,
    weights: &'a [f64],
    smoothness: f64,
    /// Factors of the tridiagonal matrices of the lines, for each face: the inverse pivot, and the elimination factor
    /// of the next face. These matrices are the preconditioner. They leave out the coupling between lines.
    pivots: Vec<[f64; 2]>,
}

/// Relative decrease of the preconditioned residual's squared norm at which the conjugate gradients end.
const SOLVED: f64 = 1e-4;
/// Share of the mean squared weight that is added to the diagonal, so that the system is not singular.
const RIDGE: f64 = 1e-6;

impl<'a> System<'a> {
    pub fn new(lines: &'a Lines, weights: &'a [f64], smoothness: f64) -> System<'a> {
        let faces = lines.faces();
        let [along, b, c] = lines.size_mm.map(|size| smoothness / (size * size));
        let mean = sum_over(lines.count(), |line| weights[line * faces..][..faces].iter().map(|w| w * w).sum());
        let ridge = RIDGE * (mean / weights.len() as f64 + along);
        let mut pivots = vec![[0.0; 2]; weights.len()];
        pivots.par_chunks_mut(faces).zip(weights.par_chunks(faces)).for_each(|(pivots, weights)| {
            let mut carried = 0.0;
            for face in 0..faces {
                let ends = if face == 0 || face + 1 == faces { 1.0 } else { 2.0 };
                let diagonal = ends * (weights[face].powi(2) + along) + 2.0 * (b + c) + ridge;
                let inverse = 1.0 / (diagonal - carried);
                let next = weights.get(face + 1).map_or(0.0, |next| -weights[face] * next - along);
                pivots[face] = [inverse, next * inverse];
                carried = next * next * inverse;
            }
        });
        System { lines, weights, smoothness, pivots }
    }

    /// Half the sum of the squared gradients of values at the faces, per mm.
    pub fn roughness(lines: &Lines, values: &[f64]) -> f64 {
        let faces = lines.faces();
        let [along, b, c] = lines.size_mm.map(|size| 1.0 / (size * size));
        let squares =
            |here: &[f64], other: &[f64]| here.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        let [nb, nc] = lines.across;
        let of_line = |line: usize| {
            let row = |line: usize| &values[line * faces..][..faces];
            let here = row(line);
            let mut sum = along * squares(&here[1..], here);
            if line % nb + 1 < nb {
                sum += b * squares(here, row(line + 1));
            }
            if line / nb + 1 < nc {
                sum += c * squares(here, row(line + nb));
            }
            0.5 * sum
        };
        sum_over(lines.count(), of_line)
    }

    /// The product of the Laplacian and values at the faces, for one line and face.
    fn laplacian(&self, values: &[f64], line: usize, face: usize) -> f64 {
        let faces = self.lines.faces();
        let [along, b, c] = self.lines.size_mm.map(|size| 1.0 / (size * size));
        let [nb, nc] = self.lines.across;
        let here = line * faces + face;
        let toward = |inside: bool, other: usize| if inside { values[here] - values[other] } else { 0.0 };
        along * (toward(face > 0, here.wrapping_sub(1)) + toward(face + 1 < faces, here + 1))
            + b * (toward(!line.is_multiple_of(nb), here.wrapping_sub(faces))
                + toward(line % nb + 1 < nb, here + faces))
            + c * (toward(line / nb > 0, here.wrapping_sub(nb * faces))
                + toward(line / nb + 1 < nc, here + nb * faces))
    }

    /// The gradient of the energy: W·Dᵀ·residual + α·L·displacement.
    pub fn gradient(&self, residual: &[f64], displacement: &[f64]) -> Vec<f64> {
        let (faces, cells) = (self.lines.faces(), self.lines.cells);
        let mut out = vec![0.0; self.weights.len()];
        out.par_chunks_mut(faces).enumerate().for_each(|(line, out)| {
            let residual = &residual[line * cells..][..cells];
            for (face, out) in out.iter_mut().enumerate() {
                let before = face.checked_sub(1).map_or(0.0, |n| residual[n]);
                let after = residual.get(face).copied().unwrap_or(0.0);
                let weight = self.weights[line * faces + face];
                *out = weight * (before - after) + self.smoothness * self.laplacian(displacement, line, face);
            }
        });
        out
    }

    /// The product of the system's matrix and values at the faces.
    fn multiply(&self, values: &[f64], out: &mut [f64]) {
        let faces = self.lines.faces();
        out.par_chunks_mut(faces).enumerate().for_each(|(line, out)| {
            let weighted = |face: usize| self.weights[line * faces + face] * values[line * faces + face];
            let mut before = 0.0;
            for (face, out) in out.iter_mut().enumerate() {
                let after = if face + 1 < faces { weighted(face + 1) - weighted(face) } else { 0.0 };
                let weight = self.weights[line * faces + face];
                *out = weight * (before - after) + self.smoothness * self.laplacian(values, line, face);
                before = after;
            }
        });
    }

    /// Solves the tridiagonal systems of all lines.
    fn precondition(&self, right: &[f64], out: &mut [f64]) {
        let faces = self.lines.faces();
        let lines = out.par_chunks_mut(faces).zip(right.par_chunks(faces)).zip(self.pivots.par_chunks(faces));
        lines.for_each(|((out, right), pivots)| {
            let mut before = 0.0;
            for face in 0..faces {
                let factor = face.checked_sub(1).map_or(0.0, |n| pivots[n][1]);
                before = right[face] - factor * before;
                out[face] = before;
            }
            let mut after = 0.0;
            for face in (0..faces).rev() {
                after = out[face] * pivots[face][0] - pivots[face][1] * after;
                out[face] = after;
            }
        });
    }

    fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        let faces = self.lines.faces();
        let row = |line: usize| line * faces..(line + 1) * faces;
        sum_over(self.lines.count(), |line| a[row(line)].iter().zip(&b[row(line)]).map(|(a, b)| a * b).sum())
    }

    /// Solves the system for the negative gradient: the step of the displacement, mm.
    pub fn solve(&self, gradient: &[f64], iterations: usize) -> Vec<f64> {
        let mut step = vec![0.0; gradient.len()];
        let mut residual: Vec<f64> = gradient.iter().map(|value| -value).collect();
        let (mut solved, mut product) = (vec![0.0; step.len()], vec![0.0; step.len()]);
        self.precondition(&residual, &mut solved);
        let mut direction = solved.clone();
        let first = self.dot(&residual, &solved);
        let mut size = first;
        for _ in 0..iterations {
            self.multiply(&direction, &mut product);
            let curvature = self.dot(&direction, &product);
            if curvature <= 0.0 || size <= SOLVED * first {
                break;
            }
            let length = size / curvature;
            add(&mut step, length, &direction);
            add(&mut residual, -length, &product);
            self.precondition(&residual, &mut solved);
            let next = self.dot(&residual, &solved);
            let kept = next / size;
            let both = direction.par_iter_mut().zip(&solved).with_min_len(4096);
            both.for_each(|(direction, solved)| *direction = solved + kept * *direction);
            size = next;
        }
        step
    }
}

/// Adds the multiple of a vector to another.
fn add(to: &mut [f64], factor: f64, values: &[f64]) {
    to.par_iter_mut().zip(values).with_min_len(4096).for_each(|(to, value)| *to += factor * value);
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    /// Numbers between −0.5 and 0.5 without order.
    fn numbers(count: usize, seed: f64) -> Vec<f64> {
        (0..count).map(|n| (((n as f64 + seed) * 78.233).sin() * 43758.5453).fract() * 0.5).collect()
    }

    #[test]
    fn the_step_solves_the_system() {
        let lines = Lines::of(&Grid::axis_aligned([7, 5, 4], [2.0, 1.5, 3.0]), 1);
        let count = lines.faces() * lines.count();
        let weights = numbers(count, 0.1);
        let system = System::new(&lines, &weights, 0.2);
        let gradient = numbers(count, 7.0);
        let step = system.solve(&gradient, 500);
        let mut product = vec![0.0; count];
        system.multiply(&step, &mut product);
        let apart: f64 = product.iter().zip(&gradient).map(|(a, b)| (a + b) * (a + b)).sum();
        // The conjugate gradients end at a hundredth of the norm of the first residual.
        assert!(apart < 1e-3 * system.dot(&gradient, &gradient), "{apart}");
    }

    #[test]
    fn the_laplacian_is_the_derivative_of_the_roughness() {
        let lines = Lines::of(&Grid::axis_aligned([4, 3, 5], [2.0, 1.5, 3.0]), 2);
        let values = numbers(lines.faces() * lines.count(), 3.0);
        let weights = vec![0.0; values.len()];
        let system = System::new(&lines, &weights, 1.0);
        for n in [0, 5, 17, values.len() - 1] {
            let mut changed = values.clone();
            changed[n] += 1e-4;
            let up = System::roughness(&lines, &changed);
            changed[n] -= 2e-4;
            let slope = (up - System::roughness(&lines, &changed)) / 2e-4;
            let found = system.laplacian(&values, n / lines.faces(), n % lines.faces());
            assert!((slope - found).abs() < 1e-6, "{n}: {found}, expected {slope}");
        }
    }
}
