//! An overview of one image: the middle slice of each plane, side by side.

use antsreg_core::{TransformChain, Volume};
use antsreg_kernels::apply::Interpolation;

use crate::picture::Indexed;
use crate::slices::Slices;
use crate::views::{View, views};
use crate::{Error, thumbnail};

/// Size of the pictures in an overview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overview {
    /// Pictures as large as the slices on the report page about one image.
    Large,
    /// Small pictures, as in the table of the report page about a group of results.
    Small,
}

/// Draws the middle slices of an image as one picture in a `data:` address.
///
/// # Errors
/// A picture that cannot be drawn.
pub fn overview(image: &Volume, how: Overview) -> Result<String, Error> {
    let middle = |view: View| View { slices: vec![view.slices[view.slices.len() / 2].clone()], ..view };
    let views: Vec<View> = views(image, None).into_iter().map(middle).collect();
    let slices = Slices::read(image, &views, &TransformChain::new(), Interpolation::Linear);
    match how {
        Overview::Large => {
            Indexed::beside(&slices.all().map(|slice| Indexed::grey(slice, slices.range)).collect::<Vec<_>>())
                .address()
        }
        Overview::Small => thumbnail::address(&slices, None),
    }
}
