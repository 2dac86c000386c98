//! The table of volumes.

use std::path::Path;

use antsreg_cohort::longitudinal::LabelChange;
use antsreg_core::io::outputs::write_file;
use serde::Serialize;

use crate::Error;

/// A label in a time point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Name of the time point.
    pub time_point: String,
    /// Its date as given.
    pub date: Option<String>,
    /// Years since the first time point.
    pub years: Option<f64>,
    /// The label; `brain` for the whole brain.
    pub label: String,
    /// Number of voxels of the label in the template.
    pub voxels: u64,
    /// Volume, mm³.
    pub volume_mm3: f64,
    /// Change of the volume since the first time point, %.
    pub change_percent: f64,
    /// The same per year, %: the constant yearly change that leads to it.
    pub change_percent_per_year: Option<f64>,
    /// Mean over the label of the logarithm of the Jacobian determinant from the first time point to this one.
    pub mean_log_jacobian: f64,
    /// Mean over the label of the magnitude of that logarithm.
    pub mean_abs_log_jacobian: f64,
    /// Mean share of the label maps that agree with the label in the template, 0 to 1; none for the brain.
    pub agreement: Option<f64>,
}

impl Row {
    /// A row from the volumes of a label: in this time point, in the first one, and their ratio voxel by voxel.
    pub fn new(
        names: (String, Option<String>, String),
        years: Option<f64>,
        volumes: [LabelChange; 3],
        agreement: Option<f64>,
    ) -> Row {
        let (time_point, date, label) = names;
        let [now, first, since] = volumes;
        let ratio = now.volume_mm3 / first.volume_mm3;
        let per_year = |years: f64| 100.0 * (ratio.powf(1.0 / years) - 1.0);
        Row {
            time_point,
            date,
            years,
            label,
            voxels: now.voxels,
            volume_mm3: now.volume_mm3,
            change_percent: 100.0 * (ratio - 1.0),
            change_percent_per_year: years.filter(|years| *years > 0.0).map(per_year),
            mean_log_jacobian: since.mean_log,
            mean_abs_log_jacobian: since.mean_abs_log,
            agreement,
        }
    }
}

/// Writes the table as CSV.
///
/// # Errors
/// A file that cannot be written.
pub fn write(path: &Path, rows: &[Row]) -> Result<(), Error> {
    let wrap = |source| Error::Table { path: path.into(), source };
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows.iter().try_for_each(|row| writer.serialize(row)).map_err(wrap)?;
    let text = writer.into_inner().map_err(|error| wrap(error.into_error().into()))?;
    Ok(write_file(path, &text)?)
}
