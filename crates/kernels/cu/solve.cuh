// Solution of a small symmetric system of linear equations, with the order of operations of src/cpu/fusion/solve.rs.
#pragma once

// The matrix of expected errors of one patch, and after it room for the diagonal of its Cholesky factor. Elements of
// other patches lie between its elements.
struct Matrix {
    double *first;
    unsigned int size, step;

    __device__ __forceinline__ double &at(unsigned int row, unsigned int column) const
    {
        return first[((size_t)row * size + column) * step];
    }

    __device__ __forceinline__ double &diagonal(unsigned int row) const
    {
        return at(size, row);
    }

    __device__ __forceinline__ double &solution(unsigned int row) const
    {
        return at(size + 1, row);
    }
};

// Solves M·x = 1 by a Cholesky decomposition. The factor replaces the part of M below the diagonal; its diagonal is
// stored after M. Returns false if M is not positive definite.
__device__ __forceinline__ bool by_cholesky(const Matrix &m)
{
    const unsigned int size = m.size;
    for (unsigned int j = 0; j < size; ++j) {
        m.diagonal(j) = m.at(j, j);
        for (unsigned int k = 0; k < j; ++k) {
            const double share = -m.at(j, k);
            m.diagonal(j) += share * m.at(j, k);
            for (unsigned int i = j + 1; i < size; ++i) m.at(i, j) += share * m.at(i, k);
        }
        const double squared = m.diagonal(j);
        if (!(squared > 0.0)) return false;
        const double diagonal = sqrt(squared);
        m.diagonal(j) = diagonal;
        for (unsigned int i = j + 1; i < size; ++i) m.at(i, j) /= diagonal;
    }
    for (unsigned int j = 0; j < size; ++j) m.solution(j) = 1.0;
    for (unsigned int j = 0; j < size; ++j) {
        const double share = -(m.solution(j) /= m.diagonal(j));
        for (unsigned int i = j + 1; i < size; ++i) m.solution(i) += share * m.at(i, j);
    }
    for (unsigned int j = size; j-- > 0;) {
        // Whole groups of eight products are added to eight partial sums, the other products one by one.
        const unsigned int count = size - j - 1, whole = count / 8 * 8;
        double partial[8] = {}, below = 0.0;
        for (unsigned int n = 0; n < whole; n += 8)
#pragma unroll
            for (unsigned int k = 0; k < 8; ++k) partial[k] += m.at(j + 1 + n + k, j) * m.solution(j + 1 + n + k);
#pragma unroll
        for (unsigned int k = 0; k < 4; ++k) below += partial[k] + partial[k + 4];
        for (unsigned int n = whole; n < count; ++n) below += m.at(j + 1 + n, j) * m.solution(j + 1 + n);
        m.solution(j) = (m.solution(j) - below) / m.diagonal(j);
    }
    return true;
}

// Solves M·x = 1 by elimination with row pivots, after a Cholesky decomposition has failed. Returns false if M has no
// inverse.
__device__ __forceinline__ bool by_elimination(const Matrix &m)
{
    const unsigned int size = m.size;
    for (unsigned int i = 0; i < size; ++i)
        for (unsigned int j = 0; j < i; ++j) m.at(i, j) = m.at(j, i);
    for (unsigned int j = 0; j < size; ++j) {
        unsigned int pivot = j;
        for (unsigned int i = j + 1; i < size; ++i)
            if (fabs(m.at(i, j)) > fabs(m.at(pivot, j))) pivot = i;
        const double diagonal = m.at(pivot, j);
        if (diagonal == 0.0) return false;
        if (pivot != j)
            for (unsigned int k = 0; k < size; ++k) {
                const double other = m.at(j, k);
                m.at(j, k) = m.at(pivot, k);
                m.at(pivot, k) = other;
            }
        const double inverse = 1.0 / diagonal;
        for (unsigned int i = j + 1; i < size; ++i) {
            const double share = m.at(i, j) *= inverse;
            for (unsigned int k = j + 1; k < size; ++k) m.at(i, k) += -m.at(j, k) * share;
        }
    }
    for (unsigned int j = 0; j < size; ++j) m.solution(j) = 1.0;
    for (unsigned int j = 0; j < size; ++j) {
        const double share = -m.solution(j);
        for (unsigned int i = j + 1; i < size; ++i) m.solution(i) += share * m.at(i, j);
    }
    for (unsigned int j = size; j-- > 0;) {
        const double share = -(m.solution(j) /= m.at(j, j));
        for (unsigned int i = 0; i < j; ++i) m.solution(i) += share * m.at(i, j);
    }
    return true;
}
