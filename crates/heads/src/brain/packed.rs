//! Unpacks the volumes of the built-in template. Their bytes are stored as differences from a prediction by
//! neighbouring voxels, compressed with zlib. `template/make.py` writes the files.

use std::io::Read;

use antsreg_core::{Grid, Volume};
use flate2::read::ZlibDecoder;

use super::Error;

/// Unpacks a volume of bytes on a grid and divides each value by `unit`.
///
/// # Errors
/// [`Error::Damaged`] if the bytes are not zlib data, or unpack to another number of voxels than the grid has.
pub fn unpack(packed: &[u8], grid: Grid, unit: f32) -> Result<Volume, Error> {
    let mut differences = Vec::with_capacity(grid.len());
    ZlibDecoder::new(packed).read_to_end(&mut differences).map_err(|error| Error::Damaged(error.to_string()))?;
    if differences.len() != grid.len() {
        return Err(Error::Damaged(format!("{} voxels, expected {}", differences.len(), grid.len())));
    }
    let [nx, ny, nz] = grid.shape;
    // The value of each voxel is predicted from neighbours with lower indices. So a plane of zeros is added before the
    // first index of each axis.
    let (row, slice) = (nx + 1, (nx + 1) * (ny + 1));
    let mut padded = vec![0_i32; slice * (nz + 1)];
    let mut voxels = Vec::with_capacity(grid.len());
    for (n, difference) in differences.into_iter().enumerate() {
        let at = (n / (nx * ny) + 1) * slice + (n / nx % ny + 1) * row + n % nx + 1;
        let one = padded[at - 1] + padded[at - row] + padded[at - slice];
        let two = padded[at - 1 - row] + padded[at - 1 - slice] + padded[at - row - slice];
        padded[at] = ((2 * one - two).div_euclid(3) + i32::from(difference)).rem_euclid(256);
        voxels.push(padded[at] as f32 / unit);
    }
    Ok(Volume { grid, voxels })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_bytes_are_refused() {
        let grid = Grid::axis_aligned([2, 2, 2], [1.0; 3]);
        assert!(matches!(unpack(b"not deflated", grid.clone(), 1.0), Err(Error::Damaged(_))));
        // Test data: eight zero bytes, compressed with zlib.
        let zeros = [0x78, 0xda, 0x63, 0x60, 0x80, 0x00, 0x00, 0x00, 0x08, 0x00, 0x01];
        assert_eq!(unpack(&zeros, grid.clone(), 1.0).expect("eight bytes").voxels, [0.0; 8]);
        let larger = Grid::axis_aligned([3, 2, 2], [1.0; 3]);
        assert!(matches!(unpack(&zeros, larger, 1.0), Err(Error::Damaged(_))));
    }
}
