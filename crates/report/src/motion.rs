//! The HTML report page about a motion correction: pictures of mean images, curves, and the carpet plot of the
//! corrected series.

use antsreg_core::{Grid, Volume};
use askama::Template;

use crate::picture::Indexed;
use crate::{Chart, Error, Facts, Page};

/// Largest number of rows and of columns of a carpet plot, pixels.
const ROWS: usize = 300;
const COLUMNS: usize = 1200;
/// Range of the grey scale of a carpet plot, in standard deviations above and below the mean.
const DEVIATIONS: f32 = 2.0;

/// The contents of an HTML report page about a motion correction.
#[derive(Debug, Clone, Copy)]
pub struct MotionPage<'a> {
    /// Title, command line, numbers, warnings and other texts of the HTML report page.
    pub facts: &'a Facts,
    /// Pictures of images, each with its title, its note, and the picture as a `data:` address.
    pub pictures: &'a [[String; 3]],
    /// The charts.
    pub charts: &'a [Chart],
    /// The carpet plot, as a `data:` address.
    pub carpet: &'a str,
}

/// Data with which the HTML template of the report page is filled in.
#[derive(Template)]
#[template(path = "motion.html")]
struct Contents<'a> {
    facts: &'a Facts,
    pictures: &'a [[String; 3]],
    charts: &'a [Chart],
    carpet: &'a str,
}

/// Makes the HTML report page of a motion correction.
///
/// # Errors
/// An HTML template that cannot be filled in.
pub fn motion_page(page: &MotionPage) -> Result<Page, Error> {
    let MotionPage { facts, pictures, charts, carpet } = *page;
    Ok(Page { html: Contents { facts, pictures, charts, carpet }.render()? })
}

/// Draws the carpet plot (Power 2017, NeuroImage 154:150): intensities of voxels (rows) over time (columns), as a
/// picture in a `data:` address. `courses` has the intensities of each voxel over time, all of the same length. Each
/// voxel is standardised to mean 0 and standard deviation 1. If there are many voxels, adjacent voxels share a row.
///
/// # Errors
/// A picture that cannot be drawn.
pub fn carpet(courses: &[Vec<f32>]) -> Result<String, Error> {
    let volumes = courses.first().map_or(1, Vec::len).max(1);
    let (rows, columns) = (courses.len().clamp(1, ROWS), volumes.min(COLUMNS));
    let mut sums = vec![0.0f32; rows * columns];
    let mut counts = vec![0.0f32; rows * columns];
    for (voxel, course) in courses.iter().enumerate() {
        let row = voxel * rows / courses.len();
        for (volume, value) in standardised(course).enumerate() {
            let at = row * columns + volume * columns / volumes;
            sums[at] += value;
            counts[at] += 1.0;
        }
    }
    let voxels = sums.iter().zip(&counts).map(|(sum, count)| sum / count.max(1.0)).collect();
    let picture = Volume { grid: Grid::axis_aligned([columns, rows, 1], [1.0; 3]), voxels };
    Indexed::grey(&picture, (-DEVIATIONS, DEVIATIONS)).address()
}

/// Standardises the intensities of a voxel over time to mean 0 and standard deviation 1. The result is zero if all
/// intensities are equal.
fn standardised(course: &[f32]) -> impl Iterator<Item = f32> {
    let count = course.len().max(1) as f32;
    let mean = course.iter().sum::<f32>() / count;
    let variance = course.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / count;
    let scale = if variance > 0.0 { 1.0 / variance.sqrt() } else { 0.0 };
    course.iter().map(move |value| (value - mean) * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_is_standardised_and_a_constant_one_is_zero() {
        let found: Vec<f32> = standardised(&[1.0, 3.0, 1.0, 3.0]).collect();
        assert_eq!(found, [-1.0, 1.0, -1.0, 1.0]);
        assert!(standardised(&[5.0; 3]).all(|value| value == 0.0));
    }

    #[test]
    fn carpets_of_any_size_are_pictures_of_bounded_size() {
        for (voxels, volumes) in [(0, 0), (1, 1), (7, 5), (1000, 3000)] {
            let courses: Vec<Vec<f32>> =
                (0..voxels).map(|n| (0..volumes).map(|t| ((n * 31 + t * 17) % 23) as f32).collect()).collect();
            let address = carpet(&courses).expect("a picture");
            assert!(address.starts_with("data:image/png;base64,") && address.len() < 700_000, "{}", address.len());
        }
    }
}
