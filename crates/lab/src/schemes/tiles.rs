//! Sorts the voxels of each tile (a box of 32×8×8 voxels) of the fixed volume by bin, as the kernels in
//! `cu/cr_tiled.cu` need it.

use rayon::prelude::*;

/// Number of voxels of a tile (a box of voxels) along each axis, as in `cu/tile.cuh`.
pub(super) const TILE: [usize; 3] = [32, 8, 8];
/// Total number of voxels of a tile (a box of voxels).
pub(super) const TILE_VOXELS: usize = TILE[0] * TILE[1] * TILE[2];
/// Largest number of voxels in a piece: a group of sorted voxels of one bin, which one thread adds up.
const PIECE: usize = 16;
/// Mark for a voxel position of a tile (a box of 32×8×8 voxels) that lies outside the volume. In the table of tiles, it
/// stands in place of the voxel's position after sorting.
const NOT_COUNTED: u16 = u16::MAX;

/// Number of tiles (boxes of 32×8×8 voxels) that are needed to cover a volume.
pub(super) fn count(shape: [usize; 3]) -> usize {
    (0..3).map(|axis| shape[axis].div_ceil(TILE[axis])).product()
}

/// Tables for all tiles (boxes of 32×8×8 voxels) of a volume: where each voxel goes when the voxels of its tile are
/// sorted by bin. The layout is that of `Tiles` in `cu/cr_tiled.cu`.
#[derive(Default)]
pub(super) struct Tiles {
    pub(super) places: Vec<u16>,
    pub(super) pieces: Vec<u16>,
    pub(super) first_piece: Vec<u32>,
    pub(super) bin_pieces: Vec<u16>,
    pub(super) most_pieces: usize,
}

impl Tiles {
    pub(super) fn new(shape: [usize; 3], voxel_bins: &[u16], bins: usize) -> Tiles {
        let tiles: Vec<Tile> =
            (0..count(shape)).into_par_iter().map(|at| Tile::new(shape, voxel_bins, bins, at)).collect();
        let mut all = Tiles { first_piece: vec![0], ..Tiles::default() };
        for tile in tiles {
            all.most_pieces = all.most_pieces.max(tile.pieces.len() - 1);
            all.places.extend(tile.places);
            all.pieces.extend(tile.pieces);
            all.first_piece.push(all.pieces.len() as u32);
            all.bin_pieces.extend(tile.bin_pieces);
        }
        all
    }
}

struct Tile {
    places: Vec<u16>,
    pieces: Vec<u16>,
    bin_pieces: Vec<u16>,
}

impl Tile {
    fn new(shape: [usize; 3], voxel_bins: &[u16], bins: usize, index: usize) -> Tile {
        let [columns, rows] = [0, 1].map(|axis| shape[axis].div_ceil(TILE[axis]));
        let corner = [index % columns * TILE[0], index / columns % rows * TILE[1], index / columns / rows * TILE[2]];
        let bin_of = |local: usize| {
            let within = [local % TILE[0], local / TILE[0] % TILE[1], local / TILE[0] / TILE[1]];
            let [x, y, z] = std::array::from_fn(|axis| corner[axis] + within[axis]);
            let inside = x < shape[0] && y < shape[1] && z < shape[2];
            inside.then(|| usize::from(voxel_bins[(z * shape[1] + y) * shape[0] + x]))
        };
        let mut next = vec![0_u16; bins + 1];
        for bin in (0..TILE_VOXELS).filter_map(bin_of) {
            next[bin + 1] += 1;
        }
        let (mut pieces, mut bin_pieces) = (Vec::new(), vec![0]);
        for bin in 0..bins {
            let (start, end) = (next[bin], next[bin] + next[bin + 1]);
            next[bin + 1] = end;
            pieces.extend((start..end).step_by(PIECE));
            bin_pieces.push(pieces.len() as u16);
        }
        pieces.push(next[bins]);
        let mut places = vec![NOT_COUNTED; TILE_VOXELS];
        for local in 0..TILE_VOXELS {
            if let Some(bin) = bin_of(local) {
                places[local] = next[bin];
                next[bin] += 1;
            }
        }
        Tile { places, pieces, bin_pieces }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_voxel_has_its_own_place_within_a_piece_of_its_bin() {
        let (shape, bins) = ([41, 9, 17], 37);
        let voxel_bins: Vec<u16> =
            (0..41 * 9 * 17).map(|n| if n % 3 == 0 { 0 } else { (n * 31 % 37) as u16 }).collect();
        let tiles = Tiles::new(shape, &voxel_bins, bins);
        assert_eq!(tiles.places.len(), count(shape) * TILE_VOXELS);
        let mut seen = 0;
        for tile in 0..count(shape) {
            let pieces = &tiles.pieces[tiles.first_piece[tile] as usize..tiles.first_piece[tile + 1] as usize];
            let bin_pieces = &tiles.bin_pieces[tile * (bins + 1)..][..=bins];
            assert_eq!(usize::from(bin_pieces[bins]), pieces.len() - 1);
            let mut taken = vec![false; usize::from(pieces[pieces.len() - 1])];
            let corner = [tile % 2 * 32, tile / 2 % 2 * 8, tile / 4 * 8];
            for (local, place) in tiles.places[tile * TILE_VOXELS..][..TILE_VOXELS].iter().enumerate() {
                let [x, y, z] = [corner[0] + local % 32, corner[1] + local / 32 % 8, corner[2] + local / 256];
                if x >= 41 || y >= 9 || z >= 17 {
                    assert_eq!(*place, NOT_COUNTED);
                    continue;
                }
                seen += 1;
                assert!(!std::mem::replace(&mut taken[usize::from(*place)], true));
                let piece = pieces.partition_point(|start| start <= place) - 1;
                let bin = bin_pieces.partition_point(|first| usize::from(*first) <= piece) - 1;
                assert_eq!(bin, usize::from(voxel_bins[(z * 9 + y) * 41 + x]));
            }
            assert!(taken.iter().all(|taken| *taken));
            assert!(pieces.windows(2).all(|piece| piece[1] > piece[0] && usize::from(piece[1] - piece[0]) <= PIECE));
        }
        assert_eq!(seen, 41 * 9 * 17);
    }
}
