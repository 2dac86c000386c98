// Joint histograms in global memory: one for all threads, or one for each thread, as the columns of the table L_A of
// Sun 2010, 3.1.6.
#include "pair.cuh"

extern "C" __global__ void mi_global_atomic(const __grid_constant__ Pair pair, unsigned int *joint)
{
    const unsigned int count = voxel_count(pair), step = threads_of_grid();
    for (unsigned int voxel = thread_of_grid(); voxel < count; voxel += step) {
        const int bin = joint_bin(pair, voxel);
        if (bin >= 0) atomicAdd(joint + bin, 1u);
    }
}

// Each thread counts in its own column of a table with a row for each bin of the joint histogram. The counter is
// columns[bin · threads + thread], where `threads` is the number of threads of the launch. A later kernel adds the
// entries of each row.
extern "C" __global__ void mi_columns(const __grid_constant__ Pair pair, unsigned int *columns)
{
    const unsigned int count = voxel_count(pair), step = threads_of_grid();
    unsigned int *own = columns + thread_of_grid();
    for (unsigned int voxel = thread_of_grid(); voxel < count; voxel += step) {
        const int bin = joint_bin(pair, voxel);
        if (bin >= 0) ++own[(size_t)bin * step];
    }
}
