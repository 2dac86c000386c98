//! Chooses the slices of an image that an HTML report page shows: seven in each plane, through the content of the
//! image, with isotropic pixels. The content is the box around the head or brain.

use antsreg_core::intensity::quantiles;
use antsreg_core::{Grid, Volume};
use nalgebra::{Matrix3, Point3, Vector3};

/// Number of slices of each plane.
const SLICES: usize = 7;
/// Distance of the outermost slices from the ends of the content (the box around the head or brain), as a share of the
/// content's extent.
const ENDS: f64 = 0.1;
/// Factor by which the pictures are larger than the content of the image (the box around the head or brain).
const MARGIN: f64 = 1.1;
/// Smallest and largest number of pixels along the longest side of a picture. Smooth outlines need many pixels; small
/// files need few.
const PIXELS: [f64; 2] = [112.0, 150.0];
/// Step along each axis between the voxels that are read to find the content of an image (the box around the head or
/// brain), voxels.
const STRIDE: usize = 2;
/// A plane of voxels belongs to the content of an image if it has enough foreground voxels: at least this share of the
/// largest number of foreground voxels in any plane.
const PLANE_SHARE: f64 = 0.03;
/// Intensity threshold between background and foreground, as a share of the distance from the dark to the bright
/// intensity.
const FOREGROUND: f32 = 0.2;
/// Quantiles of the voxel intensities that are used as the dark and the bright intensity.
const DARK_BRIGHT: (f64, f64) = (0.02, 0.98);

/// One plane (axial, coronal or sagittal) with the positions of its slices.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// Name of the plane, such as `axial`.
    pub name: &'static str,
    /// The sides of the body (such as `L` and `R`) at the left, right, upper and lower edge of the pictures.
    pub letters: [char; 4],
    /// Width and height of the pictures, pixels.
    pub size: [usize; 2],
    /// Each slice.
    pub slices: Vec<Slice>,
}

/// A slice.
#[derive(Debug, Clone, PartialEq)]
pub struct Slice {
    /// Grid of the pixels, one voxel thick. Its first axis runs to the right in the picture, its second axis down.
    pub grid: Grid,
    /// Position of the slice's middle: side of the body and distance from the world's origin, such as `S 12 mm`.
    pub place: String,
}

/// A plane (axial, coronal or sagittal) by its name, and the world axes that run across, down and through its pictures.
/// Each axis has a flag for the reverse direction.
type Plane = (&'static str, [(usize, bool); 3]);

/// The three planes in the radiological convention: the subject's right is on the left.
const PLANES: [Plane; 3] = [
    ("Axial", [(0, true), (1, true), (2, false)]),
    ("Coronal", [(0, true), (2, true), (1, false)]),
    ("Sagittal", [(1, true), (2, true), (0, false)]),
];

/// For each world axis, the letters of the sides of the body: the side to which the axis runs, and the side from which
/// it comes.
const SIDES: [[char; 2]; 3] = [['R', 'L'], ['A', 'P'], ['S', 'I']];

/// The views of an image: three planes for a volume, one for a slice. They cover the content, which is the region where
/// `mask` exceeds ½, or without a mask the bright region.
pub fn views(image: &Volume, mask: Option<&Volume>) -> Vec<View> {
    let grid = &image.grid;
    let bounds = match mask {
        Some(mask) => bounds(mask, 0.5),
        None => {
            let (low, high) = DARK_BRIGHT;
            let (dark, bright) = quantiles(&image.voxels, low, high).unwrap_or((0.0, 0.0));
            bounds(image, dark + FOREGROUND * (bright - dark))
        }
    };
    let axes = grid.nearest_axes();
    // The image's voxel axis that is closest to each world axis.
    let along = |world: usize| axes.iter().position(|(nearest, _)| *nearest == world).unwrap_or(world);
    let extent = |axis: usize| (bounds[axis][1] - bounds[axis][0] + 1.0) * grid.spacing[axis];
    let longest = (0..3).filter(|axis| grid.shape[*axis] > 1).map(extent).fold(f64::MIN_POSITIVE, f64::max) * MARGIN;
    let pixel = grid.spacing.min().clamp(longest / PIXELS[1], longest / PIXELS[0]);
    let direction = |(world, against): (usize, bool)| {
        let axis = along(world);
        grid.direction.column(axis) * if axes[axis].1 == against { 1.0 } else { -1.0 }
    };
    let flat: Vec<bool> = grid.shape.iter().map(|count| *count == 1).collect();
    let shown = |(_, [_, _, (through, _)]): &&Plane| !flat.contains(&true) || flat[along(*through)];
    let view = |&(name, [across, down, through]): &Plane| {
        let size = [across, down].map(|(world, _)| (extent(along(world)) * MARGIN / pixel).ceil().max(1.0) as usize);
        let directions = [across, down, through].map(direction);
        let axis = along(through.0);
        let slices = positions(bounds[axis]).into_iter().map(|position| {
            let mut middle =
                Point3::from(std::array::from_fn::<f64, 3, _>(|axis| 0.5 * (bounds[axis][0] + bounds[axis][1])));
            middle[axis] = position;
            let middle = grid.voxel_to_world().apply(&middle);
            let corner = |side: usize| directions[side] * (0.5 * pixel * (size[side] as f64 - 1.0));
            let slice = Grid {
                shape: [size[0], size[1], 1],
                spacing: Vector3::repeat(pixel),
                origin: middle - corner(0) - corner(1),
                direction: Matrix3::from_columns(&directions),
            };
            let height = middle[through.0].round();
            Slice {
                grid: slice,
                place: format!("{} {} mm", SIDES[through.0][usize::from(height < 0.0)], height.abs()),
            }
        });
        let [left_right, up_down] = [across, down].map(|(world, against)| {
            let [to, from] = SIDES[world];
            if against { [to, from] } else { [from, to] }
        });
        View { name, letters: [left_right[0], left_right[1], up_down[0], up_down[1]], size, slices: slices.collect() }
    };
    PLANES.iter().filter(shown).map(view).collect()
}

/// Evenly spaced positions of slices between the two ends of the image's content along an axis.
fn positions([first, last]: [f64; 2]) -> Vec<f64> {
    let inset = ENDS * (last - first);
    let (from, step) = (first + inset, (last - first - 2.0 * inset) / (SLICES - 1) as f64);
    let mut positions: Vec<f64> = (0..SLICES).map(|n| (from + step * n as f64).round()).collect();
    positions.dedup();
    positions
}

/// The first and the last voxel plane along each axis that contain content above a threshold. If there is no content,
/// the bounds are those of the whole image.
fn bounds(image: &Volume, threshold: f32) -> [[f64; 2]; 3] {
    let [nx, ny, nz] = image.grid.shape;
    let mut counts = image.grid.shape.map(|count| vec![0usize; count]);
    for k in (0..nz).step_by(STRIDE) {
        for j in (0..ny).step_by(STRIDE) {
            let row = &image.voxels[(k * ny + j) * nx..][..nx];
            for i in (0..nx).step_by(STRIDE).filter(|i| row[*i] > threshold) {
                [i, j, k].iter().zip(&mut counts).for_each(|(at, counts)| counts[*at] += 1);
            }
        }
    }
    std::array::from_fn(|axis| {
        let counts = &counts[axis];
        let full = counts.iter().copied().max().unwrap_or(0) as f64 * PLANE_SHARE;
        let holds = |count: &usize| *count as f64 > full;
        let (first, last) = (counts.iter().position(holds), counts.iter().rposition(holds));
        [first.unwrap_or(0) as f64, last.unwrap_or(counts.len() - 1) as f64]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A test image whose axes run to the left, front and top. The voxels 10 to 49 of 60, 20 to 69 of 80 and 4 to 15 of
    /// 20 along its axes are bright.
    fn block() -> Volume {
        let grid = Grid {
            direction: Matrix3::from_diagonal(&Vector3::new(-1.0, 1.0, 1.0)),
            ..Grid::axis_aligned([60, 80, 20], [1.0, 1.0, 3.0])
        };
        let mut image = Volume::filled(grid, 1.0);
        for (n, voxel) in image.voxels.iter_mut().enumerate() {
            let (i, j, k) = (n % 60, n / 60 % 80, n / 4800);
            if (10..50).contains(&i) && (20..70).contains(&j) && (4..16).contains(&k) {
                *voxel = 100.0;
            }
        }
        image
    }

    #[test]
    fn slices_go_through_what_is_bright_as_radiologists_look() {
        let image = block();
        let views = views(&image, None);
        assert_eq!(views.iter().map(|view| view.name).collect::<Vec<_>>(), ["Axial", "Coronal", "Sagittal"]);
        let letters: Vec<String> = views.iter().map(|view| view.letters.iter().collect()).collect();
        assert_eq!(letters, ["RLAP", "RLSI", "APSI"]);
        for view in &views {
            assert_eq!(view.slices.len(), SLICES);
            for Slice { grid, .. } in &view.slices {
                let middle = image.grid.world_to_voxel().apply(&grid.centre());
                for (axis, (first, last)) in [(10.0, 49.0), (20.0, 69.0), (4.0, 15.0)].into_iter().enumerate() {
                    assert!((first - 1.0..=last + 1.0).contains(&middle[axis]), "{} {middle}", view.name);
                }
            }
        }
        // In an axial picture, the right side is the subject's left, and the lower side is the subject's back.
        let axial = &views[0].slices[0].grid;
        assert_eq!(axial.direction.column(0), Vector3::new(-1.0, 0.0, 0.0));
        assert_eq!(axial.direction.column(1), Vector3::new(0.0, -1.0, 0.0));
        assert_eq!(axial.spacing[0], axial.spacing[1]);
        assert!(views[0].slices[6].place.starts_with("S "), "{}", views[0].slices[6].place);
    }

    #[test]
    fn the_mask_tells_the_content() {
        let image = block();
        let mut mask = Volume::filled(image.grid.clone(), 0.0);
        for k in 2..6 {
            for j in 30..40 {
                mask.voxels[(k * 80 + j) * 60 + 20..][..10].fill(1.0);
            }
        }
        let views = views(&image, Some(&mask));
        let middle = image.grid.world_to_voxel().apply(&views[0].slices[1].grid.centre());
        assert!(
            (20.0..30.0).contains(&middle.x) && (30.0..40.0).contains(&middle.y) && (2.0..6.0).contains(&middle.z)
        );
    }

    #[test]
    fn a_slice_has_one_view_and_an_empty_image_is_shown_whole() {
        let flat = Volume::filled(Grid::axis_aligned([30, 20, 1], [2.0, 2.0, 5.0]), 0.0);
        let views = views(&flat, None);
        assert_eq!((views.len(), views[0].name, views[0].slices.len()), (1, "Axial", 1));
        let grid = &views[0].slices[0].grid;
        assert!((grid.centre() - flat.grid.centre()).norm() < 1.0 + 1e-9);
        assert!(grid.shape[0] as f64 * grid.spacing[0] >= 60.0);
    }
}
