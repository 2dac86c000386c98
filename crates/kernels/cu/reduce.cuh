// Sums and maxima in a fixed order, so that the same input gives the same bits.
#pragma once

// Adds the values of the lanes of a warp; every lane receives the sum.
template <typename T> __device__ __forceinline__ T warp_sum(T value)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance >>= 1) value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
}

__device__ __forceinline__ float warp_max(float value)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance >>= 1)
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
    return value;
}

__device__ __forceinline__ int thread_index()
{
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

// Combines the values of all threads of a block, which has whole warps and at most 1024 threads; the first warp
// receives the result. `of_warp` combines the values of a warp's lanes, and `nothing` is its neutral element. All calls
// for one type share one array in shared memory, so the barrier at the start waits for the readers of an earlier call.
template <typename T> __device__ __forceinline__ T of_block(T own, T (*of_warp)(T), T nothing)
{
    __shared__ T of_warps[32];
    const int thread = thread_index(), warps = (blockDim.x * blockDim.y * blockDim.z + 31) / 32;
    own = of_warp(own);
    __syncthreads();
    if (thread % 32 == 0) of_warps[thread / 32] = own;
    __syncthreads();
    return thread < 32 ? of_warp(thread < warps ? of_warps[thread] : nothing) : nothing;
}

template <typename T> __device__ __forceinline__ T block_sum(T value)
{
    return of_block(value, warp_sum<T>, T(0));
}

// The maximum over the threads of a block, of values that are not negative.
__device__ __forceinline__ float block_max(float value)
{
    return of_block(value, warp_max, 0.f);
}

__device__ __forceinline__ unsigned int blocks_of_launch()
{
    return gridDim.x * gridDim.y * gridDim.z;
}

// Whether this block is the last block of the launch to finish; the answer is the same for all its threads. The last
// block sees what all other blocks have written. `counter` counts the finished blocks; the last block sets it back to
// zero.
__device__ __forceinline__ bool last_block(unsigned int *counter)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (thread_index() == 0) {
        const unsigned int blocks = blocks_of_launch();
        last = atomicInc(counter, blocks - 1) == blocks - 1;
    }
    __syncthreads();
    if (last) __threadfence();
    return last;
}

__device__ __forceinline__ int block_index()
{
    return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}
