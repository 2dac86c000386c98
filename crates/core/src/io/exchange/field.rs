//! Images that give for each voxel of the fixed image a position in the moving image (a deformation), RAS mm: SPM's `y_`
//! files, NiftyReg's deformations, MRtrix's warps. NiftyReg's displacement fields hold the difference of the positions.

use std::path::Path;

use nalgebra::Point3;

use super::super::nifti::{self, GridRule, Meaning, Series, Timing, Vectors};
use super::super::{Error, ErrorKind};
use super::format::TransformFormat;
use crate::{DisplacementField, Grid, Volume};

/// NIfTI's name of the intent in NiftyReg's files, and the numbers of its kinds.
const NIFTYREG: &str = "NREG_TRANS";
const DEFORMATION: f32 = 0.0;
const DISPLACEMENT: f32 = 1.0;

/// The format of an image of vectors.
pub(super) fn format_of(path: &Path) -> Result<TransformFormat, Error> {
    let header = nifti::inspect(path)?;
    Ok(match header.dim {
        [4, _, _, _, 3, ..] => TransformFormat::Mrtrix,
        _ if header.intent_name == NIFTYREG => TransformFormat::NiftyReg,
        _ => TransformFormat::Itk,
    })
}

/// Reads a displacement field, RAS mm.
pub(super) fn read(format: TransformFormat, path: &Path) -> Result<DisplacementField, Error> {
    let wrap = |kind| Error::new(path, kind);
    if format == TransformFormat::Mrtrix {
        let Series { volumes, .. } = nifti::read_series(path)?;
        let [x, y, z] = &volumes[..] else {
            let found = format!("{} volumes", volumes.len());
            return Err(wrap(ErrorKind::Format { expected: "a warp of MRtrix with 3 volumes", found }));
        };
        let vectors = x.voxels.iter().zip(&y.voxels).zip(&z.voxels).map(|((x, y), z)| [*x, *y, *z]).collect();
        return Ok(from_positions(DisplacementField { grid: x.grid.clone(), vectors }));
    }
    let Vectors { grid, vectors, meaning, .. } = nifti::read_vectors(GridRule::default(), path)?;
    let field = DisplacementField { grid, vectors };
    let of_niftyreg = matches!(format, TransformFormat::NiftyReg | TransformFormat::NiftyRegDisplacements);
    match meaning.parameter {
        _ if format == TransformFormat::Spm => Ok(from_positions(field)),
        DEFORMATION if of_niftyreg => Ok(from_positions(field)),
        DISPLACEMENT if of_niftyreg => Ok(field),
        other => {
            let found = format!("the kind {other} (intent_p1)");
            Err(wrap(ErrorKind::Format {
                expected: "a deformation (0) or displacement field (1) of NiftyReg",
                found,
            }))
        }
    }
}

/// Writes a displacement field, RAS mm.
pub(super) fn write(format: TransformFormat, path: &Path, field: &DisplacementField) -> Result<(), Error> {
    let grid = &field.grid;
    let write = |vectors: &[[f32; 3]], name, parameter| {
        nifti::write_meant_vectors(path.into(), grid, vectors, Meaning { name, parameter })
    };
    match format {
        TransformFormat::Mrtrix => {
            let positions = to_positions(field);
            let volume = |axis: usize| Volume {
                grid: grid.clone(),
                voxels: positions.iter().map(|position| position[axis]).collect(),
            };
            nifti::write_series(path, &Series { volumes: [0, 1, 2].map(volume).into(), timing: Timing::default() })
        }
        TransformFormat::Spm => write(&to_positions(field), "Mapping".into(), 0.0),
        TransformFormat::NiftyReg => write(&to_positions(field), NIFTYREG.into(), DEFORMATION),
        TransformFormat::NiftyRegDisplacements => write(&field.vectors, NIFTYREG.into(), DISPLACEMENT),
        _ => Err(Error::new(path, ErrorKind::NotHeld { format: "Affine", what: "a displacement field" })),
    }
}

/// The positions of all voxels, in the order of the file.
fn positions(grid: &Grid) -> impl Iterator<Item = Point3<f64>> {
    let (to_world, [nx, ny, _]) = (grid.voxel_to_world(), grid.shape);
    (0..grid.len())
        .map(move |at| to_world.apply(&Point3::new((at % nx) as f64, (at / nx % ny) as f64, (at / nx / ny) as f64)))
}

fn from_positions(mut field: DisplacementField) -> DisplacementField {
    for (vector, voxel) in field.vectors.iter_mut().zip(positions(&field.grid)) {
        *vector = std::array::from_fn(|axis| (f64::from(vector[axis]) - voxel[axis]) as f32);
    }
    field
}

fn to_positions(field: &DisplacementField) -> Vec<[f32; 3]> {
    let sum = |(vector, voxel): (&[f32; 3], Point3<f64>)| {
        std::array::from_fn(|axis| (voxel[axis] + f64::from(vector[axis])) as f32)
    };
    field.vectors.iter().zip(positions(&field.grid)).map(sum).collect()
}
