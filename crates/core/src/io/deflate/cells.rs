//! Groups of four bytes that begin as one before them does.

/// Bytes of a match, at most, in whole cells; deflate's longest has 258.
const LONGEST_MATCH: usize = 256;
/// Farthest that a match of three bytes, or of whole cells, takes less room than its bytes; cells.
pub(super) const NEAR: usize = 256;
const FAR: usize = 1024;
/// Last places that are remembered, by the hash of three bytes.
const PLACES: usize = 1 << 12;

/// This number of cells as they are, then a match: of whole cells, or of the first three bytes of one, the fourth of which is as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    literals: u32,
    length: u16,
    distance: u16,
}

impl Token {
    /// Cells as they are.
    #[inline(always)]
    pub fn literals(self) -> usize {
        self.literals as usize
    }

    /// Length and distance of the match behind them, bytes.
    #[inline(always)]
    pub fn matched(self) -> Option<(usize, usize)> {
        (self.length > 0).then_some((self.length.into(), 4 * usize::from(self.distance)))
    }
}

/// Finds what repeats in the cells of a piece.
pub(super) struct Finder<'a> {
    cells: &'a [[u8; 4]],
    at: usize,
    /// The last place of each hash.
    places: Vec<u32>,
    /// How far back from each of the next cells a match begins, 0 for nowhere.
    distances: Vec<u16>,
}

impl<'a> Finder<'a> {
    pub fn new(cells: &'a [[u8; 4]]) -> Finder<'a> {
        Finder { cells, at: 0, places: vec![0; PLACES], distances: Vec::new() }
    }

    /// The first cell that no token has yet.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Replaces `tokens` by those of the next cells, this number or the remaining ones.
    pub fn tokens(&mut self, count: usize, tokens: &mut Vec<Token>) {
        let (first, end) = (self.at, self.cells.len().min(self.at + count));
        self.look_back(end);
        tokens.clear();
        let (mut at, mut literals) = (first, 0);
        while at < end {
            let distance = self.distances[at - first];
            if distance == 0 {
                (literals, at) = (literals + 1, at + 1);
                continue;
            }
            let cells = self.equal(at..end, distance.into());
            let length = if cells == 0 { 3 } else { 4 * cells as u16 };
            tokens.push(Token { literals, length, distance });
            (literals, at) = (0, at + cells.max(1));
        }
        tokens.push(Token { literals, length: 0, distance: 0 });
        self.at = end;
    }

    /// Finds the distances of all cells up to `end`, without a branch for any of them, as no processor would foresee it.
    fn look_back(&mut self, end: usize) {
        let Finder { cells, places, distances, .. } = self;
        let places: &mut [u32; PLACES] = places.as_mut_slice().try_into().expect("as many as there are hashes");
        distances.clear();
        distances.extend((self.at..end).map(|at| {
            let cell = u32::from_le_bytes(cells[at]);
            let hash = ((cell << 8).wrapping_mul(0x9e37_79b1) >> 20) as usize % PLACES;
            let before = std::mem::replace(&mut places[hash], at as u32) as usize;
            let (distance, differs) = (at - before, u32::from_le_bytes(cells[before]) ^ cell);
            // Of the first cell the distance is 0, which is none.
            let worth_it = ((differs << 8 == 0) & (distance <= NEAR)) | ((differs == 0) & (distance <= FAR));
            u16::from(worth_it) * distance as u16
        }));
    }

    /// How many cells at the start of a range are the same at a distance, as many as a match may have.
    #[inline(always)]
    fn equal(&self, of: std::ops::Range<usize>, distance: usize) -> usize {
        let most = of.len().min(LONGEST_MATCH / 4);
        let (cells, earlier) = (&self.cells[of.start..][..most], &self.cells[of.start - distance..][..most]);
        (0..most).find(|&n| cells[n] != earlier[n]).unwrap_or(most)
    }
}
