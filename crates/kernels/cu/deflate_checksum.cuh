// The CRC-32 of the numbers of a deflate block.
#pragma once

#include "deflate_blocks.cuh"

// Numbers whose checksum one thread computes. All threads together process at least CELLS + 1 numbers.
#define OF_CHECKSUM 33
// The polynomial of CRC-32; the highest power has the lowest bit.
#define POLYNOMIAL 0xedb88320u

// The product of two polynomials modulo that of CRC-32.
__device__ constexpr unsigned int product(unsigned int a, unsigned int b)
{
    unsigned int result = 0;
    for (unsigned int bit = 1u << 31; bit != 0; bit >>= 1) {
        if (a & bit) result ^= b;
        b = b & 1 ? b >> 1 ^ POLYNOMIAL : b >> 1;
    }
    return result;
}

// The factor of a checksum if as many bytes follow as one thread processes: a power of x.
__device__ constexpr unsigned int moved_by_one_thread()
{
    // The lowest bit is x^31 and bit 30 is x, so this is x^32.
    const unsigned int by_one_number = product(1u, 1u << 30);
    unsigned int result = 1u << 31;
    for (int number = 0; number < OF_CHECKSUM; ++number) result = product(result, by_one_number);
    return result;
}

// The CRC-32 of the block's numbers, without the inversions at its beginning and end, in the first thread. Zeros in
// front of the numbers would not change it. So the numbers are shared out from the end, OF_CHECKSUM to each thread, and
// the first threads may have fewer or none.
__device__ unsigned int checksum(const Block &block, unsigned int *table, unsigned int *sums)
{
    if (threadIdx.x < 256) {
        unsigned int entry = threadIdx.x;
        for (int bit = 0; bit < 8; ++bit) entry = entry & 1 ? entry >> 1 ^ POLYNOMIAL : entry >> 1;
        table[threadIdx.x] = entry;
    }
    __syncthreads();
    const int count = block.ends ? block.length - block.first : CELLS, zeros = OF_CHECKSUM * THREADS - count;
    unsigned int sum = 0;
    for (int n = 0; n < OF_CHECKSUM; ++n) {
        const int at = OF_CHECKSUM * (int)threadIdx.x + n - zeros;
        if (at < 0) continue;
        sum ^= block.numbers[block.first + at];
        for (int byte = 0; byte < 4; ++byte) sum = table[sum & 255] ^ sum >> 8;
    }
    sums[threadIdx.x] = sum;
    constexpr unsigned int by_one_thread = moved_by_one_thread();
    unsigned int moved = by_one_thread;
    for (int distance = 1; distance < THREADS; distance *= 2) {
        __syncthreads();
        if (threadIdx.x % (2 * distance) == 0) {
            sums[threadIdx.x] = product(moved, sums[threadIdx.x]) ^ sums[threadIdx.x + distance];
        }
        moved = product(moved, moved);
    }
    return sums[0];
}
