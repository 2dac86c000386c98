//! Contour lines (lines of equal value) on slices, as SVG paths in pixels.

use std::fmt::Write;

use antsreg_core::Volume;
use contour::ContourBuilder;

use crate::Error;

/// An outline with fewer points than this is not drawn.
const SPECK: usize = 16;
/// Largest number of points in the outlines of one slice. The limit keeps pages small: outlines in a noisy image would
/// have many more points.
const MOST_POINTS: usize = 1500;

/// A point, pixels; the middle of the first pixel is at (½, ½).
type Point = [f64; 2];

/// The outline of the region of a slice that is brighter than a threshold, as an SVG path. The slice is smoothed over
/// neighbouring pixels before.
pub fn outline(slice: &Volume, threshold: f32) -> Result<String, Error> {
    let size = [slice.grid.shape[0], slice.grid.shape[1]];
    let mut lines = level_lines(&smoothed(&slice.voxels, size), size, &[f64::from(threshold)])?;
    lines.sort_by_key(|line| std::cmp::Reverse(line.len()));
    let mut points = 0;
    lines.retain(|line| {
        points += line.len();
        line.len() >= SPECK && points <= MOST_POINTS
    });
    Ok(path(&lines, 1.0))
}

/// Contour lines at the given values on a grid of pixels, without the parts along the edge of the grid.
pub fn level_lines(
    values: &[f64],
    [width, height]: [usize; 2],
    thresholds: &[f64],
) -> Result<Vec<Vec<Point>>, Error> {
    let mut pieces = Vec::new();
    for level in ContourBuilder::new(width, height, true).lines(values, thresholds)? {
        for line in &level.geometry().0 {
            // An outline that meets the edge of the slice runs along this edge to close itself. Its points at the edge
            // are left out, so that the edge is not drawn.
            let at_edge = |point: &Point| {
                let [x, y] = *point;
                x < 0.5 || y < 0.5 || x > width as f64 - 0.5 || y > height as f64 - 0.5
            };
            let points: Vec<Point> = line.0.iter().map(|point| [point.x, point.y]).collect();
            let inner = points.split(at_edge).filter(|piece| piece.len() > 1).map(<[Point]>::to_vec);
            pieces.extend(inner);
        }
    }
    Ok(pieces)
}

/// Writes lines as an SVG path. Coordinates times `unit` give pixels; the path stores them as integers, in tenths of a
/// pixel.
pub fn path(lines: &[Vec<Point>], unit: f64) -> String {
    let mut path = String::new();
    for line in lines {
        let mut at = [0i64; 2];
        for (n, point) in line.iter().enumerate() {
            let to = point.map(|x| (x * unit * 10.0).round() as i64);
            // Writing to a String cannot fail.
            let _ = match n {
                0 => write!(path, "M{} {}l", to[0], to[1]),
                _ => write!(path, "{}{}", spaced(to[0] - at[0]), spaced(to[1] - at[1])),
            };
            at = to;
        }
    }
    path
}

/// Formats a number that follows another number in an SVG path. A space separates the two numbers; before a negative
/// number, its minus sign is enough.
fn spaced(number: i64) -> String {
    if number < 0 { number.to_string() } else { format!(" {number}") }
}

/// Smooths a slice: each pixel becomes the mean of three by three pixels, or of those of them that are inside the
/// slice.
fn smoothed(values: &[f32], [width, height]: [usize; 2]) -> Vec<f64> {
    let mean = |x: usize, y: usize| {
        let (rows, columns) = (y.saturating_sub(1)..(y + 2).min(height), x.saturating_sub(1)..(x + 2).min(width));
        let count = (rows.len() * columns.len()) as f64;
        rows.flat_map(|row| &values[row * width..][columns.clone()]).map(|value| f64::from(*value)).sum::<f64>()
            / count
    };
    (0..height).flat_map(|y| (0..width).map(move |x| mean(x, y))).collect()
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    #[test]
    fn the_outline_of_a_disc_is_a_circle() {
        let (size, radius) = (40, 12.0);
        let distance = |n: usize| ((n % size) as f64 - 19.5).hypot((n / size) as f64 - 19.5);
        let values: Vec<f64> = (0..size * size).map(|n| radius - distance(n)).collect();
        let lines = level_lines(&values, [size, size], &[0.0]).expect("lines");
        assert_eq!(lines.len(), 1);
        assert!(lines[0].iter().all(|[x, y]| ((x - 20.0).hypot(y - 20.0) - radius).abs() < 0.05));
    }

    #[test]
    fn specks_and_the_edge_have_no_outline() {
        let mut slice = Volume::filled(Grid::axis_aligned([20, 20, 1], [1.0; 3]), 0.0);
        slice.voxels[5 * 20 + 5] = 9.0;
        assert_eq!(outline(&slice, 0.5).expect("an outline"), "");
        slice.voxels.fill(1.0);
        assert_eq!(outline(&slice, 0.5).expect("an outline"), "");
        slice.voxels[8 * 20..].fill(0.0);
        assert!(outline(&slice, 0.5).expect("an outline").starts_with('M'));
    }

    #[test]
    fn noise_does_not_make_a_page_grow() {
        let mut slice = Volume::filled(Grid::axis_aligned([200, 200, 1], [1.0; 3]), 0.0);
        for (n, voxel) in slice.voxels.iter_mut().enumerate() {
            *voxel = (n.wrapping_mul(2654435761) % 1000) as f32;
        }
        assert!(outline(&slice, 500.0).expect("an outline").len() < 8 * MOST_POINTS);
    }

    #[test]
    fn paths_are_in_tenths_and_relative() {
        assert_eq!(path(&[vec![[1.0, 2.0], [0.5, 2.3]]], 1.0), "M10 20l-5 3");
    }
}
