//! The HTML page of one result: a registered image next to its reference image.

use askama::Template;

use crate::viewer::PlanePictures;
use crate::{Error, Facts, Pictures, stretch};

/// The contents of an HTML report page about one registered image.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonPage<'a> {
    /// Title, command line, numbers, warnings and other texts of the HTML report page.
    pub facts: &'a Facts,
    /// Pictures that compare the registered image with its reference image.
    pub pictures: &'a Pictures,
    /// Names on the page of three images: the reference, the image before registration, and the image after
    /// registration.
    pub names: [&'a str; 3],
    /// Charts that the report page shows, such as histograms of the images or the cost over the iterations.
    pub charts: &'a [Chart],
}

/// A chart of an HTML report page, with its title.
#[derive(Debug, Clone)]
pub struct Chart {
    /// Title of the chart.
    pub title: String,
    /// The chart as SVG.
    pub svg: String,
    /// A note below the chart that explains how to read the chart.
    pub note: String,
}

/// A finished page.
#[derive(Debug, Clone)]
pub struct Page {
    /// HTML text of the page.
    pub html: String,
}

/// Makes the HTML report page about the result of one registration.
///
/// # Errors
/// An HTML template that cannot be filled in.
pub fn comparison_page(page: &ComparisonPage) -> Result<Page, Error> {
    let ComparisonPage { facts, pictures, names, charts } = *page;
    let contents = Contents {
        facts,
        thumbnail: &pictures.thumbnail,
        planes: &pictures.planes,
        before: pictures.before,
        labels: pictures.labels,
        grid_mm: pictures.grid_mm,
        names,
        charts,
        scale: stretch::COLOURS.map(css).join(","),
        factor: stretch::FACTOR,
    };
    Ok(Page { html: contents.render()? })
}

fn css([red, green, blue]: [u8; 3]) -> String {
    format!("rgb({red} {green} {blue})")
}

#[derive(Template)]
#[template(path = "comparison.html")]
struct Contents<'a> {
    facts: &'a Facts,
    thumbnail: &'a str,
    planes: &'a [PlanePictures],
    before: bool,
    labels: bool,
    grid_mm: Option<f64>,
    names: [&'a str; 3],
    charts: &'a [Chart],
    /// Colour scale of the Jacobian determinants, from compression to expansion.
    scale: String,
    factor: f64,
}
