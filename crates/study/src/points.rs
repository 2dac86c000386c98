//! Moves the points of a file of points, a surface or a tract through a chain of transforms.

use std::path::Path;

use antsreg_core::chain::OutsideField;
use antsreg_core::io::geometry::{self, GeometryFormat, Moving, World};
use antsreg_core::{Grid, Transform, TransformChain};
use antsreg_kernels::apply;

use crate::Error;

/// What was moved, and what was found on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Moved {
    /// Number of points.
    pub points: u64,
    /// How the coordinates of the file lie in the world, for messages.
    pub coordinates: &'static str,
    /// The displacement fields outside of which some points lie.
    pub outside: Vec<OutsideField>,
}

/// Moves the points of `from` from the output (fixed) space of the chain to its input (moving) space, and writes the
/// copy `to`, which has the same format and all other data of `from`. `undeclared` is the coordinate system of a file
/// that does not say which it has. `onto` is the grid of the space in which the points end, for formats that store a
/// grid.
///
/// # Errors
/// `from` is damaged or does not say how its coordinates lie in the world; `to` cannot be written.
pub fn carry(
    format: GeometryFormat,
    (from, to): (&Path, &Path),
    chain: &TransformChain,
    undeclared: Option<World>,
    onto: Option<&Grid>,
) -> Result<Moved, Error> {
    let mut counts: Vec<u64> = Vec::new();
    let mut map = |points: &mut [[f64; 3]]| {
        let some = apply::move_points(points, chain);
        counts.resize(some.len(), 0);
        counts.iter_mut().zip(some).for_each(|(count, more)| *count += more);
    };
    let moved = geometry::carry_file(format, from, to, Moving { map: &mut map, undeclared, onto })?;
    let fields =
        chain.steps.iter().enumerate().filter(|(_, step)| matches!(step.transform, Transform::Displacement(_)));
    let of = usize::try_from(moved.points).unwrap_or(usize::MAX);
    let outside =
        fields.zip(counts).filter(|(_, count)| *count > 0).map(|((steps_before, step), count)| OutsideField {
            name: step.name.clone(),
            steps_before,
            count: usize::try_from(count).unwrap_or(usize::MAX),
            of,
        });
    Ok(Moved { points: moved.points, coordinates: moved.coordinates, outside: outside.collect() })
}
