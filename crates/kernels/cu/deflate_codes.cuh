// Prefix codes of limited length (RFC 1951, 3.2.2), computed from the counts of the symbols as in
// crates/core/src/io/deflate/codes.rs.
#pragma once

#include "deflate_blocks.cuh"

// Memory for the two Huffman trees of a deflate block. The nodes of the second tree come after those of the first.
struct Trees {
    unsigned int weights[2 * SYMBOLS];
    unsigned short parents[2 * SYMBOLS];
    unsigned short depths[2 * SYMBOLS];
    unsigned int of_length[2][LONGEST_CODE + 2]; // number of codes of each length
    unsigned char lengths[SYMBOLS];
};

// Computes how many of the codes of one tree have each length. `weights` begins with the weights of its leaves, smallest
// first. One thread calls this.
__device__ void grow(unsigned int *weights, unsigned short *parents, unsigned short *depths, int leaves,
                     unsigned int *of_length)
{
    int leaf = 0, pair = leaves;
    for (int made = leaves; made < 2 * leaves - 1; ++made) {
        unsigned int weight = 0;
        for (int child = 0; child < 2; ++child) {
            const bool of_leaves = leaf < leaves && (pair >= made || weights[leaf] <= weights[pair]);
            const int next = of_leaves ? leaf++ : pair++;
            parents[next] = (unsigned short)made;
            weight += weights[next];
        }
        weights[made] = weight;
    }
    for (int length = 0; length < LONGEST_CODE + 2; ++length) of_length[length] = 0;
    depths[2 * leaves - 2] = 0;
    for (int node = 2 * leaves - 3; node >= 0; --node) {
        const int depth = depths[parents[node]] + 1;
        depths[node] = (unsigned short)depth;
        if (node < leaves) ++of_length[min(depth, LONGEST_CODE)];
    }
    unsigned int taken = 0;
    for (int length = 1; length <= LONGEST_CODE; ++length) taken += of_length[length] << (LONGEST_CODE - length);
    for (; taken > 1u << LONGEST_CODE; --taken) {
        int above = LONGEST_CODE - 1;
        while (above > 0 && of_length[above] == 0) --above;
        --of_length[LONGEST_CODE];
        --of_length[above];
        of_length[above + 1] += 2;
    }
}

// The code of this thread's symbol, first bit lowest, with its length from bit 16 on; 0 for a symbol that does not
// occur. All threads call this; those beyond the last symbol get 0.
__device__ unsigned int code_of(const unsigned int *counts, Trees &trees)
{
    const int symbol = threadIdx.x, second = symbol >= LITERALS;
    const int first = second ? LITERALS : 0, end = second ? SYMBOLS : LITERALS;
    const bool occurs = symbol < SYMBOLS && counts[symbol] > 0;
    const int leaves = __syncthreads_count(occurs && !second), other_leaves = __syncthreads_count(occurs && second);
    int rank = 0;
    if (occurs) {
        for (int other = first; other < end; ++other) {
            const bool before = counts[other] < counts[symbol] || (counts[other] == counts[symbol] && other < symbol);
            rank += counts[other] > 0 && before;
        }
        trees.weights[2 * first + rank] = counts[symbol];
    }
    __syncthreads();
    if (threadIdx.x == 0) grow(trees.weights, trees.parents, trees.depths, leaves, trees.of_length[0]);
    if (threadIdx.x == 32) {
        const int base = 2 * LITERALS;
        grow(trees.weights + base, trees.parents + base, trees.depths + base, other_leaves, trees.of_length[1]);
    }
    __syncthreads();
    const unsigned int *of_length = trees.of_length[second];
    // The rarest symbols get the longest codes.
    int length = occurs ? LONGEST_CODE : 0;
    for (int longer = 0; occurs; --length) {
        longer += of_length[length];
        if (rank < longer) break;
    }
    if (symbol < SYMBOLS) trees.lengths[symbol] = (unsigned char)length;
    __syncthreads();
    if (!occurs) return 0;
    unsigned int code = 0;
    for (int shorter = 1; shorter < length; ++shorter) code = (code + of_length[shorter]) << 1;
    for (int other = first; other < symbol; ++other) code += trees.lengths[other] == length;
    return __brev(code) >> (32 - length) | (unsigned int)length << 16;
}
