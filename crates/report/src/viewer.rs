//! Pictures that compare an image with a reference, slice by slice: before and after registration, outlines, Jacobian
//! determinants and the deformed grid.

use antsreg_core::{DisplacementField, LabelVolume, TransformChain, Volume};
use antsreg_kernels::apply::{Interpolation, LabelInterpolation};
use rayon::prelude::*;

use crate::lattice::{Warped, line_distance};
use crate::reference::{Reference, greys, outlines};
use crate::slices::Slices;
use crate::views::Slice;
use crate::{Error, label_map, stretch, thumbnail};

/// An image that is compared with a reference.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    /// The image.
    pub image: &'a Volume,
    /// Transform before registration, from points of the reference to points of the image; `None` if the image before
    /// registration is not shown.
    pub before: Option<&'a TransformChain>,
    /// Transform after registration, from points of the reference to points of the image.
    pub after: &'a TransformChain,
    /// The warp among the transforms after registration. Its Jacobian determinants and a deformed grid are shown.
    pub warp: Option<&'a DisplacementField>,
    /// Interpolation with which the image is resampled on the slices.
    pub interpolation: Interpolation,
    /// The label map of the image, with the interpolation for its labels.
    pub labels: Option<(&'a LabelVolume, LabelInterpolation)>,
}

/// The pictures that compare one image with a reference.
#[derive(Debug, Clone)]
pub struct Pictures {
    /// The pictures of each plane (axial, coronal, sagittal).
    pub(crate) planes: Vec<PlanePictures>,
    /// Whether the report page has pictures of the image before registration.
    pub(crate) before: bool,
    /// Whether the report page has pictures of labels.
    pub(crate) labels: bool,
    /// Distance between the lines of the deformed grid, mm; `None` without a warp.
    pub(crate) grid_mm: Option<f64>,
    /// Histograms of the intensities of the reference and of the compared image, between the intensities that are drawn
    /// black and white. Values are shares of the pixels.
    pub histograms: [Vec<f64>; 2],
    /// A small picture of the image with the outline of the reference, as a `data:` address.
    pub thumbnail: String,
}

/// The pictures of all slices of one plane (axial, coronal or sagittal).
#[derive(Debug, Clone)]
pub(crate) struct PlanePictures {
    pub name: &'static str,
    pub letters: [char; 4],
    pub size: [usize; 2],
    pub tiles: Vec<Tile>,
}

/// One slice on the report page: its pictures (reference, image before and after registration, labels, Jacobian
/// determinants) as `data:` addresses, and the lines drawn over them as SVG paths.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tile {
    pub place: String,
    pub fixed: String,
    pub before: Option<String>,
    pub after: String,
    pub labels: Option<String>,
    pub stretch: Option<String>,
    pub fixed_outline: String,
    pub after_outline: String,
    pub lattice: Option<String>,
}

/// Draws the slices of an image and of a reference for comparison.
///
/// # Errors
/// A picture that cannot be drawn.
pub fn compare(reference: &Reference, compared: &Compared) -> Result<Pictures, Error> {
    let Compared { image, before, after, warp, interpolation, labels } = *compared;
    let labels = labels.map(|(labels, how)| labelled(reference, labels, after, how)).transpose()?;
    let read = |chain| Slices::read(image, &reference.views, chain, interpolation);
    let ((after, before), drawn) = rayon::join(
        || {
            rayon::join(
                || {
                    let slices = read(after);
                    let drawn = greys(&slices).and_then(|grey| Ok((grey, outlines(&slices, slices.threshold())?)));
                    (slices, drawn)
                },
                || before.map(read),
            )
        },
        || warp.map(|field| deformation(reference, field)).transpose(),
    );
    let (after, (after_greys, after_outlines)) = (after.0, after.1?);
    // One grey scale is used for the image before and after registration.
    let before = before.map(|before| greys(&Slices { range: after.range, ..before })).transpose()?;
    let drawn = drawn?;
    let plane = |n: usize| {
        let view = &reference.views[n];
        let tile = |at: usize| Tile {
            place: view.slices[at].place.clone(),
            fixed: reference.pictures[n][at].clone(),
            before: before.as_ref().map(|before| before[n][at].clone()),
            after: after_greys[n][at].clone(),
            labels: labels.as_ref().map(|labels| labels[n][at].clone()),
            stretch: drawn.as_ref().map(|drawn| drawn.tiles[n][at].0.clone()),
            fixed_outline: reference.outlines[n][at].clone(),
            after_outline: after_outlines[n][at].clone(),
            lattice: drawn.as_ref().map(|drawn| drawn.tiles[n][at].1.clone()),
        };
        let tiles = (0..view.slices.len()).map(tile).collect();
        PlanePictures { name: view.name, letters: view.letters, size: view.size, tiles }
    };
    Ok(Pictures {
        planes: (0..reference.views.len()).map(plane).collect(),
        before: before.is_some(),
        labels: labels.is_some(),
        grid_mm: drawn.as_ref().map(|drawn| drawn.grid_mm),
        histograms: [reference.slices.histogram(), after.histogram()],
        thumbnail: thumbnail::address(&after, Some((&reference.outlined, reference.threshold)))?,
    })
}

/// Pictures of the labels on each slice.
fn labelled(
    reference: &Reference,
    labels: &LabelVolume,
    chain: &TransformChain,
    how: LabelInterpolation,
) -> Result<Vec<Vec<String>>, Error> {
    let drawn = |slice: &Slice| label_map::map(labels, slice, chain, how).address_of_overlay();
    reference.views.par_iter().map(|view| view.slices.par_iter().map(drawn).collect()).collect()
}

/// For each slice, the map of Jacobian determinants as a picture, and the deformed grid as an SVG path.
struct Deformation {
    grid_mm: f64,
    tiles: Vec<Vec<(String, String)>>,
}

fn deformation(reference: &Reference, field: &DisplacementField) -> Result<Deformation, Error> {
    let slices = || reference.views.iter().flat_map(|view| &view.slices);
    let grid_mm = slices().map(line_distance).fold(1.0, f64::max);
    let drawn = |slice: &Slice| {
        let warped = Warped::read(field, slice);
        Ok((stretch::map(&warped, slice).address()?, warped.lattice(slice, grid_mm)?))
    };
    let tiles = reference.views.par_iter().map(|view| view.slices.par_iter().map(drawn).collect());
    Ok(Deformation { grid_mm, tiles: tiles.collect::<Result<_, Error>>()? })
}
