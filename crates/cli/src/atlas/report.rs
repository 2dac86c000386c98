//! The report of an atlas: a page to look at, and how its passes converged as a table.

use antsreg_core::io::outputs::write_file;
use rayon::prelude::*;

use super::page::{self, Contents, Row};
use super::session::{Drawn, Session};
use super::update::TemplateResults;
use super::{Error, chart};
use crate::error::CliError;

/// Figures of every pass up to the last.
pub fn passes(session: &Session, last: usize) -> Result<Vec<TemplateResults>, CliError> {
    let figures = |pass| {
        let path = session.layout.template(Some(pass)).manifest;
        let results = session.template(Some(pass))?.results.clone();
        Ok(serde_json::from_value(results).map_err(|source| Error::Json { path, source })?)
    };
    (session.plan.file.first_pass..=last).map(figures).collect()
}

/// Writes the page and the table; `last` is the picture of what is handed out.
pub fn write(
    session: &Session,
    passes: &[TemplateResults],
    last: String,
    subjects: Vec<Row>,
    mean: f64,
) -> Result<(), CliError> {
    let of_pass = |results: &TemplateResults| (format!("after pass {}", results.pass), Some(results.pass));
    let templates: Vec<(String, Option<usize>)> =
        std::iter::once(("before all passes".to_owned(), None)).chain(passes.iter().map(of_pass)).collect();
    let row = |(title, pass): (String, Option<usize>)| -> Result<Row, CliError> {
        Ok(Row { title, note: String::new(), picture: session.picture(Drawn::Template(pass))? })
    };
    let mut templates: Vec<Row> = templates.into_par_iter().map(row).collect::<Result<_, CliError>>()?;
    let (title, note) = ("handed out".into(), "the subjects' mean, each read once through all its transforms".into());
    templates.push(Row { title, note, picture: last });
    let contents = Contents {
        templates,
        subjects,
        passes,
        chart: chart::convergence(passes)?,
        left_out: session.plan.file.subjects.iter().filter_map(|subject| subject.complaint()).collect(),
        mean_final_warp_voxels: mean,
    };
    let root = session.layout.root();
    write_file(&root.join("report.html"), page::render(&contents).as_bytes())?;
    let path = root.join("convergence.csv");
    let table = table(passes).map_err(|source| CliError::Table { path: path.clone(), source })?;
    Ok(write_file(&path, &table)?)
}

/// The figures of every pass as CSV.
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
