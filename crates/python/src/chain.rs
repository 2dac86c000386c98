//! Sequences of transforms for Python: from files, arrays and registrations.

use std::path::PathBuf;
use std::sync::Arc;

use antsreg_core::io::{fsl, itk};
use antsreg_core::{DisplacementField, Transform, TransformChain};
use antsreg_register::Registration;
use antsreg_study::transforms::{self, TransformFile};
use ndarray::ArrayView4;
use numpy::{PyReadonlyArray4, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::error::{Class, Failure, chain};
use crate::process;
use crate::space::{Matrix, Space, affine_of, matrix};
use crate::view;

/// A sequence of transforms from points of the output image to points of the input image. A point goes through the
/// first transform first.
#[pyclass(frozen, module = "antsreg_gpu._native")]
#[derive(Clone)]
pub struct Chain(Steps);

#[derive(Clone)]
enum Steps {
    Own(Arc<TransformChain>),
    Forward(Arc<Registration>),
    Backward(Arc<Registration>),
}

#[pymethods]
impl Chain {
    /// Reads the transforms in a file of ITK: an affine, a warp, or a composite of several transforms.
    #[staticmethod]
    fn read(py: Python, path: PathBuf, inverted: bool) -> Result<Chain, Failure> {
        process::compute(py, || Ok(transforms::read_chain(&[TransformFile { path, inverted }])?.into()))
    }

    /// Reads an affine in FLIRT's format. The grids of the fixed and the moving image are needed to convert it to RAS
    /// mm.
    #[staticmethod]
    fn read_fsl(path: PathBuf, fixed: &Space, moving: &Space) -> Result<Chain, Failure> {
        let affine = fsl::read_matrix(&path, &fixed.grid, &moving.grid)?;
        Ok(TransformChain::from(vec![Transform::Affine(affine)]).into())
    }

    /// Makes a sequence of one affine, given as a 4×4 matrix in RAS mm.
    #[staticmethod]
    fn of_affine(given: Matrix, inverted: bool, name: &str) -> Result<Chain, Failure> {
        let mut steps = TransformChain::new();
        let affine = Transform::Affine(affine_of(&given, name.as_ref())?);
        steps.push(name, affine, inverted).map_err(chain)?;
        Ok(steps.into())
    }

    /// Makes a sequence of one warp: displacement vectors in RAS mm (X×Y×Z×3) and their voxel-to-world matrix.
    #[staticmethod]
    fn of_warp(py: Python, vectors: PyReadonlyArray4<f32>, affine: Matrix, name: &str) -> Result<Chain, Failure> {
        let shape = vectors.shape();
        if shape[3] != 3 {
            let text =
                format!("{name}: expected a warp of shape X×Y×Z×3, found {} components of each vector", shape[3]);
            return Err(Failure::own(Class::Input, text));
        }
        let Space { grid, .. } = Space::new(shape[..3].to_vec(), affine, name.into())?;
        let view = vectors.as_array();
        process::compute(py, || {
            let vectors = rows_of(view);
            let mut steps = TransformChain::new();
            let field = Transform::Displacement(DisplacementField { grid, vectors });
            steps.push(name, field, false).map_err(chain)?;
            Ok(steps.into())
        })
    }

    /// Joins several sequences into one sequence. A point goes through the first of these sequences first.
    #[staticmethod]
    fn joined(chains: Vec<PyRef<Chain>>) -> Chain {
        match &chains[..] {
            [one] => (*one).clone(),
            several => {
                let steps = several.iter().flat_map(|chain| chain.steps().steps.iter().cloned()).collect();
                TransformChain { steps }.into()
            }
        }
    }

    /// The type of each transform in the sequence: `affine` or `warp`.
    #[getter]
    fn kinds(&self) -> Vec<&'static str> {
        let kind = |transform: &Transform| match transform {
            Transform::Affine(_) => "affine",
            Transform::Displacement(_) => "warp",
        };
        self.steps().steps.iter().map(|step| kind(&step.transform)).collect()
    }

    /// The matrix of transform number `step` in the sequence, 4×4, RAS mm; `None` if that transform is a warp.
    fn affine(&self, step: usize) -> Option<Matrix> {
        match &self.steps().steps.get(step)?.transform {
            Transform::Affine(affine) => Some(matrix(affine)),
            Transform::Displacement(_) => None,
        }
    }

    /// The displacement vectors of transform number `step`, X×Y×Z×3, RAS mm; `None` if that transform is an affine.
    fn vectors<'py>(slf: &Bound<'py, Self>, step: usize) -> Result<Bound<'py, PyAny>, Failure> {
        view::vectors(slf, |chain| chain.field(step).map(|field| (&field.grid, field.vectors.as_slice())))
    }

    /// The grid of the displacement vectors of transform number `step`; `None` if that transform is an affine.
    fn space(&self, step: usize) -> Option<Space> {
        let grid = self.field(step)?.grid.clone();
        Some(Space { grid, name: "a warp".into(), planar: false })
    }

    /// The composition of all transforms as one 4×4 matrix, RAS mm; `None` if the sequence contains a warp.
    fn whole_affine(&self) -> Option<Matrix> {
        self.as_affine().map(|affine| matrix(&affine))
    }

    /// A text that names, for each transform of the sequence, the spaces of its input and output points.
    fn explain(&self) -> String {
        self.steps().explain().to_string()
    }

    /// Writes the transforms for ITK: one affine (`.mat`, `.txt`, `.tfm`), one warp (`.nii`, `.nii.gz`), or the whole
    /// sequence (`.h5`). `centre` is the centre that ITK's files of affines contain, RAS mm.
    fn write(&self, py: Python, path: PathBuf, centre: [f64; 3]) -> Result<(), Failure> {
        let name = path.to_string_lossy().to_lowercase();
        if transforms::is_image_output(&path) {
            return match &self.steps().steps[..] {
                [step] => match &step.transform {
                    Transform::Displacement(field) => {
                        process::compute(py, || Ok(itk::write_warp(path.as_path(), field)?))
                    }
                    Transform::Affine(_) => Err(unsuitable(
                        &path,
                        "an image file cannot hold an affine; give a name that ends in .mat or .txt",
                    )),
                },
                _ => Err(unsuitable(
                    &path,
                    "an image file holds exactly one transform; write a file for each transform, or one .h5 file",
                )),
            };
        }
        if [".h5", ".hdf5"].iter().any(|extension| name.ends_with(extension)) {
            let chain = self.steps();
            return process::compute(py, || {
                Ok(itk::write_composite(&path, chain, centre.into(), dimensions(chain))?)
            });
        }
        if ![".mat", ".txt", ".tfm"].iter().any(|extension| name.ends_with(extension)) {
            return Err(unsuitable(&path, "the file name must end in .mat, .txt, .tfm, .h5, .nii or .nii.gz"));
        }
        match self.as_affine() {
            Some(affine) => Ok(itk::write_affine(&path, &affine, centre.into())?),
            None => Err(unsuitable(
                &path,
                ".mat, .txt and .tfm files cannot hold a warp; give a name that ends in .nii.gz or .nii",
            )),
        }
    }

    /// Writes an affine in FLIRT's format, for a fixed image (FLIRT's reference) and a moving image (FLIRT's input).
    fn write_fsl(&self, path: PathBuf, fixed: &Space, moving: &Space) -> Result<(), Failure> {
        match self.as_affine() {
            Some(affine) => Ok(fsl::write_matrix(&path, &affine, &fixed.grid, &moving.grid)?),
            None => Err(unsuitable(&path, "an FSL matrix file cannot hold a warp")),
        }
    }
}

impl Chain {
    /// The transforms of a registration from points of the fixed image to points of the moving image.
    pub fn forward(found: Arc<Registration>) -> Chain {
        Chain(Steps::Forward(found))
    }

    /// The transforms of a registration from points of the moving image to points of the fixed image.
    pub fn backward(found: Arc<Registration>) -> Chain {
        Chain(Steps::Backward(found))
    }

    /// The transforms of this sequence, in order.
    pub fn steps(&self) -> &TransformChain {
        match &self.0 {
            Steps::Own(chain) => chain,
            Steps::Forward(found) => &found.forward,
            Steps::Backward(found) => &found.backward,
        }
    }

    fn field(&self, step: usize) -> Option<&DisplacementField> {
        match &self.steps().steps.get(step)?.transform {
            Transform::Displacement(field) => Some(field),
            Transform::Affine(_) => None,
        }
    }

    fn as_affine(&self) -> Option<antsreg_core::AffineTransform> {
        let identity = antsreg_core::AffineTransform::identity();
        self.steps().steps.iter().try_fold(identity, |whole, step| match &step.transform {
            Transform::Affine(affine) => Some(affine.after(&whole)),
            Transform::Displacement(_) => None,
        })
    }
}

impl From<TransformChain> for Chain {
    fn from(steps: TransformChain) -> Chain {
        Chain(Steps::Own(Arc::new(steps)))
    }
}

/// Number of dimensions for a composite file: two if a warp of the sequence of transforms lies on the grid of a slice,
/// otherwise three.
fn dimensions(chain: &TransformChain) -> itk::Dimensions {
    let of_slices = chain.steps.iter().any(|step| match &step.transform {
        Transform::Displacement(field) => field.grid.is_slice(),
        Transform::Affine(_) => false,
    });
    if of_slices { itk::Dimensions::Two } else { itk::Dimensions::Three }
}

fn unsuitable(path: &std::path::Path, found: &str) -> Failure {
    Failure::own(Class::Input, format!("{}: cannot be written: {found}", path.display()))
}

/// Copies the displacement vectors of an array of any memory order, so that the first axis varies fastest.
fn rows_of(view: ArrayView4<f32>) -> Vec<[f32; 3]> {
    let (nx, ny, nz, _) = view.dim();
    let at = |voxel: usize| {
        let (i, j, k) = (voxel % nx, voxel / nx % ny, voxel / nx / ny);
        [0, 1, 2].map(|axis| view[(i, j, k, axis)])
    };
    (0..nx * ny * nz).into_par_iter().map(at).collect()
}
