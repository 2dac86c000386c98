//! Prefix codes of limited length (RFC 1951, 3.2.2), computed from the counts of the symbols.

/// The prefix code of a symbol, with its first bit in the lowest position, and the length of the code in bits. The
/// length is 0 for a symbol without a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Code {
    pub bits: u16,
    pub length: u8,
}

/// Computes a prefix code with at most `longest` bits for every symbol that occurs. At least two symbols must occur,
/// and at most 2^`longest`; `longest` is at most 15.
pub(super) fn codes<const N: usize>(counts: &[u32; N], longest: usize) -> [Code; N] {
    let mut symbols: Vec<usize> = (0..N).filter(|&symbol| counts[symbol] > 0).collect();
    symbols.sort_by_key(|&symbol| counts[symbol]);
    let of_length = limited(&depths(symbols.iter().map(|&symbol| counts[symbol]).collect()), longest);
    // In a prefix code, the rarest symbols get the longest codes.
    let mut lengths = [0; N];
    let mut rarest = symbols.iter();
    for (length, &count) in of_length.iter().enumerate().rev() {
        rarest.by_ref().take(count).for_each(|&symbol| lengths[symbol] = length);
    }
    let mut next = vec![0u16; of_length.len() + 1];
    for length in 1..of_length.len() {
        next[length + 1] = (next[length] + of_length[length] as u16) << 1;
    }
    lengths.map(|length| {
        if length == 0 {
            return Code::default();
        }
        let code = next[length];
        next[length] += 1;
        Code { bits: code.reverse_bits() >> (16 - length), length: length as u8 }
    })
}

/// Number of leaves of a Huffman tree at each depth. `weights` are the counts of the symbols, smallest first.
fn depths(weights: Vec<u32>) -> Vec<usize> {
    let leaves = weights.len();
    // The nodes of the Huffman tree in the order in which they are made: first its leaves, then its inner nodes, each
    // of which joins two other nodes (a pair). Both kinds are sorted by weight, smallest first.
    let mut weights: Vec<u64> = weights.into_iter().map(u64::from).collect();
    let mut parents = vec![0; 2 * leaves - 1];
    let (mut leaf, mut pair) = (0, leaves);
    for made in leaves..2 * leaves - 1 {
        let mut lightest = || {
            let of_leaves = leaf < leaves && (pair >= made || weights[leaf] <= weights[pair]);
            let next = if of_leaves { &mut leaf } else { &mut pair };
            *next += 1;
            *next - 1
        };
        let (first, second) = (lightest(), lightest());
        (parents[first], parents[second]) = (made, made);
        weights.push(weights[first] + weights[second]);
    }
    let mut depth = vec![0; 2 * leaves - 1];
    let mut found = Vec::new();
    for node in (0..2 * leaves - 2).rev() {
        depth[node] = depth[parents[node]] + 1;
        if node < leaves {
            found.resize(found.len().max(depth[node] + 1), 0);
            found[depth[node]] += 1;
        }
    }
    found
}

/// Limits the depth of a Huffman tree, given by its numbers of leaves at each depth. Leaves deeper than `longest` are
/// moved up to depth `longest`; then leaves of smaller depths are replaced by pairs until every symbol has a code
/// (Kraft's inequality).
fn limited(depths: &[usize], longest: usize) -> Vec<usize> {
    let mut found = vec![0; longest + 1];
    for (depth, count) in depths.iter().enumerate() {
        found[depth.min(longest)] += count;
    }
    let taken = |found: &[usize]| (1..=longest).map(|length| found[length] << (longest - length)).sum::<usize>();
    for _ in (1 << longest)..taken(&found) {
        // To free room for a symbol at the largest depth of the Huffman tree, a leaf nearer to the root becomes a pair
        // of leaves. The pair holds the symbol of this leaf and a symbol of the deepest leaves.
        let above = (1..longest).rev().find(|&length| found[length] > 0).unwrap_or(0);
        found[longest] -= 1;
        found[above] -= 1;
        found[above + 1] += 2;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths<const N: usize>(counts: &[u32; N], longest: usize) -> Vec<u8> {
        codes(counts, longest).iter().map(|code| code.length).collect()
    }

    #[test]
    fn frequent_symbols_have_short_codes() {
        assert_eq!(lengths(&[1, 0, 8, 2, 1, 4], 15), [4, 0, 1, 3, 4, 2]);
        assert_eq!(lengths(&[5, 7], 15), [1, 1]);
        assert_eq!(codes(&[1, 1, 2], 15).map(|code| code.bits), [0b01, 0b11, 0b0], "the first bit is the lowest");
    }

    #[test]
    fn no_code_is_too_long_and_each_is_told_from_all_others() {
        // Symbol counts that are Fibonacci numbers give the deepest Huffman tree.
        let mut counts = [1u32; 16];
        for n in 2..16 {
            counts[n] = counts[n - 1] + counts[n - 2];
        }
        assert_eq!(lengths(&counts, 15).into_iter().max(), Some(15), "without a limit that matters");
        for longest in [4, 5, 9, 14] {
            let found = lengths(&counts, longest);
            assert!(
                found.is_sorted_by(|a, b| a >= b) && found.iter().all(|length| (1..=longest as u8).contains(length))
            );
            let taken: usize = found.iter().map(|&length| 1 << (longest - usize::from(length))).sum();
            assert_eq!(taken, 1 << longest, "all codes of {longest} bits are used");
        }
    }
}
