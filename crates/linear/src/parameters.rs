//! The twelve parameters of FLIRT's affine model, and their transform.

use std::ops::Range;

use antsreg_core::AffineTransform;
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

use crate::{Dof, Error, start};

/// Three angles (radians), three translations (mm), three scales, three skews.
pub(crate) type Parameters = [f64; 12];

pub(crate) const ROTATION: usize = 0;
pub(crate) const TRANSLATION: usize = 3;
pub(crate) const SCALE: usize = 6;
pub(crate) const SKEW: usize = 9;

/// The parameters of the start transform.
pub(crate) const IDENTITY: Parameters = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0];

/// FLIRT's tolerance of each parameter at 1 mm: radians, mm, scale, skew. Each moves the surface of a brain by about the
/// same distance.
const TOLERANCE: [f64; 4] = [0.005, 0.2, 0.002, 0.001];

/// Smallest scale for which parameters have a valid transform.
const LEAST_SCALE: f64 = 1e-2;

/// A search direction in the space of the twelve parameters, with a length of one tolerance.
pub(crate) type Direction = Parameters;

/// The largest difference of two sets of parameters, in tolerances at a level of `mm`.
pub(crate) fn tolerances(a: &Parameters, b: &Parameters, mm: f64) -> f64 {
    (0..12).map(|i| (a[i] - b[i]).abs() / (TOLERANCE[i / 3] * mm)).fold(0.0, f64::max)
}

/// `point` moved along `direction`.
pub(crate) fn along(point: &Parameters, direction: &Direction, distance: f64) -> Parameters {
    std::array::from_fn(|i| point[i] + distance * direction[i])
}

/// The space of the parameters. A moving point m, RAS mm, is mapped to L·D·R·K·S·Dᵀ·(m − c) + f + t, with the
/// rotation R = Rx·Ry·Rz, the skews K (unit upper triangle), the scales S and the translation t. D has the axes of
/// the moving image as columns, c is the image's centre of mass. L is the linear part of the start, moving → fixed,
/// and f the point to which the start maps c. So the parameters [`IDENTITY`] give the start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    /// The moving image's axes in the world.
    axes: Matrix3<f64>,
    /// Centre of mass of the moving image, mm.
    moving_centre: Point3<f64>,
    /// Linear part of the start, moving → fixed.
    orientation: Matrix3<f64>,
    /// The point to which the start takes the centre, mm.
    fixed_centre: Point3<f64>,
    /// Whether the images are slices. They rotate about their normal, the third of the axes, and move in their plane.
    slices: bool,
    /// The start, fixed → moving.
    start: AffineTransform,
    /// Whether the model is a translation. Then all transforms have exactly the linear part of the start.
    translates: bool,
}

impl Frame {
    /// The frame in which [`IDENTITY`] gives `start`, fixed → moving.
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

    /// The frame for a model.
    pub fn of(self, dof: Dof) -> Frame {
        Frame { translates: dof == Dof::Translation3, ..self }
    }

    /// The start, fixed → moving.
    pub fn start(&self) -> &AffineTransform {
        &self.start
    }

    /// The point to which the start takes the moving image's centre of mass, RAS mm.
    pub fn fixed_centre(&self) -> Point3<f64> {
        self.fixed_centre
    }

    /// The search directions of a model, each with a length of one tolerance at a level of `mm`.
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

    /// The translations and, if the model has scales, the common scale.
    pub fn translations_and_scale(&self, dof: Dof, mm: f64) -> Vec<Direction> {
        let mut directions = self.shifts(mm);
        if dof >= Dof::Similarity7 {
            directions.push(self.common_scale(mm));
        }
        directions
    }

    /// The axes about which the images may be rotated.
    pub fn turns(&self) -> Range<usize> {
        if self.slices { 2..3 } else { 0..3 }
    }

    /// Index range of the scales that the transform uses.
    pub fn scales(&self) -> Range<usize> {
        SCALE..if self.slices { SKEW - 1 } else { SKEW }
    }

    /// Index range of the skews that the transform uses.
    fn skews(&self) -> Range<usize> {
        SKEW..if self.slices { SKEW + 1 } else { 12 }
    }

    /// Translations by one tolerance at a level of `mm`, along each axis of translation.
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

    /// Number of axes of translation.
    pub fn shift_axes(&self) -> usize {
        if self.slices { 2 } else { 3 }
    }

    /// The axes of translation, as columns: the world axes for volumes, the axes of the slice for slices.
    fn translation_axes(&self) -> Matrix3<f64> {
        if self.slices { self.axes } else { Matrix3::identity() }
    }

    /// Returns the parameters `from` with their translation changed by `mm` along the axes of translation.
    pub fn shifted(&self, from: &Parameters, mm: [f64; 3]) -> Parameters {
        let mut parameters = *from;
        let shift = self.translation_axes() * Vector3::from(mm);
        parameters[TRANSLATION..SCALE].iter_mut().zip(shift.iter()).for_each(|(own, shift)| *own += shift);
        parameters
    }

    /// The start, translated so that the moving image's centre is mapped to `fixed_centre`; slices are translated in
    /// their plane only.
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

    /// Whether a linear part, moving → fixed, does not flip slices.
    pub fn keeps_side(&self, moving_to_fixed: &Matrix3<f64>) -> bool {
        let normal = self.axes.column(2);
        !self.slices || (moving_to_fixed * normal).dot(&(self.orientation * normal)) > 0.0
    }

    /// The transform, fixed → moving, RAS mm; `None` if a scale is too small or negative.
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

    /// The parameters that map the centre to `fixed_centre`, with the rotation, scales and skews of the linear part
    /// `moving_to_fixed` as far as `dof` allows; `None` for a linear part that is singular or has a reflection.
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
        // The factors are unique if the diagonal of the triangle is positive.
        let signs = Matrix3::from_diagonal(&decomposed.r().diagonal().map(f64::signum));
        let (turn, triangle) = (decomposed.q() * signs, signs * decomposed.r());
        let shift = fixed_centre - self.fixed_centre;
        let mut parameters = IDENTITY;
        parameters[ROTATION..TRANSLATION].copy_from_slice(&angles(&Rotation3::from_matrix_unchecked(turn)));
        parameters[TRANSLATION..SCALE].copy_from_slice(shift.as_slice());
        if dof >= Dof::Scales9 {
            parameters[SCALE..SKEW].copy_from_slice(triangle.diagonal().as_slice());
        }
        if dof == Dof::Affine12 {
            let skew = |row: usize, column: usize| triangle[(row, column)] / triangle[(column, column)];
            parameters[SKEW..].copy_from_slice(&[skew(0, 1), skew(0, 2), skew(1, 2)]);
        }
        Some(if self.slices { self.in_plane(&parameters) } else { parameters })
    }

    /// Returns the parameters with all out-of-plane parameters set to the identity, for slices.
    fn in_plane(&self, parameters: &Parameters) -> Parameters {
        let mut kept = IDENTITY;
        for parameter in [ROTATION + 2].into_iter().chain(self.scales()).chain(self.skews()) {
            kept[parameter] = parameters[parameter];
        }
        let (shift, normal) = (Vector3::from_column_slice(&parameters[TRANSLATION..SCALE]), self.axes.column(2));
        kept[TRANSLATION..SCALE].copy_from_slice((shift - normal * normal.dot(&shift)).as_slice());
        kept
    }

    /// The parameters of the alignment by headers: each point of the moving world is mapped to the same point of the
    /// fixed world. For a translation model, this holds for the moving image's centre only.
    pub fn headers(&self) -> Option<Parameters> {
        if self.translates {
            return Some(self.translation_to(&self.moving_centre));
        }
        self.parameters(&Matrix3::identity(), &self.moving_centre, Dof::Rigid6)
    }
}

/// The rotation matrix Rx·Ry·Rz.
fn rotation(parameters: &Parameters) -> Matrix3<f64> {
    let about = |axis, angle| Rotation3::from_axis_angle(&axis, angle);
    let [x, y, z] = [parameters[0], parameters[1], parameters[2]];
    (about(Vector3::x_axis(), x) * about(Vector3::y_axis(), y) * about(Vector3::z_axis(), z)).into_inner()
}

/// The angles about x, y and z of a rotation matrix, the inverse of [`rotation`].
fn angles(rotation: &Rotation3<f64>) -> [f64; 3] {
    let r = rotation.matrix();
    let y = r[(0, 2)].clamp(-1.0, 1.0).asin();
    if r[(0, 2)].abs() > 1.0 - 1e-12 {
        // In gimbal lock only the sum of the other two angles is determined.
        return [r[(2, 1)].atan2(r[(1, 1)]), y, 0.0];
    }
    [(-r[(1, 2)]).atan2(r[(2, 2)]), y, (-r[(0, 1)]).atan2(r[(0, 0)])]
}

/// The search directions of a model for volumes whose axes are the world axes.
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
