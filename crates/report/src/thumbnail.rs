//! A small picture of a registered image: the middle slice of each plane, with the outline of the reference image.

use antsreg_core::Volume;

use crate::Error;
use crate::picture::Indexed;
use crate::slices::Slices;

/// Length of the longest side of a slice in the small picture of a registered image, pixels.
const SIDE: usize = 76;
/// Colour (red, green, blue) of the reference image's outline in the small picture.
const OUTLINE: [u8; 3] = [255, 176, 0];

/// Draws the small picture of an image for tables, as a `data:` address. `outline` is another image on the same slices
/// with a threshold. The outline of its region above the threshold is drawn on the picture.
pub fn address(slices: &Slices, outline: Option<(&Slices, f32)>) -> Result<String, Error> {
    let pictures = slices.views.iter().enumerate().map(|(n, view)| {
        let middle = view.len() / 2;
        let small = shrunken(&view[middle]);
        let mut picture = Indexed::grey(&small, slices.range);
        picture.palette.push(OUTLINE);
        let colour = (picture.palette.len() - 1) as u8;
        if let Some((of, threshold)) = outline {
            let edge = edge(&shrunken(&of.views[n][middle]), threshold);
            picture.pixels.iter_mut().zip(edge).filter(|(_, edge)| *edge).for_each(|(pixel, _)| *pixel = colour);
        }
        picture
    });
    Indexed::beside(&pictures.collect::<Vec<_>>()).address()
}

/// A slice reduced by averaging squares of pixels.
fn shrunken(slice: &Volume) -> Volume {
    let [width, height, _] = slice.grid.shape;
    let factor = width.max(height).div_ceil(SIDE);
    let grid = slice.grid.shrink([factor, factor, 1]);
    let [across, down, _] = grid.shape;
    let mean = |n: usize| {
        let (x, y) = (n % across * factor, n / across * factor);
        let (right, below) = ((x + factor).min(width), (y + factor).min(height));
        let sum: f32 = (y..below).flat_map(|row| &slice.voxels[row * width + x..row * width + right]).sum();
        sum / ((right - x) * (below - y)) as f32
    };
    Volume { voxels: (0..across * down).map(mean).collect(), grid }
}

/// For each pixel of a slice, whether the pixel is on the inner side of an outline: its value is above the threshold,
/// and the value of a neighbouring pixel is not.
fn edge(slice: &Volume, threshold: f32) -> Vec<bool> {
    let [width, height, _] = slice.grid.shape;
    let bright = |x: usize, y: usize| slice.voxels[y * width + x] > threshold;
    let at = |n: usize| {
        let (x, y) = (n % width, n / width);
        let inner = x > 0 && y > 0 && x + 1 < width && y + 1 < height;
        bright(x, y) && inner && !(bright(x - 1, y) && bright(x + 1, y) && bright(x, y - 1) && bright(x, y + 1))
    };
    (0..width * height).map(at).collect()
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    #[test]
    fn the_edge_is_where_bright_meets_dark() {
        let mut slice = Volume::filled(Grid::axis_aligned([5, 5, 1], [1.0; 3]), 0.0);
        for n in [6, 7, 8, 11, 12, 13, 16, 17, 18] {
            slice.voxels[n] = 1.0;
        }
        let lit: Vec<usize> = edge(&slice, 0.5).iter().enumerate().filter(|(_, lit)| **lit).map(|(n, _)| n).collect();
        assert_eq!(lit, [6, 7, 8, 11, 13, 16, 17, 18]);
    }

    #[test]
    fn small_pictures_are_means() {
        let mut slice = Volume::filled(Grid::axis_aligned([2 * SIDE, 2, 1], [1.0; 3]), 0.0);
        slice.voxels[..2].copy_from_slice(&[4.0, 8.0]);
        let small = shrunken(&slice);
        assert_eq!((small.grid.shape, small.voxels[0], small.voxels[1]), ([SIDE, 1, 1], 3.0, 0.0));
    }
}
