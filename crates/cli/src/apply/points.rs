//! Points, surfaces and tracts that `apply` maps.

use std::path::{Path, PathBuf};

use antsreg_console::{CliError, Console, UsageError};
use antsreg_core::TransformChain;
use antsreg_core::io::geometry::{GeometryFormat, World};
use antsreg_core::io::outputs::Outputs;
use antsreg_study::{self as study, inputs, points};

use super::args::{Args, Coordinates, Interpolation};

/// The file of points that the command line names.
pub struct Geometry {
    path: PathBuf,
    format: GeometryFormat,
}

impl Geometry {
    /// The input, if it is a file of points. Options of images are refused then.
    pub fn of(args: &Args) -> Result<Option<Geometry>, CliError> {
        let input = args.input.as_deref().and_then(|path| Some((path, GeometryFormat::of_file(path)?)));
        // Tables of points may have any name.
        let table = |path| (path, GeometryFormat::of_file(path).unwrap_or(GeometryFormat::Csv));
        let Some((path, format)) = args.points.as_deref().map(table).or(input) else {
            if args.coordinates.is_some() {
                let with = "an input other than points, a surface or a tract".into();
                return Err(UsageError::NoEffect { option: "--coordinates", with }.into());
            }
            return Ok(None);
        };
        let with = || format!("{}, which is {}", path.display(), format.describe());
        let unused = [
            ("--reference", args.reference.is_some() && !format.has_grid()),
            ("--motion", args.motion.is_some()),
            ("--interpolation", args.interpolation != Interpolation::default()),
            ("--outside", args.outside != 0.0),
            ("--shrink", args.shrink != 1),
            ("--integer", args.integer),
            ("--coordinates", args.coordinates.is_some() && format.says_world()),
        ];
        match unused.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(UsageError::NoEffect { option, with: with() }.into()),
            None => Ok(Some(Geometry { path: path.into(), format })),
        }
    }

    /// Checks that the output has the format of the input.
    pub fn check_output(&self, output: &Path) -> Result<(), CliError> {
        match self.format.fits(output) {
            true => Ok(()),
            false => Err(CliError::OutputExtension { path: output.into(), expected: self.format.extension() }),
        }
    }

    /// Refuses a page, which would show images.
    pub fn without_page(&self, args: &Args) -> Result<Option<PathBuf>, CliError> {
        match args.report.path(PathBuf::new) {
            Some(_) => Err(UsageError::NoEffect { option: "--report", with: self.format.describe().into() }.into()),
            None => Ok(None),
        }
    }

    /// Prints the chain, and which way the points go.
    pub fn explain(&self, chain: &TransformChain) -> Result<(), CliError> {
        antsreg_console::output::print(&chain.explain().to_string())?;
        let file = self.path.display();
        antsreg_console::output::print(&format!(
            "{file} is {}: its points go as the first list says, from the output (reference) space to the input space. \
             To move them the other way, give the inverse transforms in the opposite order.\n",
            self.format.describe()
        ))?;
        Ok(())
    }

    /// Maps the points.
    pub fn carry(
        &self,
        args: &Args,
        output: &Path,
        chain: &TransformChain,
        outputs: &mut Outputs,
        console: &mut Console,
    ) -> Result<(), CliError> {
        let world = args.coordinates.map(|coordinates| match coordinates {
            Coordinates::Lps => World::Lps,
            Coordinates::Ras => World::Ras,
        });
        let onto = args.reference.as_deref().map(inputs::grid).transpose()?;
        // An error of the input keeps the name of the input.
        let mut moved = None;
        outputs.write::<CliError>(output, |path| {
            match points::carry(self.format, (&self.path, path), chain, world, onto.as_ref()) {
                Err(study::Error::File(error)) if error.path != self.path => Err(error.into()),
                done => {
                    moved = Some(done);
                    Ok(())
                }
            }
        })?;
        if let Some(moved) = moved.transpose()? {
            moved.outside.iter().for_each(|missed| console.warn(missed));
            console.note(format_args!("{} points, {}", moved.points, moved.coordinates));
        }
        Ok(())
    }
}
