//! HTML pages of labels: a target labelled by atlases, labels resampled through transforms, and leave-one-out scores
//! of atlases.

use std::path::Path;

use antsreg_core::overlap::Overlap;
use antsreg_core::{LabelVolume, TransformChain, Volume};
use antsreg_kernels::apply::{Interpolation, LabelInterpolation};
use antsreg_report::{
    Chart, Compared, ComparisonPage, Facts, File, GroupPage, Measure, Member, Overview, Reference, Section, Worse,
    compare, comparison_page, group_page, histograms, overview,
};

use super::atlas::Atlas;
use super::load::LoadedAtlas;
use super::options::Carrying;
use super::propagate::Propagated;
use super::record::TargetRecord;
use super::scores::{SummaryRow, TargetScores, summary};
use crate::skulls::ExtractedRecord;
use crate::words::{self, stem};
use crate::{Error, geometry};

/// The measures by which the HTML page of leave-one-out scores compares the targets, each with name and description.
const MEASURES: [(&str, &str); 3] = [
    ("best single", "Mean Jaccard of the labels of the best other atlas alone."),
    ("majority", "Mean Jaccard of the labels by majority vote."),
    ("joint", "Mean Jaccard of the labels by joint fusion."),
];

/// A target with the atlases on its grid, and their fused labels.
pub(super) struct OfTarget<'a> {
    /// Image of the target that the page shows: the whole head, even if its brain was registered.
    pub image: &'a Volume,
    /// The atlases that were used, on the grid of the target.
    pub atlases: &'a [Propagated],
    /// The fused labels.
    pub labels: &'a LabelVolume,
    /// Inputs and results of labelling the target, as in the JSON record.
    pub record: &'a TargetRecord,
    /// Overlap (Jaccard, Dice) of the new labels with the true labels, if the true labels are known.
    pub overlap: Option<&'a Overlap>,
    /// Paths of the written files, which the HTML page lists.
    pub written: &'a [&'a Path],
    /// The command line of the program, shown on the HTML page.
    pub command_line: &'a [String],
}

impl OfTarget<'_> {
    /// Makes the page as HTML: the target and its labels beside the atlas that is most similar to it.
    ///
    /// # Errors
    /// A page that cannot be made.
    pub fn page(&self) -> Result<String, Error> {
        let OfTarget { image, atlases, labels, record, overlap, written, command_line } = *self;
        let of = |atlas: &&Propagated| atlas.correlation.unwrap_or(f64::NEG_INFINITY);
        let best = atlases.iter().max_by(|a, b| of(a).total_cmp(&of(b)));
        let (shown, name) = best.map_or((image, "Target".into()), |best| {
            (best.head.as_ref().unwrap_or(&best.image), format!("Atlas {}", best.name))
        });
        let mut sections = vec![Section {
            title: "Correlation of each atlas with the target".into(),
            rows: record
                .atlases
                .iter()
                .map(|atlas| {
                    let correlation = atlas.correlation.map(|found| format!("{found:.4}"));
                    let text =
                        if atlas.used { correlation.unwrap_or("not defined".into()) } else { "left out".into() };
                    [atlas.name.clone(), text]
                })
                .collect(),
        }];
        sections.extend(overlap.map(overlap_section));
        let brains = [("target".to_owned(), &record.brain)].into_iter();
        let brains = brains.chain(record.atlases.iter().map(|atlas| (atlas.name.clone(), &atlas.brain)));
        let brains: Vec<_> = brains.filter_map(|(name, brain)| Some((name, brain.as_ref()?))).collect();
        if !brains.is_empty() {
            let row = |(name, brain): &(String, &ExtractedRecord)| brain_row(name, brain);
            sections.push(Section {
                title: "Brains extracted from heads".into(),
                rows: brains.iter().map(row).collect(),
            });
        }
        let mut highlights = vec![[atlases.len().to_string(), "atlases used".into()]];
        highlights
            .extend(record.mean_jaccard.map(|mean| [format!("{mean:.3}"), "mean Jaccard of the labels".into()]));
        highlights.push([record.undecided_voxels.to_string(), "voxels on which the atlases disagree".into()]);
        let files = record.atlases.iter().flat_map(|atlas| {
            [file("atlas", &atlas.image, String::new()), file("its labels", &atlas.labels, String::new())]
        });
        let target = file("target", &record.path, geometry::describe(&image.grid));
        let written = written.iter().map(|path| file("written", path, String::new()));
        let warnings = brains
            .iter()
            .flat_map(|(name, brain)| brain.warnings.iter().map(move |warning| format!("{name}: {warning}")));
        let facts = Facts {
            title: format!("Labels of {}", stem(&record.path)),
            subtitle: "Fused labels of several atlases".into(),
            highlights,
            warnings: warnings.collect(),
            sections,
            command: words::command(command_line),
            files: std::iter::once(target).chain(files).chain(written).collect(),
            program: program(),
            ..Facts::default()
        };
        labelled(&Reference::new(image, None)?, ["Target", "", &name], shown, labels, &facts)
    }
}

/// Makes the page of labels that were resampled through transforms onto an image.
///
/// # Errors
/// A page that cannot be made.
pub(super) fn of_carried(
    of: &Carrying,
    onto: &Volume,
    labels: &LabelVolume,
    overlap: Option<&Overlap>,
    warnings: Vec<String>,
    written: &[&Path],
) -> Result<String, Error> {
    let inside = labels.voxels.iter().map(|label| if *label == 0 { 0.0 } else { 1.0 }).collect();
    let mask = Volume { grid: labels.grid.clone(), voxels: inside };
    let transforms = of.transforms.iter().map(|file| File {
        role: "transform".into(),
        path: file.to_string(),
        detail: String::new(),
    });
    let read =
        [file("labels", &of.labels, String::new()), file("reference", &of.onto, geometry::describe(&onto.grid))];
    let written = written.iter().map(|path| file("written", path, String::new()));
    let facts = Facts {
        title: format!("{} onto {}", stem(&of.labels), stem(&of.onto)),
        subtitle: "Labels resampled through transforms".into(),
        highlights: overlap
            .map(|found| [format!("{:.3}", found.mean()[2]), "mean Dice of the labels".into()])
            .into_iter()
            .collect(),
        warnings,
        sections: overlap.map(overlap_section).into_iter().collect(),
        command: words::command(&of.command_line),
        files: read.into_iter().chain(transforms).chain(written).collect(),
        program: program(),
        ..Facts::default()
    };
    labelled(&Reference::cut_out(onto, &mask)?, ["Labelled part", "", "Reference"], onto, labels, &facts)
}

/// Makes the page of an image with labels on it, beside a reference on the same grid.
fn labelled(
    reference: &Reference,
    names: [&str; 3],
    image: &Volume,
    labels: &LabelVolume,
    facts: &Facts,
) -> Result<String, Error> {
    let unmoved = TransformChain::new();
    let compared = Compared {
        image,
        before: None,
        after: &unmoved,
        warp: None,
        interpolation: Interpolation::Linear,
        labels: Some((labels, LabelInterpolation::Nearest)),
    };
    let pictures = compare(reference, &compared)?;
    let charts = [Chart {
        title: "Intensities".into(),
        svg: histograms([&names[0].to_lowercase(), &names[2].to_lowercase()], &pictures.histograms)?,
        note: "Intensities in the slices that this page shows, without black pixels. Each image has its own range."
            .into(),
    }];
    Ok(comparison_page(&ComparisonPage { facts, pictures: &pictures, names, charts: &charts })?.html)
}

/// Makes the page of leave-one-out scores of a set of atlases: a row for each target.
///
/// # Errors
/// A page that cannot be made.
pub(super) fn of_scores(
    atlases: &[Atlas],
    loaded: &[LoadedAtlas],
    targets: &[TargetScores],
    written: &[&Path],
    command_line: &[String],
) -> Result<String, Error> {
    let rows = summary(targets);
    let member = |row: &SummaryRow| -> Result<Member, Error> {
        let image = loaded.iter().find(|atlas| atlas.name == row.name);
        let shown = |atlas: &LoadedAtlas| -> Result<String, Error> {
            let image = atlas.skull.as_ref().map_or_else(|| atlas.side.image.volume(), |skull| Ok(&skull.head))?;
            Ok(overview(image, Overview::Small)?)
        };
        Ok(Member {
            name: row.name.clone(),
            status: "scored".into(),
            thumbnail: image.map(shown).transpose()?,
            values: row.mean_jaccard.iter().map(|value| Some(*value).filter(|value| value.is_finite())).collect(),
            ..Member::default()
        })
    };
    let is_target = |row: &&SummaryRow| targets.iter().any(|target| target.name == row.name);
    let members = rows.iter().filter(is_target).map(member).collect::<Result<Vec<_>, Error>>()?;
    let measures =
        MEASURES.map(|(name, note)| Measure { name: name.into(), note: note.into(), decimals: 4, worse: Worse::Low });
    let mean = rows.iter().find(|row| !is_target(row));
    let mean = mean.map(|row| row.mean_jaccard).unwrap_or([f64::NAN; 3]);
    let mean = mean.into_iter().zip(MEASURES).filter(|(value, _)| value.is_finite());
    let files = atlases.iter().map(|atlas| file("atlas", &atlas.image, atlas.labels.display().to_string()));
    let written = written.iter().map(|path| file("written", path, String::new()));
    let facts = Facts {
        title: format!("{} atlases scored", targets.len()),
        subtitle: "Each atlas image is labelled by all other atlases".into(),
        highlights: mean.map(|(value, (name, _))| [format!("{value:.3}"), format!("mean Jaccard, {name}")]).collect(),
        command: words::command(command_line),
        files: files.chain(written).collect(),
        program: program(),
        ..Facts::default()
    };
    let page = GroupPage {
        facts: &facts,
        member: "target",
        measures: &measures,
        members: &members,
        shared: &[],
        charts: &[],
    };
    Ok(group_page(&page)?.html)
}

fn overlap_section(overlap: &Overlap) -> Section {
    let [_, jaccard, dice, ..] = overlap.mean();
    let row = |name: &str, value: String| [name.to_owned(), value];
    Section {
        title: "Overlap with the true labels".into(),
        rows: vec![
            row("labels scored", overlap.labels.len().to_string()),
            row("mean Jaccard", format!("{jaccard:.4}")),
            row("mean Dice", format!("{dice:.4}")),
        ],
    }
}

fn brain_row(name: &str, brain: &ExtractedRecord) -> [String; 2] {
    [name.to_owned(), format!("{:.0} cm³, found by {}", brain.volume_cm3, brain.found.contrast)]
}

fn file(role: &str, path: &Path, detail: String) -> File {
    File { role: role.into(), path: path.display().to_string(), detail }
}

fn program() -> String {
    format!("antsreg-gpu {}", env!("CARGO_PKG_VERSION"))
}
