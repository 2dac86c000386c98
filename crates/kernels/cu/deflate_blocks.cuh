// The deflate blocks of a compressed array of numbers, their cells, and the symbols of matches (RFC 1951, 3.2.5).
#pragma once

#include "points.cuh"

#define THREADS 512
#define WARPS (THREADS / 32)
// Numbers of a piece, and cells of a deflate block.
#define PIECE (1u << 18)
#define CELLS (1u << 14)
// Number of groups of 32 cells of a deflate block. Each thread prepares one group.
#define GROUPS (CELLS / 32)
// Largest distance of a match, and largest number of equal cells that are written as one match, both in cells.
#define NEAR 256u
#define LONGEST_RUN 64u
#define LONGEST_CODE 14
// Numbers of symbols of the two codes: for literals, the end of a block and lengths; and for distances.
#define LITERALS 286
#define DISTANCES 30
#define SYMBOLS (LITERALS + DISTANCES)
#define END 256
// Number of bits of a deflate block's header, before the lengths of the codes and with them.
#define START_BITS (3 + 5 + 5 + 4 + 19 * 3)
#define HEADER_BITS (START_BITS + 4 * SYMBOLS)
// How a cell is written: a match of this many cells begins (RUN), the cell is inside of such a match (INSIDE), or, for
// other values, the cell is written alone. Then the value is the distance of the match of its first three bytes, in
// cells; 0 without a match.
#define RUN 0x8000u
#define INSIDE 0x4000u
// A deflate block.
struct Block {
    const unsigned int *READ numbers; // the numbers of the piece
    unsigned int length;              // how many there are
    unsigned int first, cells;        // the block's first cell, and the number of its cells
    bool ends, last;                  // whether it is the last block of its piece, and of all pieces
};

__device__ Block block_of(const unsigned int *READ numbers, unsigned long long count)
{
    const unsigned int index = blockIdx.x, of_piece = PIECE / CELLS;
    const unsigned long long start = (unsigned long long)(index / of_piece) * PIECE;
    const unsigned int length = count - start < PIECE ? (unsigned int)(count - start) : PIECE;
    const unsigned int first = index % of_piece * CELLS, all = length - 1;
    const bool ends = first + CELLS >= all;
    return {numbers + start, length, first, ends ? all - first : CELLS, ends, ends && start + length == count};
}

__device__ __forceinline__ unsigned int cell(const Block &block, unsigned int at)
{
    return __funnelshift_r(block.numbers[at], block.numbers[at + 1], 24);
}

// A number of 12 bits, the same for all cells with the same first three bytes.
__device__ __forceinline__ unsigned int hash(unsigned int cell)
{
    return ((cell << 8) * 0x9e3779b1u) >> 20;
}

// A symbol of deflate for a range of numbers, with the bits that select one number of the range.
struct Symbol {
    unsigned int number, extra, bits;
};

__device__ __forceinline__ Symbol of_length(unsigned int length)
{
    if (length <= 10) return {254 + length, 0, 0};
    const unsigned int above = length - 3, bits = 29 - __clz(above);
    return {257 + 4 * bits + (above >> bits), above & ((1u << bits) - 1), bits};
}

__device__ __forceinline__ Symbol of_distance(unsigned int distance)
{
    const unsigned int above = distance - 1, bits = 30 - __clz(above);
    return {2 * bits + (above >> bits), above & ((1u << bits) - 1), bits};
}

// Number of bits that follow a symbol of both codes; distances come after literals.
__device__ __forceinline__ unsigned int bits_behind(unsigned int symbol)
{
    if (symbol >= LITERALS + 2) return (symbol - LITERALS - 2) / 2;
    return symbol >= 265 && symbol < 285 ? (symbol - 261) / 4 : 0;
}
