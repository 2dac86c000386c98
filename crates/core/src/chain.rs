//! Chains of transforms, which act on a point one after the other.

use std::fmt::{Display, Formatter};

use nalgebra::{Point3, Vector3};

use crate::{AffineTransform, DisplacementField, Grid};

/// A transform of world points: an affine map or a displacement field.
#[derive(Debug, Clone, PartialEq)]
pub enum Transform {
    /// An affine map of world points, mm.
    Affine(AffineTransform),
    /// A field of displacements of world points, mm.
    Displacement(DisplacementField),
}

/// One transform of a chain, with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Name of the transform in messages, usually the path of its file.
    pub name: String,
    /// The transform that acts in the chain. If `inverted` is set, this is already the inverse of the transform in the
    /// file.
    pub transform: Transform,
    /// Whether `transform` is the inverse of the transform in the file `name`.
    pub inverted: bool,
}

/// Transforms of points, in the order in which they act on a point of the output (fixed) space to give a point of the
/// input (moving) space. The first element acts first.
///
/// A registration that writes `1Warp` and `0GenericAffine` is the chain `[1Warp, 0GenericAffine]`. ANTs lists them in
/// the same order after `-t`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransformChain {
    /// The transforms of the chain. The first transform acts first on a point.
    pub steps: Vec<Step>,
}

/// The errors of transforms that cannot form a chain.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// The inverse of a displacement field was requested by a flag such as `[FILE,1]`, but cannot be computed
    /// exactly.
    #[error(
        "{name}: a displacement field cannot be inverted exactly, so the flag for inversion is refused; give the \
         inverse warp that the registration wrote (…1InverseWarp.nii.gz), without the flag"
    )]
    FieldNotInvertible {
        /// Name of the transform, usually the path of its file.
        name: String,
    },
    /// An affine map of the chain is singular. Such a map is refused even if its inverse is not needed.
    #[error(
        "{name}: the affine is singular (determinant {determinant:e}): all of space becomes a plane, a line or a point"
    )]
    Singular {
        /// Name of the transform, usually the path of its file.
        name: String,
        /// Determinant of the linear part of the singular affine map.
        determinant: f64,
    },
    /// No point of the output grid is mapped into the grid of a displacement field of the chain, or into the input
    /// image: the grids do not overlap.
    #[error(
        "the grids do not overlap: no point of the output grid lies in {what} after {steps_before} transform(s) of \
         the chain; check the order of the transforms and which of them are inverted"
    )]
    DoNotMeet {
        /// Name of the displacement field or image into which no point is mapped.
        what: String,
        /// Number of transforms that had acted on the test points before they were compared with the extent of this
        /// displacement field or image.
        steps_before: usize,
    },
}

/// A warning that a chain maps few points of the output grid into a displacement field or into the input image.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainWarning {
    /// Name of the displacement field or image that most points miss.
    pub what: String,
    /// Number of transforms that had acted on the test points before they were compared with the extent of this
    /// displacement field or image.
    pub steps_before: usize,
    /// Share (0…1) of the output grid's points that lie inside the field or image.
    pub share_inside: f64,
}

impl std::fmt::Display for ChainWarning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = 100.0 * self.share_inside;
        let ChainWarning { what, steps_before, .. } = self;
        write!(
            f,
            "only {percent:.1} % of the output grid lies in {what} after {steps_before} transform(s) of the chain"
        )
    }
}

/// Points that are not displaced, because they lie outside the grid of a displacement field when they reach the
/// field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideField {
    /// Name of the displacement field, usually the path of its file.
    pub name: String,
    /// Number of transforms of the chain that act on a point before this displacement field does.
    pub steps_before: usize,
    /// Number of points that lie outside the grid of this displacement field when they reach it.
    pub count: usize,
    /// Number of all tested points, inside or outside the grid of this displacement field.
    pub of: usize,
}

impl Display for OutsideField {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let OutsideField { name, count, of, .. } = self;
        write!(f, "{count} of {of} points lie outside the field of {name}, so this field does not move them")
    }
}

/// Number of points along each axis at which [`TransformChain::check`] tests a chain.
const CHECK_POINTS: usize = 9;
/// Largest number of points along each axis for the second test of a chain. This test is made if none of the points of
/// the first test is mapped into one of the fields or into the input image.
const MOST_CHECK_POINTS: usize = 128;
/// A warning is given if the share of the output grid's points inside a field or image is smaller than this share.
const WARN_BELOW: f64 = 0.25;

impl TransformChain {
    /// Makes a chain of no transforms, which is the identity.
    pub fn new() -> TransformChain {
        TransformChain::default()
    }

    /// The first displacement field of the chain; `None` for a chain of affine maps.
    pub fn displacement(&self) -> Option<&DisplacementField> {
        self.steps.iter().find_map(|step| match &step.transform {
            Transform::Displacement(field) => Some(field),
            Transform::Affine(_) => None,
        })
    }

    /// Removes the first displacement field from the chain and returns it.
    pub fn into_displacement(self) -> Option<DisplacementField> {
        self.steps.into_iter().find_map(|step| match step.transform {
            Transform::Displacement(field) => Some(field),
            Transform::Affine(_) => None,
        })
    }

    /// Appends a transform, which acts last on a point. With `inverted`, the inverse of `transform` is appended
    /// instead: it is exact for an affine map, and an error for a displacement field. A singular affine map is always
    /// an error.
    pub fn push(&mut self, name: impl Into<String>, transform: Transform, inverted: bool) -> Result<(), ChainError> {
        let name = name.into();
        let transform = match (transform, inverted) {
            (Transform::Affine(affine), _) => match affine.inverse() {
                Some(inverse) => Transform::Affine(if inverted { inverse } else { affine }),
                None => return Err(ChainError::Singular { name, determinant: affine.matrix.determinant() }),
            },
            (Transform::Displacement(_), true) => return Err(ChainError::FieldNotInvertible { name }),
            (transform, false) => transform,
        };
        self.steps.push(Step { name, transform, inverted });
        Ok(())
    }

    /// The affine map of the whole chain; `None` if the chain has a displacement field.
    pub fn affine(&self) -> Option<AffineTransform> {
        self.steps.iter().try_fold(AffineTransform::identity(), |whole, step| match &step.transform {
            Transform::Affine(affine) => Some(affine.after(&whole)),
            Transform::Displacement(_) => None,
        })
    }

    /// Maps a point of the output space to the input space; both points in world mm.
    pub fn apply(&self, point: &Point3<f64>) -> Point3<f64> {
        self.steps.iter().fold(*point, |point, step| step.transform.apply(&point))
    }

    /// Counts, for each displacement field of the chain, how many of `points` (output space, world mm) lie outside
    /// the grid of the field when they reach the field. Fields with a count of 0 are not listed. A field does not
    /// move points outside its grid, so the result for such points is not reliable.
    pub fn outside_fields(&self, points: &[Point3<f64>]) -> Vec<OutsideField> {
        let mut points = points.to_vec();
        let mut missed = Vec::new();
        for (steps_before, step) in self.steps.iter().enumerate() {
            if let Transform::Displacement(field) = &step.transform {
                let to_voxel = field.grid.world_to_voxel();
                let count = points.iter().filter(|point| !field.grid.holds(&to_voxel.apply(point))).count();
                if count > 0 {
                    missed.push(OutsideField { name: step.name.clone(), steps_before, count, of: points.len() });
                }
            }
            points.iter_mut().for_each(|point| *point = step.transform.apply(point));
        }
        missed
    }

    /// Checks that the chain maps points of the output grid `onto` into the grid of each displacement field, and into
    /// the input image if its grid `input` is given.
    pub fn check(&self, onto: &Grid, input: Option<&Grid>) -> Result<Vec<ChainWarning>, ChainError> {
        let few = self.check_at(lattice(onto, [CHECK_POINTS; 3]), input);
        if !matches!(few, Err(ChainError::DoNotMeet { .. })) {
            return few;
        }
        // If a chain of transforms maps no test point into an image, the image may be a thin slab between the test
        // points. So the check is repeated with more points.
        self.check_at(lattice(onto, onto.shape.map(|n| n.clamp(CHECK_POINTS, MOST_CHECK_POINTS))), input)
    }

    /// Checks the chain as [`TransformChain::check`] does, with the given points of the output grid.
    fn check_at(&self, mut points: Vec<Point3<f64>>, input: Option<&Grid>) -> Result<Vec<ChainWarning>, ChainError> {
        let mut warnings = Vec::new();
        for (steps_before, step) in self.steps.iter().enumerate() {
            if let Transform::Displacement(field) = &step.transform {
                let what = format!("the field of {}", step.name);
                warnings.extend(meets(&points, &field.grid, what, steps_before)?);
            }
            points.iter_mut().for_each(|point| *point = step.transform.apply(point));
        }
        if let Some(grid) = input {
            warnings.extend(meets(&points, grid, "the input image".into(), self.steps.len())?);
        }
        Ok(warnings)
    }
}

/// Makes a chain of transforms that are not inverted. The names of the transforms are "step 1", "step 2" and so on.
impl From<Vec<Transform>> for TransformChain {
    fn from(transforms: Vec<Transform>) -> TransformChain {
        let name = |n: usize| format!("step {}", n + 1);
        let step = |(n, transform)| Step { name: name(n), transform, inverted: false };
        TransformChain { steps: transforms.into_iter().enumerate().map(step).collect() }
    }
}

impl Transform {
    /// The point to which the transform takes a world point.
    pub fn apply(&self, point: &Point3<f64>) -> Point3<f64> {
        match self {
            Transform::Affine(affine) => affine.apply(point),
            Transform::Displacement(field) => point + field.at(point),
        }
    }
}

/// Lists test points of a grid in world mm, at equal distances and with the corners of the grid; `counts` points along
/// each axis.
fn lattice(grid: &Grid, counts: [usize; 3]) -> Vec<Point3<f64>> {
    let to_world = grid.voxel_to_world();
    let along = |axis: usize, n: usize| n as f64 / (counts[axis] - 1) as f64 * (grid.shape[axis] as f64 - 1.0);
    (0..counts.iter().product())
        .map(|n: usize| {
            let [i, j, k] = [n % counts[0], n / counts[0] % counts[1], n / counts[0] / counts[1]];
            to_world.apply(&Point3::from(Vector3::new(along(0, i), along(1, j), along(2, k))))
        })
        .collect()
}

fn meets(
    points: &[Point3<f64>],
    grid: &Grid,
    what: String,
    steps_before: usize,
) -> Result<Option<ChainWarning>, ChainError> {
    let to_voxel = grid.world_to_voxel();
    let inside = |point: &&Point3<f64>| grid.holds(&to_voxel.apply(point));
    let share_inside = points.iter().filter(inside).count() as f64 / points.len() as f64;
    match share_inside {
        0.0 => Err(ChainError::DoNotMeet { what, steps_before }),
        share if share < WARN_BELOW => Ok(Some(ChainWarning { what, steps_before, share_inside })),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::Matrix3;

    use super::*;

    fn shift(x: f64, y: f64, z: f64) -> Transform {
        Transform::Affine(AffineTransform { matrix: Matrix3::identity(), translation: Vector3::new(x, y, z) })
    }

    /// Makes a displacement field of the constant `vector` on a cube of 10 mm whose first voxel is at `origin`.
    fn constant_field(origin: [f64; 3], vector: [f32; 3]) -> Transform {
        let mut grid = Grid::axis_aligned([10, 10, 10], [1.0; 3]);
        grid.origin = origin.into();
        Transform::Displacement(DisplacementField { vectors: vec![vector; grid.len()], grid })
    }

    #[test]
    fn the_first_step_acts_first() {
        let double =
            Transform::Affine(AffineTransform { matrix: Matrix3::identity() * 2.0, translation: Vector3::zeros() });
        let chain = TransformChain::from(vec![constant_field([0.0; 3], [1.0, 0.0, 0.0]), double]);
        assert_eq!(chain.apply(&Point3::new(3.0, 1.0, 1.0)), Point3::new(8.0, 2.0, 2.0));
        // Outside its grid, a displacement field does not move points.
        assert_eq!(chain.apply(&Point3::new(20.0, 1.0, 1.0)), Point3::new(40.0, 2.0, 2.0));
    }

    #[test]
    fn an_inverted_affine_undoes_itself() {
        let affine = AffineTransform {
            matrix: Matrix3::new(1.1, 0.2, 0.0, -0.1, 0.9, 0.3, 0.0, 0.1, 1.2),
            translation: Vector3::new(5.0, -3.0, 2.0),
        };
        let mut chain = TransformChain::new();
        chain.push("a", Transform::Affine(affine), false).unwrap();
        chain.push("a", Transform::Affine(affine), true).unwrap();
        let point = Point3::new(12.0, -40.0, 33.0);
        assert!((chain.apply(&point) - point).norm() < 1e-12);
        chain.push("b", Transform::Affine(affine), false).unwrap();
        chain.push("c", shift(1.0, 2.0, 3.0), false).unwrap();
        let whole = chain.affine().expect("there is no field");
        assert!((chain.apply(&point) - whole.apply(&point)).norm() < 1e-12);
        chain.push("d", constant_field([0.0; 3], [0.0; 3]), false).unwrap();
        assert_eq!(chain.affine(), None);
    }

    #[test]
    fn the_displacement_of_a_chain_is_its_first_field() {
        let fields = [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]].map(|vector| constant_field([0.0; 3], vector));
        let Transform::Displacement(first) = fields[0].clone() else { panic!("a field") };
        let chain = TransformChain::from([vec![shift(1.0, 2.0, 3.0)], fields.to_vec()].concat());
        assert_eq!(chain.displacement(), Some(&first));
        assert_eq!(chain.into_displacement(), Some(first));
        let affine = TransformChain::from(vec![shift(1.0, 2.0, 3.0)]);
        assert_eq!(affine.displacement(), None);
        assert_eq!(affine.into_displacement(), None);
    }

    #[test]
    fn test_points_divide_a_grid_evenly_from_corner_to_corner() {
        let mut grid = Grid::axis_aligned([9, 4, 5], [1.0, 2.0, 0.5]);
        grid.origin = Point3::new(10.0, 20.0, 30.0);
        // The grid is 8 mm, 6 mm and 2 mm long from the first to the last voxel centre.
        let mut expected = Vec::new();
        for z in [30.0, 31.0, 32.0] {
            for y in [20.0, 26.0] {
                for x in [10.0, 12.0, 14.0, 16.0, 18.0] {
                    expected.push(Point3::new(x, y, z));
                }
            }
        }
        assert_eq!(lattice(&grid, [5, 2, 3]), expected);
    }

    #[test]
    fn a_warning_is_given_below_a_quarter_and_says_the_share() {
        let grid = Grid::axis_aligned([3, 3, 3], [1.0; 3]);
        let points = |outside: usize| {
            let mut points = vec![Point3::new(9.0, 1.0, 1.0); outside];
            points.push(Point3::new(1.0, 1.0, 1.0));
            points
        };
        assert_eq!(meets(&points(3), &grid, "the image".into(), 2), Ok(None));
        let warning = meets(&points(7), &grid, "the image".into(), 2).unwrap().expect("an eighth is less");
        let expected = "only 12.5 % of the output grid lies in the image after 2 transform(s) of the chain";
        assert_eq!(warning.to_string(), expected);
    }

    #[test]
    fn refuses_to_invert_what_it_cannot() {
        let mut chain = TransformChain::new();
        let error = chain.push("1Warp.nii.gz", constant_field([0.0; 3], [0.0; 3]), true).unwrap_err();
        assert_eq!(error, ChainError::FieldNotInvertible { name: "1Warp.nii.gz".into() });
        assert!(error.to_string().contains("InverseWarp"), "{error}");
        let flat = AffineTransform { matrix: Matrix3::zeros(), translation: Vector3::zeros() };
        for inverted in [true, false] {
            let error = chain.push("flat.mat", Transform::Affine(flat), inverted).unwrap_err();
            assert_eq!(error, ChainError::Singular { name: "flat.mat".into(), determinant: 0.0 });
        }
        assert!(chain.steps.is_empty());
    }

    #[test]
    fn points_outside_a_field_are_counted_where_they_reach_it() {
        let chain =
            TransformChain::from(vec![shift(100.0, 0.0, 0.0), constant_field([100.0, 0.0, 0.0], [50.0, 0.0, 0.0])]);
        let points = [0.0, 9.4, 9.6, -0.4, 1e6].map(|x| Point3::new(x, 1.0, 1.0));
        let expected = OutsideField { name: "step 2".into(), steps_before: 1, count: 2, of: 5 };
        assert!(expected.to_string().starts_with("2 of 5 points lie outside the field of step 2"), "{expected}");
        assert_eq!(chain.outside_fields(&points), [expected]);
        assert_eq!(chain.outside_fields(&points[..2]), []);
        // The second field is tested with points that the first field has already moved. The first field moves all
        // points of its grid to positions outside the grid of the second field.
        let field = || constant_field([0.0; 3], [50.0, 0.0, 0.0]);
        let counts: Vec<usize> =
            TransformChain::from(vec![field(), field()]).outside_fields(&points).iter().map(|o| o.count).collect();
        assert_eq!(counts, [2, 5]);
    }

    #[test]
    fn notices_spaces_that_do_not_meet() {
        let onto = Grid::axis_aligned([10, 10, 10], [1.0; 3]);
        let field = || constant_field([100.0, 0.0, 0.0], [0.0; 3]);
        // The test chain in the right order: the translation by 100 mm acts first and takes the points into the grid of
        // the displacement field.
        let right = TransformChain::from(vec![shift(100.0, 0.0, 0.0), field()]);
        assert_eq!(right.check(&onto, None), Ok(vec![]));
        // The transforms are in the wrong order: the field is evaluated 100 mm away from its grid.
        let wrong = TransformChain::from(vec![field(), shift(100.0, 0.0, 0.0)]);
        let what = "the field of step 1".to_string();
        assert_eq!(wrong.check(&onto, None), Err(ChainError::DoNotMeet { what, steps_before: 0 }));
        // The test chain moves all points of the output grid to positions outside the input image, so the check of the
        // chain must fail.
        let what = "the input image".to_string();
        assert_eq!(right.check(&onto, Some(&onto)), Err(ChainError::DoNotMeet { what, steps_before: 2 }));
        // The input image is a slab of two voxels, which lies between two of the first 9 planes of test points. So the
        // check is repeated with 100 planes.
        let (tall, mut slab) =
            (Grid::axis_aligned([10, 10, 100], [1.0; 3]), Grid::axis_aligned([10, 10, 2], [1.0; 3]));
        slab.origin.z = 5.0;
        let warnings = TransformChain::new().check(&tall, Some(&slab)).unwrap();
        assert!((warnings[0].share_inside - 0.02).abs() < 1e-12, "{warnings:?}");
        slab.origin.z = 101.0;
        assert!(TransformChain::new().check(&tall, Some(&slab)).is_err());
        // The test chain is a translation by 8 mm. It takes only 2 of the 9 planes of test points into the input image,
        // so a warning is expected.
        let warnings = TransformChain::from(vec![shift(8.0, 0.0, 0.0)]).check(&onto, Some(&onto)).unwrap();
        assert_eq!(warnings.len(), 1);
        assert!((warnings[0].share_inside - 2.0 / 9.0).abs() < 1e-12, "{warnings:?}");
    }
}
