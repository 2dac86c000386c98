//! Image data of the measurements: a brain, uniform noise, or a constant.

use crate::error::Error;
use crate::schemes::{FixedVolume, Values};
use antsreg_core::{AffineTransform, Volume};
use nalgebra::{Point3, Rotation3};
use rayon::prelude::*;

/// Shape (voxels along each axis) of the synthetic images if no brain image is given.
const SHAPE: [usize; 3] = [160, 208, 168];

/// Rotation between the fixed and the moving image, radians about x, y and z.
const TURN: [f64; 3] = [0.06, -0.04, 0.08];

/// The data of a measurement: a fixed volume, a moving volume, and the transform between them.
pub struct Subject {
    pub name: &'static str,
    pub fixed: FixedVolume,
    pub moving_shape: [usize; 3],
    pub moving: Vec<f32>,
    pub fixed_to_moving: AffineTransform,
    /// Moving values that are given instead of interpolated, one for each fixed voxel.
    pub given: Vec<f32>,
}

/// How a histogram algorithm gets the moving value of each fixed voxel: given, interpolated in single precision, or
/// interpolated by the texture unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Given,
    Exact,
    Filtered,
}

impl How {
    pub fn name(self) -> &'static str {
        match self {
            How::Given => "given",
            How::Exact => "sampled",
            How::Filtered => "texture filter",
        }
    }
}

impl Subject {
    /// Makes the data from two brain images. The transform rotates the moving image slightly about its centre of mass.
    pub fn brain(fixed: &Volume, moving: &Volume) -> Result<Subject, Error> {
        let turn = Rotation3::from_euler_angles(TURN[0], TURN[1], TURN[2]).into_inner();
        let centre = |volume: &Volume| volume.centre_of_mass().unwrap_or_else(|| volume.grid.centre()).coords;
        let world = AffineTransform { matrix: turn, translation: centre(moving) - turn * centre(fixed) };
        let map = moving.grid.world_to_voxel().after(&world.after(&fixed.grid.voxel_to_world()));
        Subject::new("brain", fixed.grid.shape, fixed.voxels.clone(), moving.grid.shape, moving.voxels.clone(), map)
    }

    /// Makes images of independent random values, uniform from 0 to 1.
    pub fn uniform(shape: Option<[usize; 3]>) -> Result<Subject, Error> {
        Subject::synthetic("uniform", shape, |noise, _| noise)
    }

    /// Makes two images that have one constant value each.
    pub fn degenerate(shape: Option<[usize; 3]>) -> Result<Subject, Error> {
        Subject::synthetic("degenerate", shape, |_, _| 0.6)
    }

    /// Makes images of random values, uniform except for a share of the voxels that are 0 in both images.
    pub fn with_share(shape: Option<[usize; 3]>, share: f64) -> Result<Subject, Error> {
        // Whether a voxel is 0 depends only on its position, so the same voxels are 0 in both images.
        Subject::synthetic("share", shape, |noise, place| if f64::from(place) < share { 0.0 } else { noise })
    }

    fn synthetic(
        name: &'static str,
        shape: Option<[usize; 3]>,
        value: impl Fn(f32, f32) -> f32,
    ) -> Result<Subject, Error> {
        let shape = shape.unwrap_or(SHAPE);
        let mut noise = [Noise(1), Noise(2)];
        let mut values = |side: usize| -> Vec<f32> {
            let mut place = Noise(3);
            (0..shape.iter().product::<usize>()).map(|_| value(noise[side].next(), place.next())).collect()
        };
        let (fixed, moving) = (values(0), values(1));
        let turn = Rotation3::from_euler_angles(TURN[0], TURN[1], TURN[2]).into_inner();
        let middle = nalgebra::Vector3::from_fn(|axis, _| (shape[axis] as f64 - 1.0) / 2.0);
        let map = AffineTransform { matrix: turn, translation: middle - turn * middle };
        let given = moving.clone();
        let mut subject = Subject::new(name, shape, fixed, shape, moving, map)?;
        // Interpolation would change the distribution of these random values, which must stay uniform. So the moving
        // values are given directly, one for each fixed voxel.
        subject.given = given;
        Ok(subject)
    }

    fn new(
        name: &'static str,
        shape: [usize; 3],
        fixed: Vec<f32>,
        moving_shape: [usize; 3],
        moving: Vec<f32>,
        fixed_to_moving: AffineTransform,
    ) -> Result<Subject, Error> {
        let fixed = FixedVolume::new(shape, fixed)?;
        let mut subject = Subject { name, fixed, moving_shape, moving, fixed_to_moving, given: Vec::new() };
        let voxels = shape.iter().product();
        subject.given = (0..voxels).into_par_iter().map(|voxel| subject.sample(voxel).value as f32).collect();
        Ok(subject)
    }

    /// The moving values, in the form in which the histogram algorithms take them. `edge` is the width, in voxels, of
    /// the zone at the border of the moving image in which the weights of samples rise from 0 to 1.
    pub fn values(&self, how: How, edge: f64) -> Values<'_> {
        match how {
            How::Given => Values::Given(&self.given),
            How::Exact | How::Filtered => Values::Sampled {
                shape: self.moving_shape,
                voxels: &self.moving,
                fixed_to_moving: self.fixed_to_moving,
                filtered: how == How::Filtered,
                edge_voxels: [edge; 3],
            },
        }
    }

    /// The moving image at the position of a fixed voxel, interpolated in double precision.
    pub fn sample(&self, voxel: usize) -> Sample {
        let [nx, ny, _] = self.fixed.shape();
        let at = [voxel % nx, voxel / nx % ny, voxel / nx / ny].map(|index| index as f64);
        self.sample_at(&self.fixed_to_moving.apply(&at.into()))
    }

    /// Interpolates the moving image at a point, in voxel coordinates of the moving image. The result is the value and
    /// the point's distance from the border of the image.
    pub fn sample_at(&self, place: &Point3<f64>) -> Sample {
        let last = self.moving_shape.map(|n| n as f64 - 1.0);
        let inside = (0..3).map(|axis| place[axis].min(last[axis] - place[axis])).fold(f64::INFINITY, f64::min);
        if inside < 0.0 {
            return Sample { inside, value: 0.0 };
        }
        let low: [usize; 3] = std::array::from_fn(|axis| place[axis] as usize);
        let mut value = 0.0;
        for corner in 0..8_usize {
            let step = [corner & 1, corner >> 1 & 1, corner >> 2];
            let share = |axis: usize| match (step[axis], place[axis] - low[axis] as f64) {
                (1, t) => t,
                (_, t) => 1.0 - t,
            };
            let [x, y, z] = std::array::from_fn(|axis| (low[axis] + step[axis]).min(self.moving_shape[axis] - 1));
            let neighbour = self.moving[(z * self.moving_shape[1] + y) * self.moving_shape[0] + x];
            value += share(0) * share(1) * share(2) * f64::from(neighbour);
        }
        Sample { inside, value }
    }
}

/// The interpolated moving image at the position of a fixed voxel.
pub struct Sample {
    /// Distance of the position from the nearest border of the moving image, voxels; negative outside the image.
    pub inside: f64,
    /// Interpolated value of the moving image at the position; 0 outside the image.
    pub value: f64,
}

/// Pseudo-random numbers; equal seeds give equal sequences on every machine.
struct Noise(u32);

impl Noise {
    /// The next pseudo-random number, from 0 to 1.
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as f32 / (1 << 24) as f32
    }
}
