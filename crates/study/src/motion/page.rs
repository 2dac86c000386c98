//! The page (HTML) of a motion correction.

use antsreg_core::Volume;
use antsreg_report::{
    Chart, Curve, Curves, Facts, File, MotionPage, Overview, Section, carpet, curves, motion_page, overview,
};

use super::{Names, Row, Task};
use crate::words::{self, stem};
use crate::{Error, geometry};

/// Framewise displacement above which a volume is counted as moved, mm (Power et al. 2012).
const FAR_MM: f64 = 0.5;

/// The result of a motion correction, from which its HTML page is made.
pub(super) struct Page<'a> {
    pub task: &'a Task,
    /// Paths of the output files of the motion correction.
    pub names: &'a Names,
    pub rows: &'a [Row],
    /// Indices of volumes that could not be aligned, counted from 0, and why.
    pub failed: &'a [(usize, String)],
    /// Indices of volumes that resemble no other volume, counted from 0, and a sentence about it.
    pub unlike: &'a [(usize, String)],
    /// The mean of the volumes as read, and of the corrected volumes.
    pub means: &'a [Volume; 2],
    /// Intensities over time of some voxels of the head, a list for each voxel.
    pub courses: &'a [Vec<f32>],
}

impl Page<'_> {
    /// Makes the page of a motion correction as HTML.
    ///
    /// # Errors
    /// A page that cannot be made.
    pub fn html(&self) -> Result<String, Error> {
        let [before, after] = self.means;
        let picture = |title: &str, note: &str, image: &Volume| -> Result<[String; 3], Error> {
            Ok([title.into(), note.into(), overview(image, Overview::Large)?])
        };
        let pictures = [
            picture("Mean before", "Mean of the volumes as they were read", before)?,
            picture("Mean after", "Mean of the corrected volumes", after)?,
        ];
        let page = MotionPage {
            facts: &self.facts(),
            pictures: &pictures,
            charts: &self.charts()?,
            carpet: &carpet(self.courses)?,
        };
        Ok(motion_page(&page)?.html)
    }

    fn charts(&self) -> Result<Vec<Chart>, Error> {
        let parameter = |name: &str, of: usize, scale: f64| {
            let points = self.rows.iter().enumerate().map(|(n, row)| (n as f64, scale * row.parameters[of]));
            Curve { name: name.into(), points: points.collect(), marks: false }
        };
        let change = |name: &str, of: fn(&Row) -> Option<f64>| {
            let points = self.rows.iter().enumerate().filter_map(|(n, row)| Some((n as f64, of(row)?)));
            vec![Curve { name: name.into(), points: points.collect(), marks: false }]
        };
        let translations = ["x", "y", "z"].iter().enumerate().map(|(n, name)| parameter(name, n, 1.0)).collect();
        let degrees = 180.0 / std::f64::consts::PI;
        let rotations =
            ["about x", "about y", "about z"].iter().enumerate().map(|(n, name)| parameter(name, 3 + n, degrees));
        let chart = |title: &str, y: &str, note: &str, from_zero: bool, all: Vec<Curve>| -> Result<Chart, Error> {
            let svg = curves(&Curves { x: "volume", y, from_zero, curves: &all })?;
            Ok(Chart { title: title.into(), svg, note: note.into() })
        };
        Ok(vec![
            chart("Translations", "mm", "Movement of the head's centre of mass, RAS.", false, translations)?,
            chart(
                "Rotations",
                "degrees",
                "Rotation of the head against the reference, about the reference's centre of mass.",
                false,
                rotations.collect(),
            )?,
            chart(
                "Framewise displacement",
                "mm",
                "Sum of the absolute changes of the six motion parameters since the previous volume. Rotations are \
                 converted to mm on a sphere of 50 mm radius.",
                true,
                change("framewise displacement", |row| row.since_before.map(|[displacement, _]| displacement)),
            )?,
            chart(
                "DVARS",
                "× noise",
                "Change of the corrected intensities since the previous volume, divided by the change \
                 expected of noise alone.",
                true,
                change("DVARS", |row| row.dvars.map(|[_, standard]| standard)),
            )?,
        ])
    }

    fn facts(&self) -> Facts {
        let Task { files, options, command_line, .. } = self.task;
        let displacements: Vec<f64> =
            self.rows.iter().filter_map(|row| row.since_before).map(|[displacement, _]| displacement).collect();
        let mean = displacements.iter().sum::<f64>() / displacements.len().max(1) as f64;
        let most = displacements.iter().copied().fold(0.0, f64::max);
        let far = displacements.iter().filter(|displacement| **displacement > FAR_MM).count();
        let cost = serde_json::to_value(options.cost).ok();
        let cost = cost.as_ref().and_then(|cost| cost.as_str()).unwrap_or_default();
        let row = |name: &str, value: String| [name.to_owned(), value];
        let [before, after] = self.means;
        let file = |role: &str, path: &std::path::Path, detail: String| File {
            role: role.into(),
            path: path.display().to_string(),
            detail,
        };
        let mut listed = vec![file("series", &files.input, geometry::describe(&before.grid))];
        listed.extend(files.reference.file().map(|path| file("reference", path, geometry::describe(&after.grid))));
        let written = self.names.files().into_iter().filter(|path| Some(*path) != self.names.page.as_deref());
        listed.extend(written.map(|path| file("written", path, String::new())));
        Facts {
            title: format!("Motion of {}", stem(&files.input)),
            subtitle: format!("Every volume aligned to the reference ({}) by {cost}", files.reference),
            highlights: vec![
                row("volumes", self.rows.len().to_string()),
                row("framewise displacement, mean", format!("{mean:.3} mm")),
                row("framewise displacement, most", format!("{most:.3} mm")),
                row(&format!("volumes moved by more than {FAR_MM} mm"), far.to_string()),
            ]
            .into_iter()
            .map(|[name, value]| [value, name])
            .collect(),
            warnings: self
                .failed
                .iter()
                .map(|(index, why)| {
                    format!("volume {index}, counted from 0: {why}; the transform of the previous volume is used")
                })
                .chain(self.unlike.iter().map(|(index, why)| format!("volume {index}, counted from 0: {why}")))
                .collect(),
            sections: vec![Section {
                title: "Alignment".into(),
                rows: vec![
                    row("cost", cost.to_owned()),
                    row("degrees of freedom", options.dof.number(false).to_string()),
                    row(
                        "smoothing",
                        options
                            .smoothing_sigmas_mm
                            .iter()
                            .map(|mm| format!("{mm} mm"))
                            .collect::<Vec<_>>()
                            .join(", "),
                    ),
                    row("largest number of reference voxels that the cost uses", options.points.to_string()),
                ],
            }],
            command: words::command(command_line),
            files: listed,
            details: Vec::new(),
            program: format!("antsreg-gpu {}", env!("CARGO_PKG_VERSION")),
        }
    }
}
