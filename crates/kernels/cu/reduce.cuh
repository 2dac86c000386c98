// Sums and maxima in a fixed order, so that the same input gives the same bits.
#pragma once

// Butterfly over a warp; every lane gets the result.
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

// Over a block of whole warps, at most 1024 threads; the first warp gets the result. All calls of one type share one
// array: the barrier at the start lets an earlier call's readers finish.
template <typename T> __device__ __forceinline__ T block_sum(T value)
{
    __shared__ T sums[32];
    const int thread = thread_index(), warps = (blockDim.x * blockDim.y * blockDim.z + 31) / 32;
    value = warp_sum(value);
    __syncthreads();
    if (thread % 32 == 0) sums[thread / 32] = value;
    __syncthreads();
    return thread < 32 ? warp_sum(thread < warps ? sums[thread] : T(0)) : T(0);
}

__device__ __forceinline__ float block_max(float value)
{
    __shared__ float maxima[32];
    const int thread = thread_index(), warps = (blockDim.x * blockDim.y * blockDim.z + 31) / 32;
    value = warp_max(value);
    __syncthreads();
    if (thread % 32 == 0) maxima[thread / 32] = value;
    __syncthreads();
    return thread < 32 ? warp_max(thread < warps ? maxima[thread] : 0.f) : 0.f;
}

// True in every thread of the block that finishes last; by then all blocks' writes are visible to it. The counter goes
// back to zero by itself.
__device__ __forceinline__ bool last_block(unsigned int *counter)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (thread_index() == 0) {
        const unsigned int blocks = gridDim.x * gridDim.y * gridDim.z;
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
