// A linear map of the vectors of a field along one axis, as in src/cpu/fields/map_axis.rs: each result is a weighted sum
// of successive vectors.
#include "points.cuh"

// The map of one axis. Result n has `width` weights, for the vectors from number first[n] on.
struct AxisMap {
    const unsigned int *first;
    const float *weights;
    unsigned int length, results, width;
};

// Each thread computes one component of a result: block rows are components. `inner` is the number of vectors between two
// neighbours along the axis. `from_plane` and `to_plane` are the distances between the components in memory, in floats.
extern "C" __global__ void __launch_bounds__(256)
    map_axis(const float *READ field, unsigned long long from_plane, AxisMap map, unsigned int inner, unsigned int count,
             float *out, unsigned long long to_plane)
{
    const unsigned int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= count) return;
    const unsigned int result = n / inner % map.results, group = n / inner / map.results;
    const float *weights = map.weights + (size_t)result * map.width;
    const float *values = field + blockIdx.y * from_plane +
                          ((size_t)group * map.length + map.first[result]) * inner + n % inner;
    float sum = 0.f;
#pragma unroll 4
    for (unsigned int k = 0; k < map.width; ++k) sum += weights[k] * values[(size_t)k * inner];
    out[blockIdx.y * to_plane + n] = sum;
}
