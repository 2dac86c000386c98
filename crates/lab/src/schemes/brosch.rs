//! Chooses how many counters each histogram bin gets in shared memory, by the cost model and the allocation of Brosch
//! 2009, section 2.3.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Parameters of the cost model, by which counters are allocated to bins: the cost of an update, of a collision in
/// shared memory and of a collision in global memory, in one arbitrary unit; and numbers of threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostModel {
    /// Cost c_gu of one update of a counter in global memory, relative to the other costs of this model (Brosch 2009).
    pub global_update: f64,
    /// Cost c_sc of a collision in shared memory, where two threads update the same counter at once; relative to the
    /// other costs of this model (Brosch 2009).
    pub shared_collision: f64,
    /// Cost c_gc of a collision in global memory, where two threads update the same counter at once; relative to the
    /// other costs of this model (Brosch 2009).
    pub global_collision: f64,
    /// Number of threads that share a counter if the bin has one counter (level 1). In Brosch 2009, these are the 32
    /// threads of a warp. On each further level, half as many threads share a counter.
    pub sharing: f64,
    /// Total number of threads of the kernel launch, n_T in Brosch 2009.
    pub threads: f64,
    /// Whether the byte of a histogram counter also holds the number of the thread that wrote it last. If so, fewer
    /// bits are left: on level l (2^(l−1) counters for the bin), a counter's largest count is b_max = 2^(l+2), as in
    /// Brosch 2009. If not, b_max = 2⁸ on every level.
    pub tagged: bool,
}

/// The highest level of a bin in the cost model. On this level, the bin has 32 counters in shared memory.
const MOST_LEVEL: u32 = 6;

/// Expected number of collisions per voxel, E[c] / n (Brosch 2009, eqs. 6 to 8). A collision is an update of a bin that
/// another thread updates at the same time; each of n threads hits the bin with probability p.
fn collisions(threads: f64, probability: f64) -> f64 {
    (threads * probability + (1.0 - probability).powf(threads) - 1.0) / threads
}

/// Number of counters of a bin in shared memory, if the bin is on this level of the cost model: b_i = 2^(l−1). A
/// counter takes one byte.
fn bytes(level: u32) -> u32 {
    1 << level >> 1
}

impl CostModel {
    /// Cost of updating the counters of a bin on a level of the cost model, if `count` of `all` values fall into the
    /// bin (Brosch 2009, eqs. 5, 9 and 10).
    pub fn cost(&self, level: u32, count: f64, all: f64) -> f64 {
        let probability = count / all;
        if level == 0 {
            return self.global_update * count + self.global_collision * all * collisions(self.threads, probability);
        }
        let fullest = f64::from(1_u32 << if self.tagged { level + 2 } else { 8 });
        let sharing = (self.sharing / f64::from(bytes(level))).max(1.0);
        self.global_update * count / fullest + self.shared_collision * all * collisions(sharing, probability)
    }

    /// Chooses the level of each bin; a bin of level l has 2^(l−1) counters in shared memory. All bins start on level
    /// 0, without counters. As long as bytes of shared memory are left, the bin with the largest benefit per byte goes
    /// one level up.
    pub fn levels(&self, histogram: &[u32], bytes_there_are: usize) -> Vec<u32> {
        let all = histogram.iter().map(|count| f64::from(*count)).sum::<f64>().max(1.0);
        let step = |bin: usize, level: u32| {
            let count = f64::from(histogram[bin]);
            let price = bytes(level + 1) - bytes(level);
            let gain = self.cost(level, count, all) - self.cost(level + 1, count, all);
            Offer { benefit: gain / f64::from(price), bin, level: level + 1, price: price as usize }
        };
        let mut levels = vec![0; histogram.len()];
        let mut left = bytes_there_are;
        let counted = (0..histogram.len()).filter(|bin| histogram[*bin] > 0);
        let mut offers: BinaryHeap<Offer> = counted.map(|bin| step(bin, 0)).collect();
        while let Some(offer) = offers.pop() {
            if offer.price > left || offer.benefit <= 0.0 {
                continue;
            }
            left -= offer.price;
            levels[offer.bin] = offer.level;
            if offer.level < MOST_LEVEL {
                offers.push(step(offer.bin, offer.level));
            }
        }
        levels
    }
}

/// Returns the table that the kernel `mi_adaptive` needs, and the number of bytes of shared memory for all counters.
/// The upper 8 bits of an entry have the level of a bin, from which the number of its counters follows. The lower bits
/// have the offset of the bin's first counter, in bytes.
pub(super) fn table(levels: &[u32]) -> (Vec<u32>, usize) {
    let mut next = 0;
    let entries = levels.iter().map(|level| {
        let entry = *level << 24 | next;
        next += bytes(*level);
        entry
    });
    (entries.collect(), next as usize)
}

/// A possible step of the greedy allocation of counters: a bin goes one level up and gets more counters. `benefit` is
/// the reduction of cost per additional byte, `price` the number of additional bytes.
struct Offer {
    benefit: f64,
    bin: usize,
    level: u32,
    price: usize,
}

impl Ord for Offer {
    fn cmp(&self, other: &Offer) -> Ordering {
        // Of several bins with the same benefit per byte, the first is taken. So the allocation of counters depends
        // only on the histogram.
        self.benefit.total_cmp(&other.benefit).then(other.bin.cmp(&self.bin))
    }
}
impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Offer) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Offer {
    fn eq(&self, other: &Offer) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Offer {}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: CostModel = CostModel {
        global_update: 3.0,
        shared_collision: 1.0,
        global_collision: 2.0,
        sharing: 32.0,
        threads: 128.0,
        tagged: true,
    };

    /// The expected number of collisions by eq. 8 of Brosch 2009, computed directly as a sum.
    fn expected_collisions(n: u32, p: f64) -> f64 {
        let mut choose = 1.0;
        (1..=n)
            .map(|k| {
                choose *= f64::from(n + 1 - k) / f64::from(k);
                f64::from(k - 1) * choose * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)
            })
            .sum()
    }

    #[test]
    fn costs_are_those_of_equations_5_9_and_10() {
        let (count, all) = (300.0, 1000.0);
        for level in 1..=6 {
            let n = 1 << (6 - level);
            let expected =
                3.0 * count / f64::from(1 << (level + 2)) + all * expected_collisions(n, 0.3) / f64::from(n);
            assert!((PRINTED.cost(level, count, all) - expected).abs() < 1e-9, "level {level}");
        }
        let expected = 3.0 * count + 2.0 * all * expected_collisions(128, 0.3) / 128.0;
        assert!((PRINTED.cost(0, count, all) - expected).abs() < 1e-9);
    }

    #[test]
    fn bytes_go_where_they_help_most_and_no_further_than_there_are() {
        let histogram = [0, 1, 10_000, 500, 400, 0, 3];
        for there_are in [0, 1, 5, 40, 1000] {
            let levels = PRINTED.levels(&histogram, there_are);
            let (table, used) = table(&levels);
            assert!(used <= there_are);
            assert!(levels[2] >= levels[3] && levels[3] >= levels[4] && levels[4] >= levels[1]);
            assert_eq!((levels[0], levels[5]), (0, 0), "nothing for empty bins");
            let ends: Vec<u32> = table.iter().map(|entry| (entry & 0xff_ffff) + bytes(entry >> 24)).collect();
            assert!(
                table.iter().skip(1).zip(&ends).all(|(entry, end)| entry & 0xff_ffff == *end),
                "one after another"
            );
        }
        assert_eq!(PRINTED.levels(&histogram, 1)[2], 1);
        assert_eq!(PRINTED.levels(&histogram, 1000)[2], 6);
    }
}
