//! The random numbers of ITK: the Mersenne Twister MT19937 (Matsumoto and Nishimura 1998).

const COUNT: usize = 624;
const MIDDLE: usize = 397;

/// A generator of random numbers.
pub struct Random {
    state: Vec<u32>,
    next: usize,
}

impl Random {
    /// Makes a generator from a seed.
    pub fn new(seed: u32) -> Random {
        let mut state = vec![seed];
        for n in 1..COUNT {
            let before = state[n - 1];
            state.push(1812433253u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(n as u32));
        }
        Random { state, next: COUNT }
    }

    /// A random number of 32 bits.
    fn bits(&mut self) -> u32 {
        if self.next == COUNT {
            for n in 0..COUNT {
                let joined = (self.state[n] & 0x8000_0000) | (self.state[(n + 1) % COUNT] & 0x7fff_ffff);
                let odd = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[n] = self.state[(n + MIDDLE) % COUNT] ^ (joined >> 1) ^ odd;
            }
            self.next = 0;
        }
        let mut value = self.state[self.next];
        self.next += 1;
        value ^= value >> 11;
        value ^= (value << 7) & 0x9d2c_5680;
        value ^= (value << 15) & 0xefc6_0000;
        value ^ (value >> 18)
    }

    /// A random number from 0 to `most`.
    pub fn up_to(&mut self, most: u32) -> u32 {
        let mask = if most == 0 { 0 } else { u32::MAX >> most.leading_zeros() };
        loop {
            let value = self.bits() & mask;
            if value <= most {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_reference() {
        // The first numbers of the reference implementation for the seed 5489, and its ten thousandth.
        let mut random = Random::new(5489);
        let numbers: Vec<u32> = (0..10_000).map(|_| random.bits()).collect();
        assert_eq!((numbers[0], numbers[1], numbers[9999]), (3499211612, 581869302, 4123659995));
        assert!((0..100).all(|_| random.up_to(2) <= 2));
    }
}
