// Joint histogram that counts as few voxels as possible. In the row of each fixed bin, the counter of the most frequent
// moving value is known without counting: all voxels of the bin, less those of the other counters and those outside the
// moving image. So bricks (8×8×4 voxels) with only the most frequent value are skipped (brick.cuh), and voxels of this
// value are never counted. Every thread block has a whole histogram in shared memory, with two 16-bit counters in a
// word, and processes fewer than 2¹⁶ voxels.
#include "reduce.cuh"
#include "brick.cuh"

// Counts the voxels of the bricks (boxes of 8×8×4 voxels) of this block. Before, `joint` must hold the number of voxels
// of each fixed bin in the column of the most frequent moving value, and zeros elsewhere. This block counts the `rows`
// fixed bins from blockIdx.y · rows on.
template <int SOURCE>
__device__ __forceinline__ void count_bricks(const Pair &pair, const Bricks &bricks, int rows, unsigned int *joint)
{
    extern __shared__ unsigned int counters[];
    const int lane = threadIdx.x % 32, bins = pair.bins, column = bin_of(pair, bricks.common);
    const int first_row = blockIdx.y * rows, own = min(rows, bins - first_row), hot = bricks.hot;
    for (int word = threadIdx.x; word < (own * bins + 1) / 2; word += blockDim.x) counters[word] = 0;
    __syncthreads();
    const auto count = [&](int row, int moving) {
        const unsigned int at = row * bins + moving;
        atomicAdd(counters + at / 2, at % 2 ? 1u << 16 : 1u);
    };
    unsigned int lost = 0;
    over_bricks<SOURCE>(pair, bricks, [&](unsigned int entry) {
        if (entry & DEEP) {
            over_deep<SOURCE>(pair, bricks, entry & NUMBER, lane, [&](int fixed, float value) {
                const int moving = bin_of(pair, value), row = fixed - first_row;
                if (moving != column && (unsigned int)row < (unsigned int)own) count(row, moving);
            });
        } else {
            over_border<SOURCE>(pair, bricks, entry, lane, [&](int fixed, float value, float weight) {
                const int moving = bin_of(pair, value), row = fixed - first_row;
                if ((unsigned int)row >= (unsigned int)own) return;
                if (weight > 0.f) {
                    if (moving != column) count(row, moving);
                } else if (fixed == hot) {
                    ++lost;
                } else {
                    // Voxels with the most frequent moving value are not counted. In the block's histogram, the counter
                    // of this value counts the voxels outside the moving image instead.
                    count(row, column);
                }
            });
        }
    });
    lost = warp_sum(lost);
    if (lane == 0 && lost) atomicSub(joint + hot * bins + column, lost);
    __syncthreads();
    // Each warp adds one row of the block's histogram to `joint`. Voxels that were counted in other counters of the
    // row, or are outside the moving image, are subtracted from the counter of the most frequent moving value.
    for (int row = threadIdx.x / 32; row < own; row += blockDim.x / 32) {
        unsigned int sum = 0;
        for (int moving = lane; moving < bins; moving += 32) {
            const unsigned int at = row * bins + moving, found = counters[at / 2] >> at % 2 * 16 & 0xffff;
            sum += found;
            if (found && moving != column) atomicAdd(joint + (first_row + row) * bins + moving, found);
        }
        sum = warp_sum(sum);
        if (lane == 0 && sum) atomicSub(joint + (first_row + row) * bins + column, sum);
    }
}

#define BRICKS(name, source)                                                                                           \
    extern "C" __global__ void __launch_bounds__(1024)                                                                 \
        name(const __grid_constant__ Pair pair, const __grid_constant__ Bricks bricks, int rows, unsigned int *joint)  \
    {                                                                                                                  \
        count_bricks<source>(pair, bricks, rows, joint);                                                               \
    }

BRICKS(mi_bricks_given, GIVEN)
BRICKS(mi_bricks_exact, EXACT)
BRICKS(mi_bricks_filtered, FILTERED)
