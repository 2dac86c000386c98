//! ITK's affine transforms: a matrix, a translation and a centre, in LPS.

use std::path::Path;

use nalgebra::{Matrix3, Point3, Vector3};

use super::super::replace::replace;
use super::super::source::Source;
use super::super::{Error, ErrorKind};
use super::{matlab, text};
use crate::AffineTransform;

/// What can be read, for messages.
const EXPECTED: &str =
    "AffineTransform, MatrixOffsetTransformBase, Euler3DTransform or TranslationTransform of three dimensions";

/// Largest file looked at; transforms are a few hundred bytes.
const LARGEST: usize = 1 << 20;

/// A transform as the file has it: y = A(x − c) + c + t.
pub(super) struct Stored {
    /// Such as `AffineTransform_double_3_3`.
    pub name: String,
    /// Matrix row by row, then translation, for most types.
    pub parameters: Vec<f64>,
    /// The centre, for most types.
    pub fixed_parameters: Vec<f64>,
}

/// Reads an affine map, fixed → moving, RAS mm.
pub fn read_affine(path: &Path) -> Result<AffineTransform, Error> {
    let wrap = |kind| Error::new(path, kind);
    let mut source = Source::open(path)?;
    let mut bytes = vec![0; LARGEST];
    let filled = source.fill(&mut bytes).map_err(wrap)?;
    let bytes = &bytes[..filled];
    let stored =
        if bytes.starts_with(b"#Insight Transform File") { text::parse(bytes) } else { matlab::parse(bytes) };
    stored.and_then(|stored| to_world(&stored)).map_err(wrap)
}

/// Writes an affine map, fixed → moving, RAS mm, about `centre` (RAS mm): MATLAB 4 for `.mat`, text for `.txt` and
/// `.tfm`.
///
/// Every centre describes the same map; programs that go on from the transform rotate and scale about it.
pub fn write_affine(path: &Path, affine: &AffineTransform, centre: Point3<f64>) -> Result<(), Error> {
    let flip = Matrix3::from_diagonal(&Vector3::new(-1.0, -1.0, 1.0));
    let matrix = flip * affine.matrix * flip;
    let centre = flip * centre.coords;
    let translation = matrix * centre + flip * affine.translation - centre;
    let mut parameters: Vec<f64> = matrix.transpose().iter().copied().collect();
    parameters.extend(translation.iter());
    let stored = Stored {
        name: "AffineTransform_double_3_3".into(),
        parameters,
        fixed_parameters: centre.iter().copied().collect(),
    };
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    let bytes = match extension.as_deref() {
        Some("mat") => matlab::format(&stored),
        Some("txt" | "tfm") => text::format(&stored),
        _ => return Err(Error::new(path, ErrorKind::Extension(".mat, .txt or .tfm"))),
    };
    replace(path, |file| std::io::Write::write_all(file, &bytes))
}

fn to_world(stored: &Stored) -> Result<AffineTransform, ErrorKind> {
    let unknown = || ErrorKind::TransformType { expected: EXPECTED, found: stored.name.clone() };
    let kind = stored.name.strip_suffix("_3_3").ok_or_else(unknown)?;
    let kind = kind.strip_suffix("_double").or_else(|| kind.strip_suffix("_float")).ok_or_else(unknown)?;
    for (what, numbers) in [("parameters", &stored.parameters), ("fixed parameters", &stored.fixed_parameters)] {
        if let Some(index) = numbers.iter().position(|number| !number.is_finite()) {
            return Err(ErrorKind::NotFiniteNumber { what, index, value: numbers[index] });
        }
    }
    let p = &stored.parameters;
    let (matrix, translation) = match kind {
        "AffineTransform" | "MatrixOffsetTransformBase" => {
            expect_count("parameters", 12, p)?;
            (Matrix3::from_row_slice(&p[..9]), Vector3::from_column_slice(&p[9..]))
        }
        "TranslationTransform" => {
            expect_count("parameters", 3, p)?;
            (Matrix3::identity(), Vector3::from_column_slice(p))
        }
        _ => return Err(unknown()),
    };
    let centre = match stored.fixed_parameters.as_slice() {
        [] => Vector3::zeros(),
        centre => {
            expect_count("fixed parameters", 3, centre)?;
            Vector3::from_column_slice(centre)
        }
    };
    let flip = Matrix3::from_diagonal(&Vector3::new(-1.0, -1.0, 1.0));
    Ok(AffineTransform { matrix: flip * matrix * flip, translation: flip * (translation + centre - matrix * centre) })
}

fn expect_count(what: &'static str, expected: usize, numbers: &[f64]) -> Result<(), ErrorKind> {
    if numbers.len() == expected { Ok(()) } else { Err(ErrorKind::Count { what, expected, found: numbers.len() }) }
}
