//! The twelve parameters of FLIRT's affine model, and the transform that they describe.

use std::ops::Range;

use antsreg_core::AffineTransform;
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

use crate::{Dof, Error, start};

/// Parameters of an affine transform: three angles (radians), three translations (mm), three scales, three skews.
pub(crate) type Parameters = [f64; 12];

pub(crate) const ROTATION: usize = 0;
pub(crate) const TRANSLATION: usize = 3;
pub(crate) const SCALE: usize = 6;
pub(crate) const SKEW: usize = 9;

/// The parameters of the start transform.
pub(crate) const IDENTITY: Parameters = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0];

/// FLIRT's tolerance of each kind of parameter on the 1 mm level: angle (radians), translation (mm), scale, skew. A
/// change by one tolerance moves the surface of a brain by about the same distance for each parameter.
const TOLERANCE: [f64; 4] = [0.005, 0.2, 0.002, 0.001];

/// Smallest scale with which parameters have a valid transform.
const LEAST_SCALE: f64 = 1e-2;

/// A search direction in the space of the twelve transform parameters. Its length is one tolerance: a change that moves
/// the surface of a brain by about the same distance for every parameter.
pub(crate) type Direction = Parameters;

/// The distance between two sets of transform parameters: the largest difference of any parameter, in units of this
/// parameter's tolerance on the resolution level with voxels of `mm`.
pub(crate) fn tolerances(a: &Parameters, b: &Parameters, mm: f64) -> f64 {
    (0..12).map(|i| (a[i] - b[i]).abs() / (TOLERANCE[i / 3] * mm)).fold(0.0, f64::max)
}

/// The parameters `point`, moved by `distance` along `direction`.
pub(crate) fn along(point: &Parameters, direction: &Direction, distance: f64) -> Parameters {
    std::array::from_fn(|i| point[i] + distance * direction[i])
}

/// Relation between parameters and transforms. A moving point m, RAS mm, is mapped to L·D·R·K·S·Dᵀ·(m − c) + f + t. The
/// factors are the rotation R = Rx·Ry·Rz, the skews K (unit upper triangle) and the scales S; t is the translation. D
/// has the axes of the moving image as columns, and c is the image's centre of mass. L is the linear part of the start,
/// moving → fixed, and f is the point to which the start maps c. So the parameters [`IDENTITY`] give the start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    /// Axes of the moving image in world coordinates, as columns.
    axes: Matrix3<f64>,
    /// Centre of mass of the moving image, RAS mm.
    moving_centre: Point3<f64>,
    /// Linear part of the start transform, moving → fixed.
    orientation: Matrix3<f64>,
    /// The point to which the start transform maps the moving image's centre of mass, RAS mm.
    fixed_centre: Point3<f64>,
    /// Whether the images are slices. A slice rotates only about its normal, which is its third axis, and moves only in
    /// its plane.
    slices: bool,
    /// The start transform, fixed → moving, RAS mm.
    start: AffineTransform,
    /// Whether the model is a translation. If so, all transforms have exactly the linear part of the start.
    translates: bool,
}

impl Frame {
    /// Makes the relation between parameters and transforms (the frame). In this frame, the parameters [`IDENTITY`]
    /// give the transform `start`, fixed → moving, RAS mm.
    pub fn new(
        start: &AffineTransform,
        moving_axes: Matrix3<f64>,
        moving_centre: Point3<f64>,
        slices: bool,
    ) -> Result<Frame, Error> {
        let moving_to_fixed = start::inverse(start)?;
        Ok(Frame {
            axes: moving_axes,
            moving_centre,
            orientation: moving_to_fixed.matrix,
            fixed_centre: moving_to_fixed.apply(&moving_centre),
            slices,
            start: *start,
            translates: false,
        })
    }

    /// A copy of this relation between parameters and transforms, for the transform model `dof`.
    pub fn of(self, dof: Dof) -> Frame {
        Frame { translates: dof == Dof::Translation3, ..self }
    }

    /// The start transform, fixed → moving, RAS mm.
    pub fn start(&self) -> &AffineTransform {
        &self.start
    }

    /// The point to which the start transform maps the moving image's centre of mass, RAS mm.
    pub fn fixed_centre(&self) -> Point3<f64> {
        self.fixed_centre
    }

    /// The search directions of the transform model `dof`, on the resolution level with voxels of `mm`. Each has the
    /// length of one tolerance: a change that moves a brain's surface by about the same small distance for every
    /// parameter.
    pub fn directions(&self, dof: Dof, mm: f64) -> Vec<Direction> {
        let single = |parameter: usize| {
            let mut direction = [0.0; 12];
            direction[parameter] = TOLERANCE[parameter / 3] * mm;
            direction
        };
        if dof == Dof::Translation3 {
            return self.shifts(mm);
        }
        let mut directions: Vec<Direction> = self.turns().map(|axis| single(ROTATION + axis)).collect();
        directions.extend(self.shifts(mm));
        match dof {
            Dof::Translation3 | Dof::Rigid6 => {}
            Dof::Similarity7 => directions.push(self.common_scale(mm)),
            Dof::Scales9 => directions.extend(self.scales().map(single)),
            Dof::Affine12 => directions.extend(self.scales().chain(self.skews()).map(single)),
        }
        directions
    }

    /// The search directions of the translations and, if the model has scales, of the common scale.
    pub fn translations_and_scale(&self, dof: Dof, mm: f64) -> Vec<Direction> {
        let mut directions = self.shifts(mm);
        if dof >= Dof::Similarity7 {
            directions.push(self.common_scale(mm));
        }
        directions
    }

    /// Indices of the axes about which the images may be rotated.
    pub fn turns(&self) -> Range<usize> {
        if self.slices { 2..3 } else { 0..3 }
    }

    /// Indices, among the twelve transform parameters, of the scales that the transform uses.
    pub fn scales(&self) -> Range<usize> {
        SCALE..if self.slices { SKEW - 1 } else { SKEW }
    }

    /// Indices, among the twelve transform parameters, of the skews that the transform uses.
    fn skews(&self) -> Range<usize> {
        SKEW..if self.slices { SKEW + 1 } else { 12 }
    }

    /// Search directions for the translations. Each direction has the length of one tolerance of a translation on the
    /// resolution level with voxels of `mm`.
    fn shifts(&self, mm: f64) -> Vec<Direction> {
        let axes = self.translation_axes();
        let shift = |axis: usize| {
            let mut direction = [0.0; 12];
            let step: Vector3<f64> = axes.column(axis) * (TOLERANCE[TRANSLATION / 3] * mm);
            direction[TRANSLATION..SCALE].copy_from_slice(step.as_slice());
            direction
        };
        (0..self.shift_axes()).map(shift).collect()
    }

    /// Number of axes along which the transform model may translate the images: two for slices, three for volumes.
    pub fn shift_axes(&self) -> usize {
        if self.slices { 2 } else { 3 }
    }

    /// The axes along which images are translated, as columns: the world axes for volumes, the axes of the slice for
    /// slices.
    fn translation_axes(&self) -> Matrix3<f64> {
        if self.slices { self.axes } else { Matrix3::identity() }
    }

    /// Returns the parameters `from` with `mm` added to their translation, along the axes of translation.
    pub fn shifted(&self, from: &Parameters, mm: [f64; 3]) -> Parameters {
        let mut parameters = *from;
        let shift = self.translation_axes() * Vector3::from(mm);
        parameters[TRANSLATION..SCALE].iter_mut().zip(shift.iter()).for_each(|(own, shift)| *own += shift);
        parameters
    }

    /// The parameters of the start transform, with another translation: the moving image's centre of mass is mapped to
    /// `fixed_centre`. Slices are translated in their plane only.
    pub fn translation_to(&self, fixed_centre: &Point3<f64>) -> Parameters {
        let mut parameters = IDENTITY;
        parameters[TRANSLATION..SCALE].copy_from_slice((fixed_centre - self.fixed_centre).as_slice());
        if self.slices { self.in_plane(&parameters) } else { parameters }
    }

    fn common_scale(&self, mm: f64) -> Direction {
        let mut direction = [0.0; 12];
        direction[self.scales()].fill(TOLERANCE[SCALE / 3] * mm);
        direction
    }

    /// Whether a linear part, moving → fixed, leaves slices unflipped: the normal of the slice must keep its sign.
    pub fn keeps_side(&self, moving_to_fixed: &Matrix3<f64>) -> bool {
        let normal = self.axes.column(2);
        !self.slices || (moving_to_fixed * normal).dot(&(self.orientation * normal)) > 0.0
    }

    /// The transform that the parameters describe, fixed → moving, RAS mm; `None` if a scale is too small or negative.
    pub fn transform(&self, parameters: &Parameters) -> Option<AffineTransform> {
        let [_, _, _, tx, ty, tz, sx, sy, sz, kxy, kxz, kyz] = *parameters;
        if self.translates {
            let AffineTransform { matrix, translation } = self.start;
            return Some(AffineTransform { matrix, translation: translation - matrix * Vector3::new(tx, ty, tz) });
        }
        if sx.min(sy).min(sz) < LEAST_SCALE {
            return None;
        }
        let skew = Matrix3::new(1.0, kxy, kxz, 0.0, 1.0, kyz, 0.0, 0.0, 1.0);
        let scale = Matrix3::from_diagonal(&Vector3::new(sx, sy, sz));
        let local = rotation(parameters) * skew * scale;
        let matrix = self.orientation * self.axes * local * self.axes.transpose();
        let target = self.fixed_centre.coords + Vector3::new(tx, ty, tz);
        AffineTransform { matrix, translation: target - matrix * self.moving_centre.coords }.inverse()
    }

    /// The parameters of a transform with the rotation, scales and skews of the linear part `moving_to_fixed`, as far
    /// as the model `dof` has them; a similarity has its common scale three times. The transform maps the moving
    /// image's centre of mass to `fixed_centre`. `None` for a linear part that is singular or has a reflection.
    pub fn parameters(
        &self,
        moving_to_fixed: &Matrix3<f64>,
        fixed_centre: &Point3<f64>,
        dof: Dof,
    ) -> Option<Parameters> {
        let local = self.axes.transpose() * self.orientation.try_inverse()? * moving_to_fixed * self.axes;
        if local.determinant() <= 0.0 {
            return None;
        }
        let decomposed = local.qr();
        // The factors of the QR decomposition are unique if the diagonal of the triangular matrix is positive.
        let signs = Matrix3::from_diagonal(&decomposed.r().diagonal().map(f64::signum));
        let (turn, triangle) = (decomposed.q() * signs, signs * decomposed.r());
        let shift = fixed_centre - self.fixed_centre;
        let mut parameters = IDENTITY;
        parameters[ROTATION..TRANSLATION].copy_from_slice(&angles(&Rotation3::from_matrix_unchecked(turn)));
        parameters[TRANSLATION..SCALE].copy_from_slice(shift.as_slice());
        if dof >= Dof::Similarity7 {
            parameters[SCALE..SKEW].copy_from_slice(triangle.diagonal().as_slice());
        }
        if dof == Dof::Affine12 {
            let skew = |row: usize, column: usize| triangle[(row, column)] / triangle[(column, column)];
            parameters[SKEW..].copy_from_slice(&[skew(0, 1), skew(0, 2), skew(1, 2)]);
        }
        Some(if self.slices { self.in_plane(&parameters) } else { parameters })
    }

    /// Returns the parameters of a slice without rotation, translation, scale and skew out of its plane.
    fn in_plane(&self, parameters: &Parameters) -> Parameters {
        let mut kept = IDENTITY;
        for parameter in [ROTATION + 2].into_iter().chain(self.scales()).chain(self.skews()) {
            kept[parameter] = parameters[parameter];
        }
        let (shift, normal) = (Vector3::from_column_slice(&parameters[TRANSLATION..SCALE]), self.axes.column(2));
        kept[TRANSLATION..SCALE].copy_from_slice((shift - normal * normal.dot(&shift)).as_slice());
        kept
    }

    /// The parameters of the alignment by the headers, which maps each point of the moving world to the same point of
    /// the fixed world. With a translation model, only the moving image's centre of mass is mapped to the same point.
    pub fn headers(&self) -> Option<Parameters> {
        if self.translates {
            return Some(self.translation_to(&self.moving_centre));
        }
        self.parameters(&Matrix3::identity(), &self.moving_centre, Dof::Rigid6)
    }
}

/// The rotation matrix Rx·Ry·Rz of the three angles, which are the first three transform parameters.
fn rotation(parameters: &Parameters) -> Matrix3<f64> {
    let about = |axis, angle| Rotation3::from_axis_angle(&axis, angle);
    let [x, y, z] = [parameters[0], parameters[1], parameters[2]];
    (about(Vector3::x_axis(), x) * about(Vector3::y_axis(), y) * about(Vector3::z_axis(), z)).into_inner()
}

/// The rotation angles about x, y and z of a rotation matrix, radians: the inverse of [`rotation`].
fn angles(rotation: &Rotation3<f64>) -> [f64; 3] {
    let r = rotation.matrix();
    let y = r[(0, 2)].clamp(-1.0, 1.0).asin();
    if r[(0, 2)].abs() > 1.0 - 1e-12 {
        // If the angle about y is ±90° (gimbal lock), only the sum of the angles about x and z is determined, so the
        // angle about z is set to 0.
        return [r[(2, 1)].atan2(r[(1, 1)]), y, 0.0];
    }
    [(-r[(1, 2)]).atan2(r[(2, 2)]), y, (-r[(0, 1)]).atan2(r[(0, 0)])]
}

/// The search directions of a model, for test volumes whose axes are the world axes.
#[cfg(test)]
pub(crate) fn directions(dof: Dof, mm: f64) -> Vec<Direction> {
    let frame = Frame {
        axes: Matrix3::identity(),
        moving_centre: Point3::origin(),
        orientation: Matrix3::identity(),
        fixed_centre: Point3::origin(),
        slices: false,
        start: AffineTransform::identity(),
        translates: false,
    };
    frame.directions(dof, mm)
}

#[cfg(test)]
mod tests;
