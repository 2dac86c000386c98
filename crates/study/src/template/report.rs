//! The report of a template: an HTML page, and a table of the statistics of every pass.

use antsreg_core::io::outputs::write_file;
use rayon::prelude::*;

use super::chart;
use super::manifest::results_of;
use super::page::{self, Contents, Row};
use super::pictures::Drawn;
use super::session::Session;
use super::update::TemplateResults;
use crate::Error;

/// The statistics of every pass up to the last.
///
/// # Errors
/// A pass that has not been done.
pub fn passes(session: &Session, last: usize) -> Result<Vec<TemplateResults>, Error> {
    let figures = |pass| results_of(&*session.template(Some(pass))?, session.layout.template(Some(pass)).manifest);
    (session.plan.first_pass..=last).map(figures).collect()
}

/// Writes the page and the table. `last` is the picture of the final template, `mean` the length of the mean of all
/// final warps, mean over the foreground, voxels.
///
/// # Errors
/// A file that cannot be read or written.
pub fn write(
    session: &Session,
    passes: &[TemplateResults],
    last: String,
    subjects: Vec<Row>,
    mean: f64,
) -> Result<(), Error> {
    let of_pass = |results: &TemplateResults| (format!("after pass {}", results.pass), Some(results.pass));
    let templates: Vec<(String, Option<usize>)> =
        std::iter::once(("before all passes".to_owned(), None)).chain(passes.iter().map(of_pass)).collect();
    let row = |(title, pass): (String, Option<usize>)| -> Result<Row, Error> {
        Ok(Row { title, note: String::new(), picture: session.picture(Drawn::Template(pass))? })
    };
    let mut templates: Vec<Row> = templates.into_par_iter().map(row).collect::<Result<_, Error>>()?;
    let (title, note) = (
        "final template".into(),
        "the mean of the subjects, each interpolated once through all its transforms".into(),
    );
    templates.push(Row { title, note, picture: last });
    let contents = Contents {
        templates,
        subjects,
        passes,
        chart: chart::convergence(passes)?,
        left_out: session.plan.left_out(),
        mean_final_warp_voxels: mean,
    };
    write_file(&session.layout.report(), page::render(&contents).as_bytes())?;
    let path = session.layout.convergence();
    let table = table(passes).map_err(|source| Error::Table { path: path.clone(), source })?;
    Ok(write_file(&path, &table)?)
}

/// The statistics of every pass as CSV.
fn table(passes: &[TemplateResults]) -> Result<Vec<u8>, csv::Error> {
    let mut table = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    table.write_record([
        "Pass",
        "MovedMeanVoxels",
        "MovedLargestVoxels",
        "MeanWarpVoxels",
        "CorrelationWithBefore",
        "SharpnessPerMm",
        "Converged",
    ])?;
    passes.iter().try_for_each(|pass| table.serialize(pass))?;
    table.into_inner().map_err(|error| error.into_error().into())
}
