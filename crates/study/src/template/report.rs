//! The report of a template: an HTML page, and a table of the statistics of every pass.

use antsreg_core::io::outputs::write_file;
use antsreg_report::{Chart, Curve, Curves, Facts, GroupPage, Measure, Member, Section, Worse, curves, group_page};
use rayon::prelude::*;

use super::manifest::results_of;
use super::pictures::PictureOf;
use super::results::TemplateResults;
use super::session::Session;
use crate::Error;
use crate::skulls::ExtractedRecord;

/// Reads the statistics of every pass up to the pass `last`.
///
/// # Errors
/// A pass that has not been done.
pub fn passes(session: &Session, last: usize) -> Result<Vec<TemplateResults>, Error> {
    let figures = |pass| results_of(&*session.template(Some(pass))?, session.layout.template(Some(pass)).manifest);
    (session.plan.first_pass..=last).map(figures).collect()
}

/// The measures by which the HTML report of a template compares subjects.
const MEASURES: [(&str, &str, usize, Worse); 2] = [
    ("correlation", "Correlation with the template, in its foreground.", 4, Worse::Low),
    ("warp, voxels", "Mean length of the warp, in the foreground.", 2, Worse::High),
];

/// Writes the page and the table of the report. `last` is the picture of the final template. `mean` is the length of
/// the mean of all final warps, averaged over the foreground, voxels. The page depends only on the plan and the images,
/// not on how the steps were run.
///
/// # Errors
/// A file that cannot be read or written.
pub fn write(
    session: &Session,
    passes: &[TemplateResults],
    last: String,
    subjects: &[Member],
    mean: f64,
) -> Result<(), Error> {
    let of_pass = |results: &TemplateResults| (format!("After pass {}", results.pass), Some(results.pass));
    let templates: Vec<(String, Option<usize>)> =
        std::iter::once(("Before all passes".to_owned(), None)).chain(passes.iter().map(of_pass)).collect();
    let picture = |(title, pass): (String, Option<usize>)| -> Result<[String; 3], Error> {
        Ok([title, String::new(), session.picture(PictureOf::Template(pass))?])
    };
    let mut templates: Vec<[String; 3]> = templates.into_par_iter().map(picture).collect::<Result<_, Error>>()?;
    templates.push([
        "Final template".into(),
        "the mean of the subjects, each interpolated once through all its transforms".into(),
        last,
    ]);
    let measure = |(name, note, decimals, worse): (&str, &str, usize, Worse)| Measure {
        name: name.into(),
        note: note.into(),
        decimals,
        worse,
    };
    let facts = facts(session, passes, subjects.len(), mean)?;
    let page = GroupPage {
        facts: &facts,
        member: "subject",
        measures: &MEASURES.map(measure),
        members: subjects,
        shared: &templates,
        charts: &charts(passes)?,
    };
    write_file(&session.layout.report(), group_page(&page)?.html.as_bytes())?;
    let path = session.layout.convergence();
    let table = table(passes).map_err(|source| Error::Table { path: path.clone(), source })?;
    Ok(write_file(&path, &table)?)
}

/// The measures and texts that the HTML report of a template shows.
fn facts(session: &Session, passes: &[TemplateResults], subjects: usize, mean: f64) -> Result<Facts, Error> {
    let mut highlights = vec![
        [passes.len().to_string(), "passes".into()],
        [format!("{mean:.4} voxels"), "length of the mean of all final warps, in the foreground".into()],
    ];
    if let Some(last) = passes.last() {
        highlights.push([
            format!("{:.4} voxels", last.moved_mean_voxels),
            "movement of the template in the last pass".into(),
        ]);
        highlights.push([
            format!("{:.4} / mm", last.sharpness_per_mm),
            "sharpness of the template after the last pass".into(),
        ]);
    }
    let section = |pass: &TemplateResults| {
        let row = |name: &str, value: String| [name.to_owned(), value];
        let mut rows = vec![
            row("moved, mean", format!("{:.4} voxels", pass.moved_mean_voxels)),
            row("moved, at most", format!("{:.3} voxels", pass.moved_largest_voxels)),
            row("mean warp", format!("{:.4} voxels", pass.mean_warp_voxels)),
            row("sharpness", format!("{:.4} / mm", pass.sharpness_per_mm)),
        ];
        rows.extend(
            pass.correlation_with_before
                .map(|value| row("correlation with the template of the previous pass", format!("{value:.4}"))),
        );
        Section { title: format!("Pass {}", pass.pass), rows }
    };
    let brains = session.brains()?;
    let mut sections: Vec<Section> = passes.iter().map(section).collect();
    if !brains.is_empty() {
        let row = |(name, brain): (&String, &ExtractedRecord)| {
            [name.clone(), format!("{:.0} cm³, found by {}", brain.volume_cm3, brain.found.contrast)]
        };
        let rows = brains.iter().map(row).collect();
        sections.insert(0, Section { title: "Brains extracted from heads and averaged".into(), rows });
    }
    let left_out = session.plan.left_out().into_iter().map(|who| format!("Left out: {who}"));
    let warnings =
        brains.iter().flat_map(|(who, brain)| brain.warnings.iter().map(move |warning| format!("{who}: {warning}")));
    Ok(Facts {
        title: format!("Atlas of {subjects} subjects"),
        subtitle: "A template, and every subject on it".into(),
        highlights,
        warnings: left_out.chain(warnings).collect(),
        sections,
        program: format!("antsreg-gpu {}", env!("CARGO_PKG_VERSION")),
        ..Facts::default()
    })
}

/// Draws charts of three measures over the passes: movement of the template, length of the mean warp, and sharpness.
///
/// # Errors
/// A chart that cannot be drawn.
fn charts(passes: &[TemplateResults]) -> Result<Vec<Chart>, antsreg_report::Error> {
    let curve = |name: &str, value: fn(&TemplateResults) -> f64| Curve {
        name: name.into(),
        points: passes.iter().map(|pass| (pass.pass as f64, value(pass))).collect(),
        marks: true,
    };
    let moved =
        [curve("template moved by", |pass| pass.moved_mean_voxels), curve("mean warp", |pass| pass.mean_warp_voxels)];
    let sharp = [curve("sharpness", |pass| pass.sharpness_per_mm)];
    let chart = |title: &str,
                 y: &str,
                 from_zero: bool,
                 shown: &[Curve],
                 note: &str|
     -> Result<Chart, antsreg_report::Error> {
        let svg = curves(&Curves { x: "pass", y, from_zero, curves: shown })?;
        Ok(Chart { title: title.into(), svg, note: note.into() })
    };
    Ok(vec![
        chart(
            "Course",
            "voxels",
            true,
            &moved,
            "Length of the mean warp and movement of the template, mean over the foreground. Both fall to 0 as \
             the template converges.",
        )?,
        chart(
            "Sharpness",
            "1 / mm",
            false,
            &sharp,
            "Mean gradient magnitude divided by mean intensity, in the foreground.",
        )?,
    ])
}

/// The measures of every pass as CSV.
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
