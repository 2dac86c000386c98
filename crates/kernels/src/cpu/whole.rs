//! Conversion of floats to integers in vectorised loops.

/// The number 1.5·2²³. Adding it to a small float rounds the float to an integer, which is then in the low bits.
pub(super) const ROUNDER: f32 = 12_582_912.0;

/// Mask of the low bits of a float that contain the integer after the addition of 1.5·2²³.
const INDEX_BITS: u32 = 0x3f_ffff;

/// Converts an integer-valued float from 0 to 2²² to an integer.
#[inline(always)]
pub(super) fn whole(number: f32) -> u32 {
    (number + ROUNDER).to_bits() & INDEX_BITS
}
