//! The parsed command line of `antsApplyTransforms`.

use std::path::{Path, PathBuf};

use antsreg_console::Refusal;
use antsreg_core::io::nifti::Stored;
use antsreg_core::io::{ImageFormat, itk};
use antsreg_study::apply::{Kind, Reading};
use antsreg_study::transforms::{TransformFile, is_image_output};

use crate::ants::interpolation;
use crate::ants::words::{self, Flag, Given, Value, flag, long, switch};

/// All flags of `antsApplyTransforms`.
pub const FLAGS: &[Flag] = &[
    flag('d', "dimensionality"),
    flag('e', "input-image-type"),
    long("time-index"),
    flag('i', "input"),
    flag('r', "reference-image"),
    flag('o', "output"),
    flag('n', "interpolation"),
    flag('u', "output-data-type"),
    flag('t', "transform"),
    flag('f', "default-value"),
    flag('z', "static-cast-for-R"),
    long("float"),
    flag('v', "verbose"),
];

/// Parsed options and file names of a command line of `antsApplyTransforms`.
#[derive(Debug, Clone)]
pub struct Request {
    /// Whether the images have two dimensions.
    pub slices: bool,
    /// Path of the image to resample.
    pub input: Option<PathBuf>,
    /// Kind of the input image: scalars, vectors, tensors or a series of volumes.
    pub kind: Kind,
    /// Path of the image whose grid the output gets.
    pub reference: Option<PathBuf>,
    /// The output of `antsApplyTransforms`: an image, a displacement field or a transform.
    pub output: Option<Output>,
    /// The transforms in the order of the command line. A point of the reference image passes through the first
    /// transform first.
    pub transforms: Vec<TransformFile>,
    /// Interpolation of the input image.
    pub reading: Reading,
    /// Value of output voxels that lie outside the input image.
    pub outside: f32,
    /// Storage type of the voxels of output images, if the command line names one.
    pub stored: Option<Stored>,
    /// Storage type of the vectors of output fields.
    pub float_type: Stored,
}

/// The kind of output that `antsApplyTransforms` writes, with the path of the output file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Output: the resampled image, written to this file.
    Image(PathBuf),
    /// Output: the composition of all transforms as one displacement field, written to this file.
    Field(PathBuf),
    /// Output: the composition of all transforms as one affine map.
    Affine {
        /// Path of the output file.
        path: PathBuf,
        /// Whether the inverse of the affine map is written.
        inverted: bool,
    },
    /// Output: all transforms, stored one after the other in one composite file.
    Composite(PathBuf),
}

impl Output {
    /// Path of the output file.
    pub fn path(&self) -> &Path {
        match self {
            Output::Image(path) | Output::Field(path) | Output::Affine { path, .. } | Output::Composite(path) => path,
        }
    }

    fn read(value: &Value) -> Result<Output, Refusal> {
        let shown = format!("--output {}", value.text);
        let refuse = |why: &str| Err(Refusal::new(&shown, why));
        let Some(parameters) = &value.parameters else {
            return Output::Image(PathBuf::from(&value.text)).checked(&shown);
        };
        let Some(path) = value.parameter(0).map(PathBuf::from) else {
            return refuse("expected the name of a file");
        };
        let flag = value.parameter(1).map_or(Ok(false), |text| switch(&shown, text))?;
        if parameters.len() > 2 {
            return refuse("expected at most two values in the brackets");
        }
        let output = match value.name.to_lowercase().as_str() {
            "" if flag => Output::Field(path),
            "" => Output::Image(path),
            "linear" => Output::Affine { path, inverted: flag },
            "displacementfield" => Output::Field(path),
            "compositetransform" => Output::Composite(path),
            _ => return refuse("expected FILE, [FILE,1], DisplacementField[…], Linear[…] or CompositeTransform[…]"),
        };
        output.checked(&shown)
    }

    /// Refuses an output name whose format cannot be written.
    fn checked(self, shown: &str) -> Result<Output, Refusal> {
        let extension = self.path().extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let (fits, expected) = match &self {
            Output::Image(path) => (is_image_output(path), ImageFormat::NAMES),
            Output::Field(path) => {
                (is_image_output(path) || itk::is_composite(path), ".nii.gz, .nii, .nrrd, .mha or .h5")
            }
            Output::Affine { .. } => (["mat", "txt", "tfm"].contains(&extension.as_str()), ".mat, .txt or .tfm"),
            Output::Composite(path) => (itk::is_composite(path), ".h5"),
        };
        match fits {
            true => Ok(self),
            false => Err(Refusal::not_served(shown, format!("use a name that ends in {expected}"))),
        }
    }
}

impl Request {
    /// Parses the flags of a command line of `antsApplyTransforms`.
    ///
    /// # Errors
    /// A value that is not understood or not supported.
    pub fn read(given: &[Given]) -> Result<Request, Refusal> {
        let last = |flag: &'static str| words::last(given, flag);
        let path = |flag: &'static str| last(flag).map(|value| PathBuf::from(&value.text));
        let slices = match last("dimensionality").map(|value| value.text.as_str()) {
            Some("2") => true,
            None | Some("3") => false,
            Some(other) => {
                return Err(Refusal::not_served(format!("--dimensionality {other}"), "use 2 or 3"));
            }
        };
        let on = |flag: &'static str| last(flag).map_or(Ok(false), |value| switch(&format!("--{flag}"), &value.text));
        let float_type = if on("float")? { Stored::Float32 } else { Stored::Float64 };
        let outside = match last("default-value") {
            None => 0.0,
            Some(value) => number(value).ok_or_else(|| {
                Refusal::new(
                    format!("--default-value {}", value.text),
                    "expected a number in the range of single precision",
                )
            })?,
        };
        let transforms = given.iter().filter(|given| given.flag == "transform").flat_map(|given| &given.values);
        on("verbose")?;
        Ok(Request {
            slices,
            input: path("input"),
            kind: kind(last("input-image-type"), last("time-index"), slices)?,
            reference: path("reference-image"),
            output: last("output").map(Output::read).transpose()?,
            transforms: transforms.map(transform).collect::<Result<_, _>>()?,
            reading: last("interpolation").map_or(Ok(Reading::Linear), interpolation::reading)?,
            outside,
            stored: last("output-data-type").and_then(|value| stored(&value.text)),
            float_type,
        })
    }
}

fn number(value: &Value) -> Option<f32> {
    value.text.parse().ok().filter(|number: &f32| number.is_finite())
}

fn transform(value: &Value) -> Result<TransformFile, Refusal> {
    value.text.parse().map_err(|error| Refusal::new(format!("--transform {}", value.text), error))
}

/// Returns the storage type of voxels that ANTs calls `name`. As in ANTs, an unknown name means no type.
fn stored(name: &str) -> Option<Stored> {
    match name.to_lowercase().as_str() {
        "char" => Some(Stored::Int8),
        "uchar" => Some(Stored::Uint8),
        "short" => Some(Stored::Int16),
        "int" => Some(Stored::Int32),
        "float" => Some(Stored::Float32),
        "double" => Some(Stored::Float64),
        _ => None,
    }
}

fn kind(value: Option<&Value>, index: Option<&Value>, slices: bool) -> Result<Kind, Refusal> {
    let name = value.map_or("0", |value| value.text.as_str());
    let kind = match name {
        "0" | "scalar" => Kind::Scalar,
        "1" | "vector" => Kind::Vector,
        "2" | "tensor" if slices => {
            return Err(Refusal::new(
                format!("--input-image-type {name}"),
                "tensors of two-dimensional images are not supported; ANTs does not support them either",
            ));
        }
        "2" | "tensor" => Kind::Tensor,
        "3" | "time-series" => Kind::Series,
        "4" | "multichannel" => Kind::Channels,
        "5" | "five-dimensional" => Kind::FiveDimensional,
        "6" | "physical-vector" => Kind::PhysicalVector,
        _ => {
            let why = "expected 0 to 6, or scalar, vector, tensor, time-series, multichannel, five-dimensional, physical-vector";
            return Err(Refusal::new(format!("--input-image-type {name}"), why));
        }
    };
    match (kind, index) {
        (Kind::Series, Some(value)) => match value.text.parse() {
            Ok(index) => Ok(Kind::OneOfSeries(index)),
            Err(_) => Err(Refusal::new(format!("--time-index {}", value.text), "expected a whole number from 0")),
        },
        _ => Ok(kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ants::words::parse;

    fn read(line: &str) -> Result<Request, Refusal> {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Request::read(&parse(&arguments, FLAGS)?)
    }

    #[test]
    fn a_line_of_niworkflows_is_read() {
        let request = read(
            "--default-value -7.5 --float 1 --input in.nii.gz --interpolation Gaussian --output out.nii.gz \
             --reference-image ref.nii.gz --transform warp.nii.gz --transform [ xfm0.mat, 1 ]",
        )
        .expect("it is served");
        assert_eq!((request.outside, request.float_type, request.kind), (-7.5, Stored::Float32, Kind::Scalar));
        assert_eq!(request.output, Some(Output::Image("out.nii.gz".into())));
        let shown: Vec<String> = request.transforms.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["warp.nii.gz", "[xfm0.mat,1]"]);
    }

    #[test]
    fn outputs_are_images_fields_affines_and_composites() {
        let output = |text: &str| read(&format!("-o {text}")).map(|request| request.output);
        let path = |name: &str| PathBuf::from(name);
        assert_eq!(output("[a.nii,0]"), Ok(Some(Output::Image(path("a.nii")))));
        assert_eq!(output("[a.nii,1]"), Ok(Some(Output::Field(path("a.nii")))));
        assert_eq!(output("DisplacementField[a.h5]"), Ok(Some(Output::Field(path("a.h5")))));
        assert_eq!(output("linear[a.txt,1]"), Ok(Some(Output::Affine { path: path("a.txt"), inverted: true })));
        assert_eq!(output("CompositeTransform[a.h5]"), Ok(Some(Output::Composite(path("a.h5")))));
        for text in ["a.png", "[a.png,1]", "Linear[a.nii]", "Linear[]", "Other[a.nii]", "[a.nii,yes]", "[a.nii,1,1]"]
        {
            assert!(output(text).is_err(), "{text}");
        }
    }

    #[test]
    fn types_are_those_of_ants() {
        let stored = |line: &str| read(line).map(|request| request.stored);
        assert_eq!(stored("-d 3"), Ok(None));
        assert_eq!(stored("-u short --float 1"), Ok(Some(Stored::Int16)));
        assert_eq!(stored("-u long"), Ok(None));
        assert_eq!(read("-e 3 --time-index 2").map(|request| request.kind), Ok(Kind::OneOfSeries(2)));
        for line in ["-e 9", "-d 4", "-d 2 -e 2", "--float true", "-f abc", "-e 3 --time-index -1"] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
