//! The table of the motion parameters (TSV).

use std::path::Path;

use antsreg_core::AffineTransform;
use antsreg_core::io::outputs::write_file;
use antsreg_motion::{framewise_displacement, parameters, rms_deviation};
use nalgebra::Point3;

use crate::Error;

/// Names of the columns of the motion table, as in BIDS and fMRIPrep.
const COLUMNS: [&str; 10] = [
    "trans_x",
    "trans_y",
    "trans_z",
    "rot_x",
    "rot_y",
    "rot_z",
    "framewise_displacement",
    "rmsd",
    "dvars",
    "std_dvars",
];

/// The motion parameters of one volume: a row of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Rigid motion of one volume: translation of the reference's centre, RAS mm, then rotations about x, y and z,
    /// radians.
    pub parameters: [f64; 6],
    /// Framewise displacement and root mean squared deviation from the previous volume, mm.
    pub since_before: Option<[f64; 2]>,
    /// DVARS in units of the intensities, and standardised DVARS: the ratio to the value expected for noise alone.
    pub dvars: Option<[f64; 2]>,
}

/// Computes the rows of the motion table, one for each volume, from `transforms` (reference → volume, RAS mm).
/// Rotations are about `centre`.
pub(super) fn rows(transforms: &[AffineTransform], centre: &Point3<f64>, dvars: &[Option<[f64; 2]>]) -> Vec<Row> {
    let motions: Vec<_> = transforms.iter().map(|transform| parameters(transform, centre)).collect();
    let row = |n: usize| {
        let since_before = n.checked_sub(1).map(|before| {
            let deviation = rms_deviation(&transforms[before], &transforms[n], centre);
            [framewise_displacement(&motions[before], &motions[n]), deviation]
        });
        let [x, y, z]: [f64; 3] = motions[n].translation.into();
        let [a, b, c]: [f64; 3] = motions[n].rotation.into();
        Row { parameters: [x, y, z, a, b, c], since_before, dvars: dvars.get(n).copied().flatten() }
    };
    (0..transforms.len()).map(row).collect()
}

/// Writes the table with tabs between the columns, and `n/a` where a volume has no value.
pub(super) fn write(path: &Path, rows: &[Row]) -> Result<(), Error> {
    let mut text = COLUMNS.join("\t") + "\n";
    for row in rows {
        let rest = [row.since_before, row.dvars].map(|pair| pair.map_or([None; 2], |pair| pair.map(Some)));
        let values = row.parameters.map(Some).into_iter().chain(rest.into_iter().flatten());
        let cells: Vec<String> =
            values.map(|value| value.map_or("n/a".into(), |value: f64| format!("{value:.6}"))).collect();
        text += &(cells.join("\t") + "\n");
    }
    Ok(write_file(path, text.as_bytes())?)
}
