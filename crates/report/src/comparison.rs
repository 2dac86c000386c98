//! The page of one result: an image beside the one that it was brought to.

use askama::Template;

use crate::viewer::PlanePictures;
use crate::{Error, Facts, Pictures, stretch};

/// The page of one result.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonPage<'a> {
    /// What it says.
    pub facts: &'a Facts,
    /// What it shows.
    pub pictures: &'a Pictures,
    /// What the reference, the image before and the image after are called.
    pub names: [&'a str; 3],
    /// Charts.
    pub charts: &'a [Chart],
}

/// A chart with its title.
#[derive(Debug, Clone)]
pub struct Chart {
    /// Its title.
    pub title: String,
    /// The chart, an SVG.
    pub svg: String,
    /// How to read it.
    pub note: String,
}

/// A page.
#[derive(Debug, Clone)]
pub struct Page {
    /// The file's contents.
    pub html: String,
}

/// Puts the page of one result together.
///
/// # Errors
/// A template that cannot be filled in.
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
    /// The colours of the stretch, from the lowest to the highest.
    scale: String,
    factor: f64,
}
