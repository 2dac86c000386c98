//! Singular value decomposition of a 3×3 matrix with the rounding errors of ITK.
//!
//! ITK inverts matrices by the routines `dsvdc` and `ssvdc` of LINPACK (public domain; Dongarra et al. 1979, LINPACK
//! Users' Guide, chapter 11): Householder reflections make the matrix bidiagonal, and QR steps make it diagonal. Here
//! the operations have the same order, so that every bit is the same. Some decisions of ITK depend on the last bit.

use std::array;

use nalgebra::{Matrix3, RealField};

/// Number of QR steps after which LINPACK gives up a singular value.
const MOST_STEPS: usize = 1000;

/// Single or double precision, as in the C translations of `ssvdc` and `dsvdc`.
pub(crate) trait Precision: RealField + Copy {
    /// Returns `scale`·√`square`. In single precision, C computes this in double precision and rounds once.
    fn scaled_root(scale: Self, square: Self) -> Self;
}

impl Precision for f64 {
    fn scaled_root(scale: f64, square: f64) -> f64 {
        scale * square.sqrt()
    }
}

impl Precision for f32 {
    fn scaled_root(scale: f32, square: f32) -> f32 {
        (f64::from(scale) * f64::from(square).sqrt()) as f32
    }
}

/// The decomposition U·diag(s)·Vᵀ of a matrix.
pub(crate) struct Svd<T> {
    /// Columns of U.
    u: [[T; 3]; 3],
    /// Singular values, largest first.
    pub s: [T; 3],
    /// Columns of V.
    v: [[T; 3]; 3],
}

impl<T: Precision> Svd<T> {
    /// Decomposes a matrix; `None` if the matrix is singular, or has elements that are not finite.
    pub fn of(matrix: &Matrix3<T>) -> Option<Svd<T>> {
        if !matrix.iter().all(|value| value.is_finite()) {
            return None;
        }
        let mut bidiagonal = Bidiagonal::of(matrix)?;
        let mut size = 3;
        let mut steps = 0;
        while size > 0 {
            let first = bidiagonal.block(size);
            if first == size - 1 {
                bidiagonal.settle(first);
                (size, steps) = (size - 1, 0);
            } else if steps == MOST_STEPS || bidiagonal.is_singular(first, size) {
                return None;
            } else {
                bidiagonal.qr_step(first, size - 1);
                steps += 1;
            }
        }
        let Bidiagonal { u, s, v, .. } = bidiagonal;
        s.iter().all(|value| *value > T::zero()).then_some(Svd { u, s, v })
    }

    /// The matrix U of the left singular vectors.
    pub fn u(&self) -> Matrix3<T> {
        Matrix3::from_fn(|row, column| self.u[column][row])
    }

    /// The inverse matrix, V·diag(1/s)·Uᵀ.
    pub fn inverse(&self) -> Matrix3<T> {
        let inverses = self.s.map(|s| T::one() / s);
        let v = Matrix3::from_fn(|row, column| self.v[column][row] * inverses[column]);
        product(&v, &self.u().transpose())
    }
}

/// The product of two matrices. The terms of each element are added in the order of their index.
pub(crate) fn product<T: Precision>(a: &Matrix3<T>, b: &Matrix3<T>) -> Matrix3<T> {
    Matrix3::from_fn(|row, column| (0..3).fold(T::zero(), |sum, n| sum + a[(row, n)] * b[(n, column)]))
}

/// A bidiagonal matrix B, and orthogonal matrices U and V with which U·B·Vᵀ is the original matrix.
struct Bidiagonal<T> {
    /// Columns of U.
    u: [[T; 3]; 3],
    /// Diagonal of B.
    s: [T; 3],
    /// Elements of B above the diagonal: `e[n]` is right of `s[n]`.
    e: [T; 3],
    /// Columns of V.
    v: [[T; 3]; 3],
}

impl<T: Precision> Bidiagonal<T> {
    /// Makes a matrix bidiagonal by reflections; `None` if a column has no length.
    fn of(matrix: &Matrix3<T>) -> Option<Bidiagonal<T>> {
        let zero = T::zero();
        let mut x: [[T; 3]; 3] = array::from_fn(|column| array::from_fn(|row| matrix[(row, column)]));
        let (mut u, mut v) = (unit_columns(), unit_columns());
        let (mut s, mut e) = ([zero; 3], [zero; 3]);
        for n in 0..2 {
            s[n] = reflector(&mut x[n][n..]);
            if s[n] == zero {
                return None;
            }
            let normal = x[n];
            for column in n + 1..3 {
                reflect(&normal[n..], &mut x[column][n..]);
                e[column] = x[column][n];
            }
            u[n] = normal;
            if n > 0 {
                continue;
            }
            e[0] = reflector(&mut e[1..]);
            if e[0] != zero {
                let mut sum = [zero; 3];
                for column in 1..3 {
                    add(&mut sum[1..], e[column], &x[column][1..]);
                }
                for column in 1..3 {
                    add(&mut x[column][1..], -e[column] / e[1], &sum[1..]);
                }
            }
            v[0] = e;
        }
        s[2] = x[2][2];
        (e[1], e[2]) = (x[2][1], zero);
        // U and V are the products of their reflections. The last reflection is applied first.
        for n in [1, 0] {
            let normal = u[n];
            for column in n + 1..3 {
                reflect(&normal[n..], &mut u[column][n..]);
            }
            u[n] = array::from_fn(|row| if row < n { zero } else { -normal[row] });
            u[n][n] += T::one();
        }
        let normal = v[0];
        if e[0] != zero {
            for column in 1..3 {
                reflect(&normal[1..], &mut v[column][1..]);
            }
        }
        v[0] = unit_columns()[0];
        Some(Bidiagonal { u, s, e, v })
    }

    /// Returns the first index of the last block of B that negligible elements do not divide, within the first `size`
    /// rows. The negligible element before the block becomes 0.
    fn block(&mut self, size: usize) -> usize {
        for first in (1..size).rev() {
            let diagonal = self.s[first - 1].abs() + self.s[first].abs();
            if diagonal + self.e[first - 1].abs() == diagonal {
                self.e[first - 1] = T::zero();
                return first;
            }
        }
        0
    }

    /// Whether an element of the diagonal is negligible in the block from `first` to `size`.
    fn is_singular(&self, first: usize, size: usize) -> bool {
        (first..size).any(|n| {
            let after = if n + 1 < size { self.e[n].abs() } else { T::zero() };
            let beside = if n > first { after + self.e[n - 1].abs() } else { after };
            beside + self.s[n].abs() == beside
        })
    }

    /// Makes a singular value positive and moves it to its place in the order of size.
    fn settle(&mut self, mut place: usize) {
        if self.s[place] < T::zero() {
            self.s[place] = -self.s[place];
            self.v[place] = self.v[place].map(|value| -value);
        }
        while place < 2 && self.s[place] < self.s[place + 1] {
            self.s.swap(place, place + 1);
            self.u.swap(place, place + 1);
            self.v.swap(place, place + 1);
            place += 1;
        }
    }

    /// Makes one QR step with a shift in the block from `first` to `last`.
    fn qr_step(&mut self, first: usize, last: usize) {
        let Bidiagonal { u, s, e, v } = self;
        let scale = [s[last - 1], e[last - 1], s[first], e[first]].iter().fold(s[last].abs(), |m, x| m.max(x.abs()));
        let [sm, before, beside] = [s[last], s[last - 1], e[last - 1]].map(|value| value / scale);
        let [sl, el] = [s[first], e[first]].map(|value| value / scale);
        let b = ((before + sm) * (before - sm) + beside * beside) / (T::one() + T::one());
        let c = (sm * beside) * (sm * beside);
        let mut shift = T::zero();
        if b != T::zero() || c != T::zero() {
            shift = (b * b + c).sqrt();
            if b < T::zero() {
                shift = -shift;
            }
            shift = c / (b + shift);
        }
        let mut f = (sl + sm) * (sl - sm) + shift;
        let mut g = sl * el;
        for k in first..last {
            let (length, [cosine, sine]) = rotation(f, g);
            if k > first {
                e[k - 1] = length;
            }
            f = cosine * s[k] + sine * e[k];
            e[k] = cosine * e[k] - sine * s[k];
            g = sine * s[k + 1];
            s[k + 1] = cosine * s[k + 1];
            rotate(v, k, [cosine, sine]);
            let (length, [cosine, sine]) = rotation(f, g);
            s[k] = length;
            f = cosine * e[k] + sine * s[k + 1];
            s[k + 1] = -sine * e[k] + cosine * s[k + 1];
            g = sine * e[k + 1];
            e[k + 1] = cosine * e[k + 1];
            rotate(u, k, [cosine, sine]);
        }
        e[last - 1] = f;
    }
}

fn unit_columns<T: Precision>() -> [[T; 3]; 3] {
    array::from_fn(|column| array::from_fn(|row| if row == column { T::one() } else { T::zero() }))
}

/// Replaces a vector by the normal of the reflection that maps it onto the first axis. Returns the only element that
/// the reflected vector has.
fn reflector<T: Precision>(vector: &mut [T]) -> T {
    let mut length = norm(vector);
    if length != T::zero() {
        if vector[0] != T::zero() {
            length = length.copysign(vector[0]);
        }
        let factor = T::one() / length;
        vector.iter_mut().for_each(|value| *value *= factor);
        vector[0] += T::one();
    }
    -length
}

/// Reflects a vector at the plane with this normal.
fn reflect<T: Precision>(normal: &[T], vector: &mut [T]) {
    let dot = normal.iter().zip(&*vector).fold(T::zero(), |sum, (a, b)| sum + *a * *b);
    add(vector, -dot / normal[0], normal);
}

/// Adds a multiple of a vector to another vector.
fn add<T: Precision>(sum: &mut [T], factor: T, vector: &[T]) {
    sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += factor * *value);
}

/// The length of a vector, as `dnrm2` of BLAS computes it.
fn norm<T: Precision>(vector: &[T]) -> T {
    let (mut scale, mut squares) = (T::zero(), T::one());
    for value in vector.iter().map(|value| value.abs()).filter(|value| *value != T::zero()) {
        if scale < value {
            let ratio = scale / value;
            (scale, squares) = (value, squares * (ratio * ratio) + T::one());
        } else {
            let ratio = value / scale;
            squares += ratio * ratio;
        }
    }
    T::scaled_root(scale, squares)
}

/// The rotation that maps the vector (a, b) onto (r, 0): r, and the cosine and the sine of the angle. This is `drotg`
/// of BLAS.
fn rotation<T: Precision>(a: T, b: T) -> (T, [T; 2]) {
    let larger = if a.abs() > b.abs() { a } else { b };
    let scale = a.abs() + b.abs();
    if scale == T::zero() {
        return (scale, [T::one(), T::zero()]);
    }
    let (p, q) = (a / scale, b / scale);
    let r = T::scaled_root(scale, p * p + q * q).copysign(larger);
    (r, [a / r, b / r])
}

/// Rotates columns `k` and `k + 1`.
fn rotate<T: Precision>(columns: &mut [[T; 3]; 3], k: usize, [cosine, sine]: [T; 2]) {
    for row in 0..3 {
        let (a, b) = (columns[k][row], columns[k + 1][row]);
        columns[k][row] = cosine * a + sine * b;
        columns[k + 1][row] = cosine * b - sine * a;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_have_the_bits_of_itk() {
        // The inverses were read from SimpleITK 2.5.7 (ITK 5.4): `TransformPhysicalPointToContinuousIndex` of the unit
        // vectors, for an image whose direction is the matrix.
        for (matrix, inverse) in [
            (
                [[0.8, -0.6, 0.1], [0.55, 0.83, -0.2], [-0.05, 0.3, 0.97]],
                [
                    [0.8424958367013037, 0.5960090764780924, 0.03603322847988433],
                    [-0.5098214894383685, 0.7605932822375662, 0.20938227359932948],
                    [0.20110436975935642, -0.2045129183993459, 0.9680278137569021],
                ],
            ),
            (
                [[2.5, 0.3, -0.1], [-0.4, 0.9, 0.7], [0.2, -0.6, 1.1]],
                [
                    [0.38180341186027633, -0.07311129163281886, 0.08123476848090985],
                    [0.15705388572975898, 0.7500676956404008, -0.4630381803411857],
                    [0.016246953696181954, 0.42242079610073113, 0.6417546709991877],
                ],
            ),
            (
                [[0.0, 0.0, -1.5], [0.75, 0.0, 0.0], [0.0, 3.0, 0.0]],
                [[0.0, 1.3333333333333333, 0.0], [0.0, 0.0, 0.3333333333333333], [-0.6666666666666666, 0.0, 0.0]],
            ),
        ] {
            let [matrix, inverse] = [matrix, inverse].map(|rows| Matrix3::from_fn(|row, column| rows[row][column]));
            assert_eq!(Svd::of(&matrix).unwrap().inverse(), inverse);
        }
    }

    #[test]
    fn inverses_are_near_those_of_other_formulas() {
        let mut state = 1_u32;
        let mut element = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 16) / 32_768.0 - 1.0
        };
        for _ in 0..2000 {
            let matrix = Matrix3::from_fn(|_, _| element());
            let expected = matrix.try_inverse().unwrap();
            // Both inverses have rounding errors in proportion to the condition number.
            let tolerance = 20.0 * expected.norm() * expected.norm() * matrix.norm();
            let found = Svd::of(&matrix).unwrap().inverse();
            assert!((found - expected).amax() < f64::EPSILON * tolerance, "{matrix}");
            let single = Svd::of(&matrix.map(|value| value as f32)).unwrap();
            let double = Svd::of(&matrix).unwrap();
            for n in 0..3 {
                assert!((f64::from(single.s[n]) - double.s[n]).abs() < 1e-6, "{matrix}");
            }
        }
    }

    #[test]
    fn singular_matrices_have_no_inverse() {
        let rank_two = Matrix3::new(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 5.0, 7.0, 9.0);
        for matrix in [Matrix3::zeros(), Matrix3::repeat(f64::NAN), Matrix3::from_diagonal(&[1.0, 0.0, 1.0].into())] {
            assert!(Svd::of(&matrix).is_none(), "{matrix}");
        }
        // Rounding errors may leave a singular value that is not 0.
        assert!(Svd::of(&rank_two).is_none_or(|svd| svd.s[2] < 1e-14));
    }
}
