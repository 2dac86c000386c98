//! Writing NIfTI-1: little-endian, `.nii.gz` or `.nii` by the file's name.

use std::io::Write;
use std::path::Path;

use ::nifti::{NiftiHeader, NiftiType};

use super::super::replace::replace;
use super::super::{Error, ErrorKind, gzip};
use super::header;
use crate::{Grid, LabelVolume, Volume};

/// Writes a volume in single precision.
pub fn write_volume(path: &Path, volume: &Volume) -> Result<(), Error> {
    let header = header_for(path, &volume.grid, NiftiType::Float32, false)?;
    let bytes: Vec<u8> = volume.voxels.iter().flat_map(|value| value.to_le_bytes()).collect();
    write(path, &header, &bytes)
}

/// Writes a label map in the smallest of uint8, int16 and int32 that holds its labels.
pub fn write_labels(path: &Path, labels: &LabelVolume) -> Result<(), Error> {
    let lowest = labels.voxels.iter().copied().min().unwrap_or(0);
    let highest = labels.voxels.iter().copied().max().unwrap_or(0);
    let (datatype, bytes): (_, Vec<u8>) = if lowest >= 0 && highest <= i32::from(u8::MAX) {
        (NiftiType::Uint8, labels.voxels.iter().map(|&label| label as u8).collect())
    } else if lowest >= i32::from(i16::MIN) && highest <= i32::from(i16::MAX) {
        (NiftiType::Int16, labels.voxels.iter().flat_map(|&label| (label as i16).to_le_bytes()).collect())
    } else {
        (NiftiType::Int32, labels.voxels.iter().flat_map(|label| label.to_le_bytes()).collect())
    };
    write(path, &header_for(path, &labels.grid, datatype, false)?, &bytes)
}

/// Writes a vector image from its three components, one after the other.
pub(crate) fn write_warp(path: &Path, grid: &Grid, components: &[u8]) -> Result<(), Error> {
    write(path, &header_for(path, grid, NiftiType::Float32, true)?, components)
}

fn header_for(path: &Path, grid: &Grid, datatype: NiftiType, vector: bool) -> Result<NiftiHeader, Error> {
    header::for_grid(grid, datatype, vector).map_err(|kind| Error::new(path, kind))
}

fn write(path: &Path, header: &NiftiHeader, voxels: &[u8]) -> Result<(), Error> {
    let name = path.to_string_lossy().to_lowercase();
    let head = header::to_bytes(header);
    if name.ends_with(".nii.gz") {
        replace(path, |file| gzip::write(file, &[&head, voxels]))
    } else if name.ends_with(".nii") {
        replace(path, |file| {
            file.write_all(&head)?;
            file.write_all(voxels)
        })
    } else {
        Err(Error::new(path, ErrorKind::Extension(".nii.gz or .nii")))
    }
}
