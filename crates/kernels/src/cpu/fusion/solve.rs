//! The weights that minimise the expected error, from the matrix of expected errors.
//!
//! The order of operations is that of `cu/solve.cuh`.

/// Number of partial sums of a scalar product.
const PARTIAL: usize = 8;

/// Solves M·x = 1 for symmetric matrices M of a few rows. The buffers are reused from matrix to matrix.
#[derive(Debug, Default)]
pub(super) struct Solver {
    size: usize,
    /// The matrix, row by row.
    matrix: Vec<f64>,
    factor: Vec<f64>,
    solution: Vec<f64>,
}

impl Solver {
    /// Returns the elements of a new matrix of `size` rows, row by row, for writing.
    #[inline(always)]
    pub(super) fn matrix(&mut self, size: usize) -> &mut [f64] {
        self.size = size;
        self.matrix.resize(size * size, 0.0);
        &mut self.matrix
    }

    /// Writes the weights w with sum 1 that minimise wᵀMw: w = M⁻¹1 / 1ᵀM⁻¹1. If M has no inverse, the weights are
    /// equal. If `not_negative`, weights below 0 are set to 0 before they are scaled.
    #[inline(always)]
    pub(super) fn solve(&mut self, not_negative: bool, weights: &mut [f32]) {
        // If the exponent β is not an integer, the matrix M of expected errors may not be positive definite.
        let equal = 1.0 / self.size as f64;
        if self.by_cholesky() || self.by_elimination() {
            if not_negative {
                self.solution.iter_mut().for_each(|weight| *weight = weight.max(0.0));
            }
            let sum = self.solution.iter().fold(0.0, |sum, weight| sum + weight);
            self.solution.iter_mut().for_each(|weight| *weight /= sum);
            if self.solution.iter().any(|weight| !weight.is_finite()) {
                self.solution.fill(equal);
            }
        } else {
            self.solution.fill(equal);
        }
        weights.iter_mut().zip(&self.solution).for_each(|(weight, solved)| *weight = *solved as f32);
    }

    /// Solves M·x = 1 by a Cholesky decomposition. Returns false if M is not positive definite.
    #[inline(always)]
    fn by_cholesky(&mut self) -> bool {
        let Solver { size, matrix, factor, solution } = self;
        let size = *size;
        factor.clear();
        factor.extend_from_slice(matrix);
        for j in 0..size {
            for k in 0..j {
                let share = -factor[j * size + k];
                for i in j..size {
                    factor[i * size + j] += share * factor[i * size + k];
                }
            }
            let squared = factor[j * size + j];
            if squared.is_nan() || squared <= 0.0 {
                return false;
            }
            let diagonal = squared.sqrt();
            factor[j * size + j] = diagonal;
            for i in j + 1..size {
                factor[i * size + j] /= diagonal;
            }
        }
        solution.clear();
        solution.resize(size, 1.0);
        for j in 0..size {
            solution[j] /= factor[j * size + j];
            let share = -solution[j];
            for i in j + 1..size {
                solution[i] += share * factor[i * size + j];
            }
        }
        for j in (0..size).rev() {
            let below = scalar_product(size - j - 1, |n| factor[(j + 1 + n) * size + j] * solution[j + 1 + n]);
            solution[j] = (solution[j] - below) / factor[j * size + j];
        }
        true
    }

    /// Solves M·x = 1 by elimination with row pivots. Returns false if M has no inverse.
    #[inline(always)]
    fn by_elimination(&mut self) -> bool {
        let Solver { size, matrix, factor, solution } = self;
        let size = *size;
        factor.clear();
        factor.extend_from_slice(matrix);
        for j in 0..size {
            let mut pivot = j;
            for i in j + 1..size {
                if factor[i * size + j].abs() > factor[pivot * size + j].abs() {
                    pivot = i;
                }
            }
            let diagonal = factor[pivot * size + j];
            if diagonal == 0.0 {
                return false;
            }
            if pivot != j {
                (0..size).for_each(|k| factor.swap(j * size + k, pivot * size + k));
            }
            let inverse = 1.0 / diagonal;
            for i in j + 1..size {
                factor[i * size + j] *= inverse;
                let share = factor[i * size + j];
                for k in j + 1..size {
                    factor[i * size + k] += -factor[j * size + k] * share;
                }
            }
        }
        solution.clear();
        solution.resize(size, 1.0);
        for j in 0..size {
            let share = -solution[j];
            for i in j + 1..size {
                solution[i] += share * factor[i * size + j];
            }
        }
        for j in (0..size).rev() {
            solution[j] /= factor[j * size + j];
            let share = -solution[j];
            for i in 0..j {
                solution[i] += share * factor[i * size + j];
            }
        }
        true
    }
}

/// Sum of `count` products. Whole groups of eight products are added to eight partial sums, the other products one by
/// one.
#[inline(always)]
fn scalar_product(count: usize, product: impl Fn(usize) -> f64) -> f64 {
    let mut partial = [0.0; PARTIAL];
    let whole = count / PARTIAL * PARTIAL;
    for n in 0..whole {
        partial[n % PARTIAL] += product(n);
    }
    let mut sum = 0.0;
    for n in 0..PARTIAL / 2 {
        sum += partial[n] + partial[n + PARTIAL / 2];
    }
    (whole..count).for_each(|n| sum += product(n));
    sum
}

#[cfg(test)]
mod tests {
    use nalgebra::{DMatrix, DVector};

    use super::*;

    /// The weights from nalgebra's decompositions.
    fn expected(matrix: &DMatrix<f64>, not_negative: bool) -> (Vec<f64>, bool) {
        let size = matrix.nrows();
        let ones = DVector::from_element(size, 1.0);
        let factor = matrix.clone().cholesky();
        let definite = factor.is_some();
        let solved = factor.map_or_else(|| matrix.clone().lu().solve(&ones), |factor| Some(factor.solve(&ones)));
        let equal = DVector::from_element(size, 1.0 / size as f64);
        let weights = solved.map_or(equal.clone(), |mut solved| {
            if not_negative {
                solved.iter_mut().for_each(|weight| *weight = weight.max(0.0));
            }
            let sum = solved.sum();
            let weights = solved / sum;
            if weights.iter().all(|weight| weight.is_finite()) { weights } else { equal }
        });
        (weights.iter().copied().collect(), definite)
    }

    #[test]
    fn weights_have_the_bits_of_nalgebras_decompositions() {
        let mut state = 1_u64;
        let mut noise = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as f64 / (1u64 << 31) as f64
        };
        let (mut definite, mut others) = (0, 0);
        let mut solver = Solver::default();
        for size in (1..24).chain([37]) {
            for case in 0..9 {
                let mut matrix = DMatrix::from_fn(size, size, |_, _| noise());
                matrix = if case % 2 == 0 { &matrix * matrix.transpose() } else { &matrix + matrix.transpose() };
                if case == 5 {
                    matrix.fill(0.25);
                }
                if case == 8 {
                    // Each row could be the first pivot.
                    matrix += matrix.transpose();
                    (0..size).for_each(|n| (matrix[(0, n)], matrix[(n, 0)]) = (0.5, 0.5));
                    matrix[(0, 0)] = -0.5;
                }
                let not_negative = case / 2 % 2 == 0;
                solver.matrix(size).copy_from_slice(matrix.as_slice());
                let mut weights = vec![0.0; size];
                solver.solve(not_negative, &mut weights);
                let (expected, is_definite) = expected(&matrix, not_negative);
                if is_definite {
                    definite += 1
                } else {
                    others += 1
                }
                assert_eq!(solver.solution, expected, "{size} rows, case {case}");
                assert_eq!(weights, expected.iter().map(|weight| *weight as f32).collect::<Vec<f32>>());
            }
        }
        assert!(definite > 50 && others > 50, "{definite} positive definite, {others} others");
    }
}
