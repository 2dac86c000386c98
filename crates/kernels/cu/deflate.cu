// Compresses numbers in single precision to a deflate stream (RFC 1951), with the same bytes as
// crates/core/src/io/deflate, whose comments explain the method.
//
// The numbers are divided into pieces, which are compressed independently, and each piece into deflate blocks of
// CELLS cells. A cell has four bytes: the fourth byte of a number and the first three bytes of the next number. Each
// thread block processes one deflate block.
#include "deflate_checksum.cuh"
#include "deflate_codes.cuh"

// The largest value of the threads before this one; -1 for the first thread. `memory` has an element for each warp.
__device__ int largest_before(int value, int *memory)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int distance = 1; distance < 32; distance *= 2) {
        const int other = __shfl_up_sync(~0u, value, distance);
        if (lane >= distance) value = max(value, other);
    }
    if (lane == 31) memory[warp] = value;
    __syncthreads();
    const int before = __shfl_up_sync(~0u, value, 1);
    int largest = lane ? before : -1;
    for (int other = 0; other < warp; ++other) largest = max(largest, memory[other]);
    return largest;
}

// The sum of the values of the threads before this one, and the sum of all. `memory` has an element for each warp.
__device__ unsigned int sum_before(unsigned int value, unsigned int *memory, unsigned int &total)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned int sum = value;
    for (int distance = 1; distance < 32; distance *= 2) {
        const unsigned int other = __shfl_up_sync(~0u, sum, distance);
        if (lane >= distance) sum += other;
    }
    if (lane == 31) memory[warp] = sum;
    __syncthreads();
    unsigned int before = sum - value;
    total = 0;
    for (int other = 0; other < WARPS; ++other) {
        if (other < warp) before += memory[other];
        total += memory[other];
    }
    return before;
}

// The cells of a deflate block that equal the cell before.
struct Repeats {
    unsigned int equal[GROUPS]; // a bit for each cell of a group of 32: it equals the cell before
    int differs[GROUPS];        // the last cell before the group that does not; -1 without one
};

__device__ __forceinline__ bool equals_before(const Repeats &repeats, unsigned int at)
{
    return repeats.equal[at / 32] >> at % 32 & 1;
}

__device__ void find_repeats(const Block &block, Repeats &repeats, int *memory)
{
    for (unsigned int n = threadIdx.x; n < CELLS; n += THREADS) {
        const unsigned int at = block.first + n;
        const bool equal = n < block.cells && at > 0 && cell(block, at) == cell(block, at - 1);
        const unsigned int group = __ballot_sync(~0u, equal);
        if (n % 32 == 0) repeats.equal[n / 32] = group;
    }
    __syncthreads();
    const unsigned int different = ~repeats.equal[threadIdx.x];
    const int last = different ? 32 * (int)threadIdx.x + 31 - __clz(different) : -1;
    repeats.differs[threadIdx.x] = largest_before(last, memory);
}

// Number of warps that search for matches. Each has a table with an entry for each hash: the last cell with this hash,
// counted from NEAR cells before the block; NOWHERE before there is one.
#define SEARCHING 4
#define HASHES (1u << 12)
#define NOWHERE 0xffffu

// Finds for each cell of the block the distance to the last cell before it with the same hash, if the first three bytes of both
// are equal; 0 if not, or if the distance is larger than NEAR.
__device__ void find_matches(const Block &block, unsigned short (*tables)[HASHES], unsigned short *matches)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (warp >= SEARCHING) return;
    unsigned short *places = tables[warp];
    for (int entry = lane; entry < HASHES; entry += 32) places[entry] = NOWHERE;
    __syncwarp();
    // Each warp searches its own part of the block, and first enters the cells before that part into its table.
    const int first = warp * (CELLS / SEARCHING), end = min(first + CELLS / SEARCHING, block.cells);
    for (int start = first - (int)NEAR; start < end; start += 32) {
        const int n = start + lane, at = (int)block.first + n;
        const bool exists = at >= 0 && n < (int)block.cells;
        const unsigned int active = __ballot_sync(~0u, exists);
        if (exists) {
            const unsigned int bytes = cell(block, at), own = hash(bytes);
            const unsigned int same = __match_any_sync(active, own), before = same & ((1u << lane) - 1);
            const unsigned int entered = places[own];
            const int place = before ? start + 31 - __clz(before) : (int)entered - (int)NEAR;
            if (n >= first) {
                const int distance = n - place;
                const bool near = (before || entered != NOWHERE) && distance <= NEAR;
                const bool matches_there = near && cell(block, at - distance) << 8 == bytes << 8;
                matches[n] = matches_there ? (unsigned short)distance : 0;
            }
            __syncwarp(active);
            if (lane == 31 - __clz(same)) places[own] = (unsigned short)(n + (int)NEAR);
        }
        __syncwarp();
    }
}

// How the cell with this number in the block is written. `match` is the distance of its match, 0 without one.
__device__ unsigned int step(const Block &block, const Repeats &repeats, unsigned int n, unsigned int match)
{
    if (equals_before(repeats, n)) {
        const unsigned int different = ~repeats.equal[n / 32] & ((1u << n % 32) - 1);
        const int before = different ? (int)(n / 32 * 32) + 31 - __clz(different) : repeats.differs[n / 32];
        // A sequence of cells that equal the cell before is divided into matches of LONGEST_RUN cells.
        if ((n - 1 - before) % LONGEST_RUN != 0) return INSIDE;
        unsigned int length = 1;
        while (length < LONGEST_RUN && n + length < block.cells && equals_before(repeats, n + length)) ++length;
        if (length > 1) return RUN | length;
    }
    return match;
}

// Counts the symbols of a cell. All threads of a warp call this together.
__device__ void count(unsigned int *counts, const Block &block, unsigned int n, unsigned int step)
{
    const bool alone = n < block.cells && step < INSIDE, matched = alone && step > 0;
    // Most threads count the same length of three bytes, so each warp counts it once.
    const unsigned int group = __ballot_sync(~0u, matched);
    if (threadIdx.x % 32 == 0 && group) atomicAdd(counts + of_length(3).number, __popc(group));
    if (n < block.cells && step > RUN) {
        atomicAdd(counts + of_length(4 * (step - RUN)).number, 1);
        atomicAdd(counts + LITERALS + of_distance(4).number, 1);
    }
    if (!alone) return;
    const unsigned int bytes = cell(block, block.first + n);
    atomicAdd(counts + (bytes >> 24), 1);
    if (matched) {
        atomicAdd(counts + LITERALS + of_distance(4 * step).number, 1);
    } else {
        for (int byte = 0; byte < 3; ++byte) atomicAdd(counts + (bytes >> 8 * byte & 255), 1);
    }
}

// Finds how each cell is written (`steps`), the codes of each deflate block, its size in bits and the checksum of its
// numbers.
extern "C" __global__ void __launch_bounds__(THREADS)
    deflate_plan(const unsigned int *READ numbers, unsigned long long count_of_numbers, unsigned short *steps,
                 unsigned int *codes, unsigned int *sizes, unsigned int *checksums)
{
    __shared__ unsigned short tables[SEARCHING][HASHES];
    __shared__ Repeats repeats;
    __shared__ Trees trees;
    __shared__ unsigned int counts[SYMBOLS], size, table[256], sums[THREADS];
    __shared__ int memory[WARPS];
    const Block block = block_of(numbers, count_of_numbers);
    if (threadIdx.x < SYMBOLS) counts[threadIdx.x] = 0;
    if (threadIdx.x == 0) size = HEADER_BITS;
    steps += (size_t)blockIdx.x * CELLS;
    find_matches(block, tables, steps);
    find_repeats(block, repeats, memory);
    __syncthreads();
    for (unsigned int base = 0; base < block.cells; base += THREADS) {
        const unsigned int n = base + threadIdx.x;
        const unsigned int found = n < block.cells ? step(block, repeats, n, steps[n]) : 0;
        if (n < block.cells) steps[n] = (unsigned short)found;
        count(counts, block, n, found);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int byte = 0; byte < 3 && block.first == 0; ++byte) ++counts[block.numbers[0] >> 8 * byte & 255];
        if (block.ends) ++counts[block.numbers[block.length - 1] >> 24];
        counts[END] = 1;
    }
    __syncthreads();
    const unsigned int symbol = threadIdx.x, written = symbol < SYMBOLS ? counts[symbol] : 0;
    __syncthreads();
    // A code needs two symbols, also where fewer occur.
    if (symbol == 0 || symbol == LITERALS || symbol == LITERALS + 1) counts[symbol] = max(written, 1u);
    __syncthreads();
    const unsigned int code = code_of(counts, trees);
    if (symbol < SYMBOLS) codes[(size_t)blockIdx.x * SYMBOLS + symbol] = code;
    if (written) atomicAdd(&size, written * ((code >> 16) + bits_behind(symbol)));
    __syncthreads();
    const unsigned int sum = checksum(block, table, sums);
    if (threadIdx.x == 0) {
        sizes[blockIdx.x] = size;
        checksums[blockIdx.x] = sum;
    }
}

// Several codes, joined to one number of at most 56 bits.
struct Joined {
    unsigned long long bits;
    unsigned int count;

    __device__ __forceinline__ void add(unsigned int code, unsigned int extra = 0, unsigned int extra_bits = 0)
    {
        const unsigned int length = code >> 16;
        bits |= (unsigned long long)((code & 0xffff) | extra << length) << count;
        count += length + extra_bits;
    }
};

// Sets bits of a stream that are still zero.
__device__ __forceinline__ void put(unsigned int *stream, unsigned long long at, unsigned long long bits)
{
    unsigned int *word = stream + at / 32;
    const int shift = at % 32;
    const unsigned long long low = bits << shift, high = shift ? bits >> (64 - shift) : 0;
    if ((unsigned int)low) atomicOr(word, (unsigned int)low);
    if (low >> 32) atomicOr(word + 1, (unsigned int)(low >> 32));
    if (high) atomicOr(word + 2, (unsigned int)high);
}

// Writes the deflate blocks to `stream`, which contains zeros. `starts` are the places of the blocks, in bits.
extern "C" __global__ void __launch_bounds__(THREADS)
    deflate_write(const unsigned int *READ numbers, unsigned long long count_of_numbers,
                  const unsigned short *READ steps, const unsigned int *READ codes,
                  const unsigned long long *READ starts, unsigned int *stream)
{
    __shared__ unsigned int code[SYMBOLS], words[THREADS * 56 / 32 + 3], memory[WARPS];
    const Block block = block_of(numbers, count_of_numbers);
    if (threadIdx.x < SYMBOLS) code[threadIdx.x] = codes[(size_t)blockIdx.x * SYMBOLS + threadIdx.x];
    __syncthreads();
    unsigned long long at = starts[blockIdx.x];
    Joined before = {0, 0}, behind = {0, 0};
    for (int byte = 0; byte < 3 && block.first == 0; ++byte) before.add(code[block.numbers[0] >> 8 * byte & 255]);
    if (block.ends) behind.add(code[block.numbers[block.length - 1] >> 24]);
    behind.add(code[END]);
    if (threadIdx.x == 0) {
        const unsigned int counts = LITERALS - 257 | (DISTANCES - 1) << 5 | (19 - 4) << 10;
        put(stream, at, (block.last ? 1 : 0) | 2 << 1 | counts << 3);
        // The codes of the lengths 0 to 15 have four bits, and the symbols 16 to 18, which come first, have no code.
        for (int symbol = 3; symbol < 19; ++symbol) put(stream, at + 17 + 3 * symbol, 4);
        put(stream, at + HEADER_BITS, before.bits);
    }
    if (threadIdx.x < SYMBOLS) {
        put(stream, at + START_BITS + 4 * threadIdx.x, __brev(code[threadIdx.x] >> 16) >> 28);
    }
    at += HEADER_BITS + before.count;
    for (unsigned int base = 0; base < block.cells; base += THREADS) {
        const unsigned int n = base + threadIdx.x;
        const unsigned int step = n < block.cells ? steps[(size_t)blockIdx.x * CELLS + n] : INSIDE;
        Joined joined = {0, 0};
        if (step != INSIDE) {
            const bool run = step > RUN;
            const unsigned int bytes = cell(block, block.first + n);
            if (step == 0) {
                for (int byte = 0; byte < 3; ++byte) joined.add(code[bytes >> 8 * byte & 255]);
            } else {
                const Symbol length = of_length(run ? 4 * (step - RUN) : 3), distance = of_distance(run ? 4 : 4 * step);
                joined.add(code[length.number], length.extra, length.bits);
                joined.add(code[LITERALS + distance.number], distance.extra, distance.bits);
            }
            if (!run) joined.add(code[bytes >> 24]);
        }
        for (unsigned int word = threadIdx.x; word < sizeof words / sizeof *words; word += THREADS) words[word] = 0;
        unsigned int total;
        const unsigned int offset = sum_before(joined.count, memory, total), shift = at % 32;
        put(words, shift + offset, joined.bits);
        __syncthreads();
        const unsigned int filled = (shift + total + 31) / 32;
        for (unsigned int word = threadIdx.x; word < filled; word += THREADS) {
            // The first and the last word may have bits of other cells.
            unsigned int *target = stream + at / 32 + word;
            if (word == 0 || word + 1 == filled) atomicOr(target, words[word]);
            else *target = words[word];
        }
        at += total;
        __syncthreads();
    }
    if (threadIdx.x == 0) put(stream, at, behind.bits);
}
