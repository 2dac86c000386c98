//! The command `N4BiasFieldCorrection`: removes the bias field, the smooth variation of intensity that the receive coil
//! causes, from an image.

use std::path::PathBuf;
use std::str::FromStr;

use antsreg_console::{CliError, Refusal, ending};
use antsreg_core::Volume;
use antsreg_core::io::itk::ItkGeometry;
use antsreg_core::io::nifti::GridRule;
use antsreg_core::io::outputs;
use antsreg_heads::bias::{Geometries, Mesh, Options};
use antsreg_study as study;
use antsreg_study::bias::{Background, Correction};

use super::words::{self, Flag, Given, Value, flag};
use super::{check_dimension, mask};
use crate::call::Call;

const HELP: &str = "\
N4BiasFieldCorrection, served by antsreg-gpu: -i IMAGE -o OUTPUT | [OUTPUT,FIELD]
  -d 2|3  -x MASK  -w WEIGHTS  -s SHRINK=4  -c [50x50x50x50,0]  -b [DISTANCE] | [1x1x1]  -t [0.15,0.01,200]  -r 0|1  -v 0|1

Splines are cubic. As in ANTs, all voxels are used without a mask. With a mask, the intensity range inside it is restored unless -r 0.
";

const FLAGS: &[Flag] = &[
    flag('d', "image-dimensionality"),
    flag('i', "input-image"),
    flag('x', "mask-image"),
    flag('r', "rescale-intensities"),
    flag('w', "weight-image"),
    flag('s', "shrink-factor"),
    flag('c', "convergence"),
    flag('b', "bspline-fitting"),
    flag('t', "histogram-sharpening"),
    flag('o', "output"),
    flag('v', "verbose"),
];

/// Parsed options and file names of a command line of `N4BiasFieldCorrection`.
#[derive(Debug, PartialEq)]
struct Request {
    dimension: Option<u8>,
    input: PathBuf,
    mask: Option<PathBuf>,
    weights: Option<PathBuf>,
    rescale: bool,
    options: Options,
    output: PathBuf,
    field: Option<PathBuf>,
}

/// Parses the arguments of `N4BiasFieldCorrection` without running the command.
///
/// # Errors
/// An argument that is wrong or not supported.
pub fn read(words: &[String]) -> Result<(), Refusal> {
    Request::read(&words::parse(words, FLAGS)?).map(drop)
}

/// Runs `N4BiasFieldCorrection`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written; an image in which no field is found.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some(given) = words::read(&call.arguments, FLAGS, HELP)? else { return Ok(()) };
    let request = Request::read(&given)?;
    let written = [Some(&request.output), request.field.as_ref()];
    for output in written.into_iter().flatten() {
        if !study::transforms::is_image_output(output) {
            return Err(super::refused_name(output.display()).into());
        }
    }
    outputs::check_in_place(written.into_iter().flatten())?;
    let (read, opened) = call.settings.device.open_during(|| request.read_files());
    let Inputs { image, mask, weights, geometries } = read?;
    let device = opened?.device;
    ending::keep_open(&device);
    let correction = Correction {
        name: &request.input,
        image: &image,
        mask: mask.as_ref(),
        background: Background::Counts,
        weights: weights.as_ref(),
        geometries: Some(geometries),
        options: &request.options,
        rescale: request.rescale,
        device: &device,
    };
    correction.write(&request.output, request.field.as_deref())?;
    call.tell(device.description(), &[]);
    Ok(())
}

/// The images that `N4BiasFieldCorrection` reads.
struct Inputs {
    image: Volume,
    mask: Option<Volume>,
    weights: Option<Volume>,
    /// Geometries of the three files as ITK reads them.
    geometries: Geometries,
}

impl Request {
    /// Reads the inputs of `N4BiasFieldCorrection`: the image, the mask and the weights of the voxels.
    fn read_files(&self) -> Result<Inputs, CliError> {
        let image = GridRule::Itk.read_volume(&self.input)?;
        if let Some(dimension) = self.dimension {
            check_dimension(dimension == 2, [(self.input.as_path(), &image.grid)])?;
        }
        let mask = self.mask.as_deref().map(|path| mask::read(path, &image.grid)).transpose()?;
        let weights = match self.weights.as_deref() {
            None => None,
            Some(path) => {
                let weights = GridRule::Itk.read_volume(path)?;
                study::inputs::check_grid(path, &weights.grid, &self.input, &image.grid, "linear")?;
                Some(weights)
            }
        };
        let geometry = ItkGeometry::read(&self.input)?;
        // A mask with another grid has been resampled on the grid of the image.
        let of = |path: &Option<PathBuf>| match path.as_deref() {
            Some(path) if study::geometry::same(&image.grid, &GridRule::Itk.read_grid(path)?) => {
                ItkGeometry::read(path)
            }
            _ => Ok(geometry),
        };
        let geometries = Geometries { image: geometry, mask: of(&self.mask)?, weights: of(&self.weights)? };
        Ok(Inputs { image, mask, weights, geometries })
    }

    fn read(given: &[Given]) -> Result<Request, Refusal> {
        let last = |flag: &'static str| words::last(given, flag);
        let needed = |flag: &'static str| last(flag).ok_or_else(|| Refusal::new(format!("--{flag}"), "is missing"));
        let file = |flag: &'static str| last(flag).map(|value| PathBuf::from(&value.text));
        let output = needed("output")?;
        let request = Request {
            dimension: last("image-dimensionality").map(|value| super::dimension(&value.text)).transpose()?,
            input: PathBuf::from(&needed("input-image")?.text),
            mask: file("mask-image"),
            weights: file("weight-image"),
            rescale: last("rescale-intensities")
                .map_or(Ok(true), |v| words::switch("--rescale-intensities", &v.text))?,
            options: options(last)?,
            output: PathBuf::from(output.parameter(0).unwrap_or(&output.name)),
            field: output.parameter(1).map(PathBuf::from),
        };
        request.options.check().map_err(|error| Refusal::new("options", error))?;
        Ok(request)
    }
}

/// Returns the parameters of N4. A flag that is not given has ANTs' default.
fn options<'a>(last: impl Fn(&'static str) -> Option<&'a Value>) -> Result<Options, Refusal> {
    // Returns the parameter at a position, counted from 0, inside the brackets of a flag's value. A value without
    // brackets counts as the parameter at position 0.
    let part = |flag: &'static str, place: usize| {
        let value = last(flag)?;
        value.parameter(place).or_else(|| (place == 0 && value.parameters.is_none()).then_some(value.name.as_str()))
    };
    let mut options = Options { threshold: 0.0, mesh: Mesh::Elements([1; 3]), ..Options::default() };
    if let Some(text) = part("shrink-factor", 0) {
        options.shrink = number("--shrink-factor", text)?;
    }
    if let Some(text) = part("convergence", 0) {
        options.iterations = text.split('x').map(|part| number("--convergence", part)).collect::<Result<_, _>>()?;
    }
    if let Some(text) = part("convergence", 1) {
        // N4 ends a level when the coefficient of variation of the bias field's change is below the threshold. This
        // coefficient is never below 0, so a negative threshold has the same effect as 0.
        options.threshold = number::<f64>("--convergence", text)?.max(0.0);
    }
    if let Some(text) = part("bspline-fitting", 1).filter(|order| *order != "3") {
        return Err(Refusal::not_served(format!("--bspline-fitting of order {text}"), "use cubic splines, order 3"));
    }
    if let Some(text) = part("bspline-fitting", 0) {
        let parts = text.split('x').map(|part| number("--bspline-fitting", part)).collect::<Result<Vec<f64>, _>>()?;
        options.mesh = match parts[..] {
            [distance] => Mesh::DistanceMm(distance),
            [x, y] => Mesh::Elements([x as usize, y as usize, 1]),
            [x, y, z] => Mesh::Elements([x as usize, y as usize, z as usize]),
            _ => {
                let found =
                    format!("expected a distance in mm, or numbers of mesh elements such as 1x1x1, found {text}");
                return Err(Refusal::new("--bspline-fitting", found));
            }
        };
    }
    if let Some(text) = part("histogram-sharpening", 0) {
        options.fwhm = number("--histogram-sharpening", text)?;
    }
    if let Some(text) = part("histogram-sharpening", 1) {
        options.noise = number("--histogram-sharpening", text)?;
    }
    if let Some(text) = part("histogram-sharpening", 2) {
        options.bins = number("--histogram-sharpening", text)?;
    }
    Ok(options)
}

fn number<T: FromStr>(option: &str, text: &str) -> Result<T, Refusal> {
    text.trim().parse().map_err(|_| Refusal::new(option, format!("expected a number, found {text}")))
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;
    use antsreg_core::io::nifti;
    use nalgebra::{Point3, Rotation3};

    use super::*;

    fn read(line: &str) -> Result<Request, Refusal> {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Request::read(&words::parse(&arguments, FLAGS)?)
    }

    #[test]
    fn the_call_of_fmriprep_is_understood() {
        let line = "--bspline-fitting [ 200 ] -d 3 --input-image T1w.nii.gz --convergence [ 50x50x50x50x50, 1e-07 ] \
                    --output [ out.nii.gz, field.nii.gz ] --shrink-factor 4 -r";
        let expected = Request {
            dimension: Some(3),
            input: "T1w.nii.gz".into(),
            mask: None,
            weights: None,
            rescale: true,
            options: Options { iterations: vec![50; 5], ..Options::default() },
            output: "out.nii.gz".into(),
            field: Some("field.nii.gz".into()),
        };
        assert_eq!(read(line), Ok(expected));
    }

    #[test]
    fn without_flags_the_defaults_of_ants_hold() {
        let found = read("-i a.nii -o b.nii").expect("both files are given");
        let expected = Options { threshold: 0.0, mesh: Mesh::Elements([1; 3]), ..Options::default() };
        assert_eq!((found.options, found.field, found.dimension), (expected, None, None));
    }

    #[test]
    fn what_is_not_served_is_refused_by_name() {
        for (line, expected) in [
            ("-i a.nii -o b.nii -b [200,2]", "--bspline-fitting of order 2"),
            ("-i a.nii -o b.nii -b [1x1x1x1]", "--bspline-fitting"),
            ("-i a.nii -o b.nii -s four", "--shrink-factor"),
            ("-i a.nii -o b.nii -s 0", "options"),
            ("-i a.nii -o b.nii -d 4", "dimension 4"),
            ("-i a.nii", "--output"),
        ] {
            assert_eq!(read(line).expect_err(line).option, expected);
        }
    }

    #[test]
    fn the_geometry_of_each_file_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, degrees: f64, origin: f64| {
            let direction = Rotation3::from_euler_angles(0.1, 0.2, degrees.to_radians()).into_inner();
            let grid =
                Grid { direction, origin: Point3::new(origin, 0.0, 0.0), ..Grid::axis_aligned([8; 3], [1.0; 3]) };
            let path = folder.path().join(name);
            nifti::write_volume(&path, &Volume::filled(grid, 1.0)).expect("a file");
            path
        };
        let image = write("image.nii", 10.0, 0.0);
        // The corners of the mask are less than 0.05 mm from those of the image, so it is used without resampling.
        let mask = write("mask.nii", 10.001, 0.0);
        let geometries = |mask: &PathBuf| {
            let line = format!("-i {} -o out.nii -x {}", image.display(), mask.display());
            read(&line).expect("a call").read_files().map(|inputs| inputs.geometries).expect("all files are there")
        };
        let found = geometries(&mask);
        let [of_image, of_mask] = [&image, &mask].map(|path| ItkGeometry::read(path).expect("a geometry"));
        assert_ne!(of_image, of_mask);
        assert_eq!((found.image, found.mask, found.weights), (of_image, of_mask, of_image));
        // A mask elsewhere is resampled on the grid of the image.
        assert_eq!(geometries(&write("moved.nii", 10.0, 2.0)).mask, of_image);
    }
}
