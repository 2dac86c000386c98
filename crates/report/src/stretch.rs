//! Maps of Jacobian determinants, in colours that colour-blind readers can distinguish.

use crate::lattice::{Warped, coarse};
use crate::picture::Indexed;
use crate::views::Slice;

/// Jacobian determinant that is drawn in the strongest colour of expansion. The strongest colour of compression stands
/// for one divided by this number. More extreme determinants have these colours, too.
pub const FACTOR: f64 = 2.0;
/// Number of colours for determinants above 1 (expansion), and number of colours for determinants below 1
/// (compression), in the map of Jacobian determinants.
const STEPS: usize = 16;
/// Colours from compression to expansion, light in the middle (purple to orange, after ColorBrewer's PuOr).
pub const COLOURS: [[u8; 3]; 5] = [[84, 39, 136], [153, 142, 195], [247, 247, 247], [241, 163, 64], [179, 88, 6]];
/// Colour of voxels where a warp folds.
pub const FOLDED: [u8; 3] = [0, 0, 0];

/// Draws a map of the Jacobian determinants on a slice. The colour depends on the logarithm of the determinant.
pub fn map(warped: &Warped, slice: &Slice) -> Indexed {
    let number = |determinant: f64| match determinant {
        folded if folded.is_nan() || folded <= 0.0 => 2 * STEPS + 1,
        positive => {
            let share = (positive.ln() / FACTOR.ln()).clamp(-1.0, 1.0);
            ((share + 1.0) * STEPS as f64).round() as usize
        }
    };
    let pixels = warped.determinants.iter().map(|value| number(*value) as u8).collect();
    Indexed { size: coarse(slice.grid.shape), pixels, palette: palette() }
}

/// The palette of a map of Jacobian determinants: the colours from compression to expansion, then the colour of folds.
fn palette() -> Vec<[u8; 3]> {
    let colour = |n: usize| {
        let place = n as f64 / (2 * STEPS) as f64 * (COLOURS.len() - 1) as f64;
        let below = (place as usize).min(COLOURS.len() - 2);
        let share = place - below as f64;
        std::array::from_fn(|c| {
            let [from, to] = [COLOURS[below][c], COLOURS[below + 1][c]].map(f64::from);
            (from + share * (to - from)).round() as u8
        })
    };
    (0..=2 * STEPS).map(colour).chain([FOLDED]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_from_compressed_through_light_to_stretched() {
        let palette = palette();
        assert_eq!([palette[0], palette[STEPS], palette[2 * STEPS]], [COLOURS[0], COLOURS[2], COLOURS[4]]);
        assert_eq!(palette.last(), Some(&FOLDED));
    }
}
