//! FreeSurfer's linear transforms (LTA, text): a matrix from the source (moving) to the destination (fixed), and the
//! geometry of both volumes.

use std::collections::HashMap;
use std::fmt::Write;

use nalgebra::{Matrix3, Matrix4, Vector3};

use super::super::ErrorKind;
use super::super::formats::text::{joined, number, numbers, refused};
use super::matrix::checked;
use crate::{AffineTransform, Grid};

/// Types of LTA that are read: the matrix maps voxel indices, or RAS mm of the scanner.
const VOXELS: i64 = 0;
const RAS: i64 = 1;

/// Whether a text is meant to be an LTA.
pub(super) fn starts_like(text: &str) -> bool {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#') && !line.trim().is_empty());
    lines.take(1).any(|line| line.split_once('=').is_some_and(|(name, _)| name.trim() == "type"))
}

/// Reads the affine map, fixed to moving, RAS mm.
pub(super) fn parse(text: &str) -> Result<AffineTransform, ErrorKind> {
    let mut fields: HashMap<String, String> = HashMap::new();
    let (mut volume, mut rows, mut left) = ("", Vec::new(), 0);
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        if left > 0 {
            let row: Vec<f64> = numbers("matrix", line, 4)?;
            left -= 1;
            rows.extend(row);
        } else if line == "1 4 4" {
            left = 4;
        } else if let Some(which) = line.strip_suffix(" volume info") {
            volume = which;
        } else if let Some((name, value)) = line.split_once('=') {
            fields.insert(format!("{volume} {}", name.trim()).trim().into(), value.trim().into());
        }
    }
    let field = |name: &'static str| fields.get(name).map(String::as_str).ok_or(ErrorKind::FieldMissing(name));
    if number::<i64>("nxforms", field("nxforms")?)? != 1 {
        return Err(refused("nxforms", field("nxforms")?, "1"));
    }
    if rows.len() != 16 {
        return Err(ErrorKind::Count { what: "numbers of the matrix", expected: 16, found: rows.len() });
    }
    let matrix = AffineTransform::from_homogeneous(&Matrix4::from_row_slice(&rows));
    let moving_to_fixed = match number("type", field("type")?)? {
        RAS => matrix,
        VOXELS => {
            let moving = geometry(&fields, "src")?.inverse().ok_or(ErrorKind::Singular)?;
            geometry(&fields, "dst")?.after(&matrix).after(&moving)
        }
        _ => return Err(refused("type", field("type")?, "0 (voxels) or 1 (RAS mm)")),
    };
    moving_to_fixed.inverse().ok_or(ErrorKind::Singular).and_then(checked)
}

/// The map from voxel indices to RAS mm of a volume.
fn geometry(fields: &HashMap<String, String>, volume: &str) -> Result<AffineTransform, ErrorKind> {
    let three = |name: &str| -> Result<Vector3<f64>, ErrorKind> {
        let text = fields.get(&format!("{volume} {name}")).ok_or(ErrorKind::FieldMissing("volume info"))?;
        let values: Vec<f64> = numbers(name, text, 3)?;
        values.first_chunk::<3>().map(|values| (*values).into()).ok_or(ErrorKind::FieldMissing("volume info"))
    };
    let axes = Matrix3::from_columns(&[three("xras")?, three("yras")?, three("zras")?]);
    let matrix = axes * Matrix3::from_diagonal(&three("voxelsize")?);
    Ok(AffineTransform { matrix, translation: three("cras")? - matrix * three("volume")? / 2.0 })
}

/// The text of an affine map (fixed to moving, RAS mm).
pub(super) fn text(affine: &AffineTransform, fixed: &Grid, moving: &Grid) -> Result<String, ErrorKind> {
    let matrix = affine.inverse().ok_or(ErrorKind::Singular)?.to_homogeneous();
    let mut text = format!("type      = {RAS}\nnxforms   = 1\nmean      = 0 0 0\nsigma     = 10000\n1 4 4\n");
    for row in 0..4 {
        // Formatting text into a string in memory cannot fail, so the result is not checked.
        let _ = writeln!(text, "{}", joined((0..4).map(|column| matrix[(row, column)])));
    }
    for (name, grid) in [("src", moving), ("dst", fixed)] {
        let _ = writeln!(text, "{name} volume info\nvalid = 1  # volume info valid\nfilename = unknown");
        let _ = writeln!(text, "volume = {}\nvoxelsize = {}", joined(grid.shape), joined(grid.spacing.iter()));
        for (axis, name) in ["xras", "yras", "zras"].into_iter().enumerate() {
            let _ = writeln!(text, "{name}   = {}", joined(grid.direction.column(axis).iter()));
        }
        let half = Vector3::from_fn(|axis, _| grid.shape[axis] as f64 / 2.0);
        let centre = grid.voxel_to_world().apply(&half.into());
        let _ = writeln!(text, "cras   = {}", joined(centre.iter()));
    }
    Ok(text)
}
