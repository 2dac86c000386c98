//! The command `c3d_affine_tool`: converts and combines affine maps of FSL and ITK. Its arguments act in turn on a
//! stack of matrices.

use std::path::{Path, PathBuf};

use antsreg_console::{CliError, Refusal, output::print};
use antsreg_core::io::nifti::GridRule;
use antsreg_core::io::outputs::{self, Outputs};
use antsreg_core::io::{fsl, itk};
use antsreg_core::{AffineTransform, Grid};
use nalgebra::{Matrix4, Point3};

use crate::call::Call;

const USAGE: &str = "\
c3d_affine_tool [-ref FIXED] [-src MOVING] [MATRIX | -itk TRANSFORM] … [-fsl2ras | -ras2fsl | -inv | -mult] … [-oitk OUT.txt | -o OUT | -info]

Served by antsreg-gpu. Arguments act in turn on a stack of 4 × 4 matrices. A matrix maps points of the fixed image to points of the
moving image in RAS mm, or in FSL's coordinates.
";

/// State of `c3d_affine_tool` after the arguments read so far: the stack of matrices, and the grids of the fixed and
/// the moving image, which are needed to convert matrices between FSL's and ITK's conventions.
#[derive(Default)]
struct State {
    stack: Vec<Matrix4<f64>>,
    reference: Option<Grid>,
    source: Option<Grid>,
    /// The matrices to write, each with the path of its file. They are written when all arguments have been read.
    written: Vec<(PathBuf, Format, Matrix4<f64>)>,
    /// The text to print.
    shown: String,
}

/// Format of a file with a matrix.
enum Format {
    /// A transform of ITK.
    Itk,
    /// Sixteen numbers.
    Numbers,
}

/// Runs `c3d_affine_tool`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    if call.arguments.is_empty() || call.arguments.iter().any(|word| word == "-h" || word == "-help") {
        return print(USAGE);
    }
    check(&call.arguments)?;
    let mut state = State::default();
    let mut words = call.arguments.iter();
    while let Some(word) = words.next() {
        let mut path = || words.next().map(PathBuf::from).ok_or_else(|| missing(word));
        match word.as_str() {
            "-ref" => state.reference = Some(GridRule::Itk.inspect(&path()?)?.grid),
            "-src" => state.source = Some(GridRule::Itk.inspect(&path()?)?.grid),
            "-itk" => state.stack.push(itk::read_affine(&path()?)?.to_homogeneous()),
            "-fsl2ras" => {
                let matrix = state.pop(word)?;
                let [fixed, moving] = state.grids(word)?;
                let map = fsl::to_world(&matrix, fixed, moving).ok_or_else(|| singular(word))?;
                state.stack.push(map.to_homogeneous());
            }
            "-ras2fsl" => {
                let map = AffineTransform::from_homogeneous(&state.pop(word)?);
                let [fixed, moving] = state.grids(word)?;
                let matrix = fsl::from_world(&map, fixed, moving).ok_or_else(|| singular(word))?;
                state.stack.push(matrix);
            }
            "-inv" => {
                let inverse = fsl::inverse(&state.pop(word)?).ok_or_else(|| singular(word))?;
                state.stack.push(inverse);
            }
            "-mult" => {
                let (second, first) = (state.pop(word)?, state.pop(word)?);
                state.stack.push(first * second);
            }
            "-oitk" => state.write(word, path()?, Format::Itk)?,
            "-o" => state.write(word, path()?, Format::Numbers)?,
            "-info" => {
                let shown = format!("Matrix #{}:\n{}", state.stack.len(), fsl::text(state.top(word)?));
                state.shown.push_str(&shown);
            }
            _ => state.stack.push(fsl::read_numbers(Path::new(word))?),
        }
    }
    let mut outputs = Outputs::new();
    for (path, format, matrix) in &state.written {
        outputs.write(path, |path| match format {
            Format::Itk => itk::write_affine(path, &AffineTransform::from_homogeneous(matrix), Point3::origin()),
            Format::Numbers => fsl::write_numbers(path, matrix),
        })?;
    }
    outputs.commit()?;
    match state.shown.as_str() {
        "" => Ok(()),
        shown => print(shown),
    }
}

/// Checks the arguments and the output files before any file is written.
fn check(words: &[String]) -> Result<(), CliError> {
    const WITH_FILE: [&str; 5] = ["-ref", "-src", "-itk", "-oitk", "-o"];
    const ALONE: [&str; 5] = ["-fsl2ras", "-ras2fsl", "-inv", "-mult", "-info"];
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if WITH_FILE.contains(&word.as_str()) {
            let path = Path::new(words.next().ok_or_else(|| missing(word))?);
            let text = path.extension().is_some_and(|extension| extension == "txt" || extension == "tfm");
            if word == "-oitk" && !text {
                let shown = format!("-oitk {}", path.display());
                return Err(Refusal::not_served(shown, "use a name that ends in .txt or .tfm").into());
            }
            if word.starts_with("-o") {
                outputs::check_in_place([path])?;
            }
        } else if word.starts_with('-') && !ALONE.contains(&word.as_str()) {
            return Err(
                Refusal::not_served(word, "use -fsl2ras, -ras2fsl, -inv, -mult, -info, -itk, -oitk or -o").into()
            );
        }
    }
    Ok(())
}

impl State {
    fn pop(&mut self, word: &str) -> Result<Matrix4<f64>, Refusal> {
        self.stack.pop().ok_or_else(|| empty(word))
    }

    /// Adds the matrix on top of the stack to the matrices that are written. It replaces an earlier matrix for the same
    /// file.
    fn write(&mut self, word: &str, path: PathBuf, format: Format) -> Result<(), Refusal> {
        let matrix = *self.top(word)?;
        self.written.retain(|(known, ..)| *known != path);
        self.written.push((path, format, matrix));
        Ok(())
    }

    fn top(&self, word: &str) -> Result<&Matrix4<f64>, Refusal> {
        self.stack.last().ok_or_else(|| empty(word))
    }

    fn grids(&self, word: &str) -> Result<[&Grid; 2], Refusal> {
        match (&self.reference, &self.source) {
            (Some(reference), Some(source)) => Ok([reference, source]),
            _ => Err(Refusal::new(word, "this option needs both images, given by -ref and -src before this option")),
        }
    }
}

fn missing(word: &str) -> Refusal {
    Refusal::new(word, "expected the name of a file after this option")
}

fn empty(word: &str) -> Refusal {
    Refusal::new(word, "this option needs a matrix on the stack; give a matrix before this option")
}

fn singular(word: &str) -> Refusal {
    Refusal::new(word, "the matrix on the stack is singular: it has no inverse")
}
