//! A picture of the middle slices of a volume: axial, coronal and sagittal, side by side.

use antsreg_core::Volume;
use antsreg_core::intensity::quantiles;
use base64::Engine;
use ndarray::{Axis, ShapeError};

use super::Error;
use crate::geometry;

/// Share of the voxels that are at or below the value drawn white.
const WHITE_SHARE: f64 = 0.998;

/// For each view, the world axis to the right, the world axis upwards, and the axis across the slice. The subject's
/// right is on the right; front or top is up.
const VIEWS: [[usize; 3]; 3] = [[0, 1, 2], [0, 2, 1], [1, 2, 0]];

/// A grey picture.
struct Picture {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

/// The three middle slices as a PNG in a `data:` address.
///
/// # Errors
/// A volume with fewer voxels than its grid.
pub fn data_address(volume: &Volume) -> Result<String, Error> {
    let white = quantiles(&volume.voxels, 0.0, WHITE_SHARE).map_or(1.0, |(_, high)| high.max(f32::MIN_POSITIVE));
    let views = VIEWS.map(|axes| view(volume, axes, white)).into_iter().collect::<Result<Vec<_>, _>>();
    let views = views.map_err(|error| Error::Drawing(error.to_string()))?;
    let (width, height) = (views.iter().map(|view| view.width).sum(), views.iter().map(|view| view.height).max());
    let mut whole = Picture { width, height: height.unwrap_or(0), pixels: Vec::new() };
    whole.pixels.resize(whole.width * whole.height, 0);
    let mut from = 0;
    for view in &views {
        for row in 0..view.height {
            let at = row * whole.width + from;
            whole.pixels[at..at + view.width].copy_from_slice(&view.pixels[row * view.width..][..view.width]);
        }
        from += view.width;
    }
    let png = encode(&whole).map_err(|error| Error::Drawing(error.to_string()))?;
    Ok(format!("data:image/png;base64,{}", base64::engine::general_purpose::STANDARD.encode(png)))
}

fn encode(picture: &Picture) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, picture.width as u32, picture.height as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(&picture.pixels)?;
    Ok(bytes)
}

/// One middle slice. A pixel has the smallest spacing as its size, and the value of the nearest voxel.
fn view(volume: &Volume, axes: [usize; 3], white: f32) -> Result<Picture, ShapeError> {
    let grid = &volume.grid;
    // For each world axis: the voxel axis along it, and whether that axis has the opposite direction.
    let letters: Vec<char> = geometry::orientation(grid).chars().collect();
    let along = axes.map(|world| {
        let [positive, negative] = [['R', 'L'], ['A', 'P'], ['S', 'I']][world];
        let axis = letters.iter().position(|letter| *letter == positive || *letter == negative).unwrap_or(world);
        (axis, letters.get(axis) == Some(&negative))
    });
    let [right, up, cut] = along.map(|(axis, _)| axis);
    let mut slice = volume.view()?.permuted_axes([right, up, cut]).index_axis_move(Axis(2), grid.shape[cut] / 2);
    // Rows of a picture go downwards.
    for (axis, turned) in [(Axis(0), along[0].1), (Axis(1), !along[1].1)] {
        if turned {
            slice.invert_axis(axis);
        }
    }
    let pixels = |axis: usize| (grid.shape[axis] as f64 * grid.spacing[axis] / grid.spacing.min()).round() as usize;
    let (width, height) = (pixels(right).max(1), pixels(up).max(1));
    let nearest =
        |pixel: usize, axis: usize, pixels: usize| (2 * pixel + 1) * slice.len_of(Axis(axis)) / (2 * pixels);
    let mut picture = Picture { width, height, pixels: Vec::with_capacity(width * height) };
    for row in 0..height {
        for column in 0..width {
            let value = slice[[nearest(column, 0, width), nearest(row, 1, height)]];
            picture.pixels.push((255.0 * (value / white).clamp(0.0, 1.0)) as u8);
        }
    }
    Ok(picture)
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;
    use nalgebra::{Matrix3, Vector3};

    use super::*;

    #[test]
    fn right_is_right_and_up_is_front_whatever_the_voxels_order() {
        // Axes towards the left, the front and the top.
        let grid = Grid {
            direction: Matrix3::from_diagonal(&Vector3::new(-1.0, 1.0, 1.0)),
            ..Grid::axis_aligned([4, 3, 2], [1.0, 2.0, 1.0])
        };
        let mut volume = Volume::filled(grid, 0.0);
        // The leftmost and frontmost voxel of the middle slice.
        volume.voxels[(4 * 3 + 4 * 2) + 3] = 1.0;
        let axial = view(&volume, VIEWS[0], 1.0).expect("as many voxels as the grid has");
        assert_eq!((axial.width, axial.height), (4, 6));
        let lit: Vec<usize> = (0..24).filter(|&n| axial.pixels[n] == 255).collect();
        assert_eq!(lit, [0, 4], "the first column of the two uppermost rows");
        let address = data_address(&volume).expect("a picture");
        assert!(address.starts_with("data:image/png;base64,iVBORw0KGgo"));
    }
}
