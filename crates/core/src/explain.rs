//! Describes a chain of transforms as text. The text names, for each transform, the space from which and the space to
//! which it maps points.

use std::fmt;

use crate::{Transform, TransformChain};

/// A space through which points pass in a chain of transforms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// The space of the resampled image: the fixed space, if the transforms of a registration are applied forward.
    Output,
    /// The space between two successive transforms of a chain. The space after the first transform has the number 1.
    Between(usize),
    /// The space of the image to resample: the moving space, if the transforms of a registration are applied forward.
    Input,
}

/// Description of one transform of a chain.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainedStep {
    /// Name of the transform, usually the path of its file.
    pub name: String,
    /// Whether this transform is the inverse of the transform in the file `name`.
    pub inverted: bool,
    /// Text about the transform: its kind, its size in mm and, for a field, its grid.
    pub what: String,
    /// The space from which the transform maps points. Images are resampled in the opposite direction, so this
    /// transform resamples an image into this space.
    pub points_from: Space,
    /// The space into which the transform maps points. Images are resampled in the opposite direction, so this
    /// transform resamples an image from this space.
    pub points_to: Space,
}

/// Description of a whole chain of transforms, in the order in which they act on a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// Descriptions of the transforms of a chain. The first transform acts first on a point.
    pub steps: Vec<ExplainedStep>,
}

impl TransformChain {
    /// Describes the chain of transforms as text.
    pub fn explain(&self) -> Explanation {
        let count = self.steps.len();
        let space = |n: usize| match n {
            0 => Space::Output,
            n if n == count => Space::Input,
            n => Space::Between(n),
        };
        let steps = self.steps.iter().enumerate().map(|(n, step)| ExplainedStep {
            name: step.name.clone(),
            inverted: step.inverted,
            what: describe(&step.transform),
            points_from: space(n),
            points_to: space(n + 1),
        });
        Explanation { steps: steps.collect() }
    }
}

fn describe(transform: &Transform) -> String {
    match transform {
        Transform::Affine(affine) => {
            let [x, y, z] = affine.translation.into();
            let volume = affine.matrix.determinant();
            format!(
                "affine map, changes volumes by the factor {volume:.4}, moves the world origin by \
                 ({x:.2}, {y:.2}, {z:.2}) mm RAS"
            )
        }
        Transform::Displacement(field) => {
            let [nx, ny, nz] = field.grid.shape;
            let [sx, sy, sz] = field.grid.spacing.into();
            let longest = field.longest_mm();
            format!(
                "displacement field, {nx} × {ny} × {nz} voxels of {sx:.3} × {sy:.3} × {sz:.3} mm, \
                 displacements of at most {longest:.2} mm"
            )
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Space::Output => write!(f, "output (reference) space"),
            Space::Between(n) => write!(f, "intermediate space {n}"),
            Space::Input => write!(f, "input space"),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.steps.is_empty() {
            return writeln!(f, "No transform: the output space and the input space are the same.");
        }
        let title = |step: &ExplainedStep| match step.inverted {
            true => format!("inverse of {}", step.name),
            false => step.name.clone(),
        };
        writeln!(f, "These transforms map points from the output space to the input space, in this order:")?;
        for (n, step) in self.steps.iter().enumerate() {
            writeln!(f, "  {}. {}: {} → {}", n + 1, title(step), step.points_from, step.points_to)?;
            writeln!(f, "     {}", step.what)?;
        }
        writeln!(f, "Images and labels are resampled in the opposite direction, from input grid to output grid:")?;
        for (n, step) in self.steps.iter().enumerate().rev() {
            writeln!(f, "  {}. {}: {} → {}", n + 1, title(step), step.points_to, step.points_from)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::{Matrix3, Vector3};

    use crate::{AffineTransform, DisplacementField, Grid, Transform, TransformChain};

    #[test]
    fn says_which_way_points_and_images_go() {
        let mut chain = TransformChain::new();
        let mut field = DisplacementField::zeros(Grid::axis_aligned([4, 5, 6], [1.0, 2.0, 0.5]));
        field.vectors[7] = [3.0, 0.0, 4.0];
        chain.push("1Warp.nii.gz", Transform::Displacement(field), false).unwrap();
        let affine = AffineTransform { matrix: Matrix3::identity() * 2.0, translation: Vector3::new(2.0, 4.0, -6.0) };
        chain.push("0GenericAffine.mat", Transform::Affine(affine), true).unwrap();
        let expected = "\
These transforms map points from the output space to the input space, in this order:
  1. 1Warp.nii.gz: output (reference) space → intermediate space 1
     displacement field, 4 × 5 × 6 voxels of 1.000 × 2.000 × 0.500 mm, displacements of at most 5.00 mm
  2. inverse of 0GenericAffine.mat: intermediate space 1 → input space
     affine map, changes volumes by the factor 0.1250, moves the world origin by (-1.00, -2.00, 3.00) mm RAS
Images and labels are resampled in the opposite direction, from input grid to output grid:
  2. inverse of 0GenericAffine.mat: input space → intermediate space 1
  1. 1Warp.nii.gz: intermediate space 1 → output (reference) space
";
        assert_eq!(chain.explain().to_string(), expected);
        assert_eq!(
            TransformChain::new().explain().to_string(),
            "No transform: the output space and the input space are the same.\n"
        );
    }
}
