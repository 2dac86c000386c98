//! Errors that occur while an HTML report page is made.

/// The reason why an HTML report page cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A chart could not be drawn.
    #[error("a chart of the HTML report could not be drawn: {0}")]
    Chart(String),
    /// The outlines of a region, or the lines of a deformed grid, could not be computed.
    #[error("the outlines or grid lines in the HTML report could not be drawn: {0}")]
    Outline(#[from] contour::Error),
    /// A picture could not be encoded.
    #[error("a picture of the HTML report could not be encoded: {0}")]
    Picture(#[from] png::EncodingError),
    /// The HTML template of a report page could not be filled in.
    #[error("the template of the HTML report could not be filled in: {0}")]
    Template(#[from] askama::Error),
}
