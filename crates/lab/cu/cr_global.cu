// Sections 3.2 and 3.3 of Li 2015: the sums of the correlation ratio in global memory, either one copy for all threads
// or a copy for each thread. A copy holds three lists with one entry for each bin: Σw, Σw·y and Σw·y², where y is the
// moving value and w its weight.
#include "pair.cuh"

// The algorithm global_atomic of Li 2015: all threads add to one copy of the sums Σw, Σw·y and Σw·y².
extern "C" __global__ void cr_global_atomic(const __grid_constant__ Pair pair, int bins, float *sums)
{
    add_all(pair, bins, sums);
}

// The algorithm global_atomic of Li 2015, but with sums in double precision. Sums over a bin of millions of voxels
// exceed the precision of single floats.
extern "C" __global__ void cr_global_atomic_double(const __grid_constant__ Pair pair, int bins, double *sums)
{
    add_all(pair, bins, sums);
}

// The algorithm global_merge of Li 2015: every thread has its own copy of the sums Σw, Σw·y and Σw·y².
extern "C" __global__ void cr_global_shadows(const __grid_constant__ Pair pair, int bins, float *shadows)
{
    const unsigned int count = voxel_count(pair), step = threads_of_grid();
    float *own = shadows + (size_t)thread_of_grid() * 3 * bins;
    for (unsigned int voxel = thread_of_grid(); voxel < count; voxel += step) {
        const Sample moving = sample(pair, voxel);
        if (!(moving.weight > 0.f)) continue;
        const int bin = pair.fixed[voxel];
        own[bin] += moving.weight;
        own[bins + bin] += moving.weight * moving.value;
        own[2 * bins + bin] += moving.weight * moving.value * moving.value;
    }
}
