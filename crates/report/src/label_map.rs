//! Draws label maps in colours, as transparent pictures over an image.

use antsreg_core::{LabelVolume, TransformChain};
use antsreg_kernels::apply::{LabelInterpolation, resample_labels};

use crate::picture::Indexed;
use crate::views::Slice;

/// Colours of labels, used cyclically, distinct to colour-blind readers (after Okabe and Ito, and Tol). Background comes first.
const COLOURS: [[u8; 3]; 12] = [
    [0, 0, 0],
    [230, 159, 0],
    [86, 180, 233],
    [0, 158, 115],
    [240, 228, 66],
    [0, 114, 178],
    [213, 94, 0],
    [204, 121, 167],
    [153, 221, 255],
    [170, 170, 0],
    [255, 170, 187],
    [136, 204, 170],
];

/// The labels of an image on a slice, as a picture in colours. Each pixel is mapped by a sequence of transforms
/// (`chain`) to a point of the label map.
pub fn map(
    labels: &LabelVolume,
    slice: &Slice,
    chain: &TransformChain,
    interpolation: LabelInterpolation,
) -> Indexed {
    let map = resample_labels(labels, &slice.grid, chain, interpolation);
    let [width, height, _] = slice.grid.shape;
    let colours = COLOURS.len() - 1;
    let number = |label: &i32| match *label {
        0 => 0,
        label => (label.unsigned_abs() as usize - 1) % colours + 1,
    };
    let pixels = map.voxels.iter().map(|label| number(label) as u8).collect();
    Indexed { size: [width, height], pixels, palette: COLOURS.to_vec() }
}
