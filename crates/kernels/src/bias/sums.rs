//! Sums on the CPU, in the order in which the warps and blocks of a GPU add numbers (`cu/reduce.cuh`).

/// Number of threads of a GPU's warp.
pub const LANES: usize = 32;
/// Number of threads of the GPU's thread block that adds up the sums of all rows of samples. The CPU adds in the same
/// order.
const THREADS: usize = 1024;

/// Returns the sum over the lanes (threads) of a GPU's warp: the upper half of the lanes is added to the lower half,
/// until one lane is left.
pub fn of_warp(mut lanes: [f64; LANES]) -> f64 {
    let mut half = LANES / 2;
    while half > 0 {
        let (lower, upper) = lanes.split_at_mut(half);
        lower.iter_mut().zip(upper).for_each(|(lower, upper)| *lower += *upper);
        half /= 2;
    }
    lanes[0]
}

/// Returns the sum of the values as the threads of a GPU's block compute it: value n is added by the thread n modulo
/// the number of threads.
pub fn of_block(values: impl Iterator<Item = f64>) -> f64 {
    let mut threads = [[0.0; LANES]; THREADS / LANES];
    values.enumerate().for_each(|(n, value)| threads[n % THREADS / LANES][n % LANES] += value);
    of_warp(threads.map(of_warp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_values_count_once() {
        assert_eq!(of_warp(std::array::from_fn(|n| n as f64)), 496.0);
        assert_eq!(of_block((0..5000).map(f64::from)), 12_497_500.0);
        assert_eq!(of_block(std::iter::empty()), 0.0);
    }

    #[test]
    fn values_are_added_by_the_thread_that_has_their_number() {
        // Thread 0 adds 2⁵³, 1 and −2⁵³; the 1 is lost to rounding. The 3 of thread 32 is not lost.
        let large = 9_007_199_254_740_992.0;
        let mut values = vec![0.0; 2 * THREADS + 1];
        (values[0], values[LANES], values[THREADS], values[2 * THREADS]) = (large, 3.0, 1.0, -large);
        assert_eq!(of_block(values.into_iter()), 3.0);
    }
}
