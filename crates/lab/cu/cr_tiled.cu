// The sums of the correlation ratio without write conflicts and without scattered reads. Voxels are sampled tile by
// tile (boxes of 32×8×8 voxels) in the order of the volume, and sorted by bin only within a tile, in shared memory. A
// table gives each voxel's position in the sorted tile beforehand.
//
// The sorted voxels of a bin are cut into pieces of at most PIECE voxels. One thread adds up each piece, and one thread
// adds up all pieces of a bin in order, so that the result has the same bits every time. A thread block processes every
// gridDim.x-th tile and writes one row of sums.
#include "tile.cuh"

#define THREADS 256
#define NOT_COUNTED 0xffffu

// Tables that sort the voxels of each tile (a box of 32×8×8 voxels) by bin; layout of Tiles in src/schemes/tiles.rs.
struct Tiles {
    // For each voxel of a tile (32×8×8 voxels), its position after sorting by bin; NOT_COUNTED outside the volume.
    const unsigned short *places;
    // A piece is a group of at most PIECE successive voxels of one bin, after the voxels of a tile (a box of 32×8×8
    // voxels) were sorted by bin. `pieces`: for each tile the position of the first voxel of each piece, and the end of
    // the last piece. `first_piece`: the index of each tile's first entry in `pieces`.
    const unsigned short *pieces;
    const unsigned int *first_piece;
    // For each tile and each bin, the index of the bin's first piece (group of sorted voxels that one thread adds up)
    // among the tile's pieces, counted from 0. After the last bin of a tile, the number of all pieces of the tile.
    const unsigned short *bin_pieces;
    unsigned int count;
    int most_pieces;
};

template <int SOURCE>
__device__ __forceinline__ void add_tiles(const Pair &pair, int bins, const Tiles &tiles, float *rows)
{
    extern __shared__ float shared[];
    float *values = shared, *weights = values + TILE, *sums = weights + TILE;
    float *piece_n = sums + 3 * bins, *piece_s = piece_n + tiles.most_pieces, *piece_ss = piece_s + tiles.most_pieces;
    const int thread = threadIdx.x, lane = thread % 32, row = thread / 32;
    for (int at = thread; at < 3 * bins; at += THREADS) sums[at] = 0.f;
    __syncthreads();
    for (unsigned int index = blockIdx.x; index < tiles.count; index += gridDim.x) {
        const Tile tile(pair.shape, index);
        const Where place = where(pair, tile);
        if (place == OUTSIDE) continue;
        const unsigned short *places = tiles.places + (size_t)index * TILE + row * TILE_X + lane;
        const float i = (float)(tile.x + lane), j = (float)(tile.y + row);
        const unsigned int voxel = ((unsigned int)tile.z * pair.shape.y + tile.y + row) * pair.shape.x + tile.x + lane;
        const unsigned int slice = pair.shape.x * pair.shape.y;
        if (place == INSIDE) {
#pragma unroll 4
            for (int z = 0; z < TILE_Z; ++z) {
                const unsigned int to = places[z * TILE_X * TILE_Y];
                if (to != NOT_COUNTED)
                    values[to] = inside_value<SOURCE>(pair, voxel + z * slice, i, j, (float)(tile.z + z));
            }
        } else {
            for (int z = 0; z < TILE_Z; ++z) {
                const unsigned int to = places[z * TILE_X * TILE_Y];
                if (to == NOT_COUNTED) continue;
                const Vector at = mapped(pair, i, j, (float)(tile.z + z));
                const float weight = ramp(pair, at);
                weights[to] = weight;
                values[to] = weight > 0.f ? value_at(pair, at) : 0.f;
            }
        }
        __syncthreads();
        const unsigned int first = tiles.first_piece[index], pieces = tiles.first_piece[index + 1] - first - 1;
        for (unsigned int piece = thread; piece < pieces; piece += THREADS) {
            const unsigned int start = tiles.pieces[first + piece], end = tiles.pieces[first + piece + 1];
            float n = (float)(end - start), s = 0.f, ss = 0.f;
            if (place == INSIDE) {
                for (unsigned int at = start; at < end; ++at) {
                    const float value = values[at];
                    s += value;
                    ss = fmaf(value, value, ss);
                }
            } else {
                n = 0.f;
                for (unsigned int at = start; at < end; ++at) {
                    const float weight = weights[at], value = values[at];
                    n += weight;
                    s = fmaf(weight, value, s);
                    ss = fmaf(weight * value, value, ss);
                }
            }
            piece_n[piece] = n;
            piece_s[piece] = s;
            piece_ss[piece] = ss;
        }
        __syncthreads();
        const unsigned short *bin_pieces = tiles.bin_pieces + (size_t)index * (bins + 1);
        for (int bin = thread; bin < bins; bin += THREADS) {
            float n = 0.f, s = 0.f, ss = 0.f;
            const unsigned int end = bin_pieces[bin + 1];
            for (unsigned int piece = bin_pieces[bin]; piece < end; ++piece) {
                n += piece_n[piece];
                s += piece_s[piece];
                ss += piece_ss[piece];
            }
            sums[bin] += n;
            sums[bins + bin] += s;
            sums[2 * bins + bin] += ss;
        }
        // No barrier is needed between two tiles (boxes of voxels). The next tile first overwrites the values and
        // weights of this tile, which all threads have finished reading. The sums of pieces (groups of sorted voxels),
        // which some threads may still read, are overwritten only after another barrier.
    }
    for (int bin = thread; bin < bins; bin += THREADS)
        for (int which = 0; which < 3; ++which)
            rows[(size_t)blockIdx.x * 3 * bins + which * bins + bin] = sums[which * bins + bin];
}

#define TILED(name, source)                                                                                            \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                              \
        name(const __grid_constant__ Pair pair, int bins, const __grid_constant__ Tiles tiles, float *rows)            \
    {                                                                                                                  \
        add_tiles<source>(pair, bins, tiles, rows);                                                                    \
    }

TILED(cr_tiled_given, GIVEN)
TILED(cr_tiled_exact, EXACT)
TILED(cr_tiled_filtered, FILTERED)
