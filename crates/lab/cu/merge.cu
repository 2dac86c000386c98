// Adds up the rows of a table (partial histograms or sums of thread blocks), each column in a fixed order.
#include "reduce.cuh"
#include "pair.cuh"

#define ROWS_AT_ONCE 32

// Adds the columns of a table whose rows are divided into slices: sum[slice · width + column] is the sum of the column
// over the rows of the slice. If a further row `left` is given, left[column] is added to this sum. A thread block of
// 32×32 threads processes 32 columns of one slice.
template <typename From, typename To>
__device__ __forceinline__ void merge(const From *READ rows, unsigned int count, unsigned int width, To *sum,
                                      const To *READ left = nullptr)
{
    __shared__ To parts[ROWS_AT_ONCE][33];
    const unsigned int column = blockIdx.x * 32 + threadIdx.x, slices = gridDim.y;
    const unsigned int per_slice = (count + slices - 1) / slices, start = blockIdx.y * per_slice;
    const unsigned int end = min(start + per_slice, count);
    To part = To(0);
    if (column < width)
        for (unsigned int row = start + threadIdx.y; row < end; row += ROWS_AT_ONCE)
            part += (To)rows[(size_t)row * width + column];
    parts[threadIdx.y][threadIdx.x] = part;
    __syncthreads();
    // Each GPU warp (32 threads) adds up the 32 partial sums of one column of the table `rows`.
    const To total = warp_sum(parts[threadIdx.x][threadIdx.y]);
    const unsigned int own = blockIdx.x * 32 + threadIdx.y;
    if (threadIdx.x == 0 && own < width) sum[(size_t)blockIdx.y * width + own] = total + (left ? left[own] : To(0));
}

extern "C" __global__ void __launch_bounds__(1024)
    merge_sums(const float *READ rows, unsigned int count, unsigned int width, double *sum)
{
    merge(rows, count, width, sum);
}

extern "C" __global__ void __launch_bounds__(1024)
    merge_parts(const double *READ rows, unsigned int count, unsigned int width, double *sum)
{
    merge(rows, count, width, sum);
}

extern "C" __global__ void __launch_bounds__(1024)
    merge_counts(const unsigned int *READ rows, unsigned int count, unsigned int width, const unsigned int *READ left,
                 unsigned int *sum)
{
    merge(rows, count, width, sum, left);
}

// Sums each row of a table: counts[row] is the sum of its `width` entries. One GPU warp (32 threads) sums one row.
extern "C" __global__ void sum_rows(const unsigned int *READ table, unsigned int rows, unsigned int width,
                                    unsigned int *counts)
{
    const unsigned int row = thread_of_grid() / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    unsigned int sum = 0;
    for (unsigned int at = lane; at < width; at += 32) sum += table[(size_t)row * width + at];
    sum = warp_sum(sum);
    if (lane == 0) counts[row] = sum;
}

// Occupies the device for this number of cycles, while the host queues the kernels that are timed.
extern "C" __global__ void hold(unsigned int cycles)
{
    const long long start = clock64();
    while (clock64() - start < (long long)cycles) {}
}
