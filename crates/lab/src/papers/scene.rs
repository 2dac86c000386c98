//! The images of the measurements: those given, or a synthetic brain of three contrasts.

use antsreg_core::{AffineTransform, Grid, LabelVolume, TransformChain, Volume};
use antsreg_kernels::apply::{Interpolation, LabelInterpolation, resample, resample_labels};
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};
use rayon::prelude::*;

/// The images of all measurements.
pub struct Scene {
    /// What the images are.
    pub name: String,
    /// Pairs of a fixed and a moving image, from few voxels to many. The last pair has the full resolution.
    pub pairs: Vec<[Volume; 2]>,
    /// Label maps of the fixed and of the moving image of the last pair.
    pub labels: Option<[LabelVolume; 2]>,
    /// Images of one head in several contrasts, with their names, on one grid.
    pub contrasts: Vec<(String, Volume)>,
}

/// Names of the contrasts, in the order in which their images are given.
pub const CONTRASTS: [&str; 3] = ["T1", "T2", "PD"];

/// Factors of the voxel size of the pairs, coarsest first.
const COARSER: [f64; 3] = [2.0, 1.5, 1.0];

impl Scene {
    /// The images that were given, on voxels of at least `mm`.
    pub fn given(
        [fixed, moving]: [Volume; 2],
        labels: Option<[LabelVolume; 2]>,
        contrasts: Vec<Volume>,
        mm: f64,
    ) -> Scene {
        let labels = labels.map(|both| {
            both.map(|labels| {
                let onto = at_least(&labels.grid, mm);
                resample_labels(&labels, &onto, &TransformChain::default(), LabelInterpolation::Nearest)
            })
        });
        let of = |image: &Volume, mm| on(image, &at_least(&image.grid, mm));
        let finest = fixed.grid.spacing.min().max(mm);
        let pairs = COARSER.map(|factor| [&fixed, &moving].map(|image| of(image, factor * finest)));
        let contrasts = CONTRASTS.iter().zip(&contrasts).map(|(name, image)| ((*name).to_owned(), of(image, mm)));
        let mut scene = Scene {
            name: "the images that were given".into(),
            pairs: pairs.into(),
            labels,
            contrasts: contrasts.collect(),
        };
        if scene.contrasts.len() < 2 {
            scene.contrasts = Scene::synthetic(mm).contrasts;
            scene.name += "; a synthetic brain for other contrasts than T1";
        }
        scene
    }

    /// A synthetic brain and a moved, deformed one, on voxels of `mm`.
    pub fn synthetic(mm: f64) -> Scene {
        let still = Head { to_head: AffineTransform::identity(), warp_mm: 0.0 };
        let turned = AffineTransform {
            matrix: Rotation3::from_euler_angles(0.08, -0.05, 0.1)
                * Matrix3::from_diagonal(&Vector3::new(1.04, 0.97, 1.02)),
            translation: Vector3::new(4.0, -6.0, 5.0),
        };
        let other = Head { to_head: turned, warp_mm: 3.5 };
        let pairs = COARSER.map(|factor| {
            let grid = head_grid(factor * mm);
            [still.image(&grid, 0), other.image(&grid, 0)]
        });
        let grid = head_grid(mm);
        Scene {
            name: "a synthetic brain".into(),
            pairs: pairs.into(),
            labels: Some([still.labels(&grid), other.labels(&grid)]),
            contrasts: (0..3).map(|n| (CONTRASTS[n].to_owned(), still.image(&grid, n))).collect(),
        }
    }

    /// The fixed and the moving image at full resolution.
    pub fn pair(&self) -> &[Volume; 2] {
        &self.pairs[self.pairs.len() - 1]
    }
}

/// An image on another grid, trilinearly.
pub fn on(image: &Volume, grid: &Grid) -> Volume {
    if *grid == image.grid {
        return image.clone();
    }
    resample(image, grid, &TransformChain::default(), Interpolation::Linear, 0.0)
}

/// The grid with voxels of at least `mm` along each axis.
fn at_least(grid: &Grid, mm: f64) -> Grid {
    if grid.spacing.iter().all(|spacing| *spacing >= 0.999 * mm) {
        return grid.clone();
    }
    let mut coarse = grid.clone();
    for axis in 0..3 {
        let spacing = grid.spacing[axis].max(mm);
        coarse.shape[axis] = ((grid.shape[axis] as f64 * grid.spacing[axis] / spacing) as usize).max(1);
        coarse.spacing[axis] = spacing;
    }
    coarse
}

/// A grid around the synthetic brain.
fn head_grid(mm: f64) -> Grid {
    let half = [72.0, 88.0, 66.0];
    let mut grid = Grid::axis_aligned(half.map(|half| (2.0 * half / mm).ceil() as usize), [mm; 3]);
    grid.origin = Point3::from(Vector3::from_fn(|axis, _| -0.5 * mm * (grid.shape[axis] as f64 - 1.0)));
    grid
}

/// A synthetic brain: an asymmetric ellipsoid of four tissues with folds.
struct Head {
    /// Affine map from world points to the brain's own coordinates, mm.
    to_head: AffineTransform,
    /// Amplitude of a smooth warp, mm.
    warp_mm: f64,
}

/// Intensities of cerebrospinal fluid, grey matter and white matter in each contrast.
const INTENSITIES: [[f32; 3]; 3] = [[250.0, 620.0, 900.0], [980.0, 560.0, 380.0], [820.0, 900.0, 700.0]];

impl Head {
    fn own(&self, world: &Point3<f64>) -> Point3<f64> {
        let p = self.to_head.apply(world);
        let wave = |a: f64, b: f64| self.warp_mm * (a / 21.0).sin() * (b / 25.0).cos();
        Point3::new(p.x + wave(p.y, p.z), p.y + wave(p.z, p.x), p.z + wave(p.x, p.y))
    }

    /// The tissue at a point in the brain's own coordinates: 0 for none, 1 for fluid, 2 for grey and 3 for white matter.
    fn tissue(p: &Point3<f64>) -> usize {
        let narrower = 1.0 - 0.25 * (p.y / 78.0).clamp(-1.0, 1.0);
        let axes = [62.0 * narrower, 78.0, 56.0 * if p.z < 0.0 { 0.6 } else { 1.0 }];
        let radius = (0..3).map(|axis| (p[axis] / axes[axis]).powi(2)).sum::<f64>().sqrt();
        let folds = (p.x / 5.5).sin() * (p.y / 6.5 + 0.7).cos() * (p.z / 6.0 + 0.3).sin();
        let nearer = |x: f64, y: f64, z: f64, r: f64| (p - Point3::new(x, y, z)).norm_squared() < r * r;
        match radius + 0.07 * folds {
            _ if radius > 1.0 => 0,
            r if r > 0.94 => 1,
            r if r > 0.78 => 2,
            _ if nearer(4.0, 6.0, 5.0, 14.0) => 1,
            _ if nearer(22.0, -4.0, 2.0, 10.0) || nearer(-20.0, 8.0, 4.0, 11.0) => 2,
            _ => 3,
        }
    }

    /// The image in a contrast. A voxel is the mean of eight points, as a scanner would average.
    fn image(&self, grid: &Grid, contrast: usize) -> Volume {
        let at = |world: Point3<f64>| {
            let p = self.own(&world);
            match Head::tissue(&p) {
                0 => 0.0,
                tissue => {
                    INTENSITIES[contrast][tissue - 1] * (1.0 + 0.06 * (p.x / 17.0).sin() * (p.y / 19.0).cos()) as f32
                }
            }
        };
        let part =
            |n: usize| Vector3::from_fn(|axis, _| if n >> axis & 1 == 0 { -0.25 } else { 0.25 } * grid.spacing[axis]);
        let mean = |world: Point3<f64>| (0..8).map(|n| at(world + part(n))).sum::<f32>() / 8.0;
        Volume { voxels: (0..grid.len()).into_par_iter().map(|n| mean(world(grid, n))).collect(), grid: grid.clone() }
    }

    /// Labels: the tissue and the octant.
    fn labels(&self, grid: &Grid) -> LabelVolume {
        let label = |n: usize| {
            let p = self.own(&world(grid, n));
            match Head::tissue(&p) as i32 {
                0 => 0,
                tissue => 10 * tissue + i32::from(p.x > 3.0) + 2 * i32::from(p.y > -5.0) + 4 * i32::from(p.z > 4.0),
            }
        };
        LabelVolume { voxels: (0..grid.len()).into_par_iter().map(label).collect(), grid: grid.clone() }
    }
}

/// World position of a voxel of a grid.
fn world(grid: &Grid, n: usize) -> Point3<f64> {
    let [nx, ny, _] = grid.shape;
    grid.voxel_to_world().apply(&Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / nx / ny) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_images_are_made_coarser_but_never_finer() {
        let Scene { pairs, labels, contrasts, .. } = Scene::synthetic(6.0);
        let [fixed, moving] = pairs.into_iter().next_back().expect("a pair");
        let finer = Scene::given([fixed.clone(), moving.clone()], labels.clone(), Vec::new(), 1.0);
        assert_eq!(finer.pair()[0], fixed);
        assert_eq!(finer.contrasts.len(), 3);
        let contrasts = contrasts.into_iter().map(|(_, image)| image).collect();
        let coarser = Scene::given([fixed, moving], labels, contrasts, 12.0);
        assert_eq!(coarser.pair()[1].grid.spacing, Vector3::repeat(12.0));
        assert_eq!(coarser.labels.expect("labels")[0].grid, coarser.pairs.last().expect("a pair")[0].grid);
        assert!(coarser.contrasts[0].1.voxels.iter().any(|value| *value > 100.0));
    }
}
