//! A chain of transforms prepared for many points: consecutive affines are merged, and the map from world points to
//! voxel indices is computed only once for each grid.

use antsreg_core::{AffineTransform, DisplacementField, FieldSampler, Grid, Transform, TransformChain};
use nalgebra::Point3;
use rayon::prelude::*;

/// Tolerance, in voxels, for the comparison of a displacement field's grid with the output's grid. If no voxel centre
/// differs by more, the grids count as equal, and the field is read without interpolation.
const SAME_GRID_VOXELS: f64 = 1e-4;
/// Number of points that one parallel task of [`apply_points`] maps.
const POINTS_PER_TASK: usize = 4096;

/// The map from a voxel of the output through a chain of transforms to a fractional voxel index of the input.
pub struct Path<'a> {
    shape: [usize; 3],
    /// The map from output voxels to world points, merged with any affines that precede the first field of the chain.
    start: AffineTransform,
    /// The displacement field of the chain's first transform, if this field lies on the grid of the output.
    on_output: Option<&'a DisplacementField>,
    rest: Vec<Leg<'a>>,
}

enum Leg<'a> {
    Affine(AffineTransform),
    Field(FieldSampler<'a>),
}

impl<'a> Path<'a> {
    /// Makes the path of points from the voxels of `onto` through the chain to the voxels of `input`.
    pub fn new(onto: &Grid, chain: &'a TransformChain, input: &Grid) -> Path<'a> {
        Path::to(onto, chain, &input.world_to_voxel())
    }

    /// Prepares a chain of transforms for mapping the voxels of `onto`. The map goes from a voxel of `onto` through the
    /// chain to a world point of the input, then through `to_input`, for example to voxel indices.
    pub fn to(onto: &Grid, chain: &'a TransformChain, to_input: &AffineTransform) -> Path<'a> {
        let tolerance_mm = SAME_GRID_VOXELS * onto.spacing.min();
        let mut start = onto.voxel_to_world();
        let mut on_output = None;
        let mut rest = Vec::new();
        for (n, step) in chain.steps.iter().enumerate() {
            match &step.transform {
                Transform::Affine(affine) if on_output.is_none() && rest.is_empty() => start = affine.after(&start),
                Transform::Affine(affine) => push_affine(&mut rest, affine),
                Transform::Displacement(field) if n == 0 && field.grid.matches(onto, tolerance_mm) => {
                    on_output = Some(field);
                }
                Transform::Displacement(field) => rest.push(Leg::Field(field.sampler())),
            }
        }
        if on_output.is_none() && rest.is_empty() {
            start = to_input.after(&start);
        } else {
            push_affine(&mut rest, to_input);
        }
        Path { shape: onto.shape, start, on_output, rest }
    }

    /// Maps the voxels (·, j, k) of a row of the output to fractional voxel indices of the input image. The number of
    /// the row is `row` = k·ny + j.
    pub fn row(&self, row: usize, indices: &mut [[f64; 3]]) {
        let [nx, ny, _] = self.shape;
        let (j, k) = ((row % ny) as f64, (row / ny) as f64);
        let first = self.start.apply(&Point3::new(0.0, j, k));
        let step = self.start.matrix.column(0);
        for (i, index) in indices.iter_mut().enumerate() {
            *index = std::array::from_fn(|axis| first[axis] + i as f64 * step[axis]);
        }
        if let Some(field) = self.on_output {
            for (point, u) in indices.iter_mut().zip(&field.vectors[row * nx..]) {
                *point = std::array::from_fn(|axis| point[axis] + f64::from(u[axis]));
            }
        }
        travel(&self.rest, indices);
    }
}

fn travel(legs: &[Leg], points: &mut [[f64; 3]]) {
    for leg in legs {
        match leg {
            Leg::Affine(affine) => points.iter_mut().for_each(|p| *p = affine.apply(&Point3::from(*p)).into()),
            Leg::Field(field) => points.iter_mut().for_each(|p| {
                let point = Point3::from(*p);
                *p = (point + field.at(&point)).into();
            }),
        }
    }
}

/// Appends an affine map to a chain. If the last transform of the chain is affine too, the two maps are merged to one.
fn push_affine(legs: &mut Vec<Leg>, affine: &AffineTransform) {
    match legs.last_mut() {
        Some(Leg::Affine(last)) => *last = affine.after(last),
        _ => legs.push(Leg::Affine(*affine)),
    }
}

/// Maps points of the output (fixed) space, RAS mm, to the input (moving) space. The first transform of the chain acts
/// first on a point.
pub fn apply_points(points: &[Point3<f64>], chain: &TransformChain) -> Vec<Point3<f64>> {
    let mut moved: Vec<[f64; 3]> = points.iter().map(|point| (*point).into()).collect();
    move_points(&mut moved, chain);
    moved.into_iter().map(Point3::from).collect()
}

/// Maps points as [`apply_points`] does, in their place. Returns for each displacement field of the chain how many of
/// the points lie outside its grid when they reach it. The field does not move these points.
pub fn move_points(points: &mut [[f64; 3]], chain: &TransformChain) -> Vec<u64> {
    let mut legs = Vec::new();
    for step in &chain.steps {
        match &step.transform {
            Transform::Affine(affine) => push_affine(&mut legs, affine),
            Transform::Displacement(field) => legs.push(Leg::Field(field.sampler())),
        }
    }
    let counts = points.par_chunks_mut(POINTS_PER_TASK).map(|some| travel_counted(&legs, some));
    let none = || vec![0; legs.iter().filter(|leg| matches!(leg, Leg::Field(_))).count()];
    counts.reduce(none, |a, b| a.into_iter().zip(b).map(|(a, b)| a + b).collect())
}

/// Moves points as [`travel`] does. Returns for each field the number of points outside it.
fn travel_counted(legs: &[Leg], points: &mut [[f64; 3]]) -> Vec<u64> {
    let mut counts = Vec::new();
    for leg in legs {
        let Leg::Field(field) = leg else {
            travel(std::slice::from_ref(leg), points);
            continue;
        };
        let mut outside = 0;
        for p in points.iter_mut() {
            let point = Point3::from(*p);
            let (displacement, inside) = field.at_and_inside(&point);
            outside += u64::from(!inside);
            *p = (point + displacement).into();
        }
        counts.push(outside);
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::test_scenes::{chains, oblique_grid, world};

    #[test]
    fn points_go_one_step_at_a_time() {
        let onto = oblique_grid([7, 5, 9], 2);
        let points: Vec<_> = (0..onto.len()).map(|n| world(&onto, n)).collect();
        for chain in chains(&onto) {
            let moved = apply_points(&points, &chain);
            assert_eq!(moved.len(), points.len());
            for (point, moved) in points.iter().zip(moved) {
                // Tolerance: merging affine maps changes the order of the arithmetic, and so the rounding.
                assert!((chain.apply(point) - moved).norm() < 1e-12);
            }
        }
    }

    #[test]
    fn a_field_on_another_grid_of_the_same_shape_is_interpolated() {
        let onto = oblique_grid([7, 5, 9], 2);
        let elsewhere = oblique_grid([7, 5, 9], 6);
        let chain = chains(&elsewhere).swap_remove(3);
        assert!(Path::new(&onto, &chain, &onto).on_output.is_none());
        assert!(Path::new(&elsewhere, &chain, &onto).on_output.is_some());
    }

    #[test]
    fn affine_maps_in_a_row_become_one() {
        let onto = oblique_grid([7, 5, 9], 2);
        let legs: Vec<usize> = chains(&onto).iter().map(|chain| Path::new(&onto, chain, &onto).rest.len()).collect();
        // Affine maps before the first field are part of the start, as is a first field on the grid of the output.
        // Affine maps between two fields are one leg, as are those after the last field, with the map to voxels.
        assert_eq!(legs, [0, 0, 0, 1, 1, 2, 4, 3]);
    }

    #[test]
    fn grids_are_compared_in_voxels() {
        for spacing in [0.01, 100.0] {
            let onto = Grid::axis_aligned([3, 4, 5], [spacing; 3]);
            for (shift_voxels, same) in [(1e-5, true), (0.01, false)] {
                let mut grid = onto.clone();
                grid.origin.x += shift_voxels * spacing;
                let field = Transform::Displacement(DisplacementField::zeros(grid));
                let chain = TransformChain::from(vec![field]);
                let found = Path::new(&onto, &chain, &onto).on_output.is_some();
                assert_eq!(found, same, "shift by {shift_voxels} of {spacing} mm");
            }
        }
    }

    #[test]
    fn points_outside_each_field_are_counted() {
        let onto = oblique_grid([7, 5, 9], 2);
        let mut most = 0;
        for chain in chains(&onto) {
            let mut points: Vec<[f64; 3]> = (0..onto.len()).map(|n| world(&onto, n).into()).collect();
            points.push([1e4; 3]);
            let expected = chain.outside_fields(&points.iter().map(|point| Point3::from(*point)).collect::<Vec<_>>());
            let fields = chain.steps.iter().filter(|step| matches!(step.transform, Transform::Displacement(_)));
            let (fields, counts) = (fields.count(), move_points(&mut points, &chain));
            assert_eq!(counts.len(), fields);
            let counted: Vec<usize> =
                counts.into_iter().filter(|count| *count > 0).map(|count| count as usize).collect();
            assert_eq!(counted, expected.iter().map(|missed| missed.count).collect::<Vec<_>>());
            most = most.max(counted.len());
        }
        assert!(most >= 2, "a chain with several fields");
    }
}
